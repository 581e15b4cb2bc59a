//! `slotline demo`: hosts send, first without an arbiter or a bump and then with it.

mod clock_faults;
mod daemons;
mod load;
mod outage;
mod outcome;
mod repeated;
mod roster;
mod testbed;

use crate::out::say;
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use daemons::{Daemons, Disturbed};
use load::Load;
use outcome::Outcome;
use slotline_emulate::families::{Families, twin, twin_prefix};
use slotline_emulate::isolation;
use slotline_guest::inside;
use slotline_net::units::{Bytes, Rate};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use testbed::Testbed;

/// The programs that the demonstration and its daemons run besides those that emulations need.
const PROGRAMS: [&str; 3] = ["iptables-legacy-save", "iperf3", "ping"];

#[derive(Args)]
pub struct DemoOptions {
    /// The central scheduler of the demonstration.
    #[arg(value_enum)]
    pub control: DemoControl,
    /// Hosts that send at the same time: to one host, with circuits to the next of four racks, with Hedera and
    /// the flow scheduler to the next of four pods [default: 4, in pods 16].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub senders: Option<u8>,
    /// Rate at which the switch sends to each host; rate of circuits, ten times that of the packet network between racks;
    /// between pods the rate of all links [default: 200Mbps, between pods 20Mbps].
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Bytes that may wait at each port of a switch, or of the packet network.
    #[arg(long, default_value = "150KB")]
    pub buffer: Bytes,
    /// Seconds of traffic, without and then with the arbiter.
    #[arg(long, value_name = "S", default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..=600))]
    pub seconds: u16,
    /// Leave out the part without the arbiter.
    #[arg(long)]
    pub skip_without: bool,
    /// Let hosts join segments, as with cards that split them; the switch then forwards up to 16 KB as one packet (fastpass,
    /// tdma, xco and bump).
    #[arg(long)]
    pub join_segments: bool,
    /// Kill a daemon with SIGKILL when half of its traffic is over.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub kill: Option<Victim>,
    /// Repeat the part with the daemons, and print histograms: how long the longest ping took, and how soon another arbiter
    /// took over.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "kill", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub repeat: u16,
    /// With `--kill primary`: kill the arbiter that hosts obey N times in one run of the traffic, every three seconds, and
    /// start it again after one second. Prints histograms of the outages.
    #[arg(long, value_name = "N", requires = "kill", conflicts_with = "repeat", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub kills: Option<u16>,
    /// While traffic runs, let all daemons reload their configuration, and take the first sender out of the schedule and back.
    #[arg(long, conflicts_with = "kill")]
    pub operate: bool,
    /// While traffic runs, let the clock of the first sender's agent step by a second, forward and back, once each second. It is
    /// slow by 100 parts per million all the time (fastpass).
    #[arg(long, conflicts_with_all = ["kill", "operate"])]
    pub faulty_clock: bool,
    /// Let hosts send over IPv6.
    #[arg(long)]
    pub ipv6: bool,
    /// Cut a link between a pod and the core for the second third of the traffic (hedera and flow-scheduler).
    #[arg(long, conflicts_with = "kill")]
    pub cut: bool,
    /// Write the logs of arbiters to this folder, for `slotline replay`.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// Print the measured values as JSON.
    #[arg(long)]
    pub json: bool,
    /// Run in a guest machine with virtual time (needs QEMU and a kernel; see `slotline probe`).
    #[arg(long, conflicts_with = "record")]
    pub exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoControl {
    /// Fastpass: an arbiter gives timeslots to packets.
    Fastpass,
    /// TDMA Ethernet: a controller gives slots to pairs of hosts, in rounds.
    Tdma,
    /// XCo: a controller decides which hosts send at a time.
    Xco,
    /// Hedera: switches report large flows, and a scheduler gives them paths that do not collide.
    Hedera,
    /// The flow scheduler of the fat-tree: large flows get the first path that is free.
    FlowScheduler,
    /// Circuits: a controller plans which racks an optical switch joins, and racks hold packets for their circuit.
    Circuits,
    /// A bump: virtual queues in front of the switch mark packets before its queues grow (ECN).
    Bump,
}

/// The daemon to kill.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Victim {
    /// The arbiter; it is started again after one second.
    Arbiter,
    /// The first of two arbiters; the other one takes over.
    Primary,
    /// The agent of the first sender; it is started again after one second.
    Agent,
    /// The bump; it is started again after one second.
    Bump,
}

