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
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let library = PathBuf::from(out).join("libslotline.so");
    if is_supported() {
        compile(&library);
    } else {
        fs::write(library, []).expect("OUT_DIR can be written");
    }
}

/// The library requires the GNU C library and integers of 128 bits.
fn is_supported() -> bool {
    let target = |what: &str| env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    target("OS") == "linux" && target("ENV") == "gnu" && target("POINTER_WIDTH") == "64"
}

fn compile(library: &Path) {
    let mut compiler = compiler();
    let done = compiler.args(FLAGS).arg(library).args(sources()).arg("-ldl").status();
    let done = done.expect("a C compiler is installed: Rust links with it");
    assert!(done.success(), "the C compiler refused the library for LD_PRELOAD");
}

/// The system's C compiler for the target, without the flags for code that is linked into Rust.
fn compiler() -> Command {
    cc::Build::new().no_default_flags(true).warnings(false).get_compiler().to_command()
}

fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    let files = fs::read_dir(folder).expect("the sources are here");
    let mut paths: Vec<PathBuf> =
        files.map(|file| file.expect("a readable folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    paths.sort();
    paths
}
