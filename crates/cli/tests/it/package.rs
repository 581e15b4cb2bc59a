//! The contents of the Debian package work. If this machine cannot build it, the test prints why and passes.

use crate::folder::{Folder, PROGRAM, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
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
        if !name.contains('@') {
            check_exposure(&copy);
        }
    }
}

/// Daemons have few rights: systemd rates a service from 0 (none) to 10 (all). The threshold is ten times that.
fn check_exposure(unit: &Path) {
    let mut rate = Command::new("systemd-analyze");
    rate.args(["security", "--offline=true", "--threshold=30"]).arg(unit);
    let rated = rate.output().expect("it starts");
    let text = String::from_utf8_lossy(&rated.stdout).into_owned();
    if !text.contains("Overall exposure level") {
        // Before version 250 it needs a running systemd.
        return println!("skipped: systemd-analyze does not rate files: {}", stderr(&rated));
    }
    assert!(rated.status.success(), "{text}");
}

/// systemd gives a service a key that only this service can read, with a mode that does not show it.
#[test]
fn a_key_that_systemd_hands_over_is_read() {
    let folder = Folder::new("credentials", &[]);
    let public = succeeded(&mut folder.command(&["key", "new", "own/key"]));
    let key = folder.0.join("own/key");
    let show = |credentials: Option<&str>| {
        let mut show = folder.command(&["key", "public", "own/key"]);
        show.env_remove("CREDENTIALS_DIRECTORY");
        credentials.map(|of| show.env("CREDENTIALS_DIRECTORY", of));
        show.output().expect("it starts")
    };
    assert!(show(None).status.success());
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o444)).expect("its mode");
    let open = show(None);
    assert_eq!(open.status.code(), Some(2));
    assert!(stderr(&open).contains("own/key"), "{}", stderr(&open));
    assert!(!show(Some("other")).status.success(), "the key is not in that folder");
    let handed = show(Some("own"));
    assert_eq!((handed.status.success(), stdout(&handed)), (true, public), "{}", stderr(&handed));
}
