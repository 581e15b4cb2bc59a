//! `slotline demo`: hosts send, first without an arbiter or a bump and then with it.

mod clock_faults;
mod daemons;
mod faults;
mod load;
mod options;
mod outage;
mod outcome;
mod repeated;
mod roster;
mod testbed;

use crate::out::say;
use anyhow::{Context, Result, anyhow};
use daemons::{Daemons, Disturbed};
use load::Load;
pub use options::{DemoControl, DemoGate, DemoOptions, Victim};
use outcome::Outcome;
use slotline_emulate::isolation;
use slotline_guest::inside;
use slotline_net::units::Rate;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use testbed::Testbed;

/// The programs that the demonstration and its daemons run besides those that emulations need.
const PROGRAMS: [&str; 4] = ["iptables-legacy-save", "iperf3", "ping", "timeout"];

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
    options.check()?;
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

impl Demo<'_> {
    /// The traffic under new daemons, one of which may be killed.
    fn with_daemons(&self) -> Result<Outcome> {
        let mut daemons = Daemons::start(self)?;
        let (with, done) = self.load_during(self.seconds_with(), || daemons.disturb(self))?;
        let Disturbed { kills, broken, clock_faults } = done.unwrap_or_default();
        let clock_faults = daemons.consequences(clock_faults)?;
        let (daemons, timeslots) = daemons.end()?;
        let kills = kills.into_iter().map(|kill| kill.outage(&with, &timeslots)).collect();
        let faults = broken.map(|broken| faults::found(&daemons, &broken)).unwrap_or_default();
        let timeslots = self.logs_timeslots().then(|| timeslots.accepted().into());
        Ok(Outcome { without: None, with, kills, faults, timeslots, clock_faults, daemons })
    }
    /// The traffic without daemons. A link breaks here, too.
    fn without_daemons(&self) -> Result<Load> {
        let (load, _) = self.load_during(self.options.seconds, || self.break_link())?;
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
                anyhow!("the thread that kills or operates daemons, or breaks a link, failed")
            })??;
            Ok((load?, done))
        })
    }
    /// Breaks a link for the second third of the traffic, if options say so. Returns the times at which that began and had
    /// happened, and at which the link worked again.
    fn break_link(&self) -> Result<Option<[Instant; 3]>> {
        if !self.options.breaks_link() {
            return Ok(None);
        }
        let third = Duration::from_secs(self.options.seconds.into()) / 3;
        std::thread::sleep(third);
        let begun = Instant::now();
        self.set_link(false)?;
        let broken = Instant::now();
        std::thread::sleep(third);
        self.set_link(true)?;
        Ok(Some([begun, broken, Instant::now()]))
    }
    fn set_link(&self, works: bool) -> Result<()> {
        match self.options.lossy {
            Some(percent) => self.testbed.set_loss(if works { 0 } else { percent }),
            None => self.testbed.set_cable(works),
        }
        .context("cannot change the link")
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
        if self.options.has_fat_tree() {
            let name = self.options.control.description();
            let to = if self.options.fat_tree {
                "each to another one drawn at random"
            } else {
                "to the next pod"
            };
            return format!(
                "{senders} hosts of a fat-tree (k = 4) send {to} by iperf3, and another pair of hosts exchanges \
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
