//! Congestion control: how many segments may be under way. Integers only: the same arithmetic on every
//! machine, and in places without floats.

mod cubic;
mod dctcp;
mod fixed;
mod reno;
mod retcp;
mod tdtcp;

pub use cubic::{Cubic, Standard};
pub use dctcp::Dctcp;
pub use fixed::Fixed;
pub use reno::Reno;
pub use retcp::{Jumps, Retcp};
pub use tdtcp::Tdtcp;

use crate::time::Time;
use serde::{Deserialize, Serialize};

/// What an acknowledgement says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// First unacknowledged segment after it.
    pub una: u32,
    /// Next segment to be sent for the first time.
    pub nxt: u32,
    /// It carried ECN-Echo.
    pub echo: bool,
    /// The network has announced a circuit for what is sent.
    pub circuit: bool,
    /// The round-trip time measured by it.
    pub rtt: Option<Time>,
    /// The smoothed round-trip time.
    pub srtt: Time,
    /// The window was fully used, so it may grow (RFC 7661).
    pub limited: bool,
    /// Loss recovery is under way.
    pub recovering: bool,
}

/// What was lost. `flight` counts the segments sent and not cumulatively acknowledged (RFC 5681).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Fast retransmit: at the start of recovery.
    Fast {
        /// Segments outstanding.
        flight: u32,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Segments outstanding.
        flight: u32,
    },
}

/// A congestion control algorithm.
pub trait Congestion {
    /// An acknowledgement came.
    fn on_ack(&mut self, ack: &Ack, now: Time);
    /// Segments were lost.
    fn on_loss(&mut self, loss: Loss, now: Time);
    /// The connection was idle for a time-out: the window falls back to at most `initial_window`;
    /// the slow start threshold is kept (RFC 5681 §4.1).
    fn restart(&mut self, initial_window: u32);
    /// Segments that may be under way, at least 1.
    fn window(&self) -> u32;
    /// From now on all calls but [`Self::restart`] are about paths of this class; only algorithms that
    /// treat paths apart care.
    fn select(&mut self, _path: u8) {}
    /// A message of its own says whether a circuit is announced, while losses are repaired (`recovering`) or not.
    fn on_circuit(&mut self, _announced: bool, _recovering: bool) {}
}

/// No window grows beyond this many segments.
const MAX_WINDOW: u32 = 1 << 20;
/// Least slow start threshold, in segments (RFC 5681 §3.1).
const MIN_THRESHOLD: u32 = 2;

/// The algorithms by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmKind {
    /// Loss-based, additive increase and halving, with selective acknowledgements.
    ///
    /// Source: RFC 5681, RFC 6582 and RFC 6675.
    NewReno,
    /// Loss-based, cubic growth, with selective acknowledgements; Linux' default.
    ///
    /// Source: RFC 9438 and RFC 6675.
    Cubic,
    /// Reacts to the fraction of ECN marks; needs a queue that marks.
    ///
    /// Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, and RFC 8257.
    Dctcp,
    /// NewReno whose window doubles when a circuit comes and halves when it goes; needs a fabric that
    /// announces circuits.
    ///
    /// Source: Mukerjee et al., "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks"
    /// (Etalon), 2018, section 4.4.
    Retcp,
    /// A NewReno window for each kind of path (packet switch, circuits), of which the present path's
    /// holds; what overtakes something on another path is no sign of loss. Needs a fabric that tells
    /// which path is active.
    ///
    /// Source: Chen et al., "Time-Division TCP for Reconfigurable Data Center Networks", SIGCOMM 2022.
    Tdtcp,
    /// No congestion control: a constant window, for networks in which a schedule sees to it that nothing
    /// is lost.
    ///
    /// As much as `max-window` is under way at any time; what is lost is sent again. Like raw frames or
    /// RDMA: acknowledgements, of every sixteenth segment, do not slow the sender down. Under TDMA and
    /// Fastpass it fills the slots; without a schedule it fills queues.
    Fixed,
}

