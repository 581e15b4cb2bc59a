//! The TCP connections of a host: they send segments, handle acknowledgements, and have timers.

use super::{Host, token};
use crate::frame::{ECT, Packet};
use crate::id::{FlowId, HostId};
use crate::node::Cx;
use crate::prefetch::prefetch_value;
use crate::time::Time;
use crate::transport::{Receiver, Sender, Transport};
use crate::workload::{Conn, When};

/// The fields that all packets of one direction of a connection share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) peer: HostId,
    conn: u32,
    entropy: u16,
    class: u8,
    flags: u8,
}

impl Header {
    fn packet(&self, now: Time) -> Packet {
        Packet {
            dst: self.peer,
            flow: self.conn,
            stamp: now.as_ns() as u32,
            entropy: self.entropy,
            class: self.class,
            flags: self.flags,
            ..Packet::default()
        }
    }
}

/// The sending end of a connection.
pub(super) struct TcpSender {
    pub(super) sender: Sender,
    pub(super) header: Header,
    /// Whether it waits in the queue for room in the network card.
    blocked: bool,
    /// Whether it gets messages about paths, which only some hosts receive.
    pub(super) listening: bool,
    /// The earliest wake-up that was requested and has not happened yet.
    wake: Time,
    /// The flow to which the next retransmissions and time-outs are attributed.
    flow: u32,
    first_flow: u32,
    /// The retransmissions and time-outs that are already attributed.
    attributed: (u32, u32),
}

/// The receiving end of a connection.
pub(super) struct TcpReceiver {
    receiver: Receiver,
    header: Header,
    wake: Time,
    /// Flow being received, and its segments and those of earlier ones.
    flow: u32,
    boundary: u32,
    last_flow: u32,
}

impl TcpSender {
    fn new(host: &Host, conn: u32, flow: u32) -> TcpSender {
        let info = host.plan.conn(conn);
        let transport = &host.plan.transport;
        TcpSender {
            sender: Sender::new(transport),
            header: Header {
                peer: info.dst,
                conn,
                entropy: host.plan.entropy(conn),
                class: info.class,
                flags: if transport.ecn() { ECT } else { 0 },
            },
            blocked: false,
            listening: false,
            wake: Time::MAX,
            flow,
            first_flow: flow,
            attributed: (0, 0),
        }
    }

    /// Requests what is needed soon.
    #[inline]
    pub(super) fn expect(&self) {
        self.sender.expect();
        prefetch_value(&self.header);
        prefetch_value(&self.wake);
    }

    #[inline(always)]
    fn next_packet(&mut self, transport: &Transport, now: Time) -> Option<Packet> {
        let segment = self.sender.next_segment(transport, now)?;
        let mut packet = self.header.packet(now);
        packet.seq = segment.seq;
        packet.len = transport.data_len(segment.payload);
        packet.flags |= segment.flags;
        Some(packet)
    }
}

impl TcpReceiver {
    /// Requests what is needed soon.
    #[inline]
    pub(super) fn expect(&self) {
        prefetch_value(&self.receiver);
        prefetch_value(&self.wake);
    }

    /// The end of a connection that has received nothing, or that was freed when it had received its only flow.
    fn new(host: &Host, conn: u32, ordinal: usize) -> TcpReceiver {
        let info = host.plan.conn(conn);
        let mut receiver = TcpReceiver {
            receiver: Receiver::new(),
            header: Header {
                peer: info.src,
                conn,
                entropy: host.plan.entropy_back(conn),
                class: info.class,
                flags: 0,
            },
            wake: Time::MAX,
            flow: info.first.0,
            boundary: 0,
            last_flow: info.first.0 + info.count,
        };
        receiver.extend(host);
        let first = host.received[host.received_first[ordinal] as usize];
        if info.count == 1 && first.finished < Time::MAX {
            receiver.receiver = Receiver::after(receiver.boundary);
            (receiver.flow, receiver.boundary) = (receiver.last_flow, u32::MAX);
        }
        receiver
    }

    /// Adds the segments of the flow that is now being received.
    fn extend(&mut self, host: &Host) {
        let bytes = host.plan.flow(self.flow).bytes;
        self.boundary += host.plan.transport.segments(bytes);
    }
}

impl Host {
    pub(super) fn start_tcp(&mut self, place: usize, flow: u32, cx: &mut Cx<'_>) {
        if self.senders[place].is_none() {
            let sender = TcpSender::new(self, self.conn_at(place), flow);
            self.senders[place] = Some(Box::new(sender));
        }
        let begins = self.plan.conn(self.conn_at(place)).first.0 == flow;
        if let Some(after) = self.plan.gives_up(self.conn_at(place)).filter(|_| begins) {
            cx.wake(cx.now.after(after), token::GIVE_UP | place as u32);
        }
        let bytes = self.plan.flow(flow).bytes;
        if let Some(tcp) = &mut self.senders[place] {
            tcp.sender.push(FlowId(flow), bytes, &self.plan.transport, cx.now);
        }
        self.listen(place);
        self.pump(place, cx);
    }

