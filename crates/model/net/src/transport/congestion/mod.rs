//! Congestion control decides how many segments may be outstanding. It computes with integers only, so that
//! every machine gets the same results.
//!
//! A new algorithm is one file with its state, [`Congestion`] and [`Configure`], and one line in [`algorithm`].

pub mod algorithm;
mod cubic;
pub mod custom;
mod dctcp;
mod fixed;
mod reno;
mod retcp;
mod tdtcp;

pub use algorithm::{Algorithm, AlgorithmKind};
pub use cubic::{Cubic, Standard};
pub use custom::{CongestionPart, Custom, MakeCongestion};
pub use dctcp::Dctcp;
pub use fixed::Fixed;
pub use reno::Reno;
pub use retcp::{Jumps, Retcp};
pub use tdtcp::Tdtcp;

use super::spec::EcnResponse;
use crate::time::Time;

/// The content of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// First unacknowledged segment after it.
    pub una: u32,
    /// Next segment to be sent for the first time.
    pub nxt: u32,
    /// The acknowledgement carries ECN-Echo.
    pub echo: bool,
    /// The network has announced a circuit for the data.
    pub circuit: bool,
    /// The round-trip time that it measures.
    pub rtt: Option<Time>,
    /// The smoothed round-trip time.
    pub srtt: Time,
    /// The window was fully used, so it may grow (RFC 7661).
    pub limited: bool,
    /// Loss recovery has begun and has not ended.
    pub recovering: bool,
}

/// How a loss was detected. `flight` is the number of segments that were probably in the network just before: sent, and
/// neither acknowledged in any way nor known to be lost (RFC 6675's pipe, Linux' packets in flight).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Fast retransmit, at the start of recovery.
    Fast {
        /// Segments in the network.
        flight: u32,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Segments in the network.
        flight: u32,
    },
}

/// A congestion control algorithm.
pub trait Congestion {
    /// An acknowledgement came.
    fn on_ack(&mut self, ack: &Ack, now: Time);
    /// Segments were lost.
    fn on_loss(&mut self, loss: Loss, now: Time);
    /// The connection was idle for a time-out. The window falls back to at most `initial_window`, and the slow
    /// start threshold stays (RFC 5681 §4.1).
    fn restart(&mut self, initial_window: u32);
    /// Segments that may be outstanding, at least 1.
    fn window(&self) -> u32;
    /// From now on all calls except [`Self::restart`] are about paths of this class. Only algorithms with a state for
    /// each class of paths need it.
    fn select(&mut self, _path: u8) {}
    /// A separate message says whether a circuit is announced. `recovering`: loss recovery has not ended.
    fn on_circuit(&mut self, _announced: bool, _recovering: bool) {}
}

/// The parts of the transport that an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    /// Each ECN mark is echoed exactly (RFC 8257 §3.2), and packets are ECN-capable.
    pub marks: bool,
    /// Losses are detected separately for each class of paths.
    pub path_classes: bool,
    /// The window is always the largest one.
    pub constant_window: bool,
}

impl Needs {
    /// Most algorithms need nothing special.
    pub const NOTHING: Needs = Needs { marks: false, path_classes: false, constant_window: false };
}

/// A congestion control algorithm that a scenario can name.
pub trait Configure: Congestion {
    /// The parts of the transport that it needs.
    const NEEDS: Needs = Needs::NOTHING;

    /// A fresh state. It starts from `initial_window` segments.
    fn configure(initial_window: u32, tuning: &Tuning) -> Self;
}

/// The settings of all algorithms. Each algorithm takes its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// DCTCP's gain is 2 to the power of minus this.
    pub gain_shift: u8,
    /// The factors by which reTCP's window changes.
    pub jumps: Jumps,
    /// The version of CUBIC.
    pub standard: Standard,
    /// The longest time for which CUBIC keeps a computed growth.
    pub update_interval: Time,
    /// The response to marks, which determines the digits of DCTCP's alpha.
    pub ecn_response: EcnResponse,
}

impl Default for Tuning {
    fn default() -> Tuning {
        let (standard, update_interval) = (Standard::default(), Time::ZERO);
        let ecn_response = EcnResponse::default();
        Tuning { gain_shift: 4, jumps: Jumps::USUAL, standard, update_interval, ecn_response }
    }
}

/// No window grows beyond this many segments.
const MAX_WINDOW: u32 = 1 << 20;
/// Least slow start threshold, in segments (RFC 5681 §3.1).
const MIN_THRESHOLD: u32 = 2;

#[cfg(test)]
mod tests;
