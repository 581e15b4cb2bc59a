//! The cables at this machine's ports, as lldpd hears them.

use crate::neighbours::{Heard, OwnCable};
use serde_json::Value;
use slotline_formats::lldp::{Neighbour, neighbours};
use slotline_linux::command::output;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a cable counts whose neighbour is no longer heard, although the link works: as after lldpd has been started again. By
/// default lldpd's own neighbours are valid for this time.
const HOLD: Duration = Duration::from_secs(120);

/// A machine by which neighbours are recognised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Its number among daemons.
    pub number: u32,
    /// Its name, which lldpd tells.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

/// The ports of this machine and their cables.
#[derive(Debug)]
pub struct Ports {
    machines: Vec<Named>,
    /// When each cable was last heard of.
    known: Vec<(OwnCable, Instant)>,
    heard: Arc<Heard>,
}

impl Ports {
    /// Looks for cables to these machines.
    pub fn new(machines: Vec<Named>, heard: Arc<Heard>) -> Ports {
        Ports { machines, known: Vec::new(), heard }
    }

    /// Looks at all ports, and notes their cables.
    ///
    /// # Errors
    /// lldpd does not run, or `lldpcli` or `ip` prints something else than expected. Then what was known remains.
    pub fn look(&mut self) -> Result<(), String> {
        let links = output("ip", &["-json", "link"], "")?;
        let text = output("lldpcli", &["-f", "json", "show", "neighbors"], "");
        let text = text.map_err(|why| format!("lldpd tells no neighbours: {why}"))?;
        let heard = neighbours(&text).map_err(|error| format!("lldpcli: {}", error.message))?;
        self.merge(&heard, &working(&links)?, Instant::now());
        Ok(())
    }

    fn merge(&mut self, heard: &[Neighbour], working: &BTreeSet<String>, now: Instant) {
        let mut cables: Vec<_> =
            heard.iter().filter_map(|of| self.cable(of)).map(|cable| (cable, now)).collect();
        let silent = |(cable, at): &(OwnCable, Instant)| {
            let again = heard.iter().any(|neighbour| neighbour.interface == cable.port);
            !again && working.contains(&cable.port) && now.duration_since(*at) < HOLD
        };
        self.known.retain(silent);
        cables.append(&mut self.known);
        cables.sort();
        cables.dedup_by(|a, b| a.0 == b.0);
        self.heard.replace(cables.iter().map(|(cable, _)| cable.clone()).collect());
        self.known = cables;
    }

    /// The cable to a neighbour that is a machine of the network.
    fn cable(&self, neighbour: &Neighbour) -> Option<OwnCable> {
        let named = self.machines.iter().find(|of| of.name == neighbour.machine);
        let has_address = |of: &&Named| {
            of.addresses.iter().any(|own| neighbour.addresses.contains(&own.to_string()))
        };
        let machine = named.or_else(|| self.machines.iter().find(has_address))?.number;
        let (port, far) = (neighbour.interface.clone(), neighbour.port.clone());
        Some(OwnCable { port, machine, far })
    }
}

/// The interfaces whose links work, by the output of `ip -json link`.
fn working(text: &str) -> Result<BTreeSet<String>, String> {
    let links: Vec<Value> =
        serde_json::from_str(text).map_err(|error| format!("ip -json link: {error}"))?;
    let works = |link: &&Value| {
        let flags = link["flags"].as_array().into_iter().flatten();
        flags.into_iter().any(|flag| flag == "LOWER_UP")
    };
    let name = |link: &Value| link["ifname"].as_str().map(str::to_owned);
    Ok(links.iter().filter(works).filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbour(interface: &str, machine: &str, addresses: &[&str]) -> Neighbour {
        let addresses = addresses.iter().map(|text| (*text).into()).collect();
        let (interface, machine) = (interface.into(), machine.into());
        Neighbour { interface, machine, addresses, port: "p1".into() }
    }
    fn ports() -> Ports {
        let named = |number: u32, name: &str, last| Named {
            number,
            name: name.into(),
            addresses: vec![[10, 0, 0, last].into()],
        };
        Ports::new(vec![named(0, "h0", 1), named(9, "s0", 9)], Arc::default())
    }
    fn machines(ports: &Ports) -> Vec<(String, u32)> {
        let cables = ports.heard.now().unwrap();
        cables.into_iter().map(|cable| (cable.port, cable.machine)).collect()
    }

    #[test]
    fn neighbours_are_known_by_name_or_address() {
        let mut ports = ports();
        let by_address = neighbour("e1", "rack4.lan", &["fe80::1", "10.0.0.1"]);
        let heard = [
            neighbour("e0", "s0", &["10.0.0.1"]),
            by_address,
            neighbour("e2", "phone", &["10.0.0.77"]),
        ];
        assert_eq!(ports.heard.now(), None);
        ports.merge(&heard, &BTreeSet::new(), Instant::now());
        assert_eq!(machines(&ports), [("e0".into(), 9), ("e1".into(), 0)]);
    }

    #[test]
    fn a_cable_remains_while_its_link_works() {
        let (mut ports, now) = (ports(), Instant::now());
        let both = [neighbour("e0", "s0", &[]), neighbour("e1", "h0", &[])];
        let working = BTreeSet::from(["e0".to_owned(), "lo".to_owned()]);
        ports.merge(&both, &working, now);
        // lldpd starts again, and the link of e1 does not work.
        ports.merge(&[], &working, now + HOLD / 2);
        assert_eq!(machines(&ports), [("e0".into(), 9)]);
        // Another machine is there now.
        ports.merge(&[neighbour("e0", "h0", &[])], &working, now + HOLD / 2);
        assert_eq!(machines(&ports), [("e0".into(), 0)]);
        ports.merge(&[], &working, now + HOLD);
        assert_eq!(machines(&ports).len(), 1, "it was heard later");
        ports.merge(&[], &working, now + HOLD * 2);
        assert!(machines(&ports).is_empty());
    }

    #[test]
    fn links_that_work_are_named() {
        let text = r#"[{"ifname":"lo","flags":["LOOPBACK","UP","LOWER_UP"]},{"ifname":"e0","flags":["NO-CARRIER","UP"]}]"#;
        assert_eq!(working(text).unwrap(), BTreeSet::from(["lo".to_owned()]));
        assert!(working("{}").is_err());
    }
}
