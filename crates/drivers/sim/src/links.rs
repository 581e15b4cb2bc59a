//! The objects on which effects of nodes act: links that leave a shard's nodes, the calendar, and other shards.

use crate::ahead_queue::AheadQueue;
use crate::calendar::{Calendar, Entry, NEAR, Windows};
use crate::journal::Recorder;
use crate::line::{ColdState, Discipline, Line, Offer, PORT_MASK};
use crate::network::Layout;
use crate::node_events::{NodeEvent, NodeEvents};
use crate::notes::Notes;
use crate::notices::Notices;
use crate::sample::Sampler;
use slotline_net::aqm::Discipline as _;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::buffer::Buffer;
use slotline_net::node::{Change, DropReason, Handover, Payloads};
use slotline_net::prefetch::prefetch;
use slotline_net::time::Time;
use std::sync::Arc;

/// Codes of a node's own events (`packet.flow`), in the order in which they happen at equal times.
pub(crate) mod own {
    pub const CHANGE: u32 = 0;
    pub const FREE: u32 = 1;
    pub const WAKE: u32 = 2;
    pub const SAMPLE: u32 = 3;
    pub const NOTHING: u32 = 4;
}

/// Packets for another shard, in any order.
pub(crate) struct Mail {
    pub entries: Vec<Entry>,
    /// Control messages of some of them, by position.
    pub payloads: Vec<(usize, Box<[u8]>)>,
    /// The time of the first packet, in ps.
    pub first: u64,
}

/// The bit of a shard: bit `n` stands for shard `n` modulo 64.
pub(crate) fn bit(shard: usize) -> u64 {
    1 << (shard % 64)
}

impl Default for Mail {
    fn default() -> Mail {
        Mail { entries: Vec::new(), payloads: Vec::new(), first: u64::MAX }
    }
}

/// Reports of nodes to their driver, and packets that were dropped between nodes.
#[derive(Default)]
pub(crate) struct Reports {
    /// The number of complete flows.
    pub completed: u64,
    /// Packets dropped, by reason.
    pub dropped: [u64; DropReason::COUNT],
    pub notes: Notes,
    /// The data that hosts handed over to external applications, with its time.
    pub handovers: Vec<(Time, Handover)>,
}

/// The state that all shards share. It does not change during a run.
pub(crate) struct Shared {
    pub layout: Layout,
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// First port index of each shard, and the total.
    pub cuts: Vec<u32>,
    pub sampler: Sampler,
    /// No event at or after this time happens.
    pub end: u64,
    /// Whether there is a timeline, so that links may fail.
    pub changes: bool,
}

impl Shared {
    /// The epoch of packets that arrive at a port at `now`: the number of failures of its link.
    pub fn epoch(&self, node: NodeId, port: PortId, now: u64) -> u8 {
        let failure = |(at, there, change): &&(Time, NodeId, Change)| {
            at.as_ps() <= now
                && *there == node
                && matches!(change, Change::Down(down) if *down == port)
        };
        // Modulo 256, as epochs are.
        self.timeline.iter().filter(failure).count() as u8
    }
}

/// Bytes that ports have not yet sent. A link that is down has lost what waited for it.
#[cold]
fn all_unsent(lines: &[Line], now: u64) -> u64 {
    let up = lines.iter().filter(|line| line.discipline() != Discipline::Down);
    up.map(|line| line.backlog_bytes(now)).sum()
}

/// Everything of a shard except its nodes.
pub(crate) struct Links {
    pub shared: Arc<Shared>,
    pub index: usize,
    pub first_port: u32,
    last_port: u32,
    pub calendar: Calendar,
    pub lines: Vec<Line>,
    pub cold: Vec<ColdState>,
    /// The buffers that ports of plain switches share, by node of the shard; empty if no switch has one.
    pub buffers: Vec<Option<Buffer>>,
    /// Whether any port has a discipline.
    is_managed: bool,
    /// Whether the discipline of any port may hold packets or notify senders.
    pub interrupts: bool,
    pub notices: Notices,
    /// By node of the shard: the number of its own events to come, except samples. A change of the network counts until the
    /// end of the run.
    pub own_events: Vec<u32>,
    /// By port; empty if all ports ask for each packet.
    pub ahead: Vec<AheadQueue>,
    pub outbox: Vec<Mail>,
    /// The shards that have mail since it was last delivered, as [`bit`] has them.
    pub mailed: u64,
    /// The reports of nodes.
    pub reports: Reports,
    /// Events of the node being called that lie in the window being processed.
    pub node_events: NodeEvents,
    pub window_start: u64,
    pub window_end: u64,
    /// A packet whose last bit leaves less than this time after the window's start arrives in a window that is near, by
    /// any link.
    near_for: u64,
    /// The recorder, if packets are recorded.
    pub recorder: Option<Box<Recorder>>,
}

