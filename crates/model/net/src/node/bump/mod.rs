//! A bump on the wires of an unmodified switch (Al-Fares, NetBump, chapter 5). Packets pass it on their way into the
//! switch, and it estimates the queues that they will find there.

mod accuracy;
mod applications;
mod in_band;
mod limiter;
mod links;
mod shares;
mod spec;
#[cfg(test)]
mod tests;

pub use accuracy::{Accuracy, Estimate};
pub use applications::{ApplicationSpec, ChosenFlows};
pub use limiter::Limited;
pub use spec::{BumpSpec, LimitSpec, Notify, Sharing, UpdatePath};

use super::switch::{Switch, SwitchPort};
use super::{Change, Counters, Cx, DropReason, Node, PacketAccount, Stopped, counters};
use crate::aqm::bank::{Bank, Entry, Fate};
use crate::aqm::spec::ReactionSpec;
use crate::aqm::{Discipline, Marker, Verdict, VirtualQueue};
use crate::frame::{CE, ECT, Kind, Packet};
use crate::id::{NodeId, PortId};
use crate::rng::{Stream, pair_key};
use crate::time::Time;
use applications::Application;
use in_band::{FREE, InBand};
use limiter::Limiters;
use links::Links;
use shares::Shares;
use std::collections::VecDeque;

/// The token of the bump's wake-up. All other tokens are those of the switch.
const FORWARD: u32 = u32::MAX;

/// The parts of a switch with bumps.
pub struct BumpConfig {
    /// The switch behind the bumps. It is not aware of them.
    pub switch: Switch,
    /// Its node.
    pub node: NodeId,
    /// The key of the node for random streams.
    pub key: u64,
    /// Its ports with a bump.
    pub taps: Vec<PortId>,
    /// Its ports with a bump that limits flows.
    pub limits: Vec<PortId>,
    /// Its links, by port.
    pub ports: Vec<SwitchPort>,
    /// The options of the bumps.
    pub spec: BumpSpec,
    /// How the rates of limited flows change.
    pub reaction: ReactionSpec,
    /// The largest packet in bytes on the wire.
    pub mtu: u64,
    /// The run's seed.
    pub seed: u64,
    /// Interval between samples of estimates; zero for none.
    pub sample: Time,
}

/// A packet inside a bump, and the estimates of the queue that it will join.
struct Passing {
    due: Time,
    port: PortId,
    packet: Packet,
    met: Met,
}

/// A port of the switch, and the estimate of each table for it.
type Met = Option<(PortId, Box<[u64]>)>;

/// A switch with bumps at some of its ports.
pub struct Bumped {
    node: NodeId,
    switch: Switch,
    spec: BumpSpec,
    /// By port of the switch: the bump there.
    tap_at: Vec<Option<usize>>,
    /// By bump, its virtual queues, one for each port of the switch. There is a single table if all bumps share it.
    tables: Vec<Bank<Marker>>,
    /// Further applications on the same virtual queues.
    also: Vec<Application>,
    links: Links,
    in_band: InBand,
    limiters: Limiters,
    /// By bump: the packets in its virtual queues, if the options need them.
    shares: Vec<Shares>,
    /// Packets inside bumps with a delay, in order.
    passing: VecDeque<Passing>,
    stream: Stream,
    accuracy: Accuracy,
    marks: u64,
    notices: u64,
    drops: u64,
}

impl Bumped {
    /// A switch behind bumps.
    pub fn new(config: BumpConfig) -> Bumped {
        let BumpConfig {
            switch,
            node,
            key,
            taps,
            limits,
            ports,
            spec,
            reaction,
            mtu,
            seed,
            sample,
        } = config;
        let tables = if spec.sharing == Sharing::Table { 1 } else { taps.len() };
        let table = |at: usize| {
            let queue = spec.queue.unshared();
            let entry = |link: &SwitchPort| {
                let pace = spec.rate.unwrap_or(link.tx.rate).inverse_rate();
                let rng = Stream::named(seed, "bump.queue", pair_key(link.key, at as u64));
                let marker = queue.marker(pace, mtu, rng);
                Entry::new(VirtualQueue::new(pace, queue.limit), marker)
            };
            Bank::new(ports.iter().map(entry).collect())
        };
        let pace = |link: &SwitchPort| spec.rate.unwrap_or(link.tx.rate).inverse_rate();
        let paces: Vec<_> = ports.iter().map(|link| (pace(link), link.key)).collect();
        let (limit, also) = (spec.queue.limit, spec.also.iter().enumerate());
        let also = also.map(|one| Application::new(one, (tables, &paces), (limit, mtu, seed)));
        let also: Vec<_> = also.collect();
        let lines = limits.into_iter().map(|port| (port, ports[port.at()].rx.rate));
        let limiters = Limiters::new(reaction, spec.reaction.as_ref(), lines, ports.len(), sample);
        let mut tap_at = vec![None; ports.len()];
        taps.iter().enumerate().for_each(|(at, port)| tap_at[port.at()] = Some(at));
        let tables: Vec<_> = (0..tables).map(table).collect();
        let shares = if spec.notify == Notify::Largest { tables.len() } else { 0 };
        Bumped {
            node,
            switch,
            tap_at,
            links: Links::new(&spec, tables.len(), seed, key),
            in_band: InBand::new(taps, &ports),
            limiters,
            shares: vec![Shares::new(ports.len()); shares],
            accuracy: Accuracy::new(mtu, sample, tables.len()),
            tables,
            also,
            spec,
            passing: VecDeque::new(),
            stream: Stream::named(seed, "bump.latency", key),
            marks: 0,
            notices: 0,
            drops: 0,
        }
    }

