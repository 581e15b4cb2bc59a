//! Linear first fit: a large flow gets the first of its paths on which no link is reserved.

use slotline_net::id::{ConnId, HostId};
use slotline_net::scheme::{Control, Decision, FlowCount, Network, News, Plan};
use slotline_net::time::Time;
use std::collections::BTreeMap;

/// A flow that has a path.
#[derive(Clone, Debug)]
struct Placed {
    src: HostId,
    dst: HostId,
    path: u16,
    /// The links that it has reserved, which are those between switches.
    links: Vec<u32>,
    /// When it was last reported.
    last_report: Time,
}

/// The central scheduler of section 3.1.7. It knows the reserved links and the flows that hold them.
pub struct FlowScheduler {
    network: Network,
    /// By directed link, whether it is reserved.
    reserved: Vec<bool>,
    placed: BTreeMap<ConnId, Placed>,
    /// Decisions that wait for the next call of `decide`.
    plan: Plan,
    /// A flow that is not reported for this long has ended.
    forget: Time,
    /// The links of the path that is tried.
    path_links: Vec<u32>,
}

/// The memory of the scheduler's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Bytes for the state of links.
    pub links: usize,
    /// Bytes for flows and their paths.
    pub flows: usize,
}

/// The links of a path that lie between switches: all but the first and the last.
fn inner(links: &[u32]) -> &[u32] {
    links.get(1..links.len().saturating_sub(1)).unwrap_or(&[])
}

impl FlowScheduler {
    /// A scheduler for `network`, whose paths have numbers, that forgets flows after `forget`.
    pub fn new(network: Network, forget: Time) -> FlowScheduler {
        FlowScheduler {
            reserved: vec![false; network.capacity().len()],
            network,
            placed: BTreeMap::new(),
            plan: Vec::new(),
            forget,
            path_links: Vec::new(),
        }
    }

    /// Finds a path for a new flow, reserves it and returns its number; `None` if every path has a reserved link.
    /// Known flows keep their paths.
    pub fn request(&mut self, src: HostId, conn: ConnId, dst: HostId, now: Time) -> Option<u16> {
        if let Some(known) = self.placed.get_mut(&conn) {
            known.last_report = now;
            return Some(known.path);
        }
        let path = self.first_fit(src, dst)?;
        let links = inner(&self.path_links).to_vec();
        links.iter().for_each(|&link| self.reserved[link as usize] = true);
        self.placed.insert(conn, Placed { src, dst, path, links, last_report: now });
        Some(path)
    }

    /// The number of the first path without a reserved link. Its links are left in `path_links`.
    fn first_fit(&mut self, src: HostId, dst: HostId) -> Option<u16> {
        let FlowScheduler { network, reserved, path_links, .. } = self;
        let count = network.path_count(src, dst).min(1 << u16::BITS);
        (0..count).map(|path| path as u16).find(|&path| {
            network.numbered_path(src, dst, path, path_links);
            inner(path_links).iter().all(|&link| !reserved[link as usize])
        })
    }

    /// The number of flows that have a path.
    pub fn placed(&self) -> usize {
        self.placed.len()
    }

    /// The memory of its state: one byte for each directed link, and each flow with its links.
    pub fn memory(&self) -> Memory {
        let flow = |placed: &Placed| {
            size_of::<(ConnId, Placed)>() + placed.links.capacity() * size_of::<u32>()
        };
        Memory { links: self.reserved.len(), flows: self.placed.values().map(flow).sum() }
    }

    /// Finds paths for reported flows. Flows of hosts that are not in the network are ignored.
    fn report(&mut self, src: HostId, flows: &[FlowCount], now: Time) {
        let hosts = self.network.hosts();
        let known = |flow: &&FlowCount| src.at().max(flow.dst.at()) < hosts;
        for &FlowCount { conn, dst, .. } in flows.iter().filter(known) {
            // Switches forget paths that are not repeated.
            if let Some(path) = self.request(src, conn, dst, now) {
                self.plan.push(Decision::Path { src, conn, dst, path });
            }
        }
    }

    /// Forgets flows that have `gone`, and frees their links.
    fn drop_if(&mut self, gone: impl Fn(&Placed) -> bool) {
        let reserved = &mut self.reserved;
        self.placed.retain(|_, placed| {
            let gone = gone(placed);
            if gone {
                placed.links.iter().for_each(|&link| reserved[link as usize] = false);
            }
            !gone
        });
    }
}

impl Control for FlowScheduler {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        match *news {
            News::Flows { host, flows, .. } => self.report(host, flows, now),
            News::Joined(host) | News::Left(host) => self.drop_if(|placed| placed.src == host),
            News::Backlog { .. } | News::Load { .. } | News::Released { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        plan.append(&mut self.plan);
        let forget = self.forget;
        self.drop_if(|placed| placed.last_report.after(forget) <= now);
        self.placed.values().map(|placed| placed.last_report.after(forget)).min()
    }

    /// Flows whose path now has other links get another path, if there is one.
    fn rewire(&mut self, network: &Network, now: Time) {
        self.network = network.clone();
        let mut moved = Vec::new();
        for (&conn, placed) in &self.placed {
            network.numbered_path(placed.src, placed.dst, placed.path, &mut self.path_links);
            if inner(&self.path_links) != placed.links {
                moved.push((conn, placed.src, placed.dst));
            }
        }
        for &(conn, ..) in &moved {
            if let Some(placed) = self.placed.remove(&conn) {
                placed.links.iter().for_each(|&link| self.reserved[link as usize] = false);
            }
        }
        for (conn, src, dst) in moved {
            if let Some(path) = self.request(src, conn, dst, now) {
                self.plan.push(Decision::Path { src, conn, dst, path });
            }
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
