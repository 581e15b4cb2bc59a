//! The contents of the Debian package work. If this machine cannot build it, the test prints why and passes.

use crate::folder::{Folder, PROGRAM, stderr};
use std::path::Path;
use std::process::Command;

fn succeeded(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn the_package_has_the_program_and_units_that_systemd_accepts() {
    if !exists("dpkg-deb") {
        println!("skipped: this machine has no dpkg-deb");
        return;
    }
    let folder = Folder::new("package", &[]);
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/deb/build");
    let mut command = Command::new(build);
    command.arg(&folder.0).env("SLOTLINE_PROGRAM", PROGRAM);
    // Strong compression takes most of a minute.
    command.envs([("DPKG_DEB_COMPRESSOR_TYPE", "gzip"), ("DPKG_DEB_COMPRESSOR_LEVEL", "1")]);
    let package = succeeded(&mut command);
    let root = folder.0.join("root");
    succeeded(Command::new("dpkg-deb").arg("--extract").arg(package.trim()).arg(&root));
    let program = root.join("usr/bin/slotline");
    assert!(succeeded(Command::new(&program).arg("--version")).starts_with("slotline "));
    if !exists("systemd-analyze") {
        println!("skipped: this machine has no systemd-analyze");
        return;
    }
    for name in ["slotline-agent.service", "slotline-arbiter.service", "slotline-bump@.service"] {
        let unit = root.join("usr/lib/systemd/system").join(name);
        let text = std::fs::read_to_string(&unit).expect("the unit is there");
        // systemd looks for the program on this machine.
        let text = text.replace("/usr/bin/slotline", program.to_str().expect("a name"));
        let copy = folder.0.join(name);
        std::fs::write(&copy, text).expect("a copy");
        let verified = Command::new("systemd-analyze").arg("verify").arg(&copy).output();
        // It only warns of unknown keys, and succeeds.
        let said = stderr(&verified.expect("it starts"));
        assert!(!said.contains(name), "{said}");
    }
}
