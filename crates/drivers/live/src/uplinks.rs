//! The links of a switch to the routers above, and whether they work.

use crate::role::Prefix;
use slotline_linux::command::output;
use slotline_linux::link_events::LinkEvents;
use std::io;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// The links to routers above.
#[derive(Debug)]
pub struct Uplinks {
    events: LinkEvents,
    /// The addresses of each router.
    routers: Vec<Vec<IpAddr>>,
    /// Whether the link to each of them works.
    work: Vec<bool>,
}

impl Uplinks {
    /// Looks at the links of the present network namespace.
    ///
    /// # Errors
    /// The kernel refuses to report changes, or `ip` fails.
    pub fn open(routers: Vec<Vec<IpAddr>>) -> io::Result<Uplinks> {
        // Changes after this are noticed.
        let events = LinkEvents::open()?;
        let work = look(&routers)?;
        Ok(Uplinks { events, routers, work })
    }
    /// A file descriptor that is readable when links may have changed.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.events.fd()
    }
    /// Whether the link to each router works.
    pub fn work(&self) -> &[bool] {
        &self.work
    }
    /// The links that have changed since the last call, and whether they work. One that works again counts when `restore`
    /// has brought its routes back.
    ///
    /// # Errors
    /// `ip` fails.
    pub fn changed(&mut self, restore: impl Fn(usize) -> bool) -> io::Result<Vec<(usize, bool)>> {
        if !self.events.changed()? {
            return Ok(Vec::new());
        }
        let mut changed = Vec::new();
        for (at, (now, before)) in look(&self.routers)?.into_iter().zip(&mut self.work).enumerate()
        {
            let now = now && (*before || restore(at));
            if std::mem::replace(before, now) != now {
                changed.push((at, now));
            }
        }
        Ok(changed)
    }
}

fn look(routers: &[Vec<IpAddr>]) -> io::Result<Vec<bool>> {
    let text = output("ip", &["-json", "address"], "").map_err(io::Error::other)?;
    reached(&text, routers).map_err(io::Error::other)
}

/// The interface that has a network with each router, by the output of `ip -json address`.
///
/// # Errors
/// The text is no such output.
pub fn interfaces(text: &str, routers: &[Vec<IpAddr>]) -> Result<Vec<Option<String>>, String> {
    let value = parsed(text)?;
    let has = |interface: &serde_json::Value, router: &[IpAddr]| {
        let networks = networks(interface);
        router.iter().any(|address| networks.iter().any(|of| of.contains(*address)))
    };
    let interface = |router: &Vec<IpAddr>| {
        let found = value.iter().find(|interface| has(interface, router))?;
        found["ifname"].as_str().map(str::to_owned)
    };
    Ok(routers.iter().map(interface).collect())
}

fn parsed(text: &str) -> Result<Vec<serde_json::Value>, String> {
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("ip -json address: {error}"))?;
    match value {
        serde_json::Value::Array(interfaces) => Ok(interfaces),
        _ => Err("ip -json address: there is no list".into()),
    }
}

/// Which of the routers are in a network of an interface that has a carrier, by the output of `ip -json address`.
///
/// # Errors
/// The text is no such output.
pub fn reached(text: &str, routers: &[Vec<IpAddr>]) -> Result<Vec<bool>, String> {
    let networks: Vec<Prefix> =
        parsed(text)?.iter().filter(|of| has_carrier(of)).flat_map(networks).collect();
    let reached = |router: &IpAddr| networks.iter().any(|network| network.contains(*router));
    Ok(routers.iter().map(|addresses| addresses.iter().any(reached)).collect())
}

fn has_carrier(interface: &serde_json::Value) -> bool {
    let flags = interface["flags"].as_array();
    let has = |name: &str| flags.is_some_and(|flags| flags.iter().any(|flag| flag == name));
    has("UP") && has("LOWER_UP")
}

/// The networks of an interface: those of its addresses, or the far end of a link with one address at each end.
fn networks(interface: &serde_json::Value) -> Vec<Prefix> {
    let network = |of: &serde_json::Value| {
        let address = of["address"].as_str().or(of["local"].as_str())?;
        Prefix::parse(&format!("{address}/{}", of["prefixlen"].as_u64()?))
    };
    interface["addr_info"].as_array().into_iter().flatten().filter_map(network).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = r#"[
        {"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"],"addr_info":[{"family":"inet","local":"127.0.0.1","prefixlen":8}]},
        {"ifname":"up0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"operstate":"UP","addr_info":[
            {"family":"inet","local":"10.81.0.0","prefixlen":31},{"family":"inet6","local":"fd00::a51:0","prefixlen":127}]},
        {"ifname":"up1","flags":["NO-CARRIER","BROADCAST","MULTICAST","UP"],"operstate":"LOWERLAYERDOWN","addr_info":[
            {"family":"inet","local":"10.81.0.2","prefixlen":31}]},
        {"ifname":"up2","flags":["BROADCAST","MULTICAST"],"addr_info":[{"family":"inet","local":"10.81.0.4","prefixlen":31}]},
        {"ifname":"up3","flags":["POINTOPOINT","UP","LOWER_UP"],"addr_info":[
            {"family":"inet","local":"10.9.0.1","address":"10.9.0.2","prefixlen":32}]}]"#;

    #[test]
    fn a_router_is_reached_by_an_interface_with_a_carrier() {
        let routers =
            ["10.81.0.1", "fd00::a51:1", "10.81.0.3", "10.81.0.5", "10.9.0.2", "10.7.0.1"];
        let routers: Vec<Vec<IpAddr>> =
            routers.iter().map(|address| vec![address.parse().unwrap()]).collect();
        let expected = [true, true, false, false, true, false];
        assert_eq!(reached(TEXT, &routers).unwrap(), expected);
        assert_eq!(reached(TEXT, &[Vec::new()]).unwrap(), [false]);
        let named = interfaces(TEXT, &routers).unwrap();
        let named: Vec<_> = named.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        assert_eq!(named, ["up0", "up0", "up1", "up2", "up3", "-"]);
        assert!(reached("{}", &routers).unwrap_err().contains("no list"));
    }

    proptest! {
        #[test]
        fn strange_output_causes_no_panic(text in ".{0,60}", value in 0usize..6, at in 0usize..4) {
            let values = ["\"x\"", "null", "[]", "{}", "-1", "1e99"];
            let mut fields = ["[\"UP\",\"LOWER_UP\"]", "[]", "\"10.0.0.1\"", "31"];
            fields[at] = values[value];
            let [flags, _, local, length] = fields;
            let list = if at == 1 { values[value].to_owned() } else {
                format!(r#"[{{"local":{local},"prefixlen":{length}}}]"#)
            };
            let router = [vec![IpAddr::from([10, 0, 0, 0])]];
            let _ = reached(&text, &router);
            prop_assert_eq!(reached(&format!(r#"[{{"flags":{flags},"addr_info":{list}}}]"#), &router).unwrap(), [false]);
        }
    }
}
