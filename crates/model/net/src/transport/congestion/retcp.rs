//! reTCP: NewReno whose window jumps when a circuit comes and when it goes.
//!
//! The network says with each acknowledgement, and with messages of its own where there are any, whether the way
//! of the data has a circuit now or soon ([`Circuits::announced`](crate::frame::Circuits::announced)).

use super::reno::Reno;
use super::{Ack, Congestion, Loss};
use crate::time::Time;

/// By how much the window jumps, in 1/1024.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Jumps {
    /// Where a circuit comes: 1024 or more.
    pub up: u32,
    /// Where it goes: 1024 or less.
    pub down: u32,
}

impl Jumps {
    /// The paper's α = 2 and β = 1/2.
    pub const USUAL: Jumps = Jumps { up: 2048, down: 512 };
}

/// reTCP (Etalon paper, §4.4). Growth and the reactions to loss and marks are NewReno's. The slow start
/// threshold does not jump: after a jump down the window climbs fast, if that lies above it, as in the
/// authors' module for Linux.
#[derive(Clone, Debug)]
pub struct Retcp {
    reno: Reno,
    jumps: Jumps,
    /// The window is that of a circuit.
    jumped: bool,
}

impl Retcp {
    /// Slow start from `initial_window` segments, without a circuit.
    pub fn new(initial_window: u32, jumps: Jumps) -> Retcp {
        Retcp { reno: Reno::new(initial_window), jumps, jumped: false }
    }
}

impl Congestion for Retcp {
    /// The jump comes after the usual growth, and not while losses are repaired: then it waits.
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
