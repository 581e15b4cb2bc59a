//! Whether the links of a switch lead where the configuration says, by LLDP.

use crate::config::{Config, Switch};
use crate::uplinks::interfaces;
use slotline_formats::lldp::{Neighbour, neighbours};
use slotline_linux::command::output;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// What LLDP says about the links of a switch to those above.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cabling {
    /// The names of the switches above that are where they should be.
    pub confirmed: Vec<String>,
    /// Those of which nothing was heard.
    pub unknown: Vec<String>,
    /// What is wrong, in words.
    pub wrong: Vec<String>,
}

/// The links of this switch that lead elsewhere, as they were when it was last looked.
#[derive(Debug, Default)]
pub struct WrongCables(Mutex<Vec<String>>);

impl WrongCables {
    /// What is wrong now, in words.
    pub fn now(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Notes what is wrong from now on. Returns what was not wrong before, and what no longer is.
    pub fn replace(&self, wrong: Vec<String>) -> [Vec<String>; 2] {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |from: &[String], of: &[String]| {
            of.iter().filter(|one| !from.contains(one)).cloned().collect::<Vec<_>>()
        };
        let changed = [missing(&known, &wrong), missing(&wrong, &known)];
        *known = wrong;
        changed
    }
}

/// Compares the links of the switch `name` of this machine with its neighbours by LLDP. `None` if there is no such switch, or
/// if lldpd does not run here.
///
/// # Errors
/// `lldpcli` or `ip` prints something else than expected.
pub fn here(config: &Config, name: &str) -> Result<Option<Cabling>, String> {
    let Some(switch) = config.switch.iter().find(|switch| switch.name == name) else {
        return Ok(None);
    };
    let Ok(heard) = output("lldpcli", &["-f", "json", "show", "neighbors"], "") else {
        return Ok(None);
    };
    let heard = neighbours(&heard).map_err(|error| format!("lldpcli: {}", error.message))?;
    let addresses = output("ip", &["-json", "address"], "")?;
    let routers: Vec<Vec<IpAddr>> = switch.up.values().cloned().collect();
    Ok(Some(compared(config, switch, &interfaces(&addresses, &routers)?, &heard)))
}

/// Compares links with neighbours. `interfaces` has the one to each switch above.
fn compared(
    config: &Config,
    switch: &Switch,
    interfaces: &[Option<String>],
    heard: &[Neighbour],
) -> Cabling {
    let mut cabling = Cabling::default();
    let above = config.switch.iter().flat_map(|switch| switch.up.keys());
    let all = config.switch.iter().map(|switch| &switch.name).chain(above);
    let names: BTreeSet<&str> = all.map(String::as_str).collect();
    for ((name, addresses), interface) in switch.up.iter().zip(interfaces) {
        let Some(interface) = interface else {
            let list: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
            let list = list.join(", ");
            cabling.wrong.push(format!("`{name}`: no interface has a network with {list}"));
            continue;
        };
        let own = config.switch.iter().find(|other| other.name == *name).map(|of| of.address);
        // A machine with the name of another switch is that one, whatever its addresses.
        let is_other = |machine: &str| machine != name && names.contains(machine);
        let is_it = |neighbour: &&Neighbour| {
            let mut known = addresses.iter().chain(&own);
            let has_address = known.any(|of| neighbour.addresses.contains(&of.to_string()));
            neighbour.machine == *name || (has_address && !is_other(&neighbour.machine))
        };
        let mut there = heard.iter().filter(|neighbour| neighbour.interface == *interface);
        match (there.clone().find(is_it), there.next()) {
            (Some(_), _) => cabling.confirmed.push(name.clone()),
            (None, Some(other)) => cabling.wrong.push(format!(
                "`{name}` should be at {interface}, but `{}` is there, with its port {}",
                other.machine, other.port
            )),
            (None, None) => cabling.unknown.push(name.clone()),
        }
    }
    cabling
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config() -> Config {
        let key = slotline_envelope::KeyPair::from_private([1; 32]).public();
        let other = slotline_envelope::KeyPair::from_private([2; 32]).public();
        let text = format!(
            "scenario = 'a.toml'\n[[arbiter]]\naddress = '10.78.0.100'\nkey = '{key}'\n[[switch]]\nname = 'edge0.0'\naddress = \
             '10.78.0.1'\nkey = '{other}'\nhosts = {{ h0 = ['10.80.0.1'] }}\nup = {{ 'agg0.0' = ['10.81.0.1'], 'agg0.1' = \
             ['10.81.0.3'] }}\n"
        );
        Config::parse(&text, Path::new("network.toml")).unwrap()
    }
    fn neighbour(interface: &str, machine: &str, addresses: &[&str]) -> Neighbour {
        Neighbour {
            interface: interface.into(),
            machine: machine.into(),
            addresses: addresses.iter().map(|text| (*text).into()).collect(),
            port: "down0".into(),
        }
    }
    fn check(heard: &[Neighbour]) -> (usize, usize, Vec<String>) {
        let (config, ports) = (config(), ["up0", "up1"].map(|name| Some(name.into())));
        let Cabling { confirmed, unknown, wrong } =
            compared(&config, &config.switch[0], &ports, heard);
        (confirmed.len(), unknown.len(), wrong)
    }

    /// Two cables are exchanged while the daemon runs, and put back.
    #[test]
    fn exchanged_cables_are_noticed_once() {
        let own = [neighbour("up0", "agg0.0", &[]), neighbour("up1", "agg0.1", &[])];
        let other = [neighbour("up0", "agg0.1", &[]), neighbour("up1", "agg0.0", &[])];
        let known = WrongCables::default();
        let look = |heard: &[Neighbour]| known.replace(check(heard).2).map(|list| list.len());
        assert_eq!(look(&own), [0, 0]);
        assert_eq!((look(&other), look(&other)), ([2, 0], [0, 0]));
        assert!(known.now()[0].contains("`agg0.0` should be at up0, but `agg0.1` is there"));
        // One of them is pulled, so nothing is heard there.
        assert_eq!((look(&other[..1]), look(&own)), ([0, 1], [0, 1]));
        assert!(known.now().is_empty());
    }

    #[test]
    fn links_are_where_neighbours_are() {
        let by_name = neighbour("up0", "agg0.0", &[]);
        let by_address = neighbour("up1", "rack7-spine2.lan", &["fe80::1", "10.81.0.3"]);
        assert_eq!(check(&[by_name.clone(), by_address.clone()]), (2, 0, vec![]));
        assert_eq!(check(std::slice::from_ref(&by_name)), (1, 1, vec![]));
        // Several machines may be heard at a port.
        let phone = neighbour("up0", "phone", &[]);
        assert_eq!(check(&[phone, by_name]), (1, 1, vec![]));
        // The addresses in the configuration are exchanged.
        let swapped = neighbour("up0", "agg0.1", &["10.81.0.1"]);
        let (_, _, wrong) = check(&[swapped, by_address]);
        assert_eq!(
            wrong,
            ["`agg0.0` should be at up0, but `agg0.1` is there, with its port down0"]
        );
        let config = config();
        let none = compared(&config, &config.switch[0], &[None, None], &[]);
        assert!(none.wrong[0].contains("no interface has a network with 10.81.0.1"), "{none:?}");
    }
}
