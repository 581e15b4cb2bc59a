//! Time-division TCP: a congestion state for each class of path.
//!
//! Which segments went by which path, and that losses are told apart by it, is the sender's matter
//! (`transport::paths`); here the states lie side by side.

use super::reno::Reno;
use super::{Ack, Congestion, Loss};
use crate::frame::Circuits;
use crate::time::Time;

/// TDTCP (Chen et al., SIGCOMM 2022), with NewReno on each path.
#[derive(Clone, Debug)]
pub struct Tdtcp {
    paths: [Reno; Circuits::CLASSES],
    selected: usize,
}

impl Tdtcp {
    /// Slow start from `initial_window` segments on each path; path 0 is selected.
    pub fn new(initial_window: u32) -> Tdtcp {
        Tdtcp { paths: std::array::from_fn(|_| Reno::new(initial_window)), selected: 0 }
    }
}

impl Congestion for Tdtcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        self.paths[self.selected].on_ack(ack, now);
    }
    fn on_loss(&mut self, loss: Loss, now: Time) {
        self.paths[self.selected].on_loss(loss, now);
    }
    /// On all paths.
    fn restart(&mut self, initial_window: u32) {
        self.paths.iter_mut().for_each(|path| path.restart(initial_window));
    }
    #[inline]
    fn window(&self) -> u32 {
        self.paths[self.selected].window()
    }
    fn select(&mut self, path: u8) {
        self.selected = usize::from(path) % Circuits::CLASSES;
    }
}