    /// The switch behind the bumps.
    pub fn switch(&self) -> &Switch {
        &self.switch
    }

    /// The samples of estimates, in time order.
    pub fn estimates(&self) -> &[Estimate] {
        self.accuracy.samples()
    }

    /// The samples of virtual queues of limited flows, in time order.
    pub fn limited(&self) -> &[Limited] {
        self.limiters.samples()
    }

    /// The accuracy of the estimates.
    pub fn accuracy(&self) -> &Accuracy {
        &self.accuracy
    }

    /// The pipeline: classify; estimate; mark, drop or notify; forward.
    fn pass(&mut self, tap: usize, port: PortId, mut packet: Packet, cx: &mut Cx<'_>) {
        self.links.deliver(&mut self.tables, cx.now);
        let Some(out) = self.switch.exit(&packet) else {
            return self.forward(port, packet, None, cx);
        };
        let met = self.tables.iter().map(|table| table.bytes(out.at(), cx.now)).collect();
        let table = tap.min(self.tables.len() - 1);
        for at in 0..self.also.len() {
            let bank = (table, &self.tables[table]);
            let verdict = self.also[at].judge(bank, out, (&packet, &self.switch), cx.now);
            if !self.execute(verdict, (table, out), &mut packet, cx) {
                return self.discard(&packet, DropReason::Early, cx);
            }
        }
        match self.judge(table, out, &packet, cx.now) {
            Fate::Full => return self.discard(&packet, DropReason::Full, cx),
            Fate::Judged(verdict) => {
                if !self.execute(verdict, (table, out), &mut packet, cx) {
                    return self.discard(&packet, DropReason::Early, cx);
                }
            }
        }
        if let Some(shares) = self.shares.get_mut(table) {
            let leaves = self.tables[table].empty_at(out.at());
            shares.add(out, leaves, packet);
        }
        if let Some(update) = self.links.passed(table, packet.len, out) {
            self.share(table, &update, cx);
        }
        self.forward(port, packet, Some((out, met)), cx);
    }

    /// Marks a packet or notifies its sender. Returns false if it is to be dropped.
    fn execute(
        &mut self,
        verdict: Verdict,
        (table, out): (usize, PortId),
        packet: &mut Packet,
        cx: &mut Cx<'_>,
    ) -> bool {
        match verdict {
            Verdict::Pass => {}
            Verdict::Drop => return false,
            Verdict::Mark => {
                packet.flags |= CE;
                self.marks += 1;
            }
            Verdict::Notify(what) => {
                let shares = self.shares.get_mut(table);
                let largest = shares.and_then(|shares| shares.largest(out, cx.now));
                let sent = self.switch.notify(out, &largest.unwrap_or(*packet), what, cx);
                self.notices += u64::from(sent);
            }
        }
        true
    }

    /// Sends an update of bump `from` to the others.
    fn share(&mut self, from: usize, update: &[u8], cx: &mut Cx<'_>) {
        match self.spec.update_path {
            UpdatePath::Dedicated => self.links.send(from, update, cx.now),
            UpdatePath::InBand => self.in_band.send(from, update, &mut self.switch, cx),
        }
    }

    /// The verdict on a packet. A bump that only estimates passes everything, and others pass flows that were not
    /// chosen.
    fn judge(&mut self, table: usize, out: PortId, packet: &Packet, now: Time) -> Fate {
        let len = u32::from(packet.len);
        let bank = &mut self.tables[table];
        if self.spec.observe || !self.spec.flows.include(packet, &self.switch) {
            bank.see(out.at(), len, now);
            return Fate::Judged(Verdict::Pass);
        }
        let fate = bank.pass(out.at(), len, packet.has(ECT), now);
        fate.unwrap_or(Fate::Judged(Verdict::Pass))
    }

