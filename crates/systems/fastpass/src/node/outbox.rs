//! The outbox makes packets of messages and counts them.

use super::Common;
use crate::wire::OVERHEAD;
use crate::wire::fastpass::{Body, Message};
use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::node::Cx;

/// Makes packets of messages, and counts them.
pub(super) struct Outbox {
    me: HostId,
    class: u8,
    pub messages: u64,
    pub bytes: u64,
}

impl Outbox {
    pub fn new(common: &Common, me: HostId) -> Outbox {
        Outbox { me, class: common.options.classes().1, messages: 0, bytes: 0 }
    }
    /// Makes a packet of a message.
    pub fn packet(&mut self, to: HostId, path: u16, bytes: Vec<u8>, cx: &mut Cx<'_>) -> Packet {
        let packet = cx.attach((self.me, to), bytes, OVERHEAD, self.class);
        self.messages += 1;
        self.bytes += u64::from(packet.len);
        Packet { entropy: path, ..packet }
    }
    /// Makes a packet of a message that is not FCP.
    pub fn message(
        &mut self,
        to: HostId,
        path: u16,
        body: Body,
        common: &Common,
        cx: &mut Cx<'_>,
    ) -> Packet {
        let (source, destination) = (self.me.0, to.0);
        let bytes = Message { source, destination, body }.emit(&common.key(source, destination));
        self.packet(to, path, bytes, cx)
    }
}
