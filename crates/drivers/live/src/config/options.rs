//! What daemons do, and how: options with defaults.

use serde::{Deserialize, Deserializer, de};
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How arbiters discover the network: from the neighbours of all machines, by LLDP, which does not tell how fast links are.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DiscoveryOptions {
    /// The rate of links.
    pub rate: Rate,
    /// Their delay.
    #[serde(default = "default_delay")]
    pub delay: Time,
    /// The rate of hosts' links, if it is another one.
    pub host_rate: Option<Rate>,
    /// The rates of the links of single hosts, by name.
    #[serde(default)]
    pub host_rates: BTreeMap<String, Rate>,
    /// How long an arbiter waits for machines that do not report, and for cables that only one end names. Then the network
    /// begins without them.
    #[serde(default = "default_patience")]
    pub patience: Time,
}

impl DiscoveryOptions {
    /// The rate of a host's link.
    pub fn rate_of(&self, host: &str) -> Rate {
        self.host_rates.get(host).copied().or(self.host_rate).unwrap_or(self.rate)
    }
}

/// How switches send flows on paths.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PathOptions {
    /// The mark of packets to the first switch above, and the number of their table of routes. Those of further ones
    /// follow.
    pub mark: u32,
}

impl Default for PathOptions {
    fn default() -> PathOptions {
        PathOptions { mark: 1_280 }
    }
}

/// The circuit switches.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CircuitOptions {
    /// The program that drives the circuit switches, with its arguments. The arbiter starts it.
    pub command: Vec<String>,
    /// Whether the program says when the circuits of a change are up.
    pub confirms: bool,
    /// The mark of packets that leave by a circuit of the first switch. Those of further switches follow.
    pub mark: u32,
}

impl Default for CircuitOptions {
    fn default() -> CircuitOptions {
        CircuitOptions { command: Vec::new(), confirms: false, mark: 1_280 }
    }
}

/// How the second of two arbiters replaces the first, and the first the second.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StandbyOptions {
    /// An arbiter that is silent for this time is replaced, where the scheme has no such time itself.
    pub timeout: Time,
    /// The names of the machines with an agent that are witnesses; none: the first nine of the file.
    pub witnesses: Vec<String>,
}

impl Default for StandbyOptions {
    fn default() -> StandbyOptions {
        StandbyOptions { timeout: Time::ms(50), witnesses: Vec::new() }
    }
}

/// What agents do.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AgentOptions {
    /// If packets wait and no message from an arbiter arrives for this time, all packets leave at once.
    pub silence: Time,
    /// The time for which packets then leave at once, before an arbiter may be obeyed again.
    pub retry: Time,
    /// TCP and UDP ports whose packets are not held, such as that of a remote shell.
    pub exempt_ports: Vec<u16>,
    /// IP packets shorter than this many bytes are not held.
    pub exempt_below: u32,
    /// The means by which packets are held.
    pub gate: GateChoice,
    /// The number of the netfilter queue. The next one is used, too, where hosts join segments. Other names of the kernel contain it.
    pub queue: u16,
    /// Whether segments that TCP joins are held as one packet, as far as they fit into a slot.
    pub join_segments: bool,
    /// Whether packets are released before their slots, and the kernel keeps them until these begin (`fq`), where the
    /// scheme plans ahead and the kernel has what that needs.
    pub departure_times: bool,
}

impl Default for AgentOptions {
    fn default() -> AgentOptions {
        AgentOptions {
            silence: Time::ms(80),
            retry: Time::ms(500),
            exempt_ports: Vec::new(),
            exempt_below: 0,
            gate: GateChoice::Auto,
            queue: 7_077,
            join_segments: true,
            departure_times: false,
        }
    }
}

/// The means by which a host's packets are held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GateChoice {
    /// Netfilter's queue, and where that does not work, a packet socket.
    #[default]
    Auto,
    /// Netfilter's queue.
    Queue,
    /// A packet socket, to which a BPF program redirects packets on their way out.
    Packet,
}

/// How time is transferred.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ClockOptions {
    /// The interval between measurements.
    pub interval: Time,
    /// The largest error that is accepted.
    pub guard: Time,
    /// Where hosts take the network's time from.
    pub source: ClockSource,
    /// With another source than the transfer: the largest difference between the clocks of a host and of an arbiter.
    pub bound: Time,
}

/// Where hosts take the network's time from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum ClockSource {
    /// From the arbiter, by two-way time transfer.
    #[default]
    Transfer,
    /// From the system's clock, which another program keeps right (PTP or NTP), as long as the transfer agrees with it.
    System,
    /// The same from a hardware clock of PTP, such as `/dev/ptp0`.
    Device(PathBuf),
}

impl<'de> Deserialize<'de> for ClockSource {
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<ClockSource, D::Error> {
        match String::deserialize(text)? {
            text if text == "transfer" => Ok(ClockSource::Transfer),
            text if text == "system" => Ok(ClockSource::System),
            text if text.starts_with("/dev/") => Ok(ClockSource::Device(text.into())),
            text => Err(de::Error::custom(format!(
                "`{text}` is no source of time: give \"transfer\", \"system\" or a device such as \"/dev/ptp0\""
            ))),
        }
    }
}

impl Default for ClockOptions {
    fn default() -> ClockOptions {
        ClockOptions {
            interval: Time::ms(250),
            guard: Time::ms(1),
            source: ClockSource::Transfer,
            bound: Time::us(100),
        }
    }
}

const fn default_delay() -> Time {
    Time::us(1)
}

const fn default_patience() -> Time {
    Time::s(30)
}

/// A time of the configuration as a type of the standard library.
pub fn span(time: Time) -> Duration {
    Duration::from_nanos(time.as_ns())
}
