//! The sending end of a connection: it chooses the next segment, and handles acknowledgements.

mod easing;
mod loss_detection;
mod messages;
mod path_notice;
mod rack_tlp;

use super::congestion::{Ack, Algorithm, Congestion, Loss};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use super::spec::Transport;
use crate::frame::{CWR, ECE, PUSH, Packet, RETRANSMITTED, TIMED_OUT};
use crate::id::FlowId;
use crate::prefetch::prefetch_value;
use crate::time::Time;
use easing::Easing;
use loss_detection::LossDetection;
use messages::{Message, Messages};
use path_notice::PathNotice;

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its number on the connection.
    pub seq: u32,
    /// Its payload in bytes.
    pub payload: u32,
    /// [`RETRANSMITTED`], [`PUSH`], [`CWR`], [`TIMED_OUT`].
    pub flags: u8,
}

/// The sending end of a connection.
#[derive(Debug)]
pub struct Sender {
    una: u32,
    nxt: u32,
    end: u32,
    /// Loss recovery lasts until this segment is acknowledged.
    recover: u32,
    /// The next reaction to ECN is only due beyond this segment.
    echo_until: u32,
    recovering: bool,
    /// Whether nothing was acknowledged since the retransmission timer expired.
    timed_out: bool,
    announce_cwr: bool,
    algorithm: Algorithm,
    rtt: Rtt,
    board: Option<Box<Scoreboard>>,
    detection: LossDetection,
    /// The reduction of the window over a round trip, after a mark was echoed.
    easing: Option<Easing>,
    /// The last message about paths from the rack's switch.
    notice: Option<PathNotice>,
    deadline: Time,
    last_sent: Time,
    messages: Messages,
    retransmissions: u32,
    timeouts: u32,
}

impl Sender {
    /// Requests what is needed soon.
    #[inline]
    pub fn expect(&self) {
        prefetch_value(&self.algorithm);
        prefetch_value(&self.rtt);
        prefetch_value(&self.detection);
        prefetch_value(&self.messages);
        prefetch_value(&self.una);
    }

    /// A connection that has sent nothing.
    pub fn new(transport: &Transport) -> Sender {
        Sender {
            una: 0,
            nxt: 0,
            end: 0,
            recover: 0,
            echo_until: 0,
            recovering: false,
            timed_out: false,
            announce_cwr: false,
            algorithm: transport.congestion(),
            rtt: Rtt::new(),
            board: None,
            detection: LossDetection::new(transport),
            easing: None,
            notice: None,
            deadline: Time::MAX,
            last_sent: Time::ZERO,
            messages: Messages::default(),
            retransmissions: 0,
            timeouts: 0,
        }
    }

    /// Appends a message of `bytes` to the stream.
    pub fn push(&mut self, flow: FlowId, bytes: u64, transport: &Transport, now: Time) {
        let idle = self.una == self.end && self.nxt > 0;
        if idle && transport.idle_restart() && now.since(self.last_sent) > self.timeout(transport) {
            self.algorithm.restart(transport.initial_window());
        }
        let segments = transport.segments(bytes);
        let before = u64::from(segments - 1) * u64::from(transport.mss());
        self.end += segments;
        let last_payload = (bytes - before) as u32;
        self.messages.push(Message { flow, end: self.end, last_payload });
    }

    /// The present retransmission time-out.
    #[inline]
    fn timeout(&self, transport: &Transport) -> Time {
        match &self.detection {
            LossDetection::PerPath(paths) => paths.timeout(&transport.rto_limits()),
            _ => self.rtt.timeout(&transport.rto_limits()),
        }
    }

    /// The segments that are probably in the network. With a state for each path, only those of the present path
    /// count.
    #[inline]
    fn pipe(&self) -> u32 {
        match &self.detection {
            LossDetection::PerPath(paths) => paths.pipe(),
            _ => self.nxt - self.una - self.board.as_ref().map_or(0, |board| board.absent()),
        }
    }

    /// Whether the window allows a segment now, or a probe is due.
    #[inline]
    fn has_room(&self) -> bool {
        let window = self.easing.as_ref().map_or_else(|| self.algorithm.window(), Easing::window);
        let window = match &self.detection {
            LossDetection::Rack(rack) => rack.window(window),
            _ => window,
        };
        self.pipe() < window
    }

    /// Whether window and data allow a segment now.
    #[inline]
    pub fn can_send(&mut self, transport: &Transport) -> bool {
        let fresh = self.nxt < self.end && self.nxt - self.una < transport.max_window();
        self.has_room()
            && (fresh
                || self.board.as_mut().is_some_and(|b| b.next_lost().is_some())
                || self.detection.has_more())
    }