    /// The application has waited long enough, so nothing more of the connection is sent.
    pub(super) fn give_up(&mut self, place: usize) {
        if let Some(tcp) = &mut self.senders[place] {
            tcp.sender.abandon();
        }
    }

    /// Sends as much as the window and the network card allow.
    pub(super) fn pump(&mut self, place: usize, cx: &mut Cx<'_>) {
        let Some(mut tcp) = self.senders[place].take() else { return };
        loop {
            let room = self.nic.blocked.is_empty()
                && self.nic.has_room(tcp.header.peer, tcp.header.entropy, cx.now);
            if !room {
                self.block(place, &mut tcp, cx);
                break;
            }
            let Some(packet) = tcp.next_packet(&self.plan.transport, cx.now) else { break };
            self.emit(packet, cx);
        }
        self.arm_timeout(place, &mut tcp, cx);
        self.senders[place] = Some(tcp);
    }

    /// Waits for room in the network card, in turn with other connections.
    fn block(&mut self, place: usize, tcp: &mut TcpSender, cx: &mut Cx<'_>) {
        if !tcp.blocked && tcp.sender.can_send(&self.plan.transport) {
            tcp.blocked = true;
            self.nic.blocked.push_back(place as u32);
            self.ask_resume(cx);
        }
    }

    fn ask_resume(&mut self, cx: &mut Cx<'_>) {
        if !self.nic.resuming && self.nic.is_fifo() {
            self.nic.resuming = true;
            cx.wake(self.nic.resume_at().max(cx.now), token::RESUME);
        }
    }

    /// There is room in the network card again. Blocked connections take turns to send one packet each.
    pub(super) fn resume(&mut self, cx: &mut Cx<'_>) {
        while let Some(&place) = self.nic.blocked.front() {
            let place = place as usize;
            if let Some(tcp) = &self.senders[place]
                && !self.nic.has_room(tcp.header.peer, tcp.header.entropy, cx.now)
            {
                return self.ask_resume(cx);
            }
            self.nic.blocked.pop_front();
            let Some(mut tcp) = self.senders[place].take() else { continue };
            match tcp.next_packet(&self.plan.transport, cx.now) {
                Some(packet) => {
                    self.emit(packet, cx);
                    self.nic.blocked.push_back(place as u32);
                }
                None => tcp.blocked = false,
            }
            self.arm_timeout(place, &mut tcp, cx);
            self.senders[place] = Some(tcp);
        }
    }

    /// Wake-ups are not cancelled, so one is requested only if no earlier one will come.
    #[inline]
    fn arm_timeout(&mut self, place: usize, tcp: &mut TcpSender, cx: &mut Cx<'_>) {
        if let Some(deadline) = tcp.sender.deadline()
            && deadline < tcp.wake
        {
            tcp.wake = deadline;
            cx.wake(deadline, token::TIMEOUT | place as u32);
        }
    }

    pub(super) fn on_ack(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let place = self.place(packet.flow);
        let Some(tcp) = &mut self.senders[place] else { return };
        tcp.sender.on_ack(packet, &self.plan.transport, cx.now);
        while let Some(flow) = self.senders[place].as_mut().and_then(|tcp| tcp.sender.poll_acked())
        {
            self.attribute(place, flow.0);
            self.flow_done(flow.0, When::Acked, cx);
        }
        self.pump(place, cx);
        self.release_sender(place);
    }

    /// Frees the sending end of a connection whose only flow is acknowledged: neither acknowledgements nor wake-ups that
    /// come later have an effect. Flows that begin later reuse its memory, which is in the cache.
    fn release_sender(&mut self, place: usize) {
        let Some(tcp) = &self.senders[place] else { return };
        let in_use = tcp.blocked || tcp.listening || tcp.flow == tcp.first_flow;
        if !in_use && self.plan.conn(tcp.header.conn).count == 1 {
            self.senders[place] = None;
        }
    }

    /// Attributes the connection's new retransmissions and time-outs to `flow`.
    fn attribute(&mut self, place: usize, flow: u32) {
        let at = self.sent_place(flow);
        let Some(tcp) = &mut self.senders[place] else { return };
        let (retransmissions, timeouts) = tcp.sender.losses();
        let sent = &mut self.sent[at];
        sent.retransmissions += retransmissions - tcp.attributed.0;
        sent.timeouts += timeouts - tcp.attributed.1;
        tcp.attributed = (retransmissions, timeouts);
        tcp.flow = tcp.flow.max(flow + 1);
    }