/// A demonstration.
pub struct Demo<'a> {
    options: &'a DemoOptions,
    testbed: Testbed,
    arbiters: usize,
    /// The folder for files of daemons.
    folder: PathBuf,
}

/// The demonstration, in namespaces of its own.
pub fn demo(options: &DemoOptions) -> Result<ExitCode> {
    if options.exact && !inside::is_inside() {
        return crate::exact::run_alone(&PROGRAMS);
    }
    if !isolation::is_inside() {
        return Ok(isolation::run_inside()?);
    }
    let demo = Demo::new(options)?;
    if !options.json {
        say(&demo.description());
    }
    let without = (!options.skip_without).then(|| demo.without_daemons()).transpose()?;
    let mut outcomes = vec![Outcome { without, ..demo.with_daemons()? }];
    for done in 1..options.repeat {
        if !options.json {
            say(&format!(
                "{done:>4} of {}: {}",
                options.repeat,
                repeated::line(&outcomes[outcomes.len() - 1])
            ));
        }
        outcomes.push(demo.with_daemons()?);
    }
    say(&match (options.json, &outcomes[..]) {
        (true, [one]) => serde_json::to_string_pretty(one)?,
        (true, all) => serde_json::to_string(all)?,
        (false, [one]) if !one.kills.is_empty() => repeated::of_kills(one),
        (false, [one]) => one.table(options.control.name()),
        (false, all) => repeated::text(all),
    });
    Ok(ExitCode::SUCCESS)
}

impl DemoOptions {
    pub fn senders(&self) -> usize {
        let default = if self.control.has_paths() { 16 } else { 4 };
        self.senders.unwrap_or(default).into()
    }
    pub fn rate(&self) -> Rate {
        let default = if self.control.has_paths() { 20_000_000 } else { 200_000_000 };
        self.rate.unwrap_or(Rate(default))
    }
    /// The protocols of hosts.
    pub fn families(&self) -> Families {
        if self.ipv6 { Families::Both } else { Families::V4 }
    }
    /// The address to which hosts send.
    pub fn target(&self, address: Ipv4Addr) -> IpAddr {
        if self.ipv6 { twin(address).into() } else { address.into() }
    }
    /// The addresses of a machine, as a list of the configuration.
    pub fn list(&self, address: Ipv4Addr) -> String {
        let twin = self.ipv6.then(|| twin(address).to_string());
        format!("{:?}", [Some(address.to_string()), twin].into_iter().flatten().collect::<Vec<_>>())
    }
    /// The prefixes of hosts, as those of IPv4 have them.
    pub fn prefixes(&self, prefix: &str) -> Vec<String> {
        [prefix.to_owned()].into_iter().chain(twin_prefix(prefix).filter(|_| self.ipv6)).collect()
    }
    /// Refuses to kill a daemon that does not run, and senders that do not exist.
    fn check(&self) -> Result<()> {
        let bump = self.control == DemoControl::Bump;
        match self.kill {
            _ if self.operate && !self.control.has_hosts() => {
                bail!("`--operate` takes a host out of the schedule: use fastpass, tdma or xco")
            }
            Some(Victim::Arbiter | Victim::Agent | Victim::Bump) if self.kills.is_some() => {
                bail!("`--kills` needs two arbiters: use `--kill primary`")
            }
            Some(Victim::Bump) if !bump => bail!("there is no bump here: use `--kill arbiter`"),
            Some(Victim::Arbiter | Victim::Primary | Victim::Agent) if bump => {
                bail!("there are no arbiters and no agents here: use `--kill bump`")
            }
            _ if self.faulty_clock && self.control != DemoControl::Fastpass => {
                bail!("`--faulty-clock` compares packets with timeslots: use fastpass")
            }
            _ if self.cut && !self.control.has_paths() => {
                bail!("`--cut` needs several paths: use hedera or flow-scheduler")
            }
            _ if self.control.has_paths() && self.senders() > 16 => {
                bail!("the fat-tree has 16 hosts: use `--senders` of at most 16")
            }
            _ => Ok(()),
        }
    }
}

