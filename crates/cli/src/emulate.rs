//! `slotline emulate`.

use crate::arguments::{Common, RunOptions};
use crate::exact::{self, Destination, GuestOptions};
use crate::out::{say, warn};
use crate::run::{INTERRUPTED, NOT_VALID};
use crate::source::Source;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use slotline_emulate::{isolation, registry};
use slotline_lab::calibrate;
use slotline_lab::record::Emulation;
use slotline_scenario::{EmulateSpec, EngineSpec, GateSpec, Loaded, SwitchesSpec};
use std::path::PathBuf;
use std::process::ExitCode;

/// How packets of applications enter the network.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// The kernel holds packets until they leave the modelled network card.
    Queue,
    /// Packets are read from the interface.
    Interface,
    /// The same, by a packet socket with a ring.
    Packet,
    /// The same, by a socket of AF_XDP.
    Xdp,
}

/// What joins the hosts.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switches {
    /// The modelled network.
    Modelled,
    /// Open vSwitch, controlled by OpenFlow 1.3.
    OpenVswitch,
}

impl Switches {
    /// The same in a scenario.
    pub fn spec(self) -> SwitchesSpec {
        match self {
            Switches::Modelled => SwitchesSpec::Modelled,
            Switches::OpenVswitch => SwitchesSpec::OpenVswitch,
        }
    }
}

#[derive(Args)]
pub struct EmulateOptions {
    /// The scenario file.
    pub file: PathBuf,
    /// How many times slower than real time the network runs, instead of the file's.
    #[arg(long, value_name = "FACTOR")]
    pub dilation: Option<f64>,
    /// What joins the hosts, instead of the file's.
    #[arg(long, value_enum)]
    pub switches: Option<Switches>,
    /// How packets of applications enter the modelled network, instead of the file's.
    #[arg(long, value_enum)]
    pub gate: Option<Gate>,
    /// Find the dilation that the scenario needs on this machine, and run nothing else.
    #[arg(long, conflicts_with_all = ["dilation", "stay", "accept_late", "json", "seed", "repeat", "force"])]
    pub calibrate: bool,
    /// Run in a guest machine with virtual time, where runs repeat themselves (needs QEMU and a kernel; see `slotline
    /// probe`).
    #[arg(long, conflicts_with_all = ["calibrate", "stay"])]
    pub exact: bool,
    #[command(flatten)]
    pub guest: GuestOptions,
    /// Continue to run until Ctrl-C when everything is done, for `slotline exec`.
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
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

pub fn emulate(options: &EmulateOptions) -> Result<ExitCode> {
    let mut loaded = loaded(options)?;
    if exact::is_wanted(&loaded) {
        loaded.reseed(options.seed, options.repeat)?;
        let destination = Destination { out: &options.out, force: options.force };
        return exact::run(&loaded, &options.guest, Some(&destination));
    }
    if let Some(code) = isolated(&loaded)? {
        return Ok(code);
    }
    if options.calibrate {
        crate::progress::on_interrupt(|| std::process::exit(INTERRUPTED.into()))?;
        return calibrate(&loaded);
    }
    // One run at a time, because concurrent runs would make each other late.
    let (code, emulation) = crate::run::execute(loaded, &run_options(options), 1)?;
    match emulation {
        Some(emulation) if !emulation.is_valid() && !options.accept_late => {
            warn(
                "the machine did not keep up with the network, so the result is not valid: increase `--dilation`, \
                 or accept it with --accept-late",
            );
            Ok(ExitCode::from(NOT_VALID))
        }
        _ => Ok(code),
    }
}

/// Tries dilations, and proposes the smallest one with which this machine keeps up.
fn calibrate(loaded: &Loaded) -> Result<ExitCode> {
    say(&format!(
        "{:>8} {:>12} {:>12} {:>6} {:>5}",
        "dilation", "late (99 %)", "late (most)", "lost", "CPU"
    ));
    let found = calibrate::calibrate(loaded, |tried| say(&trial(tried)))?;
    let Some(dilation) = found else {
        warn("no dilation in this series suffices: this machine is too small or too busy");
        return Ok(ExitCode::from(NOT_VALID));
    };
    say(&format!("This machine keeps up with --dilation {dilation}"));
    Ok(ExitCode::SUCCESS)
}

fn trial(tried: &Emulation) -> String {
    let us = |ns: u64| format!("{} us", ns / 1_000);
    format!(
        "{:>8} {:>12} {:>12} {:>6} {:>3.0} % {}",
        tried.dilation,
        us(tried.late_p99_ns),
        us(tried.late_most_ns),
        tried.lost_outside,
        tried.cpu_share * 100.0,
        if calibrate::suffices(tried) { "suffices" } else { "" },
    )
}

/// Runs this program again in namespaces of its own and returns its exit code. In that process, returns `None`.
pub fn isolated_process() -> Result<Option<ExitCode>> {
    if isolation::is_inside() {
        return Ok(None);
    }
    crate::progress::on_interrupt(registry::interrupt_inner)?;
    Ok(Some(isolation::run_inside()?))
}

/// As [`isolated_process`]. In the isolated process, adds the names of `loaded`'s hosts.
pub fn isolated(loaded: &Loaded) -> Result<Option<ExitCode>> {
    if let Some(code) = isolated_process()? {
        return Ok(Some(code));
    }
    let hosts = slotline_lab::emulate::addresses(loaded)?;
    isolation::name_hosts(&hosts).context("cannot set the names of the hosts")?;
    Ok(None)
}

fn source(options: &EmulateOptions) -> Source {
    Source { file: options.file.clone(), set: vec![] }
}

/// The scenario, with the engine given on the command line.
fn loaded(options: &EmulateOptions) -> Result<Loaded> {
    let mut loaded = source(options).load()?;
    let own = loaded.scenario.engine.emulated().cloned().unwrap_or_default();
    let EmulateSpec { dilation, switches, gate, stay, exact, .. } = own;
    let asked = options.gate.map(|gate| match gate {
        Gate::Queue => GateSpec::Queue,
        Gate::Interface => GateSpec::Interface,
        Gate::Packet => GateSpec::Packet,
        Gate::Xdp => GateSpec::Xdp,
    });
    let spec = EmulateSpec {
        dilation: options.dilation.unwrap_or(dilation),
        switches: options.switches.map_or(switches, Switches::spec),
        gate: asked.unwrap_or(gate),
        stay: stay || options.stay,
        exact: (exact && !options.calibrate) || options.exact,
        ..own
    };
    loaded.use_engine(EngineSpec::Emulate(spec))?;
    Ok(loaded)
}

fn run_options(options: &EmulateOptions) -> RunOptions {
    RunOptions {
        source: source(options),
        label: None,
        out: options.out.clone(),
        force: options.force,
        csv: false,
        seed: options.seed,
        repeat: options.repeat,
        engine: None,
        common: Common { threads: Some(1), json: options.json },
    }
}
