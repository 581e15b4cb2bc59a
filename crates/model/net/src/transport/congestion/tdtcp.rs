//! Time-division TCP: a congestion state for each class of path.
//!
//! The sender records the path of each segment and uses it to detect losses (`transport::paths`). This file contains
//! only the congestion states.

use super::reno::Reno;
use super::{Ack, Configure, Congestion, Loss, Needs, Tuning};
use crate::frame::Circuits;
use crate::time::Time;

/// TDTCP (Chen et al., SIGCOMM 2022), with NewReno on each path.
#[derive(Clone, Debug)]
pub struct Tdtcp {
    paths: Box<[Reno; Circuits::CLASSES]>,
    selected: usize,
}

impl Tdtcp {
    /// Slow start from `initial_window` segments on each path; path 0 is selected.
    pub fn new(initial_window: u32) -> Tdtcp {
        Tdtcp { paths: Box::new(std::array::from_fn(|_| Reno::new(initial_window))), selected: 0 }
    }
}

impl Configure for Tdtcp {
    const NEEDS: Needs = Needs { path_classes: true, ..Needs::NOTHING };

    fn configure(initial_window: u32, _tuning: &Tuning) -> Tdtcp {
        Tdtcp::new(initial_window)
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
    /// Restarts all paths.
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