impl DemoControl {
    /// Whether agents run on hosts.
    fn has_hosts(self) -> bool {
        matches!(self, DemoControl::Fastpass | DemoControl::Tdma | DemoControl::Xco)
    }
    /// Whether agents on switches send flows on paths.
    fn has_paths(self) -> bool {
        matches!(self, DemoControl::Hedera | DemoControl::FlowScheduler)
    }
    fn name(self) -> &'static str {
        match self {
            DemoControl::Fastpass => "fastpass",
            DemoControl::Tdma => "tdma",
            DemoControl::Xco => "xco",
            DemoControl::Hedera => "hedera",
            DemoControl::FlowScheduler => "flow-scheduler",
            DemoControl::Circuits => "circuits",
            DemoControl::Bump => "bump",
        }
    }
    fn description(self) -> &'static str {
        match self {
            DemoControl::Fastpass => "Fastpass",
            DemoControl::Tdma => "TDMA",
            DemoControl::Xco => "XCo",
            DemoControl::Hedera => "Hedera",
            DemoControl::FlowScheduler => "the flow scheduler",
            DemoControl::Circuits => "circuits",
            DemoControl::Bump => "a bump",
        }
    }
}

impl Demo<'_> {
    /// The traffic under new daemons, one of which may be killed.
    fn with_daemons(&self) -> Result<Outcome> {
        let mut daemons = Daemons::start(self)?;
        let (with, done) = self.load_during(self.seconds_with(), || daemons.disturb(self))?;
        let Disturbed { kills, clock_faults } = done.unwrap_or_default();
        let clock_faults = daemons.consequences(clock_faults)?;
        let (daemons, timeslots) = daemons.end()?;
        let kills = kills.into_iter().map(|kill| kill.outage(&with, &timeslots)).collect();
        let accepted = self.logs_timeslots().then(|| timeslots.accepted().into());
        Ok(Outcome { without: None, with, kills, timeslots: accepted, clock_faults, daemons })
    }
    /// The traffic without daemons. A link is cut here, too.
    fn without_daemons(&self) -> Result<Load> {
        let (load, _) = self.load_during(self.options.seconds, || self.cut())?;
        Ok(load)
    }
    /// Runs the traffic, and `work` once it has begun. There is no result of `work` if the traffic did not begin.
    fn load_during<T: Send>(
        &self,
        seconds: u16,
        work: impl FnOnce() -> Result<T> + Send,
    ) -> Result<(Load, Option<T>)> {
        std::thread::scope(|scope| {
            let (begun, begins) = mpsc::channel();
            let working = scope.spawn(move || begins.recv().ok().map(|()| work()).transpose());
            let load = self.load(seconds, Some(begun));
            let done = working.join().map_err(|_| {
                anyhow!("the thread that kills or operates daemons, or cuts a link, failed")
            })??;
            Ok((load?, done))
        })
    }
    /// Cuts a link for the second third of the traffic, if options say so.
    fn cut(&self) -> Result<()> {
        if !self.options.cut {
            return Ok(());
        }
        let third = Duration::from_secs(self.options.seconds.into()) / 3;
        for works in [false, true] {
            std::thread::sleep(third);
            self.testbed.set_cable(works).context("cannot cut or join the link")?;
        }
        Ok(())
    }
    /// The duration of the traffic under daemons.
    fn seconds_with(&self) -> u16 {
        match self.options.kills {
            Some(kills) => daemons::BETWEEN * (kills + 1),
            None if self.options.faulty_clock => self.options.seconds.max(clock_faults::SECONDS),
            None => self.options.seconds,
        }
    }
    fn new(options: &DemoOptions) -> Result<Demo<'_>> {
        options.check()?;
        let arbiters = match (options.control, options.kill) {
            (DemoControl::Bump, _) => 0,
            (_, Some(Victim::Primary)) => 2,
            _ => 1,
        };
        let testbed = Testbed::new(options, arbiters)?;
        let folder = isolation::own_folder().context("cannot make a folder for the daemons")?;
        let demo = Demo { options, testbed, arbiters, folder };
        (0..demo.testbed.addresses.len()).try_for_each(|host| demo.set_kernel(host))?;
        Ok(demo)
    }
    /// Allows TCP to queue as much in its own host as a round trip under an arbiter needs. Hosts use ECN where there is a
    /// bump, which marks packets.
    fn set_kernel(&self, host: usize) -> Result<()> {
        let ecn = if self.options.control == DemoControl::Bump { "1" } else { "2" };
        let settings = [
            ("tcp_pacing_ss_ratio", "1000"),
            ("tcp_pacing_ca_ratio", "1000"),
            ("tcp_congestion_control", "reno"),
            ("tcp_ecn", ecn),
        ];
        let set = |(key, value): (&str, &str)| {
            std::fs::write(format!("/proc/sys/net/ipv4/{key}"), value)
                .map_err(|error| io::Error::other(format!("net.ipv4.{key}: {error}")))
        };
        self.testbed
            .inside(host, || settings.into_iter().try_for_each(set))
            .context("cannot configure TCP of a host")
    }
    /// The name of an arbiter by its place in the configuration.
    fn arbiter_name(&self, rank: usize) -> String {
        match (&self.testbed.network, rank) {
            (testbed::Network::Star(_), _) => format!("h{}", self.hosts() + rank),
            (_, 0) => "arbiter".into(),
            _ => "standby".into(),
        }
    }
    /// Whether two arbiters of Fastpass grant timeslots in turn.
    fn has_secondary(&self) -> bool {
        self.options.control == DemoControl::Fastpass && self.arbiters == 2
    }
    /// Whether hosts log their timeslots.
    fn logs_timeslots(&self) -> bool {
        self.has_secondary() || self.options.faulty_clock
    }
    /// The number of hosts with agents in a star. Arbiters run on the others.
    fn hosts(&self) -> usize {
        self.testbed.addresses.len() - self.arbiters
    }
    fn description(&self) -> String {
        let DemoOptions { buffer, seconds, skip_without, .. } = self.options;
        let (senders, rate) = (self.options.senders(), self.options.rate());
        let with = self.seconds_with();
        let before = match skip_without {
            true => String::new(),
            false => format!("{seconds} s without daemons, then "),
        };
        if self.options.control == DemoControl::Circuits {
            let (circuit, packet) = Testbed::rates(self.options);
            return format!(
                "{senders} hosts send to the next of four racks by iperf3, and another one pings a host two racks away: \
                 {before}{with} s with circuits.\nThe hosts and the switches of racks are network namespaces. A packet \
                 network of {} and an optical switch of {} join the racks.",
                Rate(packet),
                Rate(circuit)
            );
        }
        if self.options.control.has_paths() {
            let name = self.options.control.description();
            return format!(
                "{senders} hosts of a fat-tree (k = 4) send to the next pod by iperf3, and another pair of hosts exchanges \
                 pings: {before}{with} s with {name}.\nThe hosts, the switches and the scheduler are network namespaces. \
                 Switches spread connections by hash. Each link has {rate}, and each port room for {buffer}."
            );
        }
        format!(
            "{senders} hosts send to one by iperf3, and another one pings it: {before}{with} s with {}.\n\
             The hosts are network namespaces at a bridge of the kernel that sends {rate} to each host and has room for \
             {buffer} of waiting packets for each.",
            self.options.control.description()
        )
    }
}
