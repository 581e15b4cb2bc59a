//! Programs that programs in virtual time start: those that would have real time are refused.

use crate::{Virtual, compiled, folder, text};
use std::path::Path;
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
