//! Congestion control that the calling program supplies.

use super::{Ack, Configure, Congestion, Loss, Reno, Tuning};
use crate::time::Time;
use std::fmt;

/// A congestion control algorithm behind a pointer. Every [`Congestion`] that can be cloned and sent is one.
pub trait CongestionPart: Congestion + fmt::Debug + Send {
    /// A copy with the present state.
    fn copied(&self) -> Box<dyn CongestionPart>;
}

impl<C: Congestion + Clone + fmt::Debug + Send + 'static> CongestionPart for C {
    fn copied(&self) -> Box<dyn CongestionPart> {
        Box::new(self.clone())
    }
}

/// Makes the state of a connection. The argument is the initial window in segments.
pub type MakeCongestion = dyn Fn(u32) -> Box<dyn CongestionPart> + Send + Sync;

/// The state of an algorithm of the calling program.
#[derive(Debug)]
pub struct Custom(Box<dyn CongestionPart>);

impl Custom {
    /// The state that the calling program made.
    pub fn new(state: Box<dyn CongestionPart>) -> Custom {
        Custom(state)
    }
}

impl Clone for Custom {
    fn clone(&self) -> Custom {
        Custom((*self.0).copied())
    }
}

/// Without a program that supplies one, it is NewReno.
impl Configure for Custom {
    fn configure(initial_window: u32, _tuning: &Tuning) -> Custom {
        Custom(Box::new(Reno::new(initial_window)))
    }
}

impl Congestion for Custom {
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        self.0.on_ack(ack, now);
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        self.0.on_loss(loss, now);
    }
    fn restart(&mut self, initial_window: u32) {
        self.0.restart(initial_window);
    }
    fn window(&self) -> u32 {
        self.0.window().max(1)
    }
    fn select(&mut self, path: u8) {
        self.0.select(path);
    }
    fn on_circuit(&mut self, announced: bool, recovering: bool) {
        self.0.on_circuit(announced, recovering);
    }
}
