//! Runs a program in virtual time: `dilated DILATION PROGRAM [ARGUMENT]…`. Virtual and real time are equal when it
//! starts. Programs with the same virtual time need the same file of time; this example creates one for each program.

use slotline_preload::{Dilation, Now, SharedTime, environment, install, started};
use std::error::Error;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

fn main() {
    let ended = start(std::env::args_os().skip(1));
    std::process::exit(ended.unwrap_or_else(|why| {
        eprintln!("dilated: {why}");
        2
    }))
}

fn start(mut arguments: impl Iterator<Item = OsString>) -> Result<i32, Box<dyn Error>> {
    let (Some(dilation), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("usage: dilated DILATION PROGRAM [ARGUMENT]…".into());
    };
    let dilation = dilation.to_str().ok_or("the dilation is not a number")?.parse()?;
    let folder = std::env::temp_dir().join(format!("dilated-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let ended = run(&folder, dilation, started(program).args(arguments));
    std::fs::remove_dir_all(&folder)?;
    ended
}

/// The exit code of the program.
fn run(folder: &Path, dilation: u64, program: &mut Command) -> Result<i32, Box<dyn Error>> {
    let library = install(folder)?;
    let time = SharedTime::create(&folder.join("time"), Dilation::new(dilation, 1)?, Now::read())?;
    let status = program.envs(environment(&library, Some(&time), None)).status()?;
    Ok(status.code().unwrap_or(1))
}
