//! The options of a demonstration.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use slotline_emulate::families::{Families, twin, twin_prefix};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

/// Room for one packet.
const LEAST_BUFFER: Bytes = Bytes(2_000);

#[derive(Args)]
pub struct DemoOptions {
    /// The central scheduler of the demonstration.
    #[arg(value_enum)]
    pub control: DemoControl,
    /// Hosts that send at the same time: to one host, with circuits to the next of four racks, in a fat-tree to the next of
    /// four pods, or under Fastpass each to a host of its own, drawn at random [default: 4, in a fat-tree 16].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub senders: Option<u8>,
    /// Rate at which the switch sends to each host; rate of circuits, ten times that of the packet network between racks;
    /// in a fat-tree the rate of all links [default: 200Mbps, in a fat-tree 20Mbps].
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
    /// The means by which agents hold packets, `agent.gate` of the configuration [default: auto].
    #[arg(long, value_enum, conflicts_with = "fat_tree")]
    pub gate: Option<DemoGate>,
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
    /// With `--kill primary`: how long an arbiter may be silent until the other one takes over; it sends a message ten times
    /// as often (fastpass) [default: 20ms].
    #[arg(long, value_name = "TIME", value_parser = watchdog)]
    pub watchdog: Option<Time>,
    /// While traffic runs, let all daemons reload their configuration, and take the first sender out of the schedule and back.
    #[arg(long, conflicts_with = "kill")]
    pub operate: bool,
    /// While traffic runs, let the clock of the first sender's agent step by a second, forward and back, once each second. It is
    /// slow by 100 parts per million all the time (fastpass).
    #[arg(long, conflicts_with_all = ["kill", "operate", "fat_tree"])]
    pub faulty_clock: bool,
    /// Let hosts send over IPv6.
    #[arg(long)]
    pub ipv6: bool,
    /// Use a fat-tree of routers instead of one switch, with an agent on each host and router (fastpass; hedera and
    /// flow-scheduler always do).
    #[arg(long, conflicts_with = "join_segments")]
    pub fat_tree: bool,
    /// Cut a link between a pod and the core for the second third of the traffic (in a fat-tree).
    #[arg(long, conflicts_with = "kill")]
    pub cut: bool,
    /// Let this link lose PERCENT of its packets for the second third of the traffic instead (in a fat-tree).
    #[arg(long, value_name = "PERCENT", conflicts_with_all = ["kill", "cut"], value_parser = clap::value_parser!(u8).range(1..=100))]
    pub lossy: Option<u8>,
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

/// A time of silence that two arbiters can keep to.
fn watchdog(text: &str) -> Result<Time, String> {
    let silence: Time = text.parse().map_err(|error| format!("{error}"))?;
    let fits = (Time::us(500)..=Time::ms(1_000)).contains(&silence);
    fits.then_some(silence).ok_or_else(|| "expected 500us to 1s".into())
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

/// The means by which agents hold packets.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoGate {
    /// Netfilter's queue.
    Queue,
    /// A packet socket, to which a BPF program redirects packets.
    Packet,
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

impl DemoOptions {
    pub fn senders(&self) -> usize {
        let default = if self.has_fat_tree() { 16 } else { 4 };
        self.senders.unwrap_or(default).into()
    }
    pub fn rate(&self) -> Rate {
        let default = if self.has_fat_tree() { 20_000_000 } else { 200_000_000 };
        self.rate.unwrap_or(Rate(default))
    }
    /// Whether the network is a fat-tree.
    pub fn has_fat_tree(&self) -> bool {
        self.fat_tree || self.control.has_paths()
    }
    /// Connections of each sender. One alone does not queue a batch of timeslots of slow links in its host.
    pub fn connections(&self) -> u8 {
        if self.fat_tree { 4 } else { 1 }
    }
    /// Whether a link is cut or loses packets for a third of the traffic.
    pub fn breaks_link(&self) -> bool {
        self.cut || self.lossy.is_some()
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
    /// The lowest rate at which two packets fit into a timeslot of TDMA and one into a timeslot of Fastpass, or that `tc` takes.
    fn least_rate(&self) -> Rate {
        match self.control {
            DemoControl::Fastpass if !self.fat_tree => Rate(25_000_000),
            DemoControl::Tdma => Rate(14_000_000),
            _ => Rate(10_000),
        }
    }
    /// Refuses links and buffers that are too small for packets, to kill a daemon that does not run, and senders that do not exist.
    pub fn check(&self) -> Result<()> {
        let (rate, least) = (self.rate(), self.least_rate());
        if rate < least {
            let control = self.control.name();
            bail!("`--rate` is {rate}: the demonstration of {control} needs at least {least}");
        }
        if self.buffer < LEAST_BUFFER {
            bail!("`--buffer` is {}: it needs at least {LEAST_BUFFER}", self.buffer);
        }
        let bump = self.control == DemoControl::Bump;
        let two_arbiters = (Some(Victim::Primary), DemoControl::Fastpass);
        match self.kill {
            _ if self.watchdog.is_some() && (self.kill, self.control) != two_arbiters => {
                bail!("`--watchdog` is for two arbiters: use `fastpass --kill primary`")
            }
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
            _ if self.fat_tree && !matches!(self.control, DemoControl::Fastpass) => {
                bail!(
                    "`--fat-tree` is for fastpass: hedera and flow-scheduler have a fat-tree without it, and others one switch"
                )
            }
            _ if self.fat_tree && self.operate => {
                bail!("`--operate` is for the network with one switch: leave out `--fat-tree`")
            }
            _ if self.faulty_clock && self.control != DemoControl::Fastpass => {
                bail!("`--faulty-clock` compares packets with timeslots: use fastpass")
            }
            _ if self.breaks_link() && !self.has_fat_tree() => {
                bail!(
                    "`--cut` and `--lossy` need several paths: use hedera, flow-scheduler or `fastpass --fat-tree`"
                )
            }
            _ if self.has_fat_tree() && self.senders() > 16 => {
                bail!("the fat-tree has 16 hosts: use `--senders` of at most 16")
            }
            _ => Ok(()),
        }
    }
}

impl DemoControl {
    /// Whether agents run on hosts.
    pub fn has_hosts(self) -> bool {
        matches!(self, DemoControl::Fastpass | DemoControl::Tdma | DemoControl::Xco)
    }
    /// Whether agents on switches send flows on paths.
    pub fn has_paths(self) -> bool {
        matches!(self, DemoControl::Hedera | DemoControl::FlowScheduler)
    }
    pub fn name(self) -> &'static str {
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
    pub fn description(self) -> &'static str {
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
