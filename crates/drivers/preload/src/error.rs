//! Errors of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why virtual time or a table of demand cannot be set up or read.
#[derive(Debug, thiserror::Error)]
pub enum PreloadError {
    /// This program was built for another system.
    #[error(
        "virtual time needs a Slotline that was built for Linux with 64 bits and the GNU C library"
    )]
    Unsupported,
    /// A file cannot be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The dilation is below 1 or needs more than 32 bits. Programs cannot run faster than the machine.
    #[error(
        "a dilation of {numerator}/{denominator}: it must be at least 1, and neither number more than 4294967295"
    )]
    Dilation {
        /// Real time.
        numerator: u64,
        /// Virtual time.
        denominator: u64,
    },
    /// The table has no hosts, or too many, or its last host has no address.
    #[error(
        "a table of demand for {hosts} hosts from {first}: it may have 1 to 4096 hosts with IPv4 addresses"
    )]
    Hosts {
        /// The number of hosts.
        hosts: u32,
        /// The address of the first one.
        first: std::net::Ipv4Addr,
    },
    /// `LD_PRELOAD` interprets blanks and colons as separators.
    #[error("{}: a library for LD_PRELOAD cannot lie in a folder with a blank, a colon or a `$` in its path", .0.display())]
    Separator(PathBuf),
}

/// Adds the name of the file to an error, for `map_err`.
pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> PreloadError + '_ {
    move |source| PreloadError::File { path: path.to_path_buf(), source }
}
