//! `slotline demo`: many hosts send to one, first as their kernels like and then as an arbiter decides.

mod daemons;
mod load;

use crate::out::say;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use daemons::Daemons;
use load::Load;
use serde::Serialize;
use serde_json::Value;
use slotline_emulate::bridge::{Bridge, BridgeOptions};
use slotline_emulate::isolation;
use slotline_net::units::{Bytes, Rate};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::process::ExitCode;

#[derive(Args)]
pub struct DemoOptions {
    /// Who decides when packets leave.
    #[arg(value_enum)]
    pub control: DemoControl,
    /// Hosts that send to one at the same time.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    pub senders: u8,
    /// Rate at which the switch sends to each host.
    #[arg(long, default_value = "200Mbps")]
    pub rate: Rate,
    /// Bytes that may wait at each port of the switch.
    #[arg(long, default_value = "150KB")]
    pub buffer: Bytes,
    /// Seconds of traffic, without and then with the arbiter.
    #[arg(long, value_name = "S", default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=600))]
    pub seconds: u16,
    /// Leave out the part without the arbiter.
    #[arg(long)]
    pub skip_without: bool,
    /// End a daemon by SIGKILL when half of its traffic is over.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub kill: Option<Victim>,
    /// Print what was measured as JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoControl {
    /// Fastpass: an arbiter gives timeslots to packets.
    Fastpass,
    /// TDMA Ethernet: a controller gives slots to pairs of hosts, in rounds.
    Tdma,
    /// XCo: a controller says to hosts which of them sends when.
    Xco,
}

/// What is killed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Victim {
    /// The arbiter; it is started again after one second.
    Arbiter,
    /// The first of two arbiters (fastpass).
    Primary,
    /// The agent of the first sender; it is started again after one second.
    Agent,
}

/// The hosts of a demonstration: one receives, the next ones send, one asks how long packets take, and the last ones have
/// the arbiters.
pub struct Demo<'a> {
    options: &'a DemoOptions,
    bridge: Bridge,
    addresses: Vec<Ipv4Addr>,
    arbiters: usize,
}

/// What was measured with and without the arbiter.
#[derive(Serialize)]
struct Outcome {
    without: Option<Load>,
    with: Load,
    /// What daemons say of themselves at the end.
    daemons: BTreeMap<String, Value>,
}

/// The demonstration, in namespaces of its own.
pub fn demo(options: &DemoOptions) -> Result<ExitCode> {
    if !isolation::is_inside() {
        return Ok(isolation::run_inside()?);
    }
    let demo = Demo::new(options)?;
    if !options.json {
        say(&demo.description());
    }
    let without = (!options.skip_without).then(|| demo.load()).transpose()?;
    let mut daemons = Daemons::start(&demo)?;
    let with = std::thread::scope(|scope| {
        let kill = scope.spawn(|| daemons.kill(&demo));
        let with = demo.load();
        kill.join().map_err(|_| anyhow!("the thread that kills a daemon failed"))??;
        with
    })?;
    let outcome = Outcome { without, with, daemons: daemons.end()? };
    say(&match options.json {
        true => serde_json::to_string_pretty(&outcome)?,
        false => outcome.table(options.control.name()),
    });
    Ok(ExitCode::SUCCESS)
}

impl DemoControl {
    fn name(self) -> &'static str {
        match self {
            DemoControl::Fastpass => "fastpass",
            DemoControl::Tdma => "tdma",
            DemoControl::Xco => "xco",
        }
    }
}

impl Demo<'_> {
    fn new(options: &DemoOptions) -> Result<Demo<'_>> {
        if options.kill == Some(Victim::Primary) && options.control != DemoControl::Fastpass {
            bail!("only fastpass has two arbiters here: use `--kill arbiter`");
        }
        let arbiters = if options.kill == Some(Victim::Primary) { 2 } else { 1 };
        let count = options.senders + 2 + arbiters;
        let addresses: Vec<_> = (1..=count).map(|n| Ipv4Addr::new(10, 79, 0, n)).collect();
        let limit = Some((options.rate.0, options.buffer.0));
        let bridge = Bridge::new(&addresses, &BridgeOptions { mtu: 1_500, limit })
            .context("cannot make the hosts; `slotline probe` says what this machine lacks")?;
        let demo = Demo { options, bridge, addresses, arbiters: arbiters.into() };
        (0..demo.addresses.len()).try_for_each(|host| demo.set_kernel(host))?;
        Ok(demo)
    }
    /// TCP may have as much in the queue of its own host as a round trip under an arbiter takes.
    fn set_kernel(&self, host: usize) -> Result<()> {
        let set =
            |key: &str, value: &str| std::fs::write(format!("/proc/sys/net/ipv4/{key}"), value);
        self.bridge
            .inside(host, || {
                set("tcp_pacing_ss_ratio", "1000")?;
                set("tcp_pacing_ca_ratio", "1000")?;
                set("tcp_congestion_control", "reno")
            })
            .context("cannot set net.ipv4.tcp_pacing_ca_ratio of a host")
    }
    /// Senders of the incast.
    fn senders(&self) -> std::ops::RangeInclusive<usize> {
        1..=usize::from(self.options.senders)
    }
    /// The host that asks.
    fn prober(&self) -> usize {
        self.hosts() - 1
    }
    /// How many hosts have agents; arbiters are on the others.
    fn hosts(&self) -> usize {
        self.addresses.len() - self.arbiters
    }
    fn description(&self) -> String {
        let DemoOptions { senders, rate, buffer, seconds, skip_without, .. } = self.options;
        let before = match skip_without {
            true => String::new(),
            false => format!("{seconds} s as their kernels like, then "),
        };
        format!(
            "{senders} hosts send to one by iperf3, and another one pings it: {before}{seconds} s as {} decides.\n\
             The hosts are network namespaces at a bridge of the kernel that sends {rate} to each and has {buffer} for \
             packets that wait.",
            self.options.control.name()
        )
    }
}

impl Outcome {
    fn table(&self, name: &str) -> String {
        let mut lines = vec![format!("{:36}{:>12}{:>12}", "", "without", name)];
        let mut row = |what: &str, of: fn(&Load) -> f64, digits: usize| {
            let number = |load| format!("{:>12.digits$}", of(load));
            let without = self.without.as_ref().map_or_else(|| format!("{:>12}", "-"), number);
            lines.push(format!("{what:36}{without}{}", number(&self.with)));
        };
        row("Goodput, all senders     Mbit/s", Load::goodput, 1);
        row("Goodput, least sender    Mbit/s", Load::least, 1);
        row("Goodput, most sender     Mbit/s", Load::most, 1);
        row("Ping, median                 ms", |load| load.ping(0.5), 2);
        row("Ping, 99th percentile        ms", |load| load.ping(0.99), 2);
        row("Ping, longest                ms", |load| load.ping(1.0), 2);
        row("Pings without answer", |load| load.pings_lost as f64, 0);
        row("Segments sent again", |load| load.retransmits as f64, 0);
        row("Packets dropped by the switch", |load| load.dropped as f64, 0);
        row("Most bytes seen in the switch KB", |load| load.most_waiting as f64 / 1e3, 1);
        lines.join("\n")
    }
}
