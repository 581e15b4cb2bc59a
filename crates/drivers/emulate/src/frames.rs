//! The bytes of packets that are in the network.

/// A frame in the network.
#[derive(Default)]
pub(crate) struct Frame {
    pub bytes: Vec<u8>,
    pub host: u32,
    /// The number of its packet in the kernel's queue.
    pub number: u32,
    /// Its length in bytes if the kernel released it before it left the card; otherwise 0.
    pub ahead: u64,
    /// Whether it has left the card of its host.
    pub left: bool,
}

/// Frames in the network, by handle.
#[derive(Default)]
pub(crate) struct Frames {
    pub slots: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Stores the bytes of a frame, gives back the buffer of an older frame, and returns the handle.
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
    /// Frees a handle, which may then be used again.
    pub fn free(&mut self, handle: u32) {
        self.free.push(handle);
    }
}
