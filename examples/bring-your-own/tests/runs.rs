//! The program fails unless its runs use each of its parts.

use std::process::Command;

#[test]
fn every_part_is_used() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_bring-your-own")).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
