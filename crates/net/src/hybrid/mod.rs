//! Networks whose circuits come and go: schedules of circuits, what a rack does at which time, and
//! queues by destination rack. State machines without I/O: [`crate::node::hybrid`] has the nodes.

pub mod agenda;
pub mod demand;
pub mod program;
pub mod rotation;
pub mod spec;
pub mod voq;

pub use agenda::{Agenda, Deed, Leads};
pub use program::{Day, Program, RackDay};
pub use spec::{AtNight, ResizeSpec, Shrink, VoqSpec};
pub use voq::{Voq, VoqStats};

/// In the place of a rack: none.
pub const NO_RACK: u16 = u16::MAX;
