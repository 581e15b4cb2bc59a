//! What a rack wants to send to each other: for the scheduler of circuits.

use crate::id::HostId;
use crate::node::host::Plan;
use crate::time::Time;
use crate::workload::Carrier;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is taken for demand.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DemandKind {
    /// What waits in the queues of the rack's switch.
    #[default]
    Voq,
    /// What hosts have said that they will send: of each flow, what was reported and has not yet left
    /// the rack. The report is a field in the first segment of a flow; all are gone when it is over.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 5.2.
    Adu,
    /// As `adu`, but known ahead: also what of flows with a set start begins before the end of the week that is
    /// planned.
    Perfect,
}

/// What is known of one connection.
#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    /// Segments of the flows that were reported.
    reported: u32,
    /// Segments up to the furthest that has left the rack: each counts once, however often it is sent.
    seen: u32,
    /// Flows reported.
    flows: u32,
}

/// Reported and outstanding payload of the connections that begin in one rack.
pub struct Ledger {
    plan: Arc<Plan>,
    /// First connection of the rack.
    first: u32,
    entries: Vec<Entry>,
    /// Payload outstanding, in segments, by destination rack.
    outstanding: Vec<u64>,
    hosts_per_rack: u32,
    /// Flows with a set start that are not yet reported, the last first: when, and on which connection.
    ahead: Vec<(Time, u32)>,
    /// Connections that are given up, the last first: when, and which.
    cuts: Vec<(Time, u32)>,
}

impl Ledger {
    /// For the hosts of `rack`, of `racks`.
    pub fn new(plan: Arc<Plan>, rack: u32, racks: u32, hosts_per_rack: u32) -> Ledger {
        let host = |host: u32| HostId(rack * hosts_per_rack + host);
        let first = plan.sends(host(0)).start;
        let last = plan.sends(host(hosts_per_rack - 1)).end;
        let mut cuts: Vec<(Time, u32)> = (first..last)
            .filter_map(|conn| {
                let begun = plan.start_time(plan.traffic.conns[conn as usize].first.0);
                plan.gives_up(conn).map(|after| (begun.after(after), conn))
            })
            .collect();
        cuts.sort_unstable_by(|a, b| b.cmp(a));
        Ledger {
            cuts,
            entries: vec![Entry::default(); (last - first) as usize],
            outstanding: vec![0; racks as usize],
            plan,
            first,
            hosts_per_rack,
            ahead: Vec::new(),
        }
    }

    /// The same, where flows with a set start are known ahead.
    pub fn foreseeing(mut self, rack: u32) -> Ledger {
        let hosts = rack * self.hosts_per_rack..(rack + 1) * self.hosts_per_rack;
        let starts = hosts.flat_map(|host| self.plan.starts(HostId(host)));
        let at = |&flow: &u32| {
            (self.plan.start_time(flow), self.plan.traffic.flows[flow as usize].conn.0)
        };
        self.ahead = starts.map(at).collect();
        self.ahead.sort_unstable_by(|a, b| b.cmp(a));
        self
    }

    /// Reports what begins before `until`, as far as it is known ahead.
    pub fn foresee(&mut self, until: Time) {
        while let Some((_, conn)) = self.ahead.pop_if(|(at, _)| *at < until) {
            self.report(conn);
        }
    }

    /// What was given up by `now` is no longer outstanding: hosts say so as they close a connection.
    pub fn give_up(&mut self, now: Time) {
        while let Some((_, conn)) = self.cuts.pop_if(|(at, _)| *at <= now) {
            let to = self.plan.traffic.conns[conn as usize].dst.0 / self.hosts_per_rack;
            let entry = &mut self.entries[(conn - self.first) as usize];
            self.outstanding[to as usize] -= u64::from(entry.reported - entry.seen);
            entry.seen = entry.reported;
        }
    }

    /// The next flow of `conn` is reported.
    fn report(&mut self, conn: u32) {
        let info = &self.plan.traffic.conns[conn as usize];
        let entry = &mut self.entries[(conn - self.first) as usize];
        if info.carrier != Carrier::Tcp || entry.flows >= info.count {
            return;
        }
        let flow = &self.plan.traffic.flows[(info.first.0 + entry.flows) as usize];
        let segments = self.plan.transport.segments(flow.bytes);
        entry.reported += segments;
        entry.flows += 1;
        self.outstanding[(info.dst.0 / self.hosts_per_rack) as usize] += u64::from(segments);
    }

    /// A segment has come from its host: the first of a flow says how much follows.
    pub fn arrives(&mut self, conn: u32, seq: u32) {
        let Some(entry) = self.entries.get(conn.wrapping_sub(self.first) as usize) else { return };
        if seq < entry.reported {
            return;
        }
        let count = self.plan.traffic.conns[conn as usize].count;
        for _ in entry.flows..count {
            self.report(conn);
            if seq < self.entries[(conn - self.first) as usize].reported {
                return;
            }
        }
    }

    /// A segment has left the rack.
    pub fn leaves(&mut self, conn: u32, seq: u32) {
        let Some(entry) = self.entries.get_mut(conn.wrapping_sub(self.first) as usize) else {
            return;
        };
        let upto = (seq + 1).min(entry.reported);
        if upto > entry.seen {
            let to = self.plan.traffic.conns[conn as usize].dst.0 / self.hosts_per_rack;
            self.outstanding[to as usize] -= u64::from(upto - entry.seen);
            entry.seen = upto;
        }
    }

    /// Outstanding bytes by destination rack.
    pub fn bytes(&self) -> Vec<u64> {
        let segment = u64::from(self.plan.transport.mss());
        self.outstanding.iter().map(|segments| segments * segment).collect()
    }
}
