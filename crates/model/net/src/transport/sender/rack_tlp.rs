//! A sender with loss detection by time and tail loss probes (RACK-TLP, RFC 8985), and with proportional rate
//! reduction (RFC 6937).
//!
//! After a time-out all segments are sent again, as in RFC 6675 and in Linux up to 4.19. RFC 8985 (section 6.3)
//! excludes segments that were sent less than a round trip before.

use super::super::probe::{self, Probes};
use super::super::rack::Rack;
use super::super::reduction::Reduction;
use super::super::scoreboard::Scoreboard;
use super::loss_detection::LossDetection;
use super::{Congestion, Loss, Sender, Transport};
use crate::frame::Packet;
use crate::time::Time;
use std::ops::Range;

/// The additional state of such a sender.
#[derive(Debug)]
pub(super) struct RackTlp {
    rack: Rack,
    /// The probes, if they are enabled.
    probes: Option<Probes>,
    reduction: Option<Reduction>,
    /// The time at which the retransmission timer expires.
    retransmit_at: Time,
    /// The time at which more segments count as lost, if nothing else is received.
    reorder_at: Time,
    slack: Time,
}

impl RackTlp {
    pub fn new(transport: &Transport) -> RackTlp {
        RackTlp {
            rack: Rack::new(),
            probes: transport.tail_loss_probe().then(Probes::new),
            reduction: None,
            retransmit_at: Time::MAX,
            reorder_at: Time::MAX,
            slack: transport.timer_slack(),
        }
    }

    /// Whether a probe must be sent now.
    pub fn is_probing(&self) -> bool {
        self.probes.as_ref().is_some_and(|probes| probes.pending)
    }

    /// The effective window now, if the congestion control has `window`.
    #[inline]
    pub fn window(&self, window: u32) -> u32 {
        match &self.reduction {
            _ if self.is_probing() => u32::MAX,
            None => window,
            Some(reduction) => reduction.window(),
        }
    }

    /// Recovery begins.
    pub fn reduce(&mut self, outstanding: u32, target: u32, pipe: u32) {
        self.reduction = Some(Reduction::new(outstanding, target, pipe));
    }

    /// The next segments in order are received.
    #[inline]
    pub fn receive(&mut self, segments: Range<u32>, stamp: u32, now: Time) {
        segments.for_each(|segment| self.rack.receive(segment, stamp, now));
    }

    /// Handles an acknowledgement. Segments below the range `outstanding` are acknowledged, and those above it were
    /// never sent. Returns the number of newly acknowledged segments.
    pub fn process_sack(
        &mut self,
        board: &mut Scoreboard,
        packet: &Packet,
        outstanding: Range<u32>,
        recovering: bool,
        srtt: Time,
        now: Time,
    ) -> u32 {
        let mut spans = packet.sack;
        spans.sort_unstable_by_key(|span| span.start);
        let mut received = |segment| self.rack.receive(segment, packet.stamp, now);
        let news = board.advance(outstanding.start, &mut received)
            + board.receive(outstanding.start, &spans, outstanding.end, &mut received);
        self.detect(board, recovering, srtt, now);
        news
    }

    fn detect(&mut self, board: &mut Scoreboard, recovering: bool, srtt: Time, now: Time) {
        let patience = self.rack.patience(recovering, board.sacked(), srtt);
        let later = self.rack.detect(board, patience, now);
        self.reorder_at = later.map_or(Time::MAX, |at| at.after(self.slack));
    }

    /// The retransmission timer has expired; its next time is `deadline`.
    pub fn restart(&mut self, deadline: Time) {
        self.reduction = None;
        (self.retransmit_at, self.reorder_at) = (deadline, Time::MAX);
        self.probes.iter_mut().for_each(Probes::reset);
    }

    /// The time of the earliest timer.
    fn deadline(&self) -> Time {
        let probe = self.probes.as_ref().map_or(Time::MAX, |probes| probes.at);
        self.retransmit_at.min(self.reorder_at).min(probe)
    }
}

impl Sender {
    /// Whether recovery is in progress, or segments beyond a hole were received.
    fn is_repairing(&self) -> bool {
        self.recovering || self.board.as_ref().is_some_and(|board| !board.is_clean())
    }

