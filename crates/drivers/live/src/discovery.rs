//! The network as an arbiter discovers it: from what all machines tell of their neighbours.
//!
//! A cable counts if the machines at both ends name it. So a machine that lies can take away its own cables, and no others.
//! A host without a cable does not keep the others waiting for ever: after some time the network begins without it.

use crate::clock::Local;
use crate::neighbours::{OwnCable, Page};
use slotline_formats::lldp::{Cable, Machine, Neighbour, Port, cables};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Cables have to remain as they are for this time before the network changes: several change together, and the reports of
/// both ends of a cable do not come at the same time.
pub const SETTLED: Duration = Duration::from_millis(1_500);

/// The interval at which changed reports are looked at. With many machines that takes milliseconds.
const LOOKS: Duration = Duration::from_millis(200);

/// A machine of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its number among daemons.
    pub number: u32,
    /// Its name in the fabric.
    pub name: String,
    /// Whether it is a host. The others are switches.
    pub is_host: bool,
}

/// A network that was discovered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Discovered {
    /// The machines at both ends of each cable.
    pub cables: Vec<[String; 2]>,
    /// The switches that are part of it.
    pub switches: Vec<String>,
    /// Hosts that are no part of it.
    pub outside: Vec<(u32, String)>,
}

/// A network, and what is missing or contradictory, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Survey {
    /// The network.
    pub network: Discovered,
    /// What is missing; empty if all machines and cables are known.
    pub missing: Vec<String>,
}

/// A report that has arrived in part, and the cables of the latest whole one.
#[derive(Debug, Default)]
struct Reported {
    number: u64,
    pages: Vec<Option<Vec<OwnCable>>>,
    cables: Option<Vec<OwnCable>>,
}

impl Reported {
    /// Adds a page. Returns whether the cables have changed with it.
    fn add(&mut self, page: &Page<'_>) -> bool {
        if self.number != page.report || self.pages.len() != usize::from(page.pages) {
            (self.number, self.pages) = (page.report, vec![None; page.pages.into()]);
        }
        self.pages[usize::from(page.page)] = Some(page.cables());
        let Some(whole) = self.pages.iter().cloned().collect::<Option<Vec<_>>>() else {
            return false;
        };
        let cables = Some(whole.concat());
        std::mem::replace(&mut self.cables, cables) != self.cables
    }
}

/// The reports of all machines, and the network that follows from them.
#[derive(Debug)]
pub struct Discovery {
    members: Vec<Member>,
    /// By number of the machine.
    reports: BTreeMap<u32, Reported>,
    survey: Survey,
    /// Whether reports have changed after the survey, and the time of the next one.
    changed: bool,
    next: Local,
    /// Since when the survey is as it is, and since when this arbiter listens.
    since: Local,
    began: Local,
    /// How long an incomplete network is waited for.
    patience: Duration,
    /// The network that was taken last.
    taken: Option<Discovered>,
}

impl Discovery {
    /// Knows nothing yet of the cables between these machines.
    pub fn new(members: Vec<Member>, patience: Duration) -> Discovery {
        let (reports, never) = (BTreeMap::new(), Local(0));
        let survey = survey(&members, &reports);
        Discovery {
            members,
            reports,
            survey,
            changed: false,
            next: never,
            since: never,
            began: never,
            patience,
            taken: None,
        }
    }
    /// Begins to listen.
    pub fn begin(&mut self, now: Local) {
        (self.since, self.began) = (now, now);
    }
    /// A machine has told its cables. Only machines of the network count.
    pub fn hear(&mut self, from: u32, page: &Page<'_>) {
        if self.members.iter().any(|member| member.number == from) {
            self.changed |= self.reports.entry(from).or_default().add(page);
        }
    }
    /// Looks at reports that have changed.
    fn look(&mut self, now: Local) {
        if !self.changed || now < self.next {
            return;
        }
        (self.changed, self.next) = (false, now.after(LOOKS));
        let survey = survey(&self.members, &self.reports);
        if survey != self.survey {
            (self.survey, self.since) = (survey, now);
        }
    }
    /// The network as it is known now.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }
    /// Whether a network was taken.
    pub fn has_network(&self) -> bool {
        self.taken.is_some()
    }
    /// A network that has not been taken yet: the first one when it is complete, or when the patience is over, and each
    /// other one when it has settled.
    pub fn take(&mut self, now: Local) -> Option<Discovered> {
        self.look(now);
        let Survey { network, missing } = &self.survey;
        let settled = now.since(self.since) >= SETTLED && !network.switches.is_empty();
        let due = match &self.taken {
            None => missing.is_empty() || now.since(self.began) >= self.patience,
            Some(taken) => taken != network,
        };
        if !(settled && due) {
            return None;
        }
        self.taken = Some(network.clone());
        self.taken.clone()
    }
}

