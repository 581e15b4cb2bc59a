//! `slotline completions` and `slotline man`, generated from the definition of the command line.

use crate::arguments::Arguments;
use crate::out;
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct CompletionsOptions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Args)]
pub struct ManOptions {
    /// Folder for one page per command, created if missing [default: print the main page to
    /// standard output].
    dir: Option<PathBuf>,
}

/// Prints the completion script of a shell.
pub fn completions(options: &CompletionsOptions) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut program(), "slotline", &mut script);
    out::print_bytes(&script);
    ExitCode::SUCCESS
}

/// Writes manual pages.
pub fn man(options: &ManOptions) -> Result<ExitCode> {
    match &options.dir {
        Some(dir) => pages(dir).with_context(|| format!("cannot write to {}", dir.display()))?,
        None => out::print_bytes(&main_page()?),
    }
    Ok(ExitCode::SUCCESS)
}

fn pages(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(program(), dir)
}

fn main_page() -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(program()).render(&mut page)?;
    Ok(page)
}

fn program() -> clap::Command {
    Arguments::command().name("slotline")
}