    /// The next segment to be sent again: a lost one, or for a probe the last one if there is no new one.
    pub(super) fn lost_by_time(&mut self, transport: &Transport) -> Option<u32> {
        if !self.detection.has_more() {
            return self.board.as_mut().and_then(|board| board.retransmit(None));
        }
        let fresh = self.nxt < self.end && self.nxt - self.una < transport.max_window();
        (!fresh && self.nxt > self.una).then(|| self.nxt - 1)
    }

    /// Segment `seq` is sent, for the first time or `again`.
    pub(super) fn sent_in_time(&mut self, seq: u32, again: bool, transport: &Transport, now: Time) {
        let rto = self.timeout(transport);
        let Some(mut rack) = self.detection.take_rack() else { return };
        if rack.retransmit_at == Time::MAX {
            rack.retransmit_at = self.deadline;
        }
        rack.rack.send(seq, again, now);
        rack.reduction.iter_mut().for_each(Reduction::send);
        if rack.is_probing() {
            rack.retransmit_at = now + rto;
            rack.probes.iter_mut().for_each(|probes| probes.send(self.nxt, again));
        } else if !again {
            self.schedule_probe(&mut rack, transport, now);
        }
        self.deadline = rack.deadline();
        self.detection = LossDetection::Rack(rack);
    }

    /// A probe is due two round trips after the last new segment or acknowledgement, unless losses are being
    /// repaired (section 7.2).
    fn schedule_probe(&self, rack: &mut RackTlp, transport: &Transport, now: Time) {
        let Some(probes) = &mut rack.probes else { return };
        let under_way = self.nxt - self.una;
        if under_way == 0 || self.is_repairing() || self.una < self.recover {
            return probes.cancel();
        }
        // Like Linux, which takes the smallest time-out for the longest delay of an acknowledgement.
        let delay = transport.rto_limits().min;
        let timeout = probe::timeout(self.rtt.smoothed(), under_way, delay, rack.slack);
        probes.schedule(now, timeout, rack.retransmit_at);
    }

    /// Sets the timers after an acknowledgement of `news` segments.
    pub(super) fn acknowledged_in_time(
        &mut self,
        packet: &Packet,
        advanced: bool,
        news: u32,
        transport: &Transport,
        now: Time,
    ) {
        let (pipe, rto) = (self.pipe(), self.timeout(transport));
        let Some(mut rack) = self.detection.take_rack() else { return };
        rack.rack.forget(self.una);
        match &mut rack.reduction {
            Some(reduction) if self.recovering => reduction.on_ack(news, pipe),
            reduction => *reduction = None,
        }
        let repaired = rack
            .probes
            .as_mut()
            .is_some_and(|probes| probes.on_ack(self.una, advanced, packet.sack[0].end > 0));
        if repaired && !self.recovering && self.una >= self.recover {
            self.algorithm.on_loss(Loss::Fast { flight: pipe + news }, now);
        }
        if self.nxt == self.una {
            (rack.retransmit_at, rack.reorder_at) = (Time::MAX, Time::MAX);
        } else if advanced {
            rack.retransmit_at = now + rto;
        }
        if self.board.is_none() {
            rack.reorder_at = Time::MAX;
        }
        if advanced || self.is_repairing() {
            self.schedule_probe(&mut rack, transport, now);
        }
        self.deadline = rack.deadline();
        self.detection = LossDetection::Rack(rack);
    }

    /// Handles an expired timer other than the retransmission timer: the wait for late segments ends, or a probe is
    /// due. Returns whether there was one.
    pub(super) fn expire_early(&mut self, transport: &Transport, now: Time) -> bool {
        let flight = self.pipe();
        let rto = self.timeout(transport);
        let Some(rack) = self.detection.rack_mut() else { return false };
        let probe = rack.probes.as_mut().filter(|probes| probes.at <= now);
        if rack.reorder_at <= now {
            rack.reorder_at = Time::MAX;
            if let Some(board) = &mut self.board {
                rack.detect(board, self.recovering, self.rtt.smoothed(), now);
            }
            self.begin_recovery(flight, now);
            let pipe = self.pipe();
            let rack = self.detection.rack_mut();
            let reduction = rack.and_then(|rack| rack.reduction.as_mut());
            reduction.into_iter().for_each(|reduction| reduction.on_ack(0, pipe));
        } else if let Some(probes) = probe {
            probes.cancel();
            probes.pending = true;
            rack.retransmit_at = now + rto;
        } else {
            return false;
        }
        self.deadline = self.detection.rack_mut().map_or(Time::MAX, |rack| rack.deadline());
        true
    }
}
