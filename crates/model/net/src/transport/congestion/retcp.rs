//! reTCP is NewReno with a window that jumps when a circuit begins and when it ends.
//!
//! Each acknowledgement carries whether the path of the data has a circuit now or soon
//! ([`Circuits::announced`](crate::frame::Circuits::announced)). Some networks also send separate messages about this.

use super::reno::Reno;
use super::{Ack, Configure, Congestion, Loss, Tuning};
use crate::time::Time;

/// The factors by which the window changes, in 1/1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jumps {
    /// The factor when a circuit begins: 1024 or more.
    pub up: u32,
    /// The factor when it ends: 1024 or less.
    pub down: u32,
}

impl Jumps {
    /// The paper's α = 2 and β = 1/2.
    pub const USUAL: Jumps = Jumps { up: 2048, down: 512 };
}

/// reTCP (Etalon paper, §4.4). Growth and the reactions to loss and marks are NewReno's. The slow start
/// threshold does not jump. After a jump down below the threshold the window grows by slow start, as in the
/// authors' module for Linux.
#[derive(Clone, Debug)]
pub struct Retcp {
    reno: Reno,
    jumps: Jumps,
    /// Whether the window is that of a circuit.
    jumped: bool,
}

impl Retcp {
    /// Slow start from `initial_window` segments, without a circuit.
    pub fn new(initial_window: u32, jumps: Jumps) -> Retcp {
        Retcp { reno: Reno::new(initial_window), jumps, jumped: false }
    }
}

impl Configure for Retcp {
    fn configure(initial_window: u32, tuning: &Tuning) -> Retcp {
        Retcp::new(initial_window, tuning.jumps)
    }
}

impl Congestion for Retcp {
    /// The jump follows the usual growth. During loss recovery it is postponed.
    #[inline]
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        self.reno.on_ack(ack, now);
        self.on_circuit(ack.circuit, ack.recovering);
    }
    #[inline]
    fn on_circuit(&mut self, announced: bool, recovering: bool) {
        if recovering || announced == self.jumped {
            return;
        }
        self.jumped = announced;
        let by = if announced { self.jumps.up } else { self.jumps.down };
        self.reno.scale(by, 1024);
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        self.reno.on_loss(loss, now);
    }
    fn restart(&mut self, initial_window: u32) {
        self.reno.restart(initial_window);
    }
    #[inline]
    fn window(&self) -> u32 {
        self.reno.window()
    }
}
