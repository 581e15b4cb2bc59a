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

/// Builds the package. `None` if this machine cannot.
fn package(folder: &Folder) -> Option<String> {
    if !exists("dpkg-deb") {
        println!("skipped: this machine has no dpkg-deb");
        return None;
    }
    let build = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/deb/build");
    let mut command = Command::new(build);
    command.arg(&folder.0).env("SLOTLINE_PROGRAM", PROGRAM);
    // Strong compression takes most of a minute.
    command.envs([("DPKG_DEB_COMPRESSOR_TYPE", "gzip"), ("DPKG_DEB_COMPRESSOR_LEVEL", "1")]);
    Some(succeeded(&mut command).trim().to_owned())
}

/// The scripts of the package add the group of lldpd to the agent's unit if the group exists, and leave a file of the administrator
/// alone. A program in the place of `getent` says whether it exists.
fn check_group(folder: &Folder, package: &str, root: &Path) {
    let control = folder.0.join("control");
    succeeded(Command::new("dpkg-deb").arg("--control").arg(package).arg(&control));
    let bin = folder.0.join("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let paths = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
    let run = |script: &str, argument: &str, group: bool| {
        let getent = bin.join("getent");
        std::fs::write(&getent, format!("#!/bin/sh\nexit {}\n", if group { 0 } else { 2 }))
            .expect("a file");
        std::fs::set_permissions(&getent, std::fs::Permissions::from_mode(0o755))
            .expect("its mode");
        let mut command = Command::new(control.join(script));
        succeeded(command.arg(argument).env("DPKG_ROOT", root).env("PATH", &paths));
    };
    let link = root.join("etc/systemd/system/slotline-agent.service.d/lldpd.conf");
    let target = || std::fs::read_link(&link).ok();
    run("postinst", "configure", false);
    assert_eq!(target(), None);
    // lldpd is installed later.
    for _ in 0..2 {
        run("postinst", "triggered", true);
        let target = target().expect("a link");
        let file = root.join(target.strip_prefix("/").expect("a path from the root"));
        let text = std::fs::read_to_string(file).expect("a file of the package");
        assert!(text.contains("[Service]\nSupplementaryGroups=_lldpd\n"), "{text}");
    }
    run("postinst", "triggered", false);
    assert_eq!(target(), None);
    run("postinst", "configure", true);
    run("postrm", "upgrade", true);
    assert!(target().is_some());
    run("postrm", "remove", true);
    assert!(!link.parent().expect("its folder").exists());
    std::fs::create_dir_all(link.parent().expect("its folder")).expect("a folder");
    std::fs::write(&link, "# of the administrator").expect("a file");
    run("postinst", "configure", true);
    run("postrm", "remove", true);
    assert!(link.exists());
}

#[test]
fn the_package_has_the_program_and_units_that_systemd_accepts() {
    let folder = Folder::new("package", &[]);
    let Some(package) = package(&folder) else { return };
    let root = folder.0.join("root");
    succeeded(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(&root));
    let program = root.join("usr/bin/slotline");
    assert!(succeeded(Command::new(&program).arg("--version")).starts_with("slotline "));
    check_group(&folder, &package, &root);
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