impl Links {
    pub fn new(
        shared: Arc<Shared>,
        index: usize,
        nodes: usize,
        (lines, cold, buffers): (Vec<Line>, Vec<ColdState>, Vec<Option<Buffer>>),
        windows: Windows,
    ) -> Links {
        let longest_delay = lines.iter().map(|line| line.arrival(0).0).max().unwrap_or(0);
        // The starts of windows are rounded up.
        let near_for = (windows.start(NEAR) - 1).saturating_sub(longest_delay);
        Links {
            index,
            first_port: shared.cuts[index],
            last_port: shared.cuts[index + 1],
            calendar: Calendar::new(windows),
            is_managed: cold.iter().any(|cold| cold.marker.is_some()),
            interrupts: cold.iter().any(ColdState::interrupts),
            notices: Notices::default(),
            lines,
            cold,
            buffers,
            own_events: vec![0; nodes],
            ahead: Vec::new(),
            outbox: (1..shared.cuts.len()).map(|_| Mail::default()).collect(),
            mailed: 0,
            reports: Reports::default(),
            node_events: NodeEvents::default(),
            window_start: 0,
            window_end: 0,
            near_for,
            recorder: None,
            shared,
        }
    }

    /// Advances to `window`.
    pub fn advance(&mut self, window: u64, windows: Windows) {
        self.calendar.advance(window);
        self.window_start = windows.start(window);
        self.window_end = windows.start(window + 1);
    }

    pub fn line(&mut self, port: u32) -> (&mut Line, &mut ColdState) {
        let at = (port - self.first_port) as usize;
        (&mut self.lines[at], &mut self.cold[at])
    }

    #[inline]
    pub fn is_mine(&self, to: u32) -> bool {
        let to = to & PORT_MASK;
        to >= self.first_port && to < self.last_port
    }

    /// Whether a packet that waits outside of its switch until `end`, when the port `at` of the shard has sent it, certainly
    /// stays at its place in the calendar.
    #[inline(always)]
    pub fn may_wait(&self, at: usize, end: u64) -> bool {
        end < self.window_start + self.near_for
            && (self.outbox.len() == 1 || self.is_mine(self.lines[at].arrival(end).1))
    }

    /// Requests the state of a FIFO port, so that it is in the cache when a packet is offered.
    #[inline(always)]
    pub fn expect(&self, port: u32) {
        let at = port - self.first_port;
        prefetch(&self.lines, at);
        if self.is_managed
            && let Some(marker) = &self.cold[at as usize].marker
        {
            marker.expect();
        }
    }

    /// Lets a packet arrive. Returns its position, if the calendar has it and it is near.
    #[inline]
    pub fn deliver(&mut self, time: u64, to: u32, packet: &Packet, payloads: &mut Payloads) -> u32 {
        if self.is_mine(to) {
            return self.calendar.push(time, to, packet);
        }
        self.post(time, to, packet, payloads);
        u32::MAX
    }

    /// Forwards the packet at `position` of the calendar. In the loop over the packets of a plain switch it is no call. Returns
    /// whether it is held or causes a notice: then something may come before the next packet. `SHARED`: the port may share a
    /// buffer.
    #[inline(always)]
    pub fn forward<const RECORDED: bool, const SHARED: bool>(
        &mut self,
        port: u32,
        position: u32,
        now: u64,
        payloads: &mut Payloads,
    ) -> bool {
        let packet = &self.calendar.get(position).packet;
        let at = (port - self.first_port) as usize;
        let (len, flags) = (packet.len, packet.flags);
        let has_room = !SHARED || self.has_shared_room(port, len, now);
        let offer = self.lines[at].offer(&mut self.cold[at], (len, flags), now, has_room);
        if SHARED && offer.is_accepted() {
            self.take_shared_room(port, len);
        }
        let packet = &self.calendar.get(position).packet;
        if RECORDED
            && let Offer::Sent { time, flags, .. } = offer
            && let Some(recorder) = &mut self.recorder
        {
            recorder.note(at, &self.lines[at], packet, flags, time);
        }
        match offer {
            Offer::Sent { time, to, flags } if self.is_mine(to) => {
                self.calendar.push_again(position, time, to, flags);
            }
            Offer::Sent { time, to, flags } => {
                let packet = Packet { flags: packet.flags | flags, ..*packet };
                self.post(time, to, &packet, payloads);
            }
            other => {
                let packet = *packet;
                self.settle(port, &packet, &other, payloads);
                return matches!(other, Offer::Held { .. } | Offer::Notified { .. });
            }
        }
        false
    }

    /// Puts a packet into the mail for the shard where port `to` is.
    fn post(&mut self, time: u64, to: u32, packet: &Packet, payloads: &mut Payloads) {
        let port = to & PORT_MASK;
        let shard = self.shared.cuts.partition_point(|&cut| cut <= port) - 1;
        debug_assert_ne!(shard, self.index);
        self.mailed |= bit(shard);
        let mail = &mut self.outbox[shard];
        if packet.kind == Kind::Control {
            mail.payloads.push((mail.entries.len(), payloads.release(packet.seq)));
        }
        mail.entries.push(Entry { time, to, packet: *packet });
        mail.first = mail.first.min(time);
    }

