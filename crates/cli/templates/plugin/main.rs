//! The command `slotline` with the parts of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    slotline::provide(@CRATE@::parts());
    slotline_cli::main(std::env::args_os().collect())
}
