//! `slotline new`: a scenario, or a crate, to start from.

use crate::out;
use crate::plugin::{PluginOptions, plugin};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct NewOptions {
    #[command(subcommand)]
    crate_of_parts: Option<CrateOfParts>,
    /// Name of the scenario [default: the template's name].
    name: Option<String>,
    /// The template to start from.
    #[arg(long, value_enum, default_value = "incast")]
    template: Template,
    /// File to write; it must not exist [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Subcommand)]
enum CrateOfParts {
    /// Make a crate in Rust with parts of one's own: the command `slotline` and the Python package with these parts.
    Plugin(PluginOptions),
}

/// A commented scenario that runs in seconds.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Template {
    /// Many servers respond to one client at once, under three schemes.
    Incast,
    /// Poisson arrivals with published flow sizes: short flows among long ones.
    Websearch,
    /// A permutation on a fat-tree, with several ways to choose paths and a link that fails.
    FatTree,
    /// Rings of accelerators that exchange gradients, step by step.
    AllReduce,
    /// Flows from a file of your own.
    MyTrace,
    /// A central scheduler, with every setting it has.
    Scheduler,
}

/// The file that the template for traces reads. It is written to the scenario's folder.
const FLOWS: (&str, &str) = ("flows.csv", include_str!("../templates/flows.csv"));

impl Template {
    /// The name on the command line, which is the default name of the scenario.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default()
    }

    const fn text(self) -> &'static str {
        match self {
            Template::Incast => include_str!("../templates/incast.toml"),
            Template::Websearch => include_str!("../templates/websearch.toml"),
            Template::FatTree => include_str!("../templates/fat-tree.toml"),
            Template::AllReduce => include_str!("../templates/all-reduce.toml"),
            Template::MyTrace => include_str!("../templates/my-trace.toml"),
            Template::Scheduler => include_str!("../templates/scheduler.toml"),
        }
    }

    /// The scenario with the name `name`.
    fn called(self, name: &str) -> Result<String> {
        if !name.chars().any(|c| c.is_ascii_alphanumeric()) || name.contains(char::is_control) {
            bail!("`{name}` cannot be a scenario's name: it needs a letter or a digit");
        }
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        let own = format!("\nname = \"{}\"\n", self.name());
        Ok(self.text().replacen(&own, &format!("\nname = \"{name}\"\n"), 1))
    }
}

pub fn new(options: &NewOptions) -> Result<ExitCode> {
    if let Some(CrateOfParts::Plugin(options)) = &options.crate_of_parts {
        return plugin(options);
    }
    let template = options.template;
    let name = options.name.clone().unwrap_or_else(|| template.name());
    let text = template.called(&name)?;
    match &options.output {
        Some(path) => write(template, path, &text)?,
        None => out::print_bytes(text.as_bytes()),
    }
    Ok(ExitCode::SUCCESS)
}

fn write(template: Template, path: &Path, text: &str) -> Result<()> {
    create(path, text)?;
    out::warn(format_args!("{}: run it with `slotline run {0}`", path.display()));
    if template == Template::MyTrace { beside(path) } else { Ok(()) }
}

/// Writes an example of a trace to the scenario's folder, unless the file exists.
fn beside(scenario: &Path) -> Result<()> {
    let (name, text) = FLOWS;
    let path = scenario.with_file_name(name);
    if path.exists() {
        out::warn(format_args!("{}: exists already and is unchanged", path.display()));
        return Ok(());
    }
    create(&path, text)?;
    out::warn(format_args!("{}: an example; replace it with your own flows", path.display()));
    Ok(())
}

fn create(path: &Path, text: &str) -> Result<()> {
    let write = || File::create_new(path)?.write_all(text.as_bytes());
    write().with_context(|| format!("cannot write {}", path.display()))
}
