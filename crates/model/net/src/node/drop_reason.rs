//! Why packets are dropped.

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer had no room for it.
    Full,
    /// Random early detection chose it.
    Early,
    /// The link or the node was down.
    LinkDown,
    /// No route led to its destination.
    NoRoute,
    /// The host that received it is not its destination.
    Misrouted,
    /// The scenario asks for random losses, and this packet is one of them.
    Injected,
    /// The node that should have handled it had stopped.
    Stopped,
}

impl DropReason {
    /// The number of reasons.
    pub const COUNT: usize = DropReason::ALL.len();
    /// All reasons, in order.
    pub const ALL: [DropReason; 7] = [
        DropReason::Full,
        DropReason::Early,
        DropReason::LinkDown,
        DropReason::NoRoute,
        DropReason::Misrouted,
        DropReason::Injected,
        DropReason::Stopped,
    ];
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::Full => "buffer_full",
            DropReason::Early => "early",
            DropReason::LinkDown => "link_down",
            DropReason::NoRoute => "no_route",
            DropReason::Misrouted => "misrouted",
            DropReason::Injected => "injected",
            DropReason::Stopped => "stopped",
        }
    }
}
