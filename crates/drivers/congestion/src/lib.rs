//! Congestion controls for the kernel's TCP, as BPF programs (struct_ops).
//!
//! The programs are in C (`bpf/`). When a control is loaded, [`layout`] writes a header with the offsets of fields in the
//! running kernel, `clang` compiles the programs, and a small program of its own (`c/loader.c`) loads and registers them.
//! The control exists as long as that program, which ends with this process. So nothing remains, even after `kill -9`.
//!
//! The states of circuits are in a map of the kernel, with a place for each two hosts. [`Control::tell`] writes them by a
//! message to a socket, whose filter is another BPF program. It runs while the message is sent. So this crate needs
//! neither a library for BPF nor `unsafe`.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod compile;
pub mod layout;
mod load;

pub use load::Control;

use std::io;
use std::net::Ipv4Addr;

/// How the network tells a control of circuits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// By a map of the kernel ([`Control::tell`]).
    Map,
    /// By ECN-Echo in acknowledgements, as in the Etalon paper.
    Marks,
}

/// A congestion control with its settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// reTCP. The window changes by these factors in 1/1024, when a circuit is announced and when it no longer is.
    Retcp {
        /// The factor when a circuit begins.
        up: u32,
        /// The factor when it ends.
        down: u32,
        /// How it learns of circuits.
        signal: Signal,
    },
    /// DCTCP. Its gain is 2 to the power of minus `gain_shift`.
    Dctcp {
        /// The exponent.
        gain_shift: u8,
    },
}

impl Algorithm {
    /// The name of the algorithm.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Retcp { .. } => "retcp",
            Algorithm::Dctcp { .. } => "dctcp",
        }
    }

    /// The programs, by the members of `struct tcp_congestion_ops`.
    pub fn members(self) -> &'static [&'static str] {
        match self {
            Algorithm::Retcp { signal: Signal::Map, .. } => {
                &["ssthresh", "cong_avoid", "set_state", "undo_cwnd", "min_tso_segs"]
            }
            Algorithm::Retcp { signal: Signal::Marks, .. } => &[
                "init",
                "ssthresh",
                "undo_cwnd",
                "in_ack_event",
                "cong_control",
                "set_state",
                "cwnd_event",
                "min_tso_segs",
            ],
            Algorithm::Dctcp { .. } => &[
                "init",
                "ssthresh",
                "undo_cwnd",
                "in_ack_event",
                "cong_avoid",
                "set_state",
                "cwnd_event",
                "min_tso_segs",
            ],
        }
    }

    /// Flags of the control: hosts in all namespaces may use it (1), and it needs ECN (2).
    fn flags(self) -> u32 {
        match self {
            Algorithm::Retcp { .. } => 1,
            Algorithm::Dctcp { .. } => 3,
        }
    }

    /// The settings as definitions for the programs.
    pub fn definitions(self) -> String {
        match self {
            Algorithm::Retcp { up, down, signal } => {
                let marks = if signal == Signal::Marks { "#define BY_MARKS\n" } else { "" };
                format!("#define JUMP_UP {up}u\n#define JUMP_DOWN {down}u\n{marks}")
            }
            Algorithm::Dctcp { gain_shift } => format!("#define GAIN_SHIFT {gain_shift}\n"),
        }
    }
}

/// The hosts of a network, with consecutive addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hosts {
    /// The first address.
    pub first: Ipv4Addr,
    /// The number of hosts.
    pub count: u32,
}

/// The reason why a congestion control cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CongestionError {
    /// The kernel's types cannot be read.
    #[error("cannot read the kernel's types, {file}: {0} (CONFIG_DEBUG_INFO_BTF)", file = layout::KERNEL_TYPES)]
    Types(io::Error),
    /// The kernel lacks a type, a field or a constant.
    #[error("this kernel lacks `{0}`; Linux 6.4 or newer with CONFIG_BPF_JIT is needed")]
    Lacking(String),
    /// There is no compiler.
    #[error(
        "its programs are compiled for the running kernel: install clang (sudo apt install clang)"
    )]
    NoCompiler,
    /// The compiler refused a program.
    #[error("clang refused {file}: {why}")]
    Compiler {
        /// The file.
        file: String,
        /// The messages of the compiler.
        why: String,
    },
    /// The kernel refused a program or the control.
    #[error("{0}")]
    Refused(String),
    /// A file or a process failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> CongestionError {
    move |error| CongestionError::System { what, error }
}
