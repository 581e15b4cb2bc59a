//! The sender's state for the paths that a connection takes in turn, as in TDTCP (Chen et al., SIGCOMM 2022): segments
//! in transit, round-trip times and loss recovery of each class of path.
//!
//! A segment belongs to the path that, to the sender's knowledge, was active at its last transmission. Every
//! acknowledgement carries the active path. Racks' switches may also send separate messages about it, as in the paper.
//! A round-trip time counts for the path that the segment took. The time-out is the longest of all paths, because an
//! acknowledgement may return over the slowest.

use super::path_board::{ByPath, PATHS, PathBoard};
use super::rtt::{Limits, Rtt};
use crate::frame::Packet;
use crate::time::Time;

/// The content of an acknowledgement about one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct News {
    pub path: u8,
    /// Segments newly known to be received.
    pub acked: u32,
    /// Segments that were in transit before.
    pub flight: u32,
    /// Loss recovery begins.
    pub lost: bool,
    /// Loss recovery has begun and has not ended.
    pub recovering: bool,
}

#[derive(Debug)]
pub(super) struct Paths {
    board: PathBoard,
    rtt: [Rtt; PATHS],
    recovering: [bool; PATHS],
    /// By path: recovery, or the repair after a time-out, lasts until this segment is acknowledged.
    recover: ByPath,
    active: u8,
}

impl Paths {
    /// A state in which nothing was sent and path 0 is active. `window` is the largest number of segments from the
    /// first unacknowledged one on.
    pub fn new(window: u32) -> Paths {
        Paths {
            board: PathBoard::new(window),
            rtt: [Rtt::new(); PATHS],
            recovering: [false; PATHS],
            recover: [0; PATHS],
            active: 0,
        }
    }

    pub fn active(&self) -> u8 {
        self.active
    }
    /// `path` is active from now on.
    pub fn activate(&mut self, path: u8) {
        self.active = path % PATHS as u8;
    }
    /// Segments in the network on the active path.
    pub fn pipe(&self) -> u32 {
        self.board.under_way()[usize::from(self.active)]
    }
    /// Whether nothing is in the network on any path.
    pub fn is_quiet(&self) -> bool {
        self.board.under_way().iter().sum::<u32>() == 0
    }
    pub fn has_waiting(&self) -> bool {
        self.board.has_waiting()
    }
    /// The next segment is sent for the first time.
    pub fn send(&mut self) {
        self.board.send(self.active);
    }
    /// The next lost segment is sent again.
    pub fn send_again(&mut self) -> Option<u32> {
        self.board.send_again(self.active)
    }

    pub fn timeout(&self, limits: &Limits) -> Time {
        self.rtt.iter().map(|rtt| rtt.timeout(limits)).max().unwrap_or(limits.max)
    }
    pub fn smoothed(&self, path: u8) -> Time {
        self.rtt[usize::from(path)].smoothed()
    }
    /// A segment was acknowledged, `nanoseconds` after it was sent on `path`.
    pub fn sample(&mut self, path: u8, nanoseconds: u32) {
        self.rtt.iter_mut().for_each(Rtt::end_back_off);
        self.rtt[usize::from(path)].sample(nanoseconds);
    }

    /// An acknowledgement arrived when `nxt` was the next new segment. Returns its news of each affected path, and of
    /// the path that the acknowledged segment took.
    pub fn on_ack(&mut self, packet: &Packet, nxt: u32) -> impl Iterator<Item = News> + use<> {
        let una = packet.seq;
        let flight = self.board.under_way();
        let taken = packet.circuits.taken();
        let acked = self.board.receive(una, &packet.sack, taken);
        let lost = self.board.judge();
        let begins: [bool; PATHS] = std::array::from_fn(|path| {
            let repaired = una >= self.recover[path];
            let begins = lost[path] > 0 && repaired;
            if begins {
                self.recover[path] = nxt;
            }
            self.recovering[path] = begins || (self.recovering[path] && !repaired);
            begins
        });
        let recovering = self.recovering;
        let news = move |path: usize| News {
            path: path as u8,
            acked: acked[path],
            flight: flight[path],
            lost: begins[path],
            recovering: recovering[path],
        };
        let concerned =
            move |path: &usize| acked[*path] > 0 || begins[*path] || *path == usize::from(taken);
        (0..PATHS).filter(concerned).map(news)
    }

    /// The timer expired when `nxt` was the next new segment, so all segments are lost. Returns the paths with segments
    /// in transit, and the number of these.
    pub fn on_timeout(&mut self, nxt: u32) -> impl Iterator<Item = (u8, u32)> + use<> {
        let flight = self.board.under_way();
        self.board.lose_all();
        self.recovering = [false; PATHS];
        self.recover = [nxt; PATHS];
        self.rtt.iter_mut().for_each(Rtt::back_off);
        (0u8..).zip(flight).filter(|(_, flight)| *flight > 0)
    }
}