/// What follows from all reports.
fn survey(members: &[Member], reports: &BTreeMap<u32, Reported>) -> Survey {
    let names = members.iter().map(|member| (member.number, member.name.as_str())).collect();
    let machines: Vec<Machine> =
        members.iter().filter_map(|member| machine(&names, member, reports)).collect();
    let mut missing = silent(members, reports);
    let heard: BTreeSet<&str> = machines.iter().map(|machine| machine.name.as_str()).collect();
    let all = cables(&machines);
    missing.extend(all.iter().filter_map(|cable| one_sided(cable, &heard)));
    let (confirmed, contradictions) = consistent(&hosts(members), all);
    missing.extend(contradictions);
    let inside = largest_part(members, &confirmed);
    let is_inside = |name: &str| inside.contains(name);
    let all_told = heard.len() == members.len();
    let has_cable = |name: &str| confirmed.iter().any(|of| of.ends.iter().any(|end| end.0 == name));
    let is_apart = |name: &str| !is_inside(name) && (all_told || !has_cable(name));
    let apart = heard.iter().filter(|name| is_apart(name));
    missing.extend(apart.map(|name| format!("no cable joins {name} to the others")));
    let of_part = |cable: &Cable| {
        let [a, b] = &cable.ends;
        is_inside(&a.0).then(|| [a.0.clone(), b.0.clone()])
    };
    let switch = |of: &&Member| !of.is_host && is_inside(&of.name);
    let outside = |of: &&Member| of.is_host && !is_inside(&of.name);
    let network = Discovered {
        cables: confirmed.iter().filter_map(of_part).collect(),
        switches: members.iter().filter(switch).map(|of| of.name.clone()).collect(),
        outside: members.iter().filter(outside).map(|of| (of.number, of.name.clone())).collect(),
    };
    Survey { network, missing }
}

/// The neighbours of a machine that has told them.
fn machine(
    names: &BTreeMap<u32, &str>,
    of: &Member,
    reports: &BTreeMap<u32, Reported>,
) -> Option<Machine> {
    let told = reports.get(&of.number)?.cables.as_ref()?;
    let neighbour = |cable: &OwnCable| {
        Some(Neighbour {
            interface: cable.port.clone(),
            machine: (*names.get(&cable.machine)?).to_owned(),
            addresses: Vec::new(),
            port: cable.far.clone(),
        })
    };
    let neighbours = told.iter().filter_map(neighbour).collect();
    Some(Machine { name: of.name.clone(), neighbours })
}

/// The machines that have told nothing.
fn silent(members: &[Member], reports: &BTreeMap<u32, Reported>) -> Vec<String> {
    let told = |of: &Member| reports.get(&of.number).is_some_and(|of| of.cables.is_some());
    let silent = members.iter().filter(|member| !told(member));
    silent.map(|member| format!("{} has not told its neighbours", member.name)).collect()
}

/// What is wrong with a cable that only one of two machines names that have told their neighbours.
fn one_sided(cable: &Cable, heard: &BTreeSet<&str>) -> Option<String> {
    let [a, b] = &cable.ends;
    let (near, far) = if cable.named[0] { (a, b) } else { (b, a) };
    (!cable.is_confirmed() && heard.contains(far.0.as_str())).then(|| {
        let (port, there) = (&near.1, &far.1);
        format!("{} says that its {port} is at {there} of {}, which does not", near.0, far.0)
    })
}

/// The names of hosts.
fn hosts(members: &[Member]) -> BTreeSet<&str> {
    members.iter().filter(|of| of.is_host).map(|of| of.name.as_str()).collect()
}

/// The cables that both ends name, without those that contradict each other, and what is wrong with the latter.
fn consistent(hosts: &BTreeSet<&str>, all: Vec<Cable>) -> (Vec<Cable>, Vec<String>) {
    let mut confirmed: Vec<Cable> = all.into_iter().filter(Cable::is_confirmed).collect();
    let mut used: BTreeMap<Port, u32> = BTreeMap::new();
    for end in confirmed.iter().flat_map(|cable| &cable.ends) {
        *used.entry(end.clone()).or_default() += 1;
    }
    let several = used.iter().filter(|(_, cables)| **cables > 1);
    let several =
        several.map(|((machine, port), _)| format!("{port} of {machine} has several cables"));
    let mut wrong: Vec<String> = several.collect();
    confirmed.retain(|cable| {
        let [a, b] = cable.ends.each_ref().map(|end| end.0.as_str());
        let of_hosts = hosts.contains(a) && hosts.contains(b);
        if of_hosts {
            wrong.push(format!("a cable joins the hosts {a} and {b}"));
        }
        !of_hosts && a != b && cable.ends.iter().all(|end| used[end] == 1)
    });
    (confirmed, wrong)
}

/// The machines that cables join to the most hosts.
fn largest_part(members: &[Member], cables: &[Cable]) -> BTreeSet<String> {
    let mut beside: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for [a, b] in cables.iter().map(|cable| cable.ends.each_ref().map(|end| end.0.as_str())) {
        beside.entry(a).or_default().push(b);
        beside.entry(b).or_default().push(a);
    }
    let (mut seen, hosts) = (BTreeSet::new(), hosts(members));
    let mut largest = (0, BTreeSet::new());
    // The first of the largest ones, so that all arbiters choose the same.
    for member in members.iter().filter(|member| !member.is_host) {
        let part = reached(&member.name, &beside, &mut seen);
        let size = part.iter().filter(|name| hosts.contains(**name)).count();
        if size > largest.0 {
            largest = (size, part);
        }
    }
    largest.1.into_iter().map(str::to_owned).collect()
}

/// The machines that cables join to one that was not seen yet.
fn reached<'a>(
    from: &'a str,
    beside: &BTreeMap<&str, Vec<&'a str>>,
    seen: &mut BTreeSet<&'a str>,
) -> BTreeSet<&'a str> {
    let mut part = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            part.insert(next);
            open.extend(beside.get(next).into_iter().flatten());
        }
    }
    part
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
