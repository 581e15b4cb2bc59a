//! Compiles the program that loads congestion controls into the kernel, from `c/`.

use std::path::PathBuf;
use std::{env, fs};

const FLAGS: [&str; 8] =
    ["-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "c/loader.c"];

fn main() {
    println!("cargo::rerun-if-changed=c");
    let out = env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR");
    let loader = PathBuf::from(out).join("loader");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let mut compiler =
            cc::Build::new().no_default_flags(true).warnings(false).get_compiler().to_command();
        let done = compiler.args(FLAGS).arg("-o").arg(loader).status();
        let done = done.expect("a C compiler is installed: Rust links with it");
        assert!(done.success(), "the C compiler refused the loader of congestion controls");
    } else {
        fs::write(loader, []).expect("OUT_DIR can be written");
    }
}
