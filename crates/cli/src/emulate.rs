//! `slotline emulate`.

use crate::arguments::{Common, RunOptions};
use crate::out::warn;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use slotline_emulate::{isolation, registry};
use slotline_scenario::{EmulateSpec, EngineSpec, GateSpec, Loaded, Scenario};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code where the machine did not keep up.
pub const NOT_VALID: u8 = 3;

/// How packets of applications come to the network.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// The kernel holds packets until they leave the modelled network card.
    Queue,
    /// Packets are read from the interface.
    Interface,
}

#[derive(Args)]
pub struct EmulateOptions {
    /// The scenario file.
    pub file: PathBuf,
    /// How many times slower than real time the network runs, instead of the file's.
    #[arg(long, value_name = "FACTOR")]
    pub dilation: Option<f64>,
    /// How packets of applications come to the network, instead of the file's.
    #[arg(long, value_enum)]
    pub gate: Option<Gate>,
    /// Stay up until Ctrl-C, also when everything is done: for `slotline exec`.
    #[arg(long)]
    pub stay: bool,
    /// End with success even if the machine did not keep up with the network.
    #[arg(long)]
    pub accept_late: bool,
    /// Folder that receives a new folder with the result.
    #[arg(long, value_name = "DIR", default_value = "results")]
    pub out: PathBuf,
    /// Replace an existing result of the same scenario.
    #[arg(long)]
    pub force: bool,
    /// Seed of the first repetition, instead of the file's.
    #[arg(long)]
    pub seed: Option<u32>,
    /// Number of repetitions, instead of the file's.
    #[arg(long)]
    pub repeat: Option<u32>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

pub fn emulate(options: &EmulateOptions) -> Result<ExitCode> {
    let loaded = loaded(options)?;
    if let Some(code) = isolated(&loaded)? {
        return Ok(code);
    }
    // One run at a time: runs beside each other would make each other late.
    let (code, emulation) = crate::run::execute(loaded, &run_options(options), 1)?;
    match emulation {
        Some(emulation) if !emulation.is_valid() && !options.accept_late => {
            warn(
                "the machine did not keep up with the network, so the result is not valid: raise `--dilation`, \
                 or accept it with --accept-late",
            );
            Ok(ExitCode::from(NOT_VALID))
        }
        _ => Ok(code),
    }
}

/// Runs this program again in namespaces of its own and returns its exit code. There, prepares them for `loaded` and
/// returns nothing.
pub fn isolated(loaded: &Loaded) -> Result<Option<ExitCode>> {
    if !isolation::is_inside() {
        crate::progress::on_interrupt(registry::interrupt_inner)?;
        return Ok(Some(isolation::run_inside()?));
    }
    let hosts = slotline_lab::emulate::addresses(loaded)?;
    isolation::name_hosts(&hosts).context("cannot give the hosts their names")?;
    Ok(None)
}

/// The scenario, with the engine that the command line asks for.
fn loaded(options: &EmulateOptions) -> Result<Loaded> {
    let mut loaded = Scenario::load(&options.file)?;
    let EmulateSpec { dilation, gate, stay } =
        loaded.scenario.engine.emulated().cloned().unwrap_or_default();
    let asked = options.gate.map(|gate| match gate {
        Gate::Queue => GateSpec::Queue,
        Gate::Interface => GateSpec::Interface,
    });
    let spec = EmulateSpec {
        dilation: options.dilation.unwrap_or(dilation),
        gate: asked.unwrap_or(gate),
        stay: stay || options.stay,
    };
    loaded.use_engine(EngineSpec::Emulate(spec))?;
    Ok(loaded)
}

fn run_options(options: &EmulateOptions) -> RunOptions {
    RunOptions {
        file: options.file.clone(),
        out: options.out.clone(),
        force: options.force,
        csv: false,
        seed: options.seed,
        repeat: options.repeat,
        engine: None,
        common: Common { threads: Some(1), json: options.json },
    }
}
