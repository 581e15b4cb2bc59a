//! The bytes of packets that are in the network.

use crate::burst::Burst;
use crate::port::PREFIX;
use std::collections::VecDeque;

/// Where the payload of a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// The kernel has it: it holds the packet, or was told to release it.
    Kernel,
    /// Here.
    #[default]
    Here,
    /// The kernel has lost it.
    Missing,
}

/// A frame in the network.
#[derive(Default)]
pub(crate) struct Frame {
    /// Its bytes, with the prefix of the port.
    pub bytes: Vec<u8>,
    pub state: State,
    pub host: u32,
    /// The first frame of the same packet of the kernel, and the next one, if there is one.
    pub first: u32,
    next: Option<u32>,
    /// In the first frame of a packet: its number, if the kernel holds it, and its frames that the network has not lost.
    held: Option<u32>,
    open: u32,
    /// Its length in bytes if the kernel released it before it left the card; otherwise 0.
    pub ahead: u64,
    /// Whether it has left the card of its host.
    pub left: bool,
    /// Whether the kernel did not hold it when it entered.
    pub loose: bool,
    /// Whether the network has lost it.
    lost: bool,
}

/// Frames in the network, by handle.
#[derive(Default)]
pub(crate) struct Frames {
    pub slots: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Stores segment `n` of a packet, and returns the handle. If the kernel holds the packet, that is told with
    /// [`Frames::hold`].
    pub fn put(&mut self, burst: &Burst<'_>, n: usize, host: u32) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Frame::default());
            self.slots.len() as u32 - 1
        });
        let frame = &mut self.slots[handle as usize];
        let bytes = std::mem::take(&mut frame.bytes);
        *frame = Frame { bytes, host, first: handle, ..Frame::default() };
        burst.write(n, &mut frame.bytes);
        handle
    }

    /// Notes that the kernel holds the packet of a frame under a number. The frame follows `previous`, if it is not the
    /// first of its packet.
    pub fn hold(&mut self, handle: u32, number: u32, previous: Option<u32>) {
        let first = previous.map_or(handle, |previous| self.slots[previous as usize].first);
        previous.into_iter().for_each(|at| self.slots[at as usize].next = Some(handle));
        let frame = &mut self.slots[handle as usize];
        (frame.first, frame.state) = (first, State::Kernel);
        let begin = &mut self.slots[first as usize];
        begin.held = Some(number);
        begin.open += 1;
    }

    /// The number of a frame's packet, if the kernel still holds it. From now on it does not.
    pub fn let_go(&mut self, handle: u32) -> Option<u32> {
        let frame = &self.slots[handle as usize];
        // The first frame of a packet that was released may already be another packet's.
        let first = Some(frame.first).filter(|_| frame.state == State::Kernel)?;
        self.slots[first as usize].held.take()
    }

    /// Fills in the payload of the first of the `awaited` packets that begins like the whole packet `bytes`, and returns
    /// its place.
    pub fn complete(&mut self, awaited: &VecDeque<u32>, bytes: &[u8], mtu: usize) -> Option<usize> {
        let burst = Burst::by_mtu(bytes, mtu)?;
        let same = |first: &u32| begin_alike(&self.slots[*first as usize].bytes, bytes);
        let place = awaited.iter().position(same)?;
        self.resolve(awaited[place], Some(&burst));
        Some(place)
    }

    /// Ends the waiting of a packet's frames: their payload is in `burst`, or missing.
    pub fn resolve(&mut self, first: u32, burst: Option<&Burst<'_>>) {
        let mut next = Some(first);
        for n in 0.. {
            let Some(handle) = next else { return };
            let frame = &mut self.slots[handle as usize];
            next = frame.next.take();
            burst.iter().for_each(|burst| burst.write(n, &mut frame.bytes));
            frame.state = if burst.is_some() { State::Here } else { State::Missing };
            if frame.lost {
                self.free.push(handle);
            }
        }
    }

    /// Frees a frame that was delivered.
    pub fn free(&mut self, handle: u32) {
        self.free.push(handle);
    }

    /// Frees a frame that the network has lost, when the kernel has none of its packet. Returns the number of the packet
    /// if the kernel holds it and no frame of it remains.
    pub fn lose(&mut self, handle: u32) -> Option<u32> {
        let frame = &mut self.slots[handle as usize];
        if frame.state != State::Kernel {
            self.free.push(handle);
            return None;
        }
        frame.lost = true;
        let first = frame.first;
        let begin = &mut self.slots[first as usize];
        begin.open -= 1;
        let number = begin.held.take_if(|_| begin.open == 0)?;
        self.resolve(first, None);
        Some(number)
    }
}

