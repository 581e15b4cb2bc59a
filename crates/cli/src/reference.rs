//! `slotline reference`: writes the reference pages, one per kind of thing and one for this command.

use crate::arguments::Arguments;
use anyhow::{Context, Result};
use clap::{Arg, Args, Command, CommandFactory};
use slotline_scenario::reference::{MADE, overview, pages};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub struct ReferenceOptions {
    /// Folder for the pages, created if missing.
    pub dir: PathBuf,
}

pub fn reference(options: &ReferenceOptions) -> Result<ExitCode> {
    let dir = &options.dir;
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let more = [("command-line", "all commands and their options")];
    let mut all = pages();
    all.push(("command-line.md".into(), command_line()));
    all.push(("README.md".into(), overview(&more)));
    for (name, text) in &all {
        let file = dir.join(name);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(crate::print_text(&format!("{} pages in {}", all.len(), dir.display())))
}

fn command_line() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut out = format!("{MADE}\n# Command line\n\n{}\n", about(&program));
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    for command in program.get_subcommands().filter(shown) {
        section(command, &mut out);
    }
    out
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map_or(String::new(), |about| format!("{}.", about.to_string().trim_end_matches('.')))
}

fn section(command: &Command, out: &mut String) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let (name, about) = (command.get_name(), about(command));
    // Writing to a string cannot fail.
    let _ = write!(out, "\n## `slotline {name}`\n\n{about}\n\n```text\n{usage}\n```\n");
    let shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let rows: String = command.get_arguments().filter(shown).map(row).collect();
    if !rows.is_empty() {
        let _ = write!(out, "\n| argument | default | meaning |\n|---|---|---|\n{rows}");
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        section(inner, out);
    }
}

fn row(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let value = values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" ");
    let name = match arg.get_long() {
        None => value,
        Some(long) if arg.get_action().takes_values() => format!("--{long} {value}"),
        Some(long) => format!("--{long}"),
    };
    let usual: Vec<String> =
        arg.get_default_values().iter().map(|v| format!("`{}`", v.to_string_lossy())).collect();
    let usual = if arg.get_action().takes_values() { usual.join(", ") } else { String::new() };
    let choices: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|choice| !choice.is_hide_set() && arg.get_action().takes_values())
        .map(|choice| {
            let help = choice.get_help().map_or(String::new(), |help| format!(": {help}"));
            format!(" `{}`{help}", choice.get_name())
        })
        .collect();
    let help = arg.get_help().map_or(String::new(), ToString::to_string);
    let about = format!("{help}{}{}", if choices.is_empty() { "" } else { ":" }, choices.join(","));
    format!("| `{name}` | {usual} | {} |\n", about.replace('|', "\\|").replace('\n', " "))
}
