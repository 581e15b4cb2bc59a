//! The parts of a flow's completion time.

/// What a flow did or waited for. The parts of a flow's completion time add up to it exactly. They are the sections of
/// its critical path from the first byte sent to the last byte received: the chain of packets and acknowledgements in
/// which each had to happen before the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum Part {
    /// Held back in the sending host until a central scheduler permitted it to leave.
    Grant,
    /// Waiting for the sending host's network card, behind other packets of that host.
    Card,
    /// Waiting in the queue of a switch port.
    Queue,
    /// Waiting in a rack's switch for a circuit, on which it then left.
    Circuit,
    /// Transmission onto a link.
    Serialising,
    /// Propagation along a link.
    Propagating,
    /// Reaction of hosts: processing, delayed acknowledgements.
    Host,
    /// Retransmitted segments in flight, until they arrived.
    Retransmitting,
    /// Silence until a retransmission timer expired.
    Timeout,
    /// Unknown, because the packets were not followed.
    Unknown,
}

impl Part {
    /// All parts, in order.
    pub const ALL: [Part; 10] = [
        Part::Grant,
        Part::Card,
        Part::Queue,
        Part::Circuit,
        Part::Serialising,
        Part::Propagating,
        Part::Host,
        Part::Retransmitting,
        Part::Timeout,
        Part::Unknown,
    ];

    /// The name in results.
    pub const fn key(self) -> &'static str {
        match self {
            Part::Grant => "grant",
            Part::Card => "card",
            Part::Queue => "queue",
            Part::Circuit => "circuit",
            Part::Serialising => "serialising",
            Part::Propagating => "propagating",
            Part::Host => "host",
            Part::Retransmitting => "retransmitting",
            Part::Timeout => "timeout",
            Part::Unknown => "unknown",
        }
    }

    /// The title in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Part::Grant => "waiting for a grant",
            Part::Card => "waiting for its own network card",
            Part::Queue => "queued in switches",
            Part::Circuit => "waiting for a circuit",
            Part::Serialising => "being put on links",
            Part::Propagating => "propagating",
            Part::Host => "hosts reacting",
            Part::Retransmitting => "being sent again",
            Part::Timeout => "waiting for a time-out",
            Part::Unknown => "unknown",
        }
    }
}

/// The number of ports recorded for each flow: those at which it waited longest.
pub const WORST_PORTS: usize = 3;

/// The completion time of one flow, divided into parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WhyRow {
    /// The flow's number in the run.
    pub flow: u32,
    /// Picoseconds by [`Part`]; their sum is the flow's completion time.
    pub parts: [u64; Part::ALL.len()],
    /// Acknowledgements on the critical path: round trips that had to follow one another.
    pub round_trips: u32,
    /// Where it waited longest ([`Part::Card`], [`Part::Queue`], [`Part::Circuit`], [`Part::Grant`]): index into
    /// [`super::RunRecord::ports`] and picoseconds, longest first; zero picoseconds if there are fewer.
    pub worst: [(u32, u64); WORST_PORTS],
}

impl WhyRow {
    /// Picoseconds of one part.
    pub fn of(&self, part: Part) -> u64 {
        self.parts[part as usize]
    }
}
