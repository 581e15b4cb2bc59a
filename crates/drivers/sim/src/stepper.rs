//! A run in steps, for drivers that connect the network with something that has a clock of its own.

use crate::calendar::Windows;
use crate::engine::{self, Outcome};
use crate::journal::Hop;
use crate::network::{Network, Place};
use crate::shard::Shard;
use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Counters, Handover};
use slotline_net::time::Time;

/// A port at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortState {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Its number there.
    pub port: PortId,
    /// Bytes that wait or are being sent.
    pub queued: u64,
    /// Bytes sent so far.
    pub sent: u64,
}

/// A network whose time is advanced by its driver. Packets enter from outside by [`Stepper::inject`]. They leave as
/// handovers of hosts.
pub struct Stepper {
    shard: Shard,
    windows: Windows,
    /// All events before this time have happened.
    reached: u64,
    /// The time at which the last packet from outside arrives.
    injected: u64,
    end: Time,
}

impl Stepper {
    /// Starts `network`, in which nothing happens at or after `end`. Time advances in windows of at most `resolution`.
    pub fn new(network: Network, end: Time, resolution: Time) -> Stepper {
        let (mut shard, windows) = engine::single(network, end, resolution);
        shard.effects.payloads().track_frames();
        shard.start();
        Stepper { shard, windows, reached: 0, injected: 0, end }
    }

    /// Handles the events of all windows that end by `now`. Returns whether there were any.
    pub fn advance(&mut self, now: Time) -> bool {
        let before = self.reached;
        self.process_until(now.as_ps());
        self.reached != before
    }

    fn process_until(&mut self, now: u64) {
        while let Some(window) = self.shard.next_window() {
            let end = self.windows.start(window + 1);
            if end > now {
                break;
            }
            self.shard.process(window, self.windows);
            self.reached = end;
        }
    }

    /// When the next events can be handled: the end of their window.
    pub fn next_event(&mut self) -> Option<Time> {
        let window = self.shard.next_window()?;
        Some(Time::ps(self.windows.start(window + 1)))
    }

    /// Lets a packet reach `node` from outside at `at`, or at once if that time is past. It arrives at port 0, and
    /// [`Packet::stamp`] is the handle of the frame that it represents. Returns false if the run ends before.
    pub fn inject(&mut self, node: NodeId, at: Time, packet: Packet) -> bool {
        let port = self.shard.links.shared.layout.port(node, PortId(0));
        let to = port | u32::from(self.shard.epoch(port)) << 24;
        let at = at.as_ps().max(self.reached);
        let runs = at < self.end.as_ps();
        if runs {
            self.shard.links.calendar.push(at, to, &packet);
            self.injected = at;
        }
        runs
    }

    /// Takes what hosts have handed over since the last call, in no particular order.
    pub fn handovers(&mut self) -> impl Iterator<Item = (Time, Handover)> {
        self.shard.links.reports.handovers.drain(..)
    }

    /// Takes the packets that left captured ports since the last call, each with the place of its port in
    /// [`crate::Follow::ports`].
    pub fn captured(&mut self) -> impl Iterator<Item = (usize, Hop)> {
        self.shard.links.recorder.iter_mut().flat_map(|recorder| recorder.take())
    }

    /// Takes the frames whose packets were dropped since the last call.
    pub fn lost_frames(&mut self) -> impl Iterator<Item = u32> {
        self.shard.effects.payloads().lost_frames()
    }

    /// The current state of all ports, by node.
    pub fn ports(&self) -> Vec<PortState> {
        let layout = &self.shard.links.shared.layout;
        let of = |node: usize| {
            let own = layout.first[node]..layout.first[node + 1] - 1;
            (0..).zip(own).map(move |(port, index)| (node, PortId(port), index))
        };
        let state = |(node, port, index)| self.port(node, port, index);
        (0..self.shard.places.len()).flat_map(of).map(state).collect()
    }

    fn port(&self, node: usize, port: PortId, index: u32) -> PortState {
        let line = &self.shard.links.lines[index as usize];
        let unsent = line.backlog_bytes(self.reached);
        let queued = match &self.shard.places[node] {
            Place::Node(own) => own.queued(port).max(unsent),
            _ => unsent,
        };
        PortState {
            node: NodeId(node as u32),
            port,
            queued,
            sent: line.bytes().saturating_sub(unsent),
        }
    }

    /// Packets that the network has dropped so far.
    pub fn dropped(&self) -> u64 {
        self.shard.links.reports.dropped.iter().sum()
    }

    /// The counters of all nodes so far.
    pub fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        for place in &self.shard.places {
            if let Place::Node(node) = place {
                node.add_counters(&mut counters);
            }
        }
        counters
    }

    /// Ends the run at `now`. All packets from outside arrive before.
    pub fn finish(mut self, now: Time) -> Outcome {
        self.process_until(self.windows.start(self.windows.of(self.injected) + 1));
        engine::gather(vec![self.shard], now.min(self.end), 1)
    }
}
