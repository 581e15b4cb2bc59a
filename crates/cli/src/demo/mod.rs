//! `slotline demo`: many hosts send to one, first as their kernels like and then as an arbiter decides.

mod daemons;
mod load;

use crate::out::say;
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use daemons::Daemons;
use load::Load;
use serde::Serialize;
use serde_json::Value;
use slotline_emulate::bridge::{Bridge, BridgeOptions};
use slotline_emulate::isolation;
use slotline_net::units::{Bytes, Rate};
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

/// The hosts of a demonstration: one receives, the next ones send, one asks how long packets take, and the last one has
/// the arbiter.
pub struct Demo<'a> {
    options: &'a DemoOptions,
    bridge: Bridge,
    addresses: Vec<Ipv4Addr>,
}

/// What was measured with and without the arbiter.
#[derive(Serialize)]
struct Outcome {
    without: Load,
    with: Load,
    daemons: Vec<(String, Value)>,
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
    let without = demo.load()?;
    let daemons = Daemons::start(&demo)?;
    let with = demo.load()?;
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
        let count = options.senders + 3;
        let addresses: Vec<_> = (1..=count).map(|n| Ipv4Addr::new(10, 79, 0, n)).collect();
        let limit = Some((options.rate.0, options.buffer.0));
        let bridge = Bridge::new(&addresses, &BridgeOptions { mtu: 1_500, limit })
            .context("cannot make the hosts; `slotline probe` says what this machine lacks")?;
        let demo = Demo { options, bridge, addresses };
        (0..demo.addresses.len()).try_for_each(|host| demo.set_kernel(host))?;
        Ok(demo)
    }
    /// TCP may have as much in the queue of its own host as a round trip under an arbiter takes.
    fn set_kernel(&self, host: usize) -> Result<()> {
        let set = |key: &str, value: &str| std::fs::write(format!("/proc/sys/net/ipv4/{key}"), value);
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
        self.arbiter() - 1
    }
    /// The host with the arbiter.
    fn arbiter(&self) -> usize {
        self.addresses.len() - 1
    }
    fn description(&self) -> String {
        let DemoOptions { senders, rate, buffer, seconds, .. } = self.options;
        format!(
            "{senders} hosts send to one by iperf3, and another one pings it: {seconds} s as their kernels like, then {seconds} s \
             as {} decides.\nThe hosts are network namespaces at a bridge of the kernel that sends {rate} to each and \
             has {buffer} for packets that wait.",
            self.options.control.name()
        )
    }
}

impl Outcome {
    fn table(&self, name: &str) -> String {
        let mut lines = vec![format!("{:36}{:>12}{:>12}", "", "without", name)];
        let mut row = |what: &str, of: fn(&Load) -> f64, digits: usize| {
            let [without, with] = [&self.without, &self.with].map(|load| format!("{:.digits$}", of(load)));
            lines.push(format!("{what:36}{without:>12}{with:>12}"));
        };
        row("Goodput, all senders     Mbit/s", Load::goodput, 1);
        row("Goodput, least sender    Mbit/s", Load::least, 1);
        row("Goodput, most sender     Mbit/s", Load::most, 1);
        row("Ping, median                 ms", |load| load.ping(0.5), 2);
        row("Ping, 99th percentile        ms", |load| load.ping(0.99), 2);
        row("Pings without answer", |load| load.pings_lost as f64, 0);
        row("Segments sent again", |load| load.retransmits as f64, 0);
        row("Packets dropped by the switch", |load| load.dropped as f64, 0);
        row("Most bytes in the switch     KB", |load| load.most_waiting as f64 / 1e3, 1);
        lines.join("\n")
    }
}
