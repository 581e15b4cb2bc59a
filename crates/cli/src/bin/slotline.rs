//! The program `slotline`.

use std::process::ExitCode;

fn main() -> ExitCode {
    slotline_cli::main(std::env::args_os().collect())
}
