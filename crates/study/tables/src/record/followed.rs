//! Detailed records: the events of single flows, the schedule, and the packets of a port.

use slotline_net::frame::Packet;

/// What happened to a followed flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The sender put a segment on its link for the first time.
    Sent,
    /// The sender put a segment on its link again.
    Resent,
    /// The sender got an acknowledgement for all bytes below `bytes`.
    Acknowledged,
}

impl Step {
    /// The name in results.
    pub const fn key(self) -> &'static str {
        match self {
            Step::Sent => "sent",
            Step::Resent => "resent",
            Step::Acknowledged => "acknowledged",
        }
    }
}

/// A point of a time-sequence graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceRow {
    /// The flow's number in the run.
    pub flow: u32,
    /// Time, in picoseconds.
    pub t_ps: u64,
    /// The event.
    pub step: Step,
    /// Payload bytes of the flow: the end of the segment, or all that is acknowledged.
    pub bytes: u64,
}

/// A span of time in which a central scheduler permitted a host to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScheduleRow {
    /// Its beginning, in picoseconds.
    pub from_ps: u64,
    /// Its end, not included, in picoseconds.
    pub until_ps: u64,
    /// The sending host.
    pub src: u32,
    /// The only host it may send to.
    pub dst: u32,
    /// Its rate limit in bits per second; 0 if only its link limits it.
    pub rate_bps: u64,
}

/// A packet at the time at which it left a captured port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CapturedPacket {
    /// When its first bit left, in picoseconds.
    pub t_ps: u64,
    /// Host that made it; its destination is in the packet.
    pub src: u32,
    /// The packet, with the marks that it had when it left.
    pub packet: Packet,
    /// In an emulation, the beginning of the real IP packet in hexadecimal; otherwise empty.
    pub head: String,
}

/// The packets that left a port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// Index into [`super::RunRecord::ports`].
    pub port: u32,
    /// Packets in the order they left.
    pub packets: Vec<CapturedPacket>,
    /// Number of packets that left after the limit was reached. They are not in the record.
    pub omitted: u64,
}
