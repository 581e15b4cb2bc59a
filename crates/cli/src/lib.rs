//! The `slotline` command, as a library: the program and the Python package run [`main`].

mod arguments;
mod bench;
mod bump;
mod check;
mod crosscheck;
#[cfg(target_os = "linux")]
mod ctl;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod demo;
mod design;
mod diff;
#[cfg(target_os = "linux")]
mod emulate;
#[cfg(target_os = "linux")]
mod exact;
mod explain;
mod export;
mod figure;
#[cfg(target_os = "linux")]
mod hosts;
mod import;
mod late;
mod list;
mod manual;
mod new;
mod out;
mod plugin;
mod progress;
mod reference;
#[cfg(target_os = "linux")]
mod replay;
mod report;
mod reproduce;
mod results;
mod run;
#[cfg(target_os = "linux")]
mod service;
mod source;
mod sweep;
mod switch_daemon;
#[cfg(target_os = "linux")]
mod top;
mod traffic;
#[cfg(target_os = "linux")]
mod what_if;
mod why;

use anyhow::Context;
use arguments::{Arguments, Command};
use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

/// The text that `slotline` prints without arguments.
const ABOUT: &str = "\
Slotline compares schemes for running a datacenter network. One scenario file describes a comparison.

  slotline new [NAME]         write a commented scenario as a starting point
  slotline check FILE         check a scenario for errors without running it
  slotline explain FILE       describe what a scenario simulates and how long that takes
  slotline run FILE           run a scenario, print the comparison and save the results
  slotline emulate FILE       run a scenario with real Linux hosts on this machine
  slotline demo CONTROL       show what a central scheduler does for real hosts, made on this machine
  slotline agent CONFIG       hold the packets of this host until its arbiter lets them leave
  slotline arbiter CONFIG     decide when the packets of a real network leave
  slotline why FILE           show where the time of single flows was spent
  slotline sweep FILE         run all points of a scenario's `sweep` and compare them
  slotline results [DIR]      list results with their labels, dates and verdicts
  slotline report RUN...      rebuild the page of a result, or compare several results on one page
  slotline figure RUN NAME    draw a figure of a result as PDF, SVG or PNG; `figures RUN` draws all
  slotline diff OLD NEW       show what changed between two results; exit code 1 means a regression
  slotline import KIND FILE   convert a file of another program into a part of a scenario
  slotline export FORMAT RUN  write a result in the format of another tool
  slotline design SHAPE       design a network: switches, cables, racks, cost and power
  slotline bump               pass a capture, or packets that this machine forwards, through virtual queues
  slotline reproduce ID       run a published experiment and print the paper's values beside ours
  slotline bench NAME         measure the speed of this program: `engine`, `flow`, `arbiter`, `tdma`, `hedera`, ...
  slotline list [KIND]        list every name that a scenario can use, with its parameters

Start with `slotline run scenarios/incast.toml`; `slotline help run` explains the options.";

/// The file that starts the command again, if it is not the program of this process.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The file that starts the command again.
fn program() -> anyhow::Result<PathBuf> {
    let own = || std::env::current_exe().context("cannot find this program");
    PROGRAM.get().cloned().map_or_else(own, Ok)
}

/// Runs the command in a process of another program, such as Python. `program` is a file that starts the command, for
/// points of sweeps and for daemons.
pub fn main_of(program: PathBuf, arguments: Vec<OsString>) -> ExitCode {
    // A second call in one process names the same file.
    drop(PROGRAM.set(program));
    main(arguments)
}

/// Runs the command with these `arguments`, of which the first is the name of the program. Ends the process if the
/// arguments are wrong.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    if arguments.len() == 1 {
        return ended(print_text(ABOUT));
    }
    let arguments = Arguments::parse_from(arguments);
    let result = dispatch(&arguments.command);
    ended(result.unwrap_or_else(|error| {
        out::warn(format!("{error:#}"));
        ExitCode::from(WRONG)
    }))
}

