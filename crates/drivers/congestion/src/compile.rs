//! Compiles the programs for the running kernel.

use crate::{CongestionError, system};
use slotline_bump::object;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sources.
const SOURCES: [(&str, &str); 5] = [
    ("arithmetic.h", include_str!("../bpf/arithmetic.h")),
    ("kernel.h", include_str!("../bpf/kernel.h")),
    ("circuits.c", include_str!("../bpf/circuits.c")),
    ("retcp.c", include_str!("../bpf/retcp.c")),
    ("dctcp.c", include_str!("../bpf/dctcp.c")),
];

/// Writes the sources into a folder, with the definitions that they include (`layout.h`).
///
/// # Errors
/// A file cannot be written.
pub fn write_sources(folder: &Path, layout: &str) -> Result<(), CongestionError> {
    let mut all = SOURCES.into_iter().chain([("layout.h", layout)]);
    all.try_for_each(|(name, text)| fs::write(folder.join(name), text))
        .map_err(system("write the programs"))
}

/// Compiles the source `name` in a folder, and writes the instructions of each of these programs to a file of its name.
///
/// # Errors
/// There is no compiler, or it refuses the source.
pub fn compile(
    folder: &Path,
    name: &str,
    programs: &[&str],
) -> Result<Vec<PathBuf>, CongestionError> {
    let object = folder.join(name).with_extension("o");
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-Wall", "-target", "bpf", "-mcpu=v3", "-c"]).arg(folder.join(name));
    let done = clang.arg("-o").arg(&object).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CongestionError::NoCompiler,
        _ => system("run clang")(error),
    })?;
    let refused = |why: String| CongestionError::Compiler { file: name.into(), why };
    if !done.status.success() {
        return Err(refused(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    let object = fs::read(&object).map_err(system("read what clang wrote"))?;
    let program = |program: &&str| {
        let code = object::instructions(&object, &format!("slotline/{program}"));
        let code = code.map_err(|why| refused(why.to_string()))?;
        let file = folder.join(program);
        fs::write(&file, code).map_err(system("write a program"))?;
        Ok(file)
    };
    programs.iter().map(program).collect()
}
