//! External disciplines: programs that the caller supplies, for example from files.
//!
//! This crate reads no file and runs no foreign code. It gives each queue a discipline that a [`Program`] has made,
//! and calls it through a pointer. The disciplines of this crate are called directly.

use super::discipline::Discipline;
use super::settings::{QueueParams, Settings, ensure};
use crate::error::SpecError;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Makes disciplines.
pub trait Program: fmt::Debug + Send + Sync {
    /// The source of the program. Two programs are equal if their sources are.
    fn source(&self) -> &[u8];

    /// The same program with fresh state, for the queues of another switch or another bump. Its disciplines share
    /// state only among themselves, because nodes run in parallel.
    fn unshared(&self) -> Arc<dyn Program>;

    /// The discipline of one queue.
    fn discipline(&self, queue: QueueParams) -> Box<dyn Guest>;
}

/// A discipline that a [`Program`] made. Every [`Discipline`] that can be cloned and sent is one.
pub trait Guest: Discipline + fmt::Debug + Send {
    /// A copy with the present state.
    fn copied(&self) -> Box<dyn Guest>;
}

impl<D: Discipline + Clone + fmt::Debug + Send + 'static> Guest for D {
    fn copied(&self) -> Box<dyn Guest> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Guest> {
    fn clone(&self) -> Box<dyn Guest> {
        (**self).copied()
    }
}

/// The settings of a program in an object file.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct ObjectSpec {
    /// The object file, as clang makes it for eBPF. Its path is relative to the scenario.
    pub file: String,
    /// The most instructions for one packet. A program that exceeds this, or breaks another rule, is stopped. All
    /// packets of its queue pass from then on.
    #[serde(default = "most_instructions")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub instructions: u32,
    /// Whether the program notifies senders. Hosts then have reaction points, as under `qcn`.
    #[serde(default)]
    pub notifies: bool,
    /// The program. The reader of the file stores it here.
    #[serde(skip)]
    pub program: Option<Arc<dyn Program>>,
}

const fn most_instructions() -> u32 {
    ObjectSpec::INSTRUCTIONS
}

impl PartialEq for ObjectSpec {
    fn eq(&self, other: &ObjectSpec) -> bool {
        let settings = |one: &ObjectSpec| (one.file.clone(), one.instructions, one.notifies);
        let source = |one: &ObjectSpec| one.program.as_ref().map(|p| p.source().to_vec());
        settings(self) == settings(other) && source(self) == source(other)
    }
}

impl ObjectSpec {
    /// The default of `instructions`.
    pub const INSTRUCTIONS: u32 = 10_000;
    /// The largest value of `instructions`, as in Linux's verifier.
    pub const MOST_INSTRUCTIONS: u32 = 1_000_000;

    /// The same settings with a program that shares no state with others.
    pub(super) fn unshared(&self) -> ObjectSpec {
        let program = self.program.as_ref().map(|program| program.unshared());
        ObjectSpec { program, ..self.clone() }
    }
}

impl Settings for ObjectSpec {
    type Discipline = Box<dyn Guest>;
    const FOREIGN: bool = true;

    fn discipline(&self, queue: QueueParams) -> Box<dyn Guest> {
        let program = self.program.as_ref().expect("a valid queue has its program");
        program.discipline(queue)
    }
    fn validate(&self, _limit: Bytes) -> Result<(), SpecError> {
        let ObjectSpec { file, instructions, .. } = self;
        let most = ObjectSpec::MOST_INSTRUCTIONS;
        ensure((1..=most).contains(instructions), "instructions", || {
            format!("`instructions` is {instructions}: it has to be 1 to {most}")
        })?;
        ensure(self.program.is_some(), "file", || format!("`file` = \"{file}\" was not read"))
    }
    fn describe(&self, _size: &dyn Fn(Bytes) -> String) -> String {
        let ObjectSpec { file, instructions, .. } = self;
        format!("by the program in {file}, with at most {instructions} instructions for a packet")
    }
    /// Only the author of the program knows this.
    fn marks(&self) -> bool {
        true
    }
    fn notifies(&self) -> bool {
        self.notifies
    }
}
