//! Compiles the library that applications load, from `c/`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FLAGS: [&str; 13] = [
    "-std=gnu11",
    "-O2",
    "-g0",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-D_GNU_SOURCE",
    // With it, the C library's headers define some of the functions that this library defines.
    "-U_FORTIFY_SOURCE",
    "-Wl,-z,defs",
    "-o",
];

fn main() {
    println!("cargo::rerun-if-changed=c");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let done =
        compiler().args(FLAGS).arg(out.join("libslotline.so")).args(sources()).arg("-ldl").status();
    let done = done.expect("a C compiler is installed: Rust links with it");
    assert!(done.success(), "the C compiler refused the library for LD_PRELOAD");
}

/// The system's C compiler for the target, without flags for what is linked into Rust.
fn compiler() -> Command {
    cc::Build::new().no_default_flags(true).warnings(false).get_compiler().to_command()
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    let files = fs::read_dir(folder).expect("the sources are here");
    let paths = files.map(|file| file.expect("a readable folder").path());
    let mut sources: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "c")).collect();
    sources.sort();
    sources
}
