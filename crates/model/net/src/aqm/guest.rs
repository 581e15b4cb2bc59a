//! Disciplines from outside: programs that whoever builds a network brings along, for example from files.
//!
//! This crate reads no file and runs no foreign code. It gives each queue a discipline that a [`Program`]
//! has made, and asks it through a pointer; the disciplines of this crate are asked directly, as ever.

use super::discipline::Discipline;
use super::spec::ensure;
use crate::error::SpecError;
use crate::rng::Stream;
use crate::units::{Bytes, Rate};
use std::fmt;
use std::sync::Arc;

/// What a discipline is told of its queue.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The rate at which the queue drains.
    pub rate: Rate,
    /// What it holds.
    pub capacity: Bytes,
    /// What its draws come from.
    pub rng: Stream,
}

/// Makes disciplines.
pub trait Program: fmt::Debug + Send + Sync {
    /// What it was made from. Two programs are the same where these bytes are.
    fn source(&self) -> &[u8];

    /// The same program with nothing remembered: for the queues of another switch, or of another bump.
    /// What its disciplines share they share among themselves alone, as nodes run side by side.
    fn apart(&self) -> Arc<dyn Program>;

    /// The discipline of one queue.
    fn discipline(&self, seat: Seat) -> Box<dyn Guest>;
}

/// A discipline that a [`Program`] made. Every [`Discipline`] that can be cloned and sent is one.
pub trait Guest: Discipline + fmt::Debug + Send {
    /// The same, with the state it has now.
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

/// A queue policy that is a program.
#[derive(Clone, Debug)]
pub struct ObjectSpec {
    /// The file that it is in, as the scenario names it.
    pub file: String,
    /// Most instructions for one packet.
    pub instructions: u32,
    /// Whether it notifies senders, so that hosts need reaction points.
    pub notifies: bool,
    /// The program; whoever reads files puts it here.
    pub program: Option<Arc<dyn Program>>,
}

impl PartialEq for ObjectSpec {
    fn eq(&self, other: &ObjectSpec) -> bool {
        let words = |one: &ObjectSpec| (one.file.clone(), one.instructions, one.notifies);
        let source = |one: &ObjectSpec| one.program.as_ref().map(|p| p.source().to_vec());
        words(self) == words(other) && source(self) == source(other)
    }
}

impl ObjectSpec {
    /// Most instructions for one packet, unless given.
    pub const INSTRUCTIONS: u32 = 10_000;
    /// Most that can be given: what Linux's verifier looks at.
    pub const MOST_INSTRUCTIONS: u32 = 1_000_000;

    /// Whether the settings make sense, and the file was read.
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        let ObjectSpec { file, instructions, .. } = self;
        let most = ObjectSpec::MOST_INSTRUCTIONS;
        ensure((1..=most).contains(instructions), "instructions", || {
            format!("`instructions` is {instructions}: it has to be 1 to {most}")
        })?;
        ensure(self.program.is_some(), "file", || format!("`file` = \"{file}\" was not read"))
    }

    /// The same with a program that shares nothing with others.
    pub(super) fn apart(&self) -> ObjectSpec {
        ObjectSpec { program: self.program.as_ref().map(|program| program.apart()), ..self.clone() }
    }

    /// The discipline of one queue; `None` where the file was not read.
    pub(super) fn discipline(&self, seat: Seat) -> Option<Box<dyn Guest>> {
        self.program.as_ref().map(|program| program.discipline(seat))
    }
}
