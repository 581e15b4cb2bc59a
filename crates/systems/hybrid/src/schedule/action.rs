//! The actions of a schedule, and how long before a day each of them is due.

use slotline_net::time::Time;

/// A condition that holds for a pair of racks as long as at least one of their days requires it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Condition {
    /// The packet switch may not take packets from the queue for the other rack.
    PacketSwitchBlocked,
    /// The queue for the other rack has its larger size.
    LargerQueue,
    /// Packets for this rack are marked: there is, or will soon be, a circuit from the other rack.
    Marking,
    /// There is a circuit from the other rack to this one.
    Receiving,
    /// The hosts have been notified of a circuit to the other rack.
    Announced,
}

/// Something that a switch does at a certain time.
///
/// Actions that are due at the same time are done in the order of the variants. Beginnings come before ends,
/// so that two intervals that touch are one interval. Circuits come up last, when everything else is ready.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ScheduleAction {
    /// A day begins to require a condition.
    Begin {
        /// The condition.
        condition: Condition,
        /// The other rack.
        rack: u16,
        /// The circuit switch.
        uplink: u8,
    },
    /// The circuit of an uplink goes down.
    Close {
        /// The circuit switch.
        uplink: u8,
        /// The rack to which the circuit led.
        to: u16,
    },
    /// A day no longer requires a condition.
    End {
        /// The condition.
        condition: Condition,
        /// The other rack.
        rack: u16,
        /// The circuit switch.
        uplink: u8,
    },
    /// A circuit comes up.
    Open {
        /// The circuit switch.
        uplink: u8,
        /// The rack to which the circuit leads.
        to: u16,
        /// When it goes down.
        until: Time,
    },
    /// A circuit of a patch panel comes up. Only switches that know all circuits have this action.
    Connect {
        /// The circuit.
        circuit: PanelCircuit,
        /// When it goes down.
        until: Time,
    },
    /// A circuit of a patch panel that would end at `from` stays up until `until`.
    Extend {
        /// The circuit.
        circuit: PanelCircuit,
        /// When its next day begins.
        from: Time,
        /// When that day ends.
        until: Time,
    },
    /// A circuit of a patch panel goes down, unless it was extended.
    Disconnect(PanelCircuit),
    /// The rack reports its demand for this week.
    Report(u64),
    /// This week begins. In a schedule that repeats one week, further days are put into the queue.
    BeginWeek(u64),
}

/// A circuit of a patch panel, from one end to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PanelCircuit {
    /// The panel.
    pub uplink: u8,
    /// The end that sends.
    pub source: u16,
    /// The end that receives.
    pub to: u16,
}

/// How long before a day the actions that prepare it are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeadTimes {
    /// The packet switch is blocked this long before a day: one night.
    pub block: Time,
    /// The queue is enlarged this long before a day; `None` where queues have one size.
    pub enlarge: Option<Time>,
    /// Packets are marked this long before a day.
    pub mark: Time,
    /// `Some` if the days are those of all switches, and only define which circuits exist. A repeated week becomes known
    /// this long before it begins.
    pub all_circuits: Option<Time>,
    /// How long before a day begins hosts are notified, and how long before it ends; `None` where they get no
    /// messages. The second time is at most the first.
    pub notify: Option<(Time, Time)>,
}
