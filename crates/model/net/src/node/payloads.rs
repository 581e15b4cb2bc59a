//! The bytes of control messages.

use crate::frame::{Kind, Packet};

/// Bytes of the control messages that are on their way. A control packet carries a handle to its bytes
/// in [`Packet::seq`].
#[derive(Default)]
pub struct Payloads {
    /// By handle; `None` where the handle is free.
    slots: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
}

impl Payloads {
    /// Stores a control message's bytes and returns their handle.
    pub fn keep(&mut self, bytes: Box<[u8]>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(bytes);
            return slot;
        }
        self.slots.push(Some(bytes));
        self.slots.len() as u32 - 1
    }
    /// Returns a control message's bytes and frees their handle; nothing where the handle is free.
    pub fn release(&mut self, handle: u32) -> Box<[u8]> {
        let bytes = self.slots.get_mut(handle as usize).and_then(Option::take);
        if bytes.is_some() {
            self.free.push(handle);
        }
        bytes.unwrap_or_default()
    }
    /// Frees what belongs to a packet that was dropped.
    pub fn discard(&mut self, packet: &Packet) {
        if packet.kind == Kind::Control {
            self.release(packet.seq);
        }
    }
}
