//! Scenario files: what is compared, on what, and for how long.

mod brought;
mod bumps;
mod check;
pub mod document;
mod engine;
pub mod error;
mod event;
pub mod extends;
pub(crate) mod flow_level;
mod hybrid;
pub mod keys;
pub mod load;
pub mod merge;
mod objects;
mod paths;
mod queue_text;
mod shape;
mod shape_words;
mod spec;

pub use engine::{EngineSpec, FlowSpec, RatesSpec};
pub use error::{Fault, ScenarioError};
pub use event::{EventKind, EventSpec};
pub use load::Loaded;
pub use queue_text::queue_from_text;
pub use spec::{EndSpec, EndWhen, MeasureSpec, Scenario, SchemeSpec};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod extends_tests;