    /// Accepts the packets that another shard sent.
    pub fn accept(&mut self, mail: &mut Mail, payloads: &mut Payloads) {
        for (at, bytes) in mail.payloads.drain(..) {
            mail.entries[at].packet.seq = payloads.keep(bytes);
        }
        for entry in &mail.entries {
            self.calendar.push(entry.time, entry.to, &entry.packet);
        }
        mail.entries.clear();
        mail.first = u64::MAX;
    }

    /// Puts a packet into a FIFO port.
    #[inline]
    pub fn send(&mut self, port: u32, packet: &mut Packet, now: u64, payloads: &mut Payloads) {
        let (at, shares) = ((port - self.first_port) as usize, !self.buffers.is_empty());
        let (len, flags) = (packet.len, packet.flags);
        let has_room = !shares || self.has_shared_room(port, len, now);
        match self.lines[at].offer(&mut self.cold[at], (len, flags), now, has_room) {
            Offer::Sent { time, to, flags } => {
                packet.flags |= flags;
                if shares {
                    self.take_shared_room(port, len);
                }
                self.record(port, packet, time);
                self.deliver(time, to, packet, payloads);
            }
            other => {
                if shares && other.is_accepted() {
                    self.take_shared_room(port, len);
                }
                self.settle(port, packet, &other, payloads);
            }
        }
    }

    /// Whether the buffer that `port` shares, if it does, has room for a packet of `len` bytes that arrives at `now`.
    #[inline]
    fn has_shared_room(&mut self, port: u32, len: u16, now: u64) -> bool {
        let (layout, first) = (&self.shared.layout, self.first_port);
        let node = layout.node[port as usize] as usize;
        let at = node - layout.node[first as usize] as usize;
        let Some(Some(buffer)) = self.buffers.get_mut(at) else { return true };
        let drained = self.lines[(port - first) as usize].drained(len, now);
        buffer.has_room(len.into(), drained, || {
            let ports = (layout.first[node] - first) as usize..(layout.own(node) - first) as usize;
            all_unsent(&self.lines[ports], now)
        })
    }

    /// A packet of `len` bytes has joined the queue of `port`.
    #[inline]
    fn take_shared_room(&mut self, port: u32, len: u16) {
        let node = &self.shared.layout.node;
        let at = (node[port as usize] - node[self.first_port as usize]) as usize;
        if let Some(Some(buffer)) = self.buffers.get_mut(at) {
            buffer.leave(len.into());
        }
    }

    /// Records a packet that has just been given to a line, if packets are recorded.
    #[inline]
    pub fn record(&mut self, port: u32, packet: &Packet, arrive: u64) {
        if let Some(recorder) = &mut self.recorder {
            let at = (port - self.first_port) as usize;
            recorder.note(at, &self.lines[at], packet, 0, arrive);
        }
    }

    /// Handles a packet that was offered to `port`, unless it was just sent.
    #[cold]
    fn settle(&mut self, port: u32, packet: &Packet, offer: &Offer, payloads: &mut Payloads) {
        let reason = match *offer {
            Offer::Held { port, now } => return self.hold(port, packet, now, payloads),
            Offer::Notified { now, time, to } => {
                self.record(port, packet, time);
                self.deliver(time, to, packet, payloads);
                return self.notify(port, packet, now);
            }
            Offer::Early => DropReason::Early,
            Offer::Down => DropReason::LinkDown,
            Offer::Full | Offer::Sent { .. } => DropReason::Full,
        };
        self.lose(packet, reason, payloads);
    }

    /// Counts a packet that was dropped between nodes.
    pub fn lose(&mut self, packet: &Packet, reason: DropReason, payloads: &mut Payloads) {
        self.reports.dropped[reason as usize] += 1;
        payloads.discard(packet);
    }

    /// The time and the place of the packet at `position` of the calendar. An event of the node itself, whose slot is `own_slot`,
    /// joins those of the window instead.
    #[inline(always)]
    pub fn arrival_at(&mut self, position: u32, own_slot: u32) -> Option<(u64, u32)> {
        let Entry { time, to, packet } = self.calendar.get(position);
        if to & PORT_MASK == own_slot {
            self.node_events.push(NodeEvent::new(*time, packet.flow, packet.seq));
            return None;
        }
        Some((*time, *to))
    }

    /// Schedules an event of `node` itself.
    #[inline]
    pub fn schedule(&mut self, node: usize, at: u64, code: u32, token: u32) {
        if at < self.window_end {
            self.node_events.push(NodeEvent::new(at, code, token));
        } else {
            let to = self.shared.layout.own(node);
            self.calendar.push_own(at, to, code, token);
        }
    }
}
