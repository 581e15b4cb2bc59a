//! The bytes of packets that are in the network.

/// A frame on its way.
#[derive(Default)]
pub(crate) struct Frame {
    pub bytes: Vec<u8>,
    pub host: u32,
    /// What the kernel calls it.
    pub number: u32,
    /// Its bytes, if the kernel has let go of it before it left the card.
    pub ahead: u64,
    /// Whether it has left the card of its host.
    pub left: bool,
}

/// Frames on their way, by handle.
#[derive(Default)]
pub(crate) struct Frames {
    pub slots: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Takes the bytes of a frame in exchange for those of an older one, and returns its handle.
    pub fn put(&mut self, bytes: &mut Vec<u8>, host: u32, number: u32) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Frame::default());
            self.slots.len() as u32 - 1
        });
        let frame = &mut self.slots[handle as usize];
        std::mem::swap(&mut frame.bytes, bytes);
        (frame.host, frame.number, frame.ahead, frame.left) = (host, number, 0, false);
        handle
    }
    /// A handle may be used again.
    pub fn free(&mut self, handle: u32) {
        self.free.push(handle);
    }
}
