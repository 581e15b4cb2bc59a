//! `--exact`: a guest machine with virtual time runs the same command.

use crate::out::{print_bytes, warn};
use crate::progress;
use crate::run::INTERRUPTED;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use slotline_emulate::isolation;
use slotline_guest::cpio::Content;
use slotline_guest::files::{Files, named_in, which};
use slotline_guest::inside;
use slotline_guest::job::{Job, JobResult};
use slotline_guest::machine::{GuestError, Machine};
use slotline_lab::output::Place;
use slotline_net::time::Time;
use slotline_scenario::{Loaded, named_files};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{env, fs, io};

#[derive(Args)]
pub struct GuestOptions {
    /// With --exact: end the guest after this real time.
    #[arg(long, value_name = "TIME", default_value = "1800s")]
    pub exact_timeout: Time,
    /// With --exact: a file or folder that programs of the scenario need besides the files that their command lines
    /// name. It has the same path in the guest.
    #[arg(long, value_name = "PATH")]
    pub exact_file: Vec<PathBuf>,
}

/// The folder that receives the folder with the result.
pub struct Destination<'a> {
    pub out: &'a Path,
    /// Whether an existing result of the same scenario is replaced.
    pub force: bool,
}

/// The longest time that a command without a scenario may take.
const ALONE: Duration = Duration::from_secs(3_600);

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether a scenario is to be emulated in a guest that does not run yet.
pub fn is_wanted(loaded: &Loaded) -> bool {
    loaded.scenario.engine.emulated().is_some_and(|spec| spec.exact) && !inside::is_inside()
}

/// The command of the first process of a guest.
pub fn first_process() -> Result<ExitCode> {
    inside::first_process()?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the present command line in a guest, and prints what it prints. Its result is stored on this machine.
pub fn run(
    loaded: &Loaded,
    options: &GuestOptions,
    destination: Option<&Destination<'_>>,
) -> Result<ExitCode> {
    let machine = Machine::find().context("--exact cannot run here")?;
    let claim = |to: &Destination<'_>| {
        Place::claim(to.out, &loaded.scenario.name, &loaded.resolved(), to.force)
    };
    let place = destination.map(claim).transpose()?;
    let folder = env::current_dir().context("cannot find the present folder")?;
    let job = Job {
        arguments: env::args_os().skip(1).collect(),
        returned: destination.map(|to| folder.join(to.out)),
        folder,
    };
    let files = files(loaded, &options.exact_file, &job).context("cannot fill the guest")?;
    progress::on_interrupt(|| STOP.store(true, Ordering::Relaxed))?;
    let time_out = Duration::from_nanos(options.exact_timeout.as_ns());
    match guest(&machine, &job, files, time_out) {
        Ok(result) => finish(result, place),
        Err(error @ GuestError::TimedOut(_)) => {
            Err(anyhow!("{error}: raise --exact-timeout, or shorten the scenario"))
        }
        Err(error) => failed(error),
    }
}

/// Runs the present command line, which needs no files, in a guest, and prints what it prints. It needs these `programs`
/// besides those that emulations need.
pub fn run_alone(programs: &[&str]) -> Result<ExitCode> {
    let machine = Machine::find().context("--exact cannot run here")?;
    let arguments = env::args_os().skip(1).collect();
    let job = Job { arguments, returned: None, folder: "/root".into() };
    let mut files = Files::default();
    let usual = isolation::PROGRAMS.iter().chain(programs).filter_map(|name| which(name));
    let mut usual = usual.chain(extensions());
    usual.try_for_each(|program| files.program(&program)).context("cannot fill the guest")?;
    progress::on_interrupt(|| STOP.store(true, Ordering::Relaxed))?;
    match guest(&machine, &job, files, ALONE) {
        Ok(result) => finish(result, None),
        Err(error) => failed(error),
    }
}

/// Runs a job in a guest with these files.
fn guest(
    machine: &Machine,
    job: &Job,
    files: Files,
    time_out: Duration,
) -> Result<JobResult, GuestError> {
    let bar = progress::bar();
    bar.set_message(format!("in a guest with Linux {}", machine.release()));
    bar.tick();
    let on_line = |line: &str| match progress::steps_in(line) {
        Some(steps) => bar.set_position(steps),
        None => bar.suspend(|| warn(line)),
    };
    let result = machine.run(job, files, time_out, &STOP, on_line);
    bar.finish_and_clear();
    result
}

fn failed(error: GuestError) -> Result<ExitCode> {
    match error {
        GuestError::Stopped => {
            warn("interrupted: the guest was ended, and nothing is stored");
            Ok(ExitCode::from(INTERRUPTED))
        }
        error => Err(error.into()),
    }
}

fn finish(result: JobResult, place: Option<Place>) -> Result<ExitCode> {
    print_bytes(&result.output);
    if let Some(place) = place {
        let within = format!("{}/", place.id());
        let own = |(path, content): (String, Content)| {
            Some((path.strip_prefix(&within)?.to_owned(), content))
        };
        let files: Vec<(String, Content)> = result.files.into_iter().filter_map(own).collect();
        if !files.is_empty() {
            place.receive(|folder| unpack(&files, folder))?;
        }
    }
    Ok(ExitCode::from(result.exit))
}

fn unpack(files: &[(String, Content)], folder: &Path) -> io::Result<()> {
    files.iter().try_for_each(|(path, content)| match content {
        Content::Folder => fs::create_dir(folder.join(path)),
        Content::File(bytes) => fs::write(folder.join(path), bytes),
        Content::Link(_) => Ok(()),
    })
}

/// The files of the guest: the scenario with its files, and the programs that it and emulations need. Programs that are
/// missing here are missing there, where the emulation names them.
fn files(loaded: &Loaded, more: &[PathBuf], job: &Job) -> io::Result<Files> {
    let mut files = Files::default();
    files.put(&job.folder.to_string_lossy(), Content::Folder);
    for path in named_files(&loaded.document.file).iter().chain(more) {
        files.copy(path)?;
    }
    let named = loaded.scenario.app.iter().flat_map(|app| named_in(&app.run, &job.folder));
    let usual = isolation::PROGRAMS.into_iter().filter_map(which);
    for program in usual.chain(named).chain(extensions()) {
        files.program(&program)?;
    }
    Ok(files)
}

/// The extensions of `iptables` that rules here need. The program loads them by name.
fn extensions() -> Vec<PathBuf> {
    let below = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = below.chain(["/usr/lib", "/usr/lib64", "/lib64"].map(PathBuf::from));
    let files = folders.flat_map(|folder| {
        ["standard", "tcp", "udp", "length", "NFQUEUE", "bpf"]
            .map(|name| folder.join(format!("xtables/libxt_{name}.so")))
    });
    files.filter(|file| file.is_file()).collect()
}
