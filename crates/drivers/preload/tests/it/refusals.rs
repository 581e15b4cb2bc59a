//! Programs that programs in virtual time start: those that would have real time are refused.

use crate::{Virtual, compiled, folder, text};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

/// What `sh` makes of a command line in virtual time.
fn shell(test: &str, line: &str) -> Output {
    Virtual::new(test, 20).command("sh").args(["-c", line]).output().unwrap()
}

fn is_refused(test: &str, line: &str, why: &str) {
    let done = shell(test, line);
    assert_eq!(done.status.code(), Some(126), "{line}: {done:?}");
    assert!(text(&done.stderr).contains(why), "{line}: {}", text(&done.stderr));
}

/// A program without loader, or `None`, with a message, if none can be made here.
fn make_static(name: &str) -> Option<std::path::PathBuf> {
    let folder = folder(name);
    let (source, program) = (folder.join("one.c"), folder.join("one"));
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.arg("-static").arg(source).arg("-o").arg(&program).output();
    let made = built.is_ok_and(|built| built.status.success());
    if !made {
        eprintln!("skipped: no static program can be built here");
    }
    made.then_some(program)
}

#[test]
fn static_programs_are_refused_wherever_they_are_started() {
    let Some(program) = make_static("refuse-static") else { return };
    let (path, folder) = (program.display(), program.parent().unwrap().display());
    let why = ": statically linked";
    is_refused("static-shell", &format!("{path}"), why);
    is_refused("static-path", &format!("PATH={folder}:$PATH; exec one"), why);
    is_refused("static-env", &format!("exec env A=b {path}"), why);
    let script = program.with_file_name("script");
    std::fs::write(&script, format!("#!{path}\n")).unwrap();
    is_refused("static-script", &format!("chmod +x {0}; exec {0}", script.display()), why);
    let real = std::process::Command::new(&program).status().unwrap();
    assert!(real.success(), "it works without virtual time");
}

#[test]
fn go_programs_are_refused() {
    if !crate::installed("go", "version") {
        return;
    }
    is_refused("go", "exec go version", "go: a Go program");
}

/// Changes a copy of the system's `sleep`, and makes it a program.
fn changed(test: &str, change: impl Fn(&mut Vec<u8>)) -> PathBuf {
    let path = folder(test).join("sleep");
    let mut bytes = std::fs::read("/bin/sleep").unwrap();
    change(&mut bytes);
    // The file of a running program cannot be written.
    let _ = std::fs::remove_file(&path);
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_program_of_another_machine_is_refused() {
    // The processor, at its place in the header: MIPS. The class: 32 bits.
    for (at, byte) in [(18, 8), (4, 1)] {
        let program = changed("machine", |bytes| bytes[at] = byte);
        is_refused("machine", &format!("exec {} 0", program.display()), ": for another processor");
    }
}

/// Go's section is known by its name alone: here that of another section is changed.
#[test]
fn a_program_with_a_section_of_go_is_refused() {
    let (old, new) = (&b".eh_frame_hdr\0"[..], &b".go.buildinfo\0"[..]);
    let program = changed("section", |bytes| {
        let at = bytes.windows(old.len()).rposition(|window| window == old);
        let at = at.expect("a distribution's program");
        bytes[at..at + new.len()].copy_from_slice(new);
    });
    is_refused("section", &format!("exec {} 0", program.display()), ": a Go program");
}

#[test]
fn a_program_with_the_rights_of_another_user_needs_root() {
    let program = changed("privileged", |_| ());
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o4755)).unwrap();
    let root = std::process::Command::new("id").arg("-u").output().unwrap();
    let line = format!("exec {} 0", program.display());
    match text(&root.stdout).trim() {
        "0" => assert!(shell("privileged", &line).status.success()),
        _ => is_refused("privileged", &line, ": set-user-ID"),
    }
}

/// Whatever a file says of itself, the program that would start it goes on. The kernel starts none of these files.
#[test]
fn damaged_programs_do_no_harm() {
    let library = Virtual::new("damaged", 20);
    let judge = |change: &dyn Fn(&mut Vec<u8>)| {
        let path = changed("damaged", change);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let line = format!("(exec {} 0); echo \"ended by $?\"", path.display());
        let done = library.command("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(text(&done.stdout), "ended by 126\n", "{done:?}");
    };
    for at in (0..1_000).step_by(25) {
        judge(&|bytes| bytes[at] ^= 0xff);
        judge(&|bytes| bytes.truncate(at));
    }
}

/// The first program is judged like any other.
#[test]
fn the_first_program_is_judged() {
    let Some(program) = make_static("refuse-first") else { return };
    let time = Virtual::new("first", 20);
    let start = |program: &Path| {
        let mut command = slotline_preload::started(program);
        command.envs(time.environment()).output().unwrap().status.code()
    };
    assert_eq!((start(&program), start(Path::new("/bin/true"))), (Some(126), Some(0)));
}

/// All functions that start a program, in C: the refused one, and one that works.
#[test]
fn every_function_refuses() {
    let Some(refused) = make_static("refuse-functions") else { return };
    let Some(starts) = compiled("starts", &folder("starts"), &["-D_GNU_SOURCE"]) else { return };
    let run = |program: &Path| {
        let mut command = Virtual::new("functions", 20).command(&starts);
        let done = command.arg(program).output().unwrap();
        (text(&done.stdout), text(&done.stderr))
    };
    let (shown, said) = run(&refused);
    let functions =
        "execve execv execvpe execvp execl execlp execle fexecve posix_spawn posix_spawnp";
    let lines = |result: &str| {
        functions.split(' ').map(|name| format!("{name} {result}\n")).collect::<String>()
    };
    assert_eq!(shown, lines("refused"), "{said}");
    assert_eq!(said.matches("statically linked").count(), 10, "{said}");
    assert_eq!(run(Path::new("/bin/true")), (lines("0"), String::new()));
    assert_eq!(run(Path::new("/bin/false")), (lines("1"), String::new()));
}

#[test]
fn programs_that_cannot_start_fail_as_without_virtual_time() {
    let none = shell("refuse-none", "/no/such/program");
    assert_eq!(none.status.code(), Some(127), "{none:?}");
    let text_file = folder("refuse-text").join("text");
    std::fs::write(&text_file, "exit 7\n").unwrap();
    let path = text_file.display();
    let line = format!("chmod +x {path}; {path}");
    assert_eq!(shell("refuse-text-file", &line).status.code(), Some(7), "a script without `#!`");
}
