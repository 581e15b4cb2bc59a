//! The packets that are not acknowledged yet, and the destinations that each of them is about.

use crate::wire::fcp::Acks;
use slotline_net::time::Time;
use std::collections::VecDeque;

/// The most unacknowledged packets: as many as an acknowledgement can describe.
const MOST: usize = 64;

/// A packet that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: Time,
    /// The number of its destinations.
    about: u32,
    arrived: bool,
}

/// The unacknowledged packets, the oldest first.
#[derive(Clone, Default, Debug)]
pub(super) struct Window {
    sent: VecDeque<Sent>,
    /// The destinations, packet by packet. The first `done` of them belong to removed packets.
    about: Vec<u32>,
    done: usize,
    /// The number of destinations of the packet that leaves next.
    noted: u32,
}

impl Window {
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }
    pub(super) fn is_full(&self) -> bool {
        self.sent.len() >= MOST
    }
    /// The time at which the oldest packet was sent.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.sent.front().map(|packet| packet.at)
    }
    pub(super) fn clear(&mut self) {
        self.sent.clear();
        self.about.clear();
        (self.done, self.noted) = (0, 0);
    }
    /// Adds destinations to the next packet.
    #[inline]
    pub(super) fn note(&mut self, dsts: impl ExactSizeIterator<Item = u32>) {
        self.noted += dsts.len() as u32;
        self.about.extend(dsts);
    }
    /// Notes that a packet leaves. Its destinations are those noted since the packet before.
    pub(super) fn send(&mut self, number: u64, at: Time) {
        let about = std::mem::take(&mut self.noted);
        self.sent.push_back(Sent { number, at, about, arrived: false });
    }
    /// Removes packets that have arrived. Calls `lost` with the destinations of packets that are too old for
    /// the acknowledgements.
    pub(super) fn acknowledge(&mut self, acks: &Acks, lost: impl FnMut(u32)) {
        for packet in &mut self.sent {
            packet.arrived |= acks.has(packet.number);
        }
        self.remove(|packet| acks.forgot(packet.number), lost);
    }
    /// Removes packets sent at `by` or before, calls `lost` with their destinations, and returns their
    /// number.
    pub(super) fn expire(&mut self, by: Time, lost: impl FnMut(u32)) -> u64 {
        self.remove(|packet| packet.at <= by, lost)
    }
    /// Removes packets from the front that have arrived or for which `is_lost` holds. Returns the number of
    /// lost packets.
    fn remove(&mut self, is_lost: impl Fn(&Sent) -> bool, mut lost: impl FnMut(u32)) -> u64 {
        let mut count = 0;
        while let Some(packet) = self.sent.pop_front_if(|packet| packet.arrived || is_lost(packet))
        {
            let about = self.done..self.done + packet.about as usize;
            self.done = about.end;
            if !packet.arrived {
                count += 1;
                self.about[about].iter().copied().for_each(&mut lost);
            }
        }
        if self.sent.is_empty() && self.noted == 0 {
            // The buffer is used from its start again, so that the same few cache lines serve each packet.
            self.clear();
        } else if self.done > self.about.len() / 2 {
            self.about.drain(..std::mem::take(&mut self.done));
        }
        count
    }
}
