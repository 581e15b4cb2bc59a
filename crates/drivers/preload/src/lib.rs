//! Virtual time, and reports of demand, for applications that run in emulated hosts: a library in C that
//! `LD_PRELOAD` puts before the C library of unmodified programs.
//!
//! **Time dilation** (Etalon, §3.3). A program that is dilated by 20 sees a second pass while 20 real seconds
//! pass, so a network of 1 Gbit/s looks to it like one of 20 Gbit/s. [`SharedTime`] writes the file that describes
//! this time. The library translates what the program reads from clocks and what it waits for.
//!
//! **Application data units** (Etalon, §5.2). The library adds the bytes that applications give to TCP to a
//! table in a file that all hosts share, [`AduTable`]. A scheduler reads from it what hosts still have to
//! send, before the bytes are in a queue.
//!
//! ```no_run
//! use slotline_preload::{AduTable, Dilation, Now, SharedTime, environment, install, started};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = std::path::Path::new("/run/slotline/1");
//! let library = install(folder)?;
//! let time = SharedTime::create(&folder.join("time"), Dilation::new(20, 1)?, Now::read())?;
//! let demand = AduTable::create(&folder.join("demand"), 8, [10, 0, 0, 1].into())?;
//! let variables = environment(&library, Some(&time), Some((&demand, 3)));
//! started("iperf3").arg("-s").envs(variables).spawn()?;
//! # Ok(())
//! # }
//! ```
//!
//! The library is in `c/`, one file for each family of functions. It keeps no lock and allocates nothing, so
//! it works in signal handlers and after `fork`. A program in virtual time cannot start programs that `LD_PRELOAD`
//! does not reach. [`started`] lets this also hold for the first one.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adu;
mod error;
mod library;
mod time;

pub use adu::AduTable;
pub use error::PreloadError;
pub use library::{environment, install, started};
pub use time::{Clock, Dilation, Now, SharedTime};
