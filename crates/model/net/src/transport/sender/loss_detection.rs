//! The loss detection of a sender.

use super::super::paths::Paths;
use super::rack_tlp::RackTlp;
use crate::transport::spec::Transport;

/// The method by which a sender detects losses, with its state.
#[derive(Debug, Default)]
pub(super) enum LossDetection {
    /// By segments received beyond a lost one (RFC 6675).
    #[default]
    Sack,
    /// By time, with tail loss probes (RFC 8985).
    Rack(Box<RackTlp>),
    /// With a state for each path (TDTCP), which replaces the sender's `rtt`, `board`, `recover` and `recovering`.
    PerPath(Box<Paths>),
}

impl LossDetection {
    pub fn new(transport: &Transport) -> LossDetection {
        if transport.by_path() {
            LossDetection::PerPath(Box::new(Paths::new(transport.max_window())))
        } else if transport.by_time() {
            LossDetection::Rack(Box::new(RackTlp::new(transport)))
        } else {
            LossDetection::Sack
        }
    }

    #[inline]
    pub fn is_rack(&self) -> bool {
        matches!(self, LossDetection::Rack(_))
    }
    #[inline]
    pub fn is_per_path(&self) -> bool {
        matches!(self, LossDetection::PerPath(_))
    }
    #[inline]
    pub fn rack_mut(&mut self) -> Option<&mut RackTlp> {
        match self {
            LossDetection::Rack(rack) => Some(rack),
            _ => None,
        }
    }
    #[inline]
    pub fn paths_mut(&mut self) -> Option<&mut Paths> {
        match self {
            LossDetection::PerPath(paths) => Some(paths),
            _ => None,
        }
    }

    /// Whether a segment must be sent that is neither new nor on the sender's scoreboard.
    #[inline]
    pub fn has_more(&self) -> bool {
        match self {
            LossDetection::Sack => false,
            LossDetection::Rack(rack) => rack.is_probing(),
            LossDetection::PerPath(paths) => paths.has_waiting(),
        }
    }

    /// Takes the state out, so that the sender can change with it. The caller puts it back.
    pub fn take_rack(&mut self) -> Option<Box<RackTlp>> {
        match std::mem::take(self) {
            LossDetection::Rack(rack) => Some(rack),
            other => {
                *self = other;
                None
            }
        }
    }
    /// As [`Self::take_rack`].
    pub fn take_paths(&mut self) -> Option<Box<Paths>> {
        match std::mem::take(self) {
            LossDetection::PerPath(paths) => Some(paths),
            other => {
                *self = other;
                None
            }
        }
    }
    /// Stops all timers, because nothing more is sent.
    pub fn stop_rack(&mut self) {
        self.take_rack();
    }
}
