//! Data that packets refer to by a handle: the bytes of control messages, and frames from outside of the network.

use crate::frame::{Kind, Packet};

/// Bytes of the control messages in transit. A control packet carries a handle to its bytes in [`Packet::seq`]. If
/// packets stand for real frames, [`Packet::stamp`] is the handle of the frame, which the driver stores.
#[derive(Default)]
pub struct Payloads {
    /// By handle; `None` if the handle is free.
    slots: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    /// Handles of the frames whose packets were dropped; `None` if packets are not frames.
    lost_frames: Option<Vec<u32>>,
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
    /// Returns a control message's bytes and frees their handle. The bytes are empty if the handle is free.
    pub fn release(&mut self, handle: u32) -> Box<[u8]> {
        let bytes = self.slots.get_mut(handle as usize).and_then(Option::take);
        if bytes.is_some() {
            self.free.push(handle);
        }
        bytes.unwrap_or_default()
    }
    /// Frees the data of a packet that was dropped.
    pub fn discard(&mut self, packet: &Packet) {
        match (packet.kind, &mut self.lost_frames) {
            (Kind::Control, _) => drop(self.release(packet.seq)),
            (Kind::Data | Kind::Ack | Kind::Datagram, Some(lost)) => lost.push(packet.stamp),
            _ => {}
        }
    }
    /// From now on packets stand for frames, and the frames of dropped packets are listed.
    pub fn track_frames(&mut self) {
        self.lost_frames.get_or_insert_default();
    }
    /// The frames whose packets were dropped since the last call.
    pub fn lost_frames(&mut self) -> impl Iterator<Item = u32> {
        self.lost_frames.iter_mut().flat_map(|lost| lost.drain(..))
    }
}