impl AlgorithmKind {
    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            AlgorithmKind::NewReno => "newreno",
            AlgorithmKind::Cubic => "cubic",
            AlgorithmKind::Dctcp => "dctcp",
            AlgorithmKind::Retcp => "retcp",
            AlgorithmKind::Tdtcp => "tdtcp",
            AlgorithmKind::Fixed => "fixed",
        }
    }
}

/// What can be set of the algorithms; each takes its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tuning {
    /// DCTCP's gain is 2 to the power of minus this.
    pub gain_shift: u8,
    /// How far reTCP's window jumps.
    pub jumps: Jumps,
    /// Which CUBIC.
    pub standard: Standard,
    /// How long CUBIC's growth stays as computed.
    pub update_interval: Time,
}

impl Default for Tuning {
    fn default() -> Tuning {
        let (standard, update_interval) = (Standard::default(), Time::ZERO);
        Tuning { gain_shift: 4, jumps: Jumps::USUAL, standard, update_interval }
    }
}

/// Any of the algorithms, without a dynamic call.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// Additive increase, halving.
    Reno(Reno),
    /// Cubic growth.
    Cubic(Cubic),
    /// Reduction by the fraction of marks.
    Dctcp(Dctcp),
    /// Jumps with circuits.
    Retcp(Retcp),
    /// A state for each path.
    Tdtcp(Box<Tdtcp>),
    /// No control.
    Fixed(Fixed),
}

macro_rules! each {
    ($self:expr, $it:ident => $call:expr) => {
        match $self {
            Algorithm::Reno($it) => $call,
            Algorithm::Cubic($it) => $call,
            Algorithm::Dctcp($it) => $call,
            Algorithm::Retcp($it) => $call,
            Algorithm::Tdtcp($it) => $call,
            Algorithm::Fixed($it) => $call,
        }
    };
}

impl Algorithm {
    /// A fresh state: slow start from `initial_window` segments, where a fixed window stays.
    pub fn new(kind: AlgorithmKind, initial_window: u32, tuning: Tuning) -> Algorithm {
        match kind {
            AlgorithmKind::NewReno => Algorithm::Reno(Reno::new(initial_window)),
            AlgorithmKind::Cubic => {
                let Tuning { standard, update_interval, .. } = tuning;
                Algorithm::Cubic(Cubic::new(initial_window, standard, update_interval))
            }
            AlgorithmKind::Dctcp => Algorithm::Dctcp(Dctcp::new(initial_window, tuning.gain_shift)),
            AlgorithmKind::Retcp => Algorithm::Retcp(Retcp::new(initial_window, tuning.jumps)),
            AlgorithmKind::Tdtcp => Algorithm::Tdtcp(Box::new(Tdtcp::new(initial_window))),
            AlgorithmKind::Fixed => Algorithm::Fixed(Fixed::new(initial_window)),
        }
    }
    /// Which one it is.
    pub const fn kind(&self) -> AlgorithmKind {
        match self {
            Algorithm::Reno(_) => AlgorithmKind::NewReno,
            Algorithm::Cubic(_) => AlgorithmKind::Cubic,
            Algorithm::Dctcp(_) => AlgorithmKind::Dctcp,
            Algorithm::Retcp(_) => AlgorithmKind::Retcp,
            Algorithm::Tdtcp(_) => AlgorithmKind::Tdtcp,
            Algorithm::Fixed(_) => AlgorithmKind::Fixed,
        }
    }
    /// Its name in scenario files.
    pub const fn name(&self) -> &'static str {
        self.kind().name()
    }
}

impl Congestion for Algorithm {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        each!(self, it => it.on_ack(ack, now))
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        each!(self, it => it.on_loss(loss, now))
    }
    fn restart(&mut self, initial_window: u32) {
        each!(self, it => it.restart(initial_window))
    }
    #[inline]
    fn window(&self) -> u32 {
        each!(self, it => it.window())
    }
    fn select(&mut self, path: u8) {
        each!(self, it => it.select(path))
    }
    fn on_circuit(&mut self, announced: bool, recovering: bool) {
        each!(self, it => it.on_circuit(announced, recovering))
    }
}

#[cfg(test)]
mod tests;
