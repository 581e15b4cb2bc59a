//! The exchange between the network and applications outside of it.

use crate::frame::Packet;
use crate::id::HostId;
use crate::wire::path_news::PathNews;

/// What a host hands over to applications that are not nodes of the network, such as those of a real machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handover {
    /// A packet of the application has left the host's network card. Its place in the sending queue is free.
    Left(Packet),
    /// A packet for the application has arrived.
    Arrived(Packet),
    /// The switch of its rack has notified a host of a circuit that begins or ends.
    Notified(HostId, PathNews),
}