    /// The next segment to send now, if window and data allow. Lost segments come first.
    #[inline]
    pub fn next_segment(&mut self, transport: &Transport, now: Time) -> Option<Segment> {
        if !self.has_room() {
            return None;
        }
        let lost = match &mut self.detection {
            LossDetection::Sack => {
                self.board.as_mut().and_then(|board| board.retransmit(Some(self.nxt)))
            }
            LossDetection::Rack(_) => self.lost_by_time(transport),
            LossDetection::PerPath(paths) => paths.send_again(),
        };
        if lost.is_none() && (self.nxt == self.end || self.nxt - self.una >= transport.max_window())
        {
            return None;
        }
        if self.deadline == Time::MAX {
            self.deadline = now + self.timeout(transport);
        }
        self.last_sent = now;
        self.easing.iter_mut().for_each(Easing::send);
        let (seq, mut flags) = match lost {
            Some(seq) => {
                self.retransmissions += 1;
                (seq, RETRANSMITTED | if self.timed_out { TIMED_OUT } else { 0 })
            }
            None => {
                self.nxt += 1;
                if let Some(paths) = self.detection.paths_mut() {
                    paths.send();
                }
                (self.nxt - 1, if std::mem::take(&mut self.announce_cwr) { CWR } else { 0 })
            }
        };
        if self.detection.is_rack() {
            self.sent_in_time(seq, lost.is_some(), transport, now);
        }
        let (payload, last) = self.payload_of(seq, transport.mss());
        flags |= if last { PUSH } else { 0 };
        Some(Segment { seq, payload, flags })
    }

    /// A segment's payload, and whether it ends a message.
    #[inline]
    fn payload_of(&self, seq: u32, mss: u32) -> (u32, bool) {
        match self.messages.with(seq) {
            Some(message) if seq + 1 == message.end => (message.last_payload, true),
            _ => (mss, false),
        }
    }

