//! The frames that a process has taken and not yet sent, and the room that connections have for them.

use super::taker::{ETHERNET, SETS, Taker, set_of};
use slotline_rings::PREFIX;

/// The most bytes of frames of all connections.
const MOST: u64 = 64 << 20;
/// The most buffers that are kept for further frames.
const SPARE: usize = 256;
/// The bytes of each packet that are shown: the headers of IP and of its payload's protocol.
const SHOWN: usize = 96;

/// A frame with its prefix.
#[derive(Debug)]
pub(super) struct Frame {
    pub bytes: Vec<u8>,
    /// The number of the interface by which it leaves.
    pub exit: usize,
    set: usize,
}

/// Frames by number.
#[derive(Debug)]
pub(super) struct Frames {
    all: Vec<Option<Frame>>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    /// The bytes of the frames of each set of connections, and of all.
    bytes: Vec<u64>,
    total: u64,
    /// The most bytes of a connection.
    most: u64,
}

impl Frames {
    pub fn new(most: u64) -> Frames {
        let (all, free, spare) = (Vec::new(), Vec::new(), Vec::new());
        Frames { all, free, spare, bytes: vec![0; SETS], total: 0, most }
    }

    /// An empty buffer for a frame.
    pub fn buffer(&mut self) -> Vec<u8> {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub fn give_back(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < SPARE {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Adds a frame, and appends the beginning of its packet to `head`. Returns its number.
    pub fn put(
        &mut self,
        bytes: Vec<u8>,
        exit: usize,
        head: &mut Vec<u8>,
        taker: &mut Taker,
    ) -> u32 {
        let packet = bytes.get(PREFIX + ETHERNET..).unwrap_or_default();
        head.extend_from_slice(&packet[..packet.len().min(SHOWN)]);
        let set = set_of(packet);
        let length = bytes.len() as u64;
        (self.bytes[set], self.total) = (self.bytes[set] + length, self.total + length);
        taker.mark_full(set, self.bytes[set] >= self.most || self.total >= MOST);
        let frame = Some(Frame { bytes, exit, set });
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = frame;
            return number;
        }
        self.all.push(frame);
        self.all.len() as u32 - 1
    }

    pub fn get(&self, number: u32) -> Option<&Frame> {
        self.all.get(number as usize)?.as_ref()
    }

    /// Removes a frame.
    pub fn remove(&mut self, number: u32, taker: &mut Taker) {
        let Some(frame) = self.all.get_mut(number as usize).and_then(Option::take) else { return };
        self.free.push(number);
        let (set, length) = (frame.set, frame.bytes.len() as u64);
        (self.bytes[set], self.total) = (self.bytes[set] - length, self.total - length);
        // A set that had no room gets some again only once a quarter of it is free, so that senders are not refused at every
        // packet.
        if self.bytes[set] <= self.most - self.most / 4 {
            taker.mark_full(set, false);
        }
        self.give_back(frame.bytes);
    }
}