    /// Compares the estimates that a packet got at the bump with the queue that it finds now.
    fn compare(&mut self, met: &Met, now: Time) {
        let Some((port, estimates)) = met else { return };
        let real = self.switch.unsent(*port, now);
        for (table, estimate) in (0..).zip(estimates.iter().copied()) {
            self.accuracy.compare(Estimate { at: now, table, port: *port, estimate, real });
        }
    }

    fn discard(&mut self, packet: &Packet, reason: DropReason, cx: &mut Cx<'_>) {
        self.drops += 1;
        cx.drop(packet, reason);
    }

    /// Adds the disciplines that can fail, with their failures.
    fn guests(&self, counters: &mut Counters) {
        for (table, bank) in (0..).zip(&self.tables) {
            let guests = (0..).map(PortId).zip(bank.entries());
            for (port, entry) in guests.filter(|(_, e)| e.discipline.is_foreign()) {
                let (node, bump, class) = (self.node, Some(table), 0);
                let stopped = |failure| Stopped { node, port, bump, class, failure };
                counters.guest(entry.discipline.failure().map(stopped));
            }
        }
    }

    /// Passes a packet to the switch: at once, or after the delay of the bump. Packets keep their order.
    fn forward(&mut self, port: PortId, packet: Packet, met: Met, cx: &mut Cx<'_>) {
        if self.spec.latency == Time::ZERO && self.spec.jitter == Time::ZERO {
            self.compare(&met, cx.now);
            return self.switch.receive(port, packet, cx);
        }
        let more = Time::ps(self.stream.below(self.spec.jitter.as_ps().saturating_add(1)));
        let last = self.passing.back().map_or(Time::ZERO, |passing| passing.due);
        let due = (cx.now + self.spec.latency + more).max(last);
        self.passing.push_back(Passing { due, port, packet, met });
        cx.wake(due, FORWARD);
    }
}

impl Node for Bumped {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.switch.start(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if !self.limiters.admits(port, &packet, cx.now) {
            return cx.drop(&packet, DropReason::Full);
        }
        match self.tap_at[port.at()] {
            Some(tap) if packet.kind != Kind::Pause => self.pass(tap, port, packet, cx),
            _ => self.switch.receive(port, packet, cx),
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        // A notice for a sender behind a bump is taken off its wire when it leaves the switch. The time of its 84 bytes
        // on that wire is not counted.
        loop {
            let packet = self.in_band.transmit(port, &mut self.switch, cx)?;
            if !self.limiters.takes(port, &packet) {
                return Some(packet);
            }
            let notice = cx.detach(&packet);
            self.limiters.notified(port, &notice, cx.now);
        }
    }

    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            FORWARD => {}
            FREE => {
                let (links, tables) = (&mut self.links, &mut self.tables);
                return self
                    .in_band
                    .take_off(cx, |from, to, bytes, at| links.merge(from, to, bytes, tables, at));
            }
            _ => return self.switch.expire(token, cx),
        }
        while let Some(one) = self.passing.pop_front_if(|passing| passing.due <= cx.now) {
            self.compare(&one.met, cx.now);
            self.switch.receive(one.port, one.packet, cx);
        }
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        if let (Change::Rate(port, rate), None) = (change, self.spec.rate) {
            let pace = rate.inverse_rate();
            self.tables.iter_mut().for_each(|table| table.set_pace(port.at(), pace, cx.now));
            self.also.iter_mut().for_each(|one| one.set_pace(port.at(), pace));
        }
        if let Change::Rate(port, rate) = change {
            self.in_band.set_pace(*port, rate.inverse_rate());
        }
        self.switch.change(change, cx);
    }

    fn account(&self) -> PacketAccount {
        let account = self.switch.account();
        PacketAccount {
            held: account.held + self.passing.len() as u64,
            consumed: account.consumed + self.in_band.taken_off() + self.limiters.taken(),
            ..account
        }
    }

    fn add_counters(&self, counters: &mut Counters) {
        self.switch.add_counters(counters);
        self.guests(counters);
        counters.add(counters::BUMP_MARKS, self.marks);
        counters.add(counters::BUMP_DROPS, self.drops);
        counters.add(counters::BUMP_NOTICES, self.notices);
        self.links.add_counters(counters);
        self.limiters.add_counters(counters);
        self.accuracy.add_counters(counters);
    }

    fn queued(&self, port: PortId) -> u64 {
        self.switch.queued(port)
    }
}