fn dispatch(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Run(options) => run::run(options),
        #[cfg(target_os = "linux")]
        Command::Emulate(options) => emulate::emulate(options),
        #[cfg(target_os = "linux")]
        Command::Guest => exact::first_process(),
        #[cfg(target_os = "linux")]
        Command::Exec(options) => hosts::exec(options),
        #[cfg(target_os = "linux")]
        Command::Shell(options) => hosts::shell(options),
        #[cfg(target_os = "linux")]
        Command::Top(options) => top::top(options),
        #[cfg(target_os = "linux")]
        Command::Replay(options) => replay::run(options),
        #[cfg(target_os = "linux")]
        Command::Demo(options) => demo::demo(options),
        #[cfg(target_os = "linux")]
        Command::Agent(options) => daemon::agent(options),
        #[cfg(target_os = "linux")]
        Command::Arbiter(options) => daemon::arbiter(options),
        #[cfg(target_os = "linux")]
        Command::Ctl(options) => ctl::ctl(options),
        #[cfg(target_os = "linux")]
        Command::Key(options) => daemon::key(options),
        #[cfg(target_os = "linux")]
        Command::Clean => Ok(hosts::clean()),
        #[cfg(target_os = "linux")]
        Command::Probe(options) => hosts::probe(options),
        Command::Crosscheck(options) => crosscheck::crosscheck(options),
        Command::Why(options) => why::why(options),
        Command::Sweep(options) => sweep::sweep(options),
        Command::Point(options) => sweep::point::point(options),
        Command::Collect(options) => sweep::collect::collect(options),
        Command::Reproduce(options) => reproduce::reproduce(options),
        Command::Import(options) => import::import(options),
        Command::Diff(options) => diff::diff(options),
        Command::Results(options) => results::results(options),
        Command::Report(options) => report::report(options),
        Command::Figure(options) => figure::figure(options),
        Command::Figures(options) => figure::figures(options),
        Command::Design(options) => design::design(options),
        Command::Bench(options) => bench::bench(options),
        Command::Bump(options) => bump::bump(options),
        Command::Check(options) => check::check(options),
        Command::Explain(options) => explain::explain(options),
        Command::List(options) => list::list(options),
        Command::Reference(options) => reference::reference(options),
        Command::Schema => Ok(print_text(slotline_scenario::schema::TEXT)),
        Command::Export(options) => export::export(options),
        Command::New(options) => new::new(options),
        Command::Completions(options) => Ok(manual::completions(options)),
        Command::Man(options) => manual::man(options),
    }
}

/// Exit code of wrong input, and of output that cannot be written.
const WRONG: u8 = 2;

/// The exit code `code`, unless the output could not be printed.
fn ended(code: ExitCode) -> ExitCode {
    match out::fault() {
        Some(error) => {
            out::warn(format!("cannot write to the standard output: {error}"));
            ExitCode::from(WRONG)
        }
        None => code,
    }
}

/// Prints notes about a valid scenario on the standard error output.
fn print_notes(loaded: &slotline_scenario::Loaded) {
    print_notices(&loaded.document.notices);
    loaded.notes.iter().for_each(|note| out::warn(format!("note: {note}")));
}

/// Warns of runs that do not fit into this machine's memory.
fn print_excess(loaded: &slotline_scenario::Loaded) {
    let at_once = sweep::pool::processors();
    if let Some(why) = slotline_lab::footprint::excess(loaded, at_once) {
        out::warn(format!("warning: {why}"));
    }
}

/// Prints a line for each old name that a scenario file uses, on the standard error output.
fn print_notices(notices: &[String]) {
    notices.iter().for_each(|notice| out::warn(format!("notice: {notice}")));
}

/// Prints `text`.
fn print_text(text: &str) -> ExitCode {
    out::say(text);
    ExitCode::SUCCESS
}