    /// An acknowledgement arrived.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, transport: &Transport, now: Time) {
        let ack = packet.seq;
        if ack > self.nxt || ack < self.una {
            return;
        }
        if self.detection.is_per_path() {
            return self.on_ack_by_path(packet, transport, now);
        }
        let flight = self.pipe();
        let before = self.una;
        let advanced = ack > before;
        let rtt = (now.as_ns() as u32).wrapping_sub(packet.stamp);
        let mut news = ack - before;
        self.una = ack;
        if advanced {
            self.rtt.sample(rtt);
            self.deadline = match self.nxt > ack {
                true => now + self.rtt.timeout(&transport.rto_limits()),
                false => Time::MAX,
            };
        }
        if self.board.is_some() || packet.sack[0].end > 0 {
            news = self.process_sack(packet, transport, flight, now);
        } else if let Some(rack) = self.detection.rack_mut() {
            rack.receive(before..ack, packet.stamp, now);
        }
        let echo = self.hear_echo(packet);
        self.end_easing();
        if news > 0 || echo {
            let before = self.algorithm.window();
            let circuit = self.circuits_at(packet, rtt, now).announced();
            self.algorithm.on_ack(
                &Ack {
                    acked: news,
                    una: self.una,
                    nxt: self.nxt,
                    echo,
                    circuit,
                    rtt: advanced.then_some(Time::ns(u64::from(rtt))),
                    srtt: self.rtt.smoothed(),
                    limited: 2 * flight >= before,
                    recovering: self.recovering || self.easing.is_some(),
                },
                now,
            );
            if self.easing.is_some() || (echo && transport.eases()) {
                self.ease(before, news);
            }
        }
        if self.detection.is_rack() {
            self.acknowledged_in_time(packet, advanced, news, transport, now);
        }
    }

    /// Whether congestion is echoed. If so, the next segment carries CWR.
    #[inline]
    fn hear_echo(&mut self, packet: &Packet) -> bool {
        let echo = packet.flags & ECE != 0;
        if echo && packet.seq > self.echo_until {
            self.echo_until = self.nxt;
            self.announce_cwr = true;
        }
        echo
    }

    /// As [`Self::on_ack`], with a state for each path.
    fn on_ack_by_path(&mut self, packet: &Packet, transport: &Transport, now: Time) {
        let Some(mut paths) = self.detection.take_paths() else { return };
        let advanced = packet.seq > self.una;
        let rtt = (now.as_ns() as u32).wrapping_sub(packet.stamp);
        self.una = packet.seq;
        if advanced {
            self.timed_out = false;
            paths.sample(packet.circuits.taken(), rtt);
            self.deadline = match self.nxt > self.una {
                true => now + paths.timeout(&transport.rto_limits()),
                false => Time::MAX,
            };
        }
        let echo = self.hear_echo(packet);
        let circuits = self.circuits_at(packet, rtt, now);
        paths.activate(circuits.active());
        for news in paths.on_ack(packet, self.nxt) {
            self.algorithm.select(news.path);
            if news.lost {
                self.algorithm.on_loss(Loss::Fast { flight: news.flight }, now);
            }
            let echo = echo && news.path == packet.circuits.taken();
            if news.acked == 0 && !echo {
                continue;
            }
            let ack = Ack {
                acked: news.acked,
                una: self.una,
                nxt: self.nxt,
                echo,
                circuit: circuits.announced(),
                rtt: advanced.then_some(Time::ns(u64::from(rtt))),
                srtt: paths.smoothed(news.path),
                limited: 2 * news.flight >= self.algorithm.window(),
                recovering: news.recovering,
            };
            self.algorithm.on_ack(&ack, now);
        }
        self.algorithm.select(paths.active());
        self.detection = LossDetection::PerPath(paths);
    }

    /// Handles selective acknowledgements: received and lost segments, and the beginning and end of recovery. Returns
    /// the number of segments newly known to be received.
    #[cold]
    fn process_sack(
        &mut self,
        packet: &Packet,
        transport: &Transport,
        flight: u32,
        now: Time,
    ) -> u32 {
        let una = self.una;
        self.timed_out = false;
        let fresh = || Box::new(Scoreboard::new(una, transport.max_window()));
        let board = self.board.get_or_insert_with(fresh);
        let repaired = una >= self.recover;
        let news = match self.detection.rack_mut() {
            None => {
                let news = board.advance(una, |_| ());
                let selective = board.receive(una, &packet.sack, self.nxt, |_| ());
                board.judge();
                news + selective
            }
            Some(rack) => {
                let recovering = self.recovering && !repaired;
                rack.process_sack(
                    board,
                    packet,
                    una..self.nxt,
                    recovering,
                    self.rtt.smoothed(),
                    now,
                )
            }
        };
        let clean = board.is_clean();
        self.recovering &= !repaired;
        self.begin_recovery(flight, now);
        if clean && !self.recovering {
            self.board = None;
        }
        news
    }

    /// Begins recovery if a new loss is detected.
    fn begin_recovery(&mut self, flight: u32, now: Time) {
        let has_lost = self.board.as_ref().is_some_and(|board| board.has_lost());
        if !has_lost || self.recovering || self.una < self.recover {
            return;
        }
        self.recovering = true;
        self.easing = None;
        self.recover = self.nxt;
        self.algorithm.on_loss(Loss::Fast { flight }, now);
        let (outstanding, pipe) = (self.nxt - self.una, self.pipe());
        if let Some(rack) = self.detection.rack_mut() {
            rack.reduce(outstanding, self.algorithm.window(), pipe);
        }
    }

    /// A timer has expired. If it is the retransmission timer, all segments that are not acknowledged are sent
    /// again.
    pub fn on_timeout(&mut self, transport: &Transport, now: Time) {
        if self.una == self.nxt {
            self.deadline = Time::MAX;
            return;
        }
        if self.detection.is_rack() && self.expire_early(transport, now) {
            return;
        }
        self.timeouts += 1;
        self.timed_out = true;
        match self.detection.take_paths() {
            None => self.lose_all(transport, now),
            Some(mut paths) => {
                for (path, flight) in paths.on_timeout(self.nxt) {
                    self.algorithm.select(path);
                    self.algorithm.on_loss(Loss::Timeout { flight }, now);
                }
                self.algorithm.select(paths.active());
                self.detection = LossDetection::PerPath(paths);
            }
        }
        self.deadline = now + self.timeout(transport);
        if let Some(rack) = self.detection.rack_mut() {
            rack.restart(self.deadline);
        }
    }

    fn lose_all(&mut self, transport: &Transport, now: Time) {
        let flight = self.pipe();
        let una = self.una;
        let fresh = || Box::new(Scoreboard::new(una, transport.max_window()));
        let board = self.board.get_or_insert_with(fresh);
        board.advance(una, |_| ());
        board.lose_all(self.nxt);
        self.recovering = false;
        self.easing = None;
        self.recover = self.nxt;
        self.rtt.back_off();
        self.algorithm.on_loss(Loss::Timeout { flight }, now);
    }

    /// The time at which [`Self::on_timeout`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::MAX).then_some(self.deadline)
    }

    /// Aborts the connection. It sends nothing more, and ignores acknowledgements. Unacknowledged messages stay
    /// unacknowledged.
    pub fn abandon(&mut self) {
        (self.una, self.end) = (self.nxt, self.nxt);
        (self.board, self.recovering, self.easing) = (None, false, None);
        self.detection.stop_rack();
        self.deadline = Time::MAX;
        self.messages.clear();
    }

    /// The next message that is fully acknowledged. Each is returned once.
    #[inline]
    pub fn poll_acked(&mut self) -> Option<FlowId> {
        let first = self.messages.first().filter(|first| first.end <= self.una)?.flow;
        self.messages.remove_first();
        Some(first)
    }

    /// The numbers of retransmitted segments and of time-outs so far.
    pub fn losses(&self) -> (u32, u32) {
        (self.retransmissions, self.timeouts)
    }

    /// The congestion window in segments.
    pub fn window(&self) -> u32 {
        self.algorithm.window()
    }

    /// Whether everything pushed is acknowledged.
    pub fn is_idle(&self) -> bool {
        self.una == self.end
    }
}
