//! The controller of real switches.

mod changes;

use super::channel::Channel;
use super::entries::{COUNTED, CUT, Entries, LINKS, NOWHERE, PATHS, Placed, moved};
use super::ports::{Counts, Passed, Place, Ports};
use super::vswitch::COUNTS_ARE_OLD;
use super::{RealNetwork, SwitchError, failed};
use crate::clock::{Clock, Dilation};
use crate::lateness::Lateness;
use crate::shared::{self, Fidelity, Shared, Snapshot};
use slotline_net::id::{ConnId, HostId, NodeId, PortId};
use slotline_net::node::{Change, Counter, Counters};
use slotline_net::scheme::FlowCount;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::units::Rate;
use slotline_openflow::message::Body;
use slotline_openflow::statistics::{FlowFilter, FlowStats};
use slotline_sim::flow::Scheduled;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// How often a switch is asked for an echo.
const PROBE: Duration = Duration::from_millis(5);
/// Ethernet's header, which switches count.
const COUNTED_FRAMING: u64 = 14;

/// A scheme that chooses paths.
pub struct Chooser {
    /// The scheme.
    pub scheme: Scheduled,
    /// How long a decision holds.
    pub expire: Time,
}

/// The controller of a network.
pub struct Controller<'a> {
    network: RealNetwork,
    ports: Ports,
    entries: Entries<'a>,
    chooser: Option<Chooser>,
    /// Bytes on the wire of a packet besides its IP packet.
    framing: u64,
    /// The bytes of each connection that its first switch had counted at the last poll, and the time of that.
    counted: BTreeMap<u32, u64>,
    last_poll: Time,
    /// Decisions, and when they take effect.
    pending: VecDeque<(Time, ConnId, u16)>,
    /// The paths of connections, and until when they hold.
    paths: BTreeMap<u32, (u16, Time)>,
    moves: u64,
    /// What will change, in the order of time.
    changes: VecDeque<&'a (Time, NodeId, Change)>,
    /// Whether routes have changed an odd number of times.
    again: bool,
    /// The rates of links that have changed.
    rates: BTreeMap<Place, Rate>,
    lateness: Lateness,
    probes: usize,
    /// What switches had received before they had entries.
    arrived: Vec<(u64, u64)>,
}

/// What was counted before network time began.
struct Start {
    ports: Counts,
    cpu: Duration,
    at: Instant,
}

/// What happened in a network of real switches.
pub struct Ended {
    /// The network time at the end.
    pub reached: Time,
    /// What the ports of switches and the cards of hosts sent and dropped.
    pub ports: Counts,
    /// How long switches took to answer.
    pub lateness: Lateness,
    /// Processor time of the switches, as a share of real time.
    pub cpu_share: f64,
    /// Packets that reached no other node.
    pub lost: Lost,
    /// Counters of the scheme.
    pub counters: Vec<(Counter, u64)>,
    /// How often connections were moved to other paths.
    pub moves: u64,
}

/// The packets that switches have received and not sent on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Those for which switches had no room, or that they did not process.
    pub unprocessed: u64,
    /// Those dropped because a link was down.
    pub cut: u64,
    /// Those for hosts to which there was no way.
    pub nowhere: u64,
}