/// Whether two packets with prefixes have the same number, addresses and ports.
fn begin_alike(a: &[u8], b: &[u8]) -> bool {
    let number = PREFIX + 4..PREFIX + 6;
    let ends = PREFIX + 12..PREFIX + 24;
    a.get(number.clone()) == b.get(number) && a.get(ends.clone()) == b.get(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP packet with a prefix, of which only the first 128 bytes may be known.
    fn packet(id: u8, payload: usize) -> Vec<u8> {
        let mut out = vec![0; PREFIX];
        let builder = etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder.tcp(1, 2, 3, 4).write(&mut out, &vec![id; payload]).unwrap();
        out[PREFIX + 5] = id;
        out
    }

    fn held(frames: &mut Frames, number: u32, bytes: &[u8]) -> Vec<u32> {
        let burst = Burst::by_mtu(bytes, 500).unwrap();
        let mut all: Vec<u32> = Vec::new();
        for n in 0..burst.count() {
            let handle = frames.put(&burst, n, 0);
            frames.hold(handle, number, all.last().copied());
            all.push(handle);
        }
        all
    }

    #[test]
    fn payloads_come_to_their_frames() {
        let (mut frames, long, short) = (Frames::default(), packet(1, 1_000), packet(9, 100));
        let a = held(&mut frames, 7, &long[..PREFIX + 128]);
        let b = held(&mut frames, 8, &short[..PREFIX + 128]);
        assert_eq!((a.len(), b.len()), (3, 1));
        assert_eq!(
            (frames.let_go(a[2]), frames.let_go(a[0])),
            (Some(7), None),
            "once for all of them"
        );
        assert_eq!(frames.lose(a[1]), None);
        assert_eq!(frames.let_go(b[0]), Some(8));
        let awaited = [a[0], b[0]].into();
        assert_eq!(frames.complete(&awaited, &packet(5, 60), 500), None);
        assert_eq!(frames.complete(&awaited, &short, 500), Some(1));
        assert_eq!(frames.slots[b[0] as usize].bytes, short);
        assert!(frames.slots[a[2] as usize].state == State::Kernel);
        assert_eq!(frames.complete(&awaited, &long, 500), Some(0));
        let last = &frames.slots[a[2] as usize];
        assert_eq!((last.state == State::Here, &last.bytes[PREFIX + 40..]), (true, &[1; 80][..]));
        assert_eq!(frames.free, [a[1]], "the lost one waited for its packet");
        frames.free(a[0]);
        assert_eq!(held(&mut frames, 9, &short), [a[0]]);
        assert_eq!(frames.let_go(a[2]), None, "not the number of another packet");
    }

    #[test]
    fn the_kernel_drops_a_packet_of_which_all_frames_are_lost() {
        let (mut frames, long) = (Frames::default(), packet(1, 1_000));
        let all = held(&mut frames, 7, &long);
        assert_eq!(
            all.iter().map(|one| frames.lose(*one)).collect::<Vec<_>>(),
            [None, None, Some(7)]
        );
        frames.free.sort_unstable();
        assert_eq!(frames.free, all);
    }
}
