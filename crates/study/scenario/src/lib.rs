//! Scenario files: what is compared, on what network, under which traffic, and for how long.
//!
//! A file is read ([`load`]), merged with the files that it extends ([`extends`]), checked against
//! its schema ([`schema`]) and against itself ([`check`]), and becomes plain data ([`Scenario`]). Each fault
//! names its file, line and key ([`error`]). The crate also imports the files of other tools ([`import`])
//! and declares the metrics that a scenario can name ([`metric`]). It runs nothing.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod app;
mod bumps;
pub mod catalogue;
pub mod check;
pub mod document;
pub mod emulated;
mod engine;
pub mod error;
mod event;
pub mod expect;
pub mod extends;
mod extensions;
mod fingerprint;
pub mod fit;
pub mod flow_level;
mod hybrid;
pub mod import;
mod imported;
mod input;
pub mod keys;
pub mod load;
mod measured;
pub mod merge;
pub mod metric;
mod named_files;
mod objects;
pub mod overrides;
mod own_fabric;
mod paths;
pub mod port_names;
pub mod quantity;
mod queue_text;
pub mod real_switches;
pub mod reference;
pub mod renamed;
pub mod schema;
mod shape;
mod shape_messages;
mod spec;
mod text_file;
mod traffic;

pub use app::AppSpec;
pub use check::Files;
pub use engine::{
    EmulateSpec, EngineSpec, FlowSpec, GateSpec, RatesSpec, SignalSpec, SwitchesSpec,
};
pub use error::{Fault, ScenarioError};
pub use event::{EventKind, EventSpec};
pub use extensions::{Extensions, provide};
pub use fingerprint::{ContentHash, content_name, fingerprint};
pub use load::Loaded;
pub use named_files::named_files;
pub use queue_text::queue_from_text;
pub use spec::{EndSpec, EndWhen, MeasureSpec, Scenario, SchemeSpec, written};
pub use text_file::read_text;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod extends_tests;
