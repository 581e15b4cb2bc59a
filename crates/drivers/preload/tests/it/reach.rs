//! Which programs the library reaches.

use crate::{folder, text};
use slotline_preload::{LIBRARY, Unreachable, reach};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn which(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[test]
fn a_program_of_the_system_is_reached() {
    assert_eq!(reach(&which("sleep").unwrap()), Ok(()));
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let script = folder("script").join("script");
    let judge = |first: &str| {
        std::fs::write(&script, format!("{first}\necho 1\n")).unwrap();
        reach(&script)
    };
    assert_eq!(judge("#!/bin/sh -e"), Ok(()));
    assert_eq!(judge("#!/usr/bin/env -S sh"), Ok(()));
    let itself = format!("#!{}", script.display());
    let (endless, none) = (judge(&itself), judge("#! /no/such/interpreter"));
    assert!(matches!(endless, Err(Unreachable::Foreign { .. })), "{endless:?}");
    assert!(none.unwrap_err().to_string().contains("/no/such/interpreter"));
    assert!(matches!(judge("text"), Err(Unreachable::Foreign { .. })));
}

#[test]
fn a_static_program_is_refused() {
    let (source, program) = (folder("static").join("one.c"), folder("static").join("one"));
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    let built = Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).output();
    let Ok(built) = built.map_err(|why| eprintln!("skipped: a static program needs cc: {why}"))
    else {
        return;
    };
    if !built.status.success() {
        eprintln!("skipped: no static program can be built: {}", text(&built.stderr));
        return;
    }
    assert_eq!(reach(&program), Err(Unreachable::Static(program)));
}

/// Go's own command is a Go program.
#[test]
fn a_go_program_is_refused() {
    let Some(go) = which("go") else {
        eprintln!("skipped: no Go program here: go is not installed");
        return;
    };
    assert_eq!(reach(&go), Err(Unreachable::Go(go)));
}

#[test]
fn a_program_of_another_machine_is_refused() {
    let (path, mut foreign) = (folder("machine").join("foreign"), LIBRARY.to_vec());
    // The processor, at its place in the header: MIPS.
    foreign[18..20].copy_from_slice(&8u16.to_le_bytes());
    std::fs::write(&path, &foreign).unwrap();
    assert_eq!(reach(&path), Err(Unreachable::Machine(path.clone())));
    // The class: 32 bits.
    foreign[4] = 1;
    std::fs::write(&path, &foreign).unwrap();
    assert_eq!(reach(&path), Err(Unreachable::Machine(path)));
}

#[test]
fn a_program_with_the_rights_of_another_user_needs_root() {
    let path = folder("privileged").join("sleep");
    std::fs::copy(which("sleep").unwrap(), &path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4755)).unwrap();
    let root =
        Command::new("id").arg("-u").output().is_ok_and(|done| text(&done.stdout).trim() == "0");
    assert_eq!(reach(&path), if root { Ok(()) } else { Err(Unreachable::Privileged(path)) });
}

#[test]
fn damaged_programs_are_refused_without_a_panic() {
    let path = folder("damaged").join("program");
    let whole = std::fs::read(which("sleep").unwrap()).unwrap();
    for len in (0..whole.len()).step_by(whole.len() / 200 + 1) {
        std::fs::write(&path, &whole[..len]).unwrap();
        let judged = reach(&path);
        assert!(judged.is_err() || len > 64, "{len}");
        let mut changed = whole.clone();
        changed[len] ^= 0xff;
        std::fs::write(&path, &changed).unwrap();
        let _ = reach(&path);
    }
    assert!(reach(Path::new("/no/such/program")).is_err());
}
