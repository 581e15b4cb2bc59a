//! Programs that configure the kernel.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Runs a program with `input`. Returns its error output if it fails.
pub fn command(program: &str, arguments: &[&str], input: &str) -> Result<(), String> {
    output(program, arguments, input).map(drop)
}

/// Runs a program with `input`, and returns its output, or its error output if it fails.
pub fn output(program: &str, arguments: &[&str], input: &str) -> Result<String, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("the program `{program}` is not installed"),
        _ => format!("{program}: {error}"),
    };
    let mut child = Command::new(program)
        .args(arguments)
        // The default lock file needs a folder that ordinary users lack, and a lock file of our own would remain.
        .env("XTABLES_LOCKFILE", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