    pub(super) fn on_timeout(&mut self, place: usize, cx: &mut Cx<'_>) {
        let Some(tcp) = &mut self.senders[place] else { return };
        tcp.wake = Time::MAX;
        if tcp.sender.deadline().is_some_and(|deadline| deadline <= cx.now) {
            tcp.sender.on_timeout(&self.plan.transport, cx.now);
        }
        self.pump(place, cx);
    }

    pub(super) fn on_data(&mut self, packet: &Packet, cx: &mut Cx<'_>) {
        let ordinal = self.plan.rx_ordinal(packet.flow) as usize;
        if self.receivers[ordinal].is_none() {
            self.receivers[ordinal] = Some(Box::new(TcpReceiver::new(self, packet.flow, ordinal)));
        }
        let Some(tcp) = &mut self.receivers[ordinal] else { return };
        let reply = tcp.receiver.on_data(packet, &self.plan.transport, cx.now);
        let acknowledged =
            reply.map(|reply| reply.fill(tcp.header.packet(cx.now), &self.plan.transport));
        if tcp.receiver.delivered() >= tcp.boundary {
            self.deliver(ordinal, cx);
        }
        if let Some(ack) = acknowledged {
            self.emit(ack, cx);
        }
        if self.plan.transport.delayed_ack() > Time::ZERO {
            self.arm_acknowledgement(ordinal, cx);
        }
    }

    /// The flow that is being received is complete, and perhaps later ones of the connection.
    fn deliver(&mut self, ordinal: usize, cx: &mut Cx<'_>) {
        let Some(mut tcp) = self.receivers[ordinal].take() else { return };
        let Conn { first, count, .. } = *self.plan.conn(tcp.header.conn);
        while tcp.receiver.delivered() >= tcp.boundary && tcp.flow < tcp.last_flow {
            let flow = tcp.flow;
            let at = self.received_first[ordinal] + (flow - first.0);
            let bytes = self.plan.flow(flow).bytes;
            self.received[at as usize] = super::Received { finished: cx.now, bytes };
            tcp.flow += 1;
            if tcp.flow < tcp.last_flow {
                tcp.extend(self);
            } else {
                tcp.boundary = u32::MAX;
            }
            cx.complete(flow);
            self.flow_done(flow, When::Received, cx);
        }
        // The end of a connection whose only flow is there is freed: those of later flows reuse its memory, which is in
        // the cache.
        let is_last = tcp.flow == tcp.last_flow && count == 1;
        if !(is_last && tcp.receiver.is_over(&self.plan.transport)) {
            self.receivers[ordinal] = Some(tcp);
        }
    }

    fn arm_acknowledgement(&mut self, ordinal: usize, cx: &mut Cx<'_>) {
        let Some(tcp) = &mut self.receivers[ordinal] else { return };
        if let Some(deadline) = tcp.receiver.deadline()
            && deadline < tcp.wake
        {
            tcp.wake = deadline;
            cx.wake(deadline, token::ACKNOWLEDGE | ordinal as u32);
        }
    }

    /// The delayed-acknowledgement timer.
    pub(super) fn acknowledge_late(&mut self, ordinal: usize, cx: &mut Cx<'_>) {
        let Some(tcp) = &mut self.receivers[ordinal] else { return };
        tcp.wake = Time::MAX;
        let due = tcp.receiver.deadline().is_some_and(|deadline| deadline <= cx.now);
        if let Some(reply) = due.then(|| tcp.receiver.on_timeout()).flatten() {
            let ack = reply.fill(tcp.header.packet(cx.now), &self.plan.transport);
            self.emit(ack, cx);
        } else {
            self.arm_acknowledgement(ordinal, cx);
        }
    }

    /// Records the results of unfinished flows at the end of a run.
    pub fn book_unfinished(&mut self) {
        for place in 0..self.senders.len() {
            if let Some(tcp) = &self.senders[place] {
                let conn = self.plan.conn(tcp.header.conn);
                let flow = tcp.flow.min(conn.first.0 + conn.count - 1);
                self.attribute(place, flow);
            }
        }
        for ordinal in 0..self.receivers.len() {
            if let Some(tcp) = &self.receivers[ordinal]
                && tcp.flow < tcp.last_flow
            {
                let transport = &self.plan.transport;
                let flow = self.plan.flow(tcp.flow);
                let missing = u64::from(tcp.boundary - tcp.receiver.delivered());
                let first = self.plan.conn(tcp.header.conn).first.0;
                let at = self.received_first[ordinal] + (tcp.flow - first);
                self.received[at as usize].bytes =
                    flow.bytes.saturating_sub(missing * u64::from(transport.mss()));
            }
        }
    }
}