impl<'a> Controller<'a> {
    /// Gives all switches their entries. `timeline` says what changes in the run, at which node, and when.
    ///
    /// # Errors
    /// A switch refuses them.
    pub fn new(
        network: RealNetwork,
        entries: Entries<'a>,
        chooser: Option<Chooser>,
        framing: u32,
        timeline: &'a [(Time, NodeId, Change)],
    ) -> Result<Controller<'a>, SwitchError> {
        let (counted, pending, paths, lateness) = Default::default();
        let ports = Ports::open(entries.graph, entries.wiring, &network.hosts);
        let ports = ports.map_err(failed("find queues"))?;
        let mut changes: Vec<_> = timeline.iter().collect();
        changes.sort_by_key(|(at, ..)| *at);
        let mut controller = Controller {
            network,
            ports,
            entries,
            chooser,
            framing: framing.into(),
            counted,
            last_poll: Time::ZERO,
            pending,
            paths,
            moves: 0,
            changes: changes.into(),
            again: false,
            rates: BTreeMap::new(),
            lateness,
            probes: 0,
            arrived: Vec::new(),
        };
        controller.begin().map_err(failed("give switches their entries"))?;
        Ok(controller)
    }

    fn begin(&mut self) -> io::Result<()> {
        self.arrived = self.arrived()?;
        for (node, channel) in &mut self.network.channels {
            for body in self.entries.of_switch(*node) {
                channel.send(body);
            }
        }
        let conns: Vec<u32> = self.entries.connections().collect();
        for conn in conns {
            let (there, back) = (self.entries.connection(conn, None), self.entries.answers(conn));
            self.send(there.into_iter().chain(back));
        }
        self.carry_out()
    }

    /// Puts changes into the buffers of their switches.
    fn send(&mut self, changes: impl IntoIterator<Item = Placed>) {
        for (node, change) in changes {
            let mut all = self.network.channels.iter_mut();
            if let Some((_, channel)) = all.find(|(at, _)| *at == node) {
                channel.send(Body::FlowMod(change));
            }
        }
    }

    /// Waits until all switches have carried out what they were sent.
    fn carry_out(&mut self) -> io::Result<()> {
        self.network.channels.iter_mut().try_for_each(|(_, channel)| channel.carry_out())
    }

    /// Runs until the emulation is stopped, or until its end.
    ///
    /// # Errors
    /// A connection to a switch fails.
    pub fn run(self, dilation: Dilation, end: Time, shared: &Shared) -> Result<Ended, SwitchError> {
        while !shared.begun() && !shared.stopped() {
            std::thread::sleep(PROBE);
        }
        self.controlled(dilation, end, shared).map_err(failed("control a switch"))
    }

    fn controlled(mut self, dilation: Dilation, end: Time, shared: &Shared) -> io::Result<Ended> {
        let before = Start {
            ports: self.ports.read()?,
            cpu: self.network.vswitch.cpu_time()?,
            at: Instant::now(),
        };
        let clock = shared.start(dilation);
        let mut shown = before.at;
        while !shared.stopped() && clock.now() < end {
            self.attend(&clock)?;
            if shown.elapsed() >= shared::SNAPSHOTS {
                shown = Instant::now();
                self.show(&before, &clock, shared)?;
            }
            let next = self.next(end);
            std::thread::sleep(next.map_or(PROBE, |at| clock.until(at)).min(PROBE));
        }
        let (reached, cpu_share) = (clock.now(), self.cpu_share(&before)?);
        let ports = self.ports.read()?.since(&before.ports);
        let arrived = std::mem::take(&mut self.arrived);
        let lost = self.lost(&arrived)?;
        let counters = self.counters();
        let Controller { lateness, moves, .. } = self;
        Ok(Ended { reached, ports, lateness, cpu_share, lost, counters, moves })
    }

    /// The processor time of the switches since the beginning, as a share of real time.
    fn cpu_share(&self, before: &Start) -> io::Result<f64> {
        let cpu = self.network.vswitch.cpu_time()?.saturating_sub(before.cpu);
        Ok(cpu.as_secs_f64() / before.at.elapsed().as_secs_f64())
    }

    /// Counters of the scheme.
    fn counters(&self) -> Vec<(Counter, u64)> {
        self.chooser.as_ref().map_or(vec![], |own| own.scheme.counts())
    }

    /// Stores a snapshot, unless a reader is taking one at this moment. What switches lose is counted at the end only.
    fn show(&mut self, before: &Start, clock: &Clock, shared: &Shared) -> io::Result<()> {
        let ports = self.ports.read()?.since(&before.ports);
        let mut counters = Counters::default();
        self.counters().iter().for_each(|(counter, value)| counters.add(*counter, *value));
        let Passed { sent, delivered, dropped } =
            ports.passed(self.entries.graph, self.entries.wiring);
        let fidelity =
            Fidelity { deliveries: self.lateness.clone(), cpu_share: self.cpu_share(before)? };
        shared.show(|| Snapshot {
            at: clock.now(),
            counts: shared::Counts { entered: sent, delivered, ..shared::Counts::default() },
            fidelity,
            dropped,
            ports: ports.states(),
            counters,
        });
        Ok(())
    }

    /// When there is more to do.
    fn next(&self, end: Time) -> Option<Time> {
        let poll = self.chooser.as_ref().map(|own| Time::ps(own.scheme.next_poll()));
        let decision = self.pending.front().map(|(at, ..)| *at);
        let change = self.changes.front().map(|(at, ..)| *at);
        poll.into_iter().chain(decision).chain(change).chain([end]).min()
    }

    /// Does everything that is due, and measures how late a switch is.
    fn attend(&mut self, clock: &Clock) -> io::Result<()> {
        let now = clock.now();
        self.change(now)?;
        if self.chooser.as_mut().is_some_and(|own| own.scheme.begin_poll(now.as_ps())) {
            self.poll(clock)?;
        }
        self.install(clock.now())?;
        // Each in turn: one thread of Open vSwitch serves all.
        let channels = &mut self.network.channels;
        self.probes = (self.probes + 1) % channels.len().max(1);
        if let Some((_, channel)) = channels.get_mut(self.probes) {
            self.lateness.add(channel.echo()?);
        }
        Ok(())
    }

    /// Reads the counts of connections, and asks the scheme for decisions.
    fn poll(&mut self, clock: &Clock) -> io::Result<()> {
        let counts = self.counts()?;
        let now = clock.now();
        let Some(chooser) = &mut self.chooser else { return Ok(()) };
        let (scheme, span) = (&mut chooser.scheme, now.since(self.last_poll));
        let rate = |node: NodeId| {
            let changed = self.rates.get(&(node, PortId(0))).copied();
            changed.unwrap_or(self.entries.wiring.of(node)[0].lane.rate)
        };
        let mut large: BTreeMap<HostId, Vec<FlowCount>> = BTreeMap::new();
        for (conn, total) in counts {
            let before = self.counted.insert(conn, total).unwrap_or_default();
            let bytes = total.saturating_sub(before);
            let info = &self.entries.plan.traffic.conns[conn as usize];
            let node = self.entries.routes.host_nodes()[info.src.at()];
            if scheme.is_large(bytes as f64, rate(node).0 as f64, span) {
                let count = FlowCount { conn: ConnId(conn), dst: info.dst, bytes };
                large.entry(info.src).or_default().push(count);
            }
        }
        self.last_poll = now;
        let (at, new) = scheme.decide(large, now);
        for (conn, path) in new.map(|decision| scheme.decision(decision)) {
            self.pending.push_back((Time::ps(at), conn, path));
        }
        Ok(())
    }

    /// The bytes on the wire of each connection, as its first switch has counted them.
    fn counts(&mut self) -> io::Result<Vec<(u32, u64)>> {
        let framing = self.framing.saturating_sub(COUNTED_FRAMING);
        let mut all = Vec::new();
        let first: Vec<NodeId> = self.first_switches();
        let channels = self.network.channels.iter_mut();
        for (_, channel) in channels.filter(|(node, _)| first.contains(node)) {
            let entries = flows(channel, FlowFilter::cookie(COUNTED, COUNTED))?;
            let bytes = |entry: &FlowStats| entry.bytes + entry.packets * framing;
            all.extend(entries.iter().map(|entry| (entry.cookie as u32, bytes(entry))));
        }
        Ok(all)
    }

    /// The switches at which hosts are.
    fn first_switches(&self) -> Vec<NodeId> {
        let hosts = self.entries.routes.host_nodes().iter();
        hosts.map(|node| self.entries.wiring.of(*node)[0].far.node).collect()
    }

    /// Puts decisions into effect that are due, and ends paths that no decision has prolonged.
    fn install(&mut self, now: Time) -> io::Result<()> {
        let Some(expire) = self.chooser.as_ref().map(|own| own.expire) else { return Ok(()) };
        let mut changed = Vec::new();
        while let Some((at, conn, path)) = self.pending.front().copied()
            && at <= now
        {
            self.pending.pop_front();
            let before = self.paths.insert(conn.0, (path, now.after(expire)));
            if before.is_none_or(|(before, _)| before != path) {
                changed.push((conn.0, Some(path)));
            }
        }
        let over = self.paths.iter().filter(|(_, (_, until))| *until < now);
        let over: Vec<u32> = over.map(|(conn, _)| *conn).collect();
        for conn in over {
            self.paths.remove(&conn);
            changed.push((conn, None));
        }
        self.move_connections(&changed)
    }

    /// Moves connections to paths, or to those of their hashes.
    fn move_connections(&mut self, changed: &[(u32, Option<u16>)]) -> io::Result<()> {
        if changed.is_empty() {
            return Ok(());
        }
        self.moves += changed.len() as u64;
        let moves = changed.iter().map(|(conn, path)| self.entries.connection(*conn, *path));
        let (later, first): (Vec<_>, Vec<_>) = moves.map(moved).unzip();
        self.send(later.into_iter().flatten());
        self.carry_out()?;
        self.send(first.into_iter().flatten());
        self.carry_out()
    }

    /// The packets that each switch has received, and those for which it had no room.
    fn arrived(&mut self) -> io::Result<Vec<(u64, u64)>> {
        let mut all = Vec::new();
        for (_, channel) in &mut self.network.channels {
            let parts = channel.request(Body::all_ports())?;
            let (mut received, mut dropped) = (0, 0);
            for part in &parts {
                let Body::PortStats(ports, _) = part else {
                    return Err(channel.unexpected(&parts));
                };
                // Higher numbers are those of the switch itself.
                for port in ports.iter().filter(|port| port.port <= u32::from(u16::MAX)) {
                    received += port.rx_packets;
                    dropped += port.rx_dropped;
                }
            }
            all.push((received, dropped));
        }
        Ok(all)
    }

    /// The packets that switches have lost since `before`. Packets are counted when they have arrived, and entries a while
    /// later, when their counts include these packets.
    fn lost(&mut self, before: &[(u64, u64)]) -> io::Result<Lost> {
        let arrived = self.arrived()?;
        std::thread::sleep(COUNTS_ARE_OLD * 4);
        let mut lost = Lost::default();
        let channels = self.network.channels.iter_mut();
        for ((_, channel), ((received, dropped), (earlier, lost_earlier))) in
            channels.zip(arrived.iter().zip(before))
        {
            let entries = flows(channel, FlowFilter::cookie(0, 0))?;
            let packets = |of: fn(&&FlowStats) -> bool| -> u64 {
                entries.iter().filter(of).map(|entry| entry.packets).sum()
            };
            let matched = packets(|entry| entry.table == LINKS);
            let followed = packets(|entry| entry.table == PATHS && entry.cookie & CUT == 0);
            lost.unprocessed +=
                (received - earlier).saturating_sub(matched) + (dropped - lost_earlier);
            lost.cut += matched.saturating_sub(followed);
            lost.nowhere += packets(|entry| entry.table == NOWHERE);
        }
        Ok(lost)
    }
}

/// The entries of a switch that fit a filter.
fn flows(channel: &mut Channel, filter: FlowFilter) -> io::Result<Vec<FlowStats>> {
    let parts = channel.request(Body::FlowStatsRequest(filter))?;
    let mut all = Vec::new();
    for part in parts {
        let Body::FlowStats(entries, _) = part else { return Err(channel.unexpected(&[part])) };
        all.extend(entries);
    }
    Ok(all)
}
