//! The file that all daemons of a network read.

use serde::{Deserialize, Deserializer, de};
use slotline_envelope::PublicKey;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

mod check;

/// A network of daemons: the same file on all its machines.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The scenario with the fabric and the scheme; relative to this file.
    pub scenario: PathBuf,
    /// The name of the scenario's scheme; required if several schemes have a central scheduler.
    pub scheme: Option<String>,
    /// The file with this machine's private key; relative to this file. Each machine has its own.
    #[serde(default = "default_key")]
    pub key: PathBuf,
    /// The UDP port of all daemons.
    #[serde(default = "default_port")]
    pub port: u16,
    /// Prefixes of the hosts' addresses. Packets to other destinations are not held. Racks have their own.
    #[serde(default)]
    pub network: Vec<String>,
    /// The machines of the scheme's controllers, in order: of Fastpass the primary and the secondary arbiter.
    pub arbiter: Vec<Arbiter>,
    /// The hosts; none where switches have the agents.
    #[serde(default)]
    pub host: Vec<Host>,
    /// The switches of racks, where circuits join these.
    #[serde(default)]
    pub rack: Vec<Rack>,
    /// The switches that send flows on paths, where the scheme decides on paths.
    #[serde(default)]
    pub switch: Vec<Switch>,
    /// How arbiters discover the network; without it, the network is that of the scenario.
    pub discovery: Option<DiscoveryOptions>,
    /// The circuit switches.
    #[serde(default)]
    pub circuits: CircuitOptions,
    /// How switches send flows on paths.
    #[serde(default)]
    pub paths: PathOptions,
    /// Messages that an arbiter handles per second from each peer. More are dropped.
    #[serde(default = "default_quota")]
    pub quota: u32,
    /// Groups of hosts with a common quota, besides the quota of each host.
    #[serde(default)]
    pub tenant: Vec<Tenant>,
    /// Threads of an arbiter: 2 gives the sockets and the encryption a thread of their own.
    #[serde(default = "default_threads")]
    pub threads: u8,
    /// Whether each allocator of Fastpass, with its path selection, has a thread of its own besides.
    #[serde(default)]
    pub allocation_threads: bool,
    /// How the second of two arbiters replaces the first, where the scheme itself has one controller.
    #[serde(default)]
    pub standby: StandbyOptions,
    /// What agents do.
    #[serde(default)]
    pub agent: AgentOptions,
    /// How time is transferred.
    #[serde(default)]
    pub clock: ClockOptions,
}

/// A machine with an arbiter.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Arbiter {
    /// Its address.
    pub address: IpAddr,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// A machine with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// Its name in the scenario's fabric.
    pub name: String,
    /// Its addresses. Daemons use the first.
    pub address: Vec<IpAddr>,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// Hosts with a common quota.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Tenant {
    /// A name, for messages.
    pub name: String,
    /// The names of its hosts.
    pub hosts: Vec<String>,
    /// Messages that an arbiter handles per second from all these hosts together. More are dropped.
    pub quota: u32,
}

/// A Linux machine that is the switch of a rack, with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rack {
    /// The name of the switch in the scenario's fabric, such as `tor0`.
    pub name: String,
    /// The address that daemons use.
    pub address: IpAddr,
    /// Prefixes of the addresses of the hosts in the rack.
    pub hosts: Vec<String>,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
}

/// The addresses of machines, by their names.
pub type Addresses = BTreeMap<String, Vec<IpAddr>>;

/// A Linux machine that is a switch and chooses among paths, with an agent.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Switch {
    /// Its name in the scenario's fabric, such as `edge0.0`.
    pub name: String,
    /// The address that daemons use.
    pub address: IpAddr,
    /// Its public key.
    #[serde(deserialize_with = "public_key")]
    pub key: PublicKey,
    /// The addresses of its hosts, by their names in the scenario's fabric; none for a switch between others.
    #[serde(default)]
    pub hosts: Addresses,
    /// The addresses to which it routes packets for the switches above, by their names: one of each family. Not where the network
    /// is discovered.
    #[serde(default)]
    pub up: Addresses,
}

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

/// The most agents that are asked for a lease: each costs an arbiter four messages per lease.
pub const MOST_WITNESSES: usize = 9;
/// The most threads of an arbiter.
pub const MOST_THREADS: u8 = 64;

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

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// The file is not a valid configuration. The text has the line and the key.
    #[error("{0}: {1}")]
    Parse(PathBuf, String),
    /// The value of a key is not valid.
    #[error("{file}: {key}: {what}")]
    Value {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
        /// The error, and the values that are valid.
        what: String,
    },
}

const fn default_port() -> u16 {
    7_077
}

/// Far more than a host sends, and few enough that many hosts together leave an arbiter time for its work.
const fn default_quota() -> u32 {
    20_000
}

const fn default_delay() -> Time {
    Time::us(1)
}

const fn default_patience() -> Time {
    Time::s(30)
}

const fn default_threads() -> u8 {
    1
}

fn default_key() -> PathBuf {
    "/etc/slotline/key".into()
}

fn public_key<'de, D: Deserializer<'de>>(text: D) -> Result<PublicKey, D::Error> {
    String::deserialize(text)?.parse().map_err(de::Error::custom)
}

impl Config {
    /// Reads a file. The paths in it become relative to the working directory.
    ///
    /// # Errors
    /// It cannot be read, or does not describe a network.
    pub fn load(file: &Path) -> Result<Config, ConfigError> {
        let text =
            std::fs::read_to_string(file).map_err(|why| ConfigError::Read(file.into(), why))?;
        let mut config = Config::parse(&text, file)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        config.scenario = folder.join(&config.scenario);
        config.key = folder.join(&config.key);
        Ok(config)
    }

    /// Parses a configuration. `file` is used in messages.
    ///
    /// # Errors
    /// It does not describe a network.
    pub fn parse(text: &str, file: &Path) -> Result<Config, ConfigError> {
        let config: Config = toml::from_str(text)
            .map_err(|error| ConfigError::Parse(file.into(), error.to_string()))?;
        config.check().map_err(|(key, what)| ConfigError::Value {
            file: file.into(),
            key,
            what,
        })?;
        Ok(config)
    }

    /// The names of racks, with the prefixes of their hosts.
    fn racks(&self) -> Vec<(&str, &[String])> {
        self.rack.iter().map(|rack| (rack.name.as_str(), &rack.hosts[..])).collect()
    }

    /// The names of switches, with what their rules contain.
    fn switches(&self) -> Vec<(&str, &Addresses, &Addresses)> {
        self.switch.iter().map(|switch| (&*switch.name, &switch.hosts, &switch.up)).collect()
    }

    /// The name of the host, rack or switch whose first address belongs to this machine, so that a socket can be bound to
    /// it.
    pub fn machine_here(&self) -> Option<&str> {
        let hosts = self.host.iter().map(|host| (&host.name, host.address[0]));
        let switches = self.switch.iter().map(|switch| (&switch.name, switch.address));
        let racks = self.rack.iter().map(|rack| (&rack.name, rack.address));
        let mut all = hosts.chain(racks).chain(switches);
        all.find(|(_, address)| is_local(*address)).map(|(name, _)| name.as_str())
    }
    /// The index of the arbiter on this machine.
    pub fn arbiter_here(&self) -> Option<usize> {
        self.arbiter.iter().position(|arbiter| is_local(arbiter.address))
    }
    /// The UDP port by which hosts probe paths.
    pub fn probe_port(&self) -> u16 {
        self.port.wrapping_add(1)
    }
    /// The socket address of a daemon on this address.
    pub fn socket(&self, address: IpAddr) -> SocketAddr {
        SocketAddr::new(address, self.port)
    }
}

/// A time of the configuration as a type of the standard library.
pub fn span(time: Time) -> Duration {
    Duration::from_nanos(time.as_ns())
}

fn is_local(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        scenario = 'fabric.toml'
        key = 'h0.key'
        network = ['10.1.0.0/24']
        arbiter = [{ address = '10.1.0.100', key = 'hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=' }]
        host = [{ name = 'h0', address = ['10.1.0.1'], key = '3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=' }]
        [agent]
        silence = '60ms'
    ";

    fn parsed(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("net.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_filled_in() {
        let config = parsed(TEXT).unwrap();
        assert_eq!((config.port, config.agent.silence), (7_077, Time::ms(60)));
        assert_eq!(config.agent.retry, Time::ms(500));
        assert_eq!(config.socket(config.arbiter[0].address).to_string(), "10.1.0.100:7077");
    }

    #[test]
    fn errors_name_the_place() {
        let error = |from: &str, to: &str| parsed(&TEXT.replace(from, to)).unwrap_err();
        let unknown = error("silence", "silense");
        assert!(unknown.contains("net.toml") && unknown.contains("line 8"), "{unknown}");
        let gate = error("[agent]", "[agent]\ngate = 'tun'");
        assert!(gate.contains("`auto`, `queue`, `packet`"), "{gate}");
        assert!(error("'60ms'", "'60'").contains("silence"), "{}", error("'60ms'", "'60'"));
        assert!(error("3p7bfXt9", "3p7b").contains("line 6"), "{}", error("3p7bfXt9", "3p7b"));
        let again = "{ name = 'h0', address = ['10.1.0.9'], key = '3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=' }, { name";
        assert!(error("{ name", again).contains("`h0` is given twice"));
        assert!(error("10.1.0.0/24", "10.1.0.0").contains("is not a prefix"));
        assert!(error("10.1.0.100", "10.1.0.1").contains("10.1.0.1 is given twice"));
        let (one, two) = (
            "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
            "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
        );
        assert!(error(one, two).contains("is given twice: each machine"));
        assert!(error("['10.1.0.1']", "[]").contains("`h0` has no address"));
        let rack = "rack = [{ name = 'h0', address = '10.1.0.2', hosts = ['10.2.0.0/24'], key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw=' }]";
        let with = |from: &str, to: &str| error("key = 'h0.key'", &rack.replace(from, to));
        assert!(with("", "").contains("`h0` is given twice"));
        let rack = TEXT.replace("key = 'h0.key'", &rack.replace("h0", "tor0"));
        assert!(parsed(&rack).is_ok());
        let packet = parsed(&rack.replace("[agent]", "[agent]\ngate = 'packet'")).unwrap_err();
        assert!(packet.contains("agent.gate: \"packet\" holds"), "{packet}");
        assert!(with("['10.2.0.0/24']", "[]").contains("`h0` has no prefixes"));
        assert!(with("10.2.0.0/24", "10.2.0.0").contains("rack: `10.2.0.0` is not a prefix"));
        let switch = "[[switch]]\nname = 'edge0'\naddress = '10.1.0.3'\nup = {}\nhosts = { h1 = ['10.2.0.1'] }\n\
                      key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw='\n[agent]";
        let with =
            |from: &str, to: &str| parsed(&TEXT.replace("[agent]", &switch.replace(from, to)));
        assert!(with("", "").is_ok());
        assert!(with("h1", "h0").unwrap_err().contains("`h0` is given twice"));
        assert!(with("10.2.0.1", "10.1.0.1").unwrap_err().contains("10.1.0.1 is given twice"));
        assert!(error("key = 'h0.key'", "quota = 0").contains("at least 1 message per second"));
        let source = error("[agent]", "[clock]\nsource = 'ptp'\n[agent]");
        assert!(source.contains("`ptp` is no source of time"), "{source}");
        let device =
            parsed(&TEXT.replace("[agent]", "[clock]\nsource = '/dev/ptp3'\n[agent]")).unwrap();
        assert_eq!(device.clock.source, ClockSource::Device("/dev/ptp3".into()));
        assert!(error("key = 'h0.key'", "threads = 0").contains("must be 1 to 64"));
        let tenant = |hosts: &str| {
            let tenants = format!("[[tenant]]\nname = 'a'\nhosts = {hosts}\nquota = 9\n[agent]");
            parsed(&TEXT.replace("[agent]", &tenants))
        };
        assert!(tenant("['h0']").is_ok());
        assert!(tenant("['h7']").unwrap_err().contains("there is no [[host]] `h7`"));
        assert!(tenant("['h0', 'h0']").unwrap_err().contains("belongs to `a` already"));
    }

    #[test]
    fn a_discovered_network_is_checked() {
        let switch = "[[switch]]\nname = 's0'\naddress = '10.1.0.3'\n\
                      key = 'x6WtnLECCapTJ0xICffSJxS+4joIU8dWjcmJhGj6fXw='\n";
        let with = |options: &str, more: &str| {
            let text = format!("[discovery]\nrate = '1Gbps'\n{options}\n{switch}{more}\n[agent]");
            parsed(&TEXT.replace("[agent]", &text))
        };
        let options = with("host-rates = { h0 = '2Gbps' }", "").unwrap().discovery.unwrap();
        let rates = ["h0", "h1"].map(|host| options.rate_of(host));
        assert_eq!(rates, [Rate(2_000_000_000), Rate(1_000_000_000)]);
        assert_eq!((options.delay, options.patience), (Time::us(1), Time::s(30)));
        let error = |options: &str, more: &str| with(options, more).unwrap_err();
        assert!(error("host-rates = { h7 = '2Gbps' }", "").contains("there is no [[host]] `h7`"));
        let (own, other) = (with("", "").unwrap(), "name = 'h5'");
        let text = TEXT.replace("name = 'h0'", other);
        let text =
            text.replace("[agent]", &format!("[discovery]\nrate = '1Gbps'\n{switch}\n[agent]"));
        let changed = own.fixed_change(&parsed(&text).unwrap()).map(|(key, _)| key);
        assert_eq!(changed, Some("host"));
        assert!(error("patience = '100ms'", "").contains("must be at least"));
        assert!(error("", "up = { s1 = ['10.9.9.1'] }").contains("`s0` has `up` or `hosts`"));
        let none = TEXT.replace("[agent]", "[discovery]\nrate = '1Gbps'\n[agent]");
        assert!(parsed(&none).unwrap_err().contains("give a [[host]] and a [[switch]]"));
    }

    #[test]
    fn what_cannot_change_while_daemons_run_is_named() {
        let config = parsed(TEXT).unwrap();
        let changed = |from: &str, to: &str| {
            let new = parsed(&TEXT.replace(from, to)).unwrap();
            config.fixed_change(&new).map(|(key, _)| key)
        };
        assert_eq!(changed("'60ms'", "'70ms'"), None);
        assert_eq!(changed("10.1.0.1'", "10.1.0.3'"), None, "another machine may move");
        assert_eq!(changed("10.1.0.0/24", "10.0.0.0/8"), Some("network"));
        assert_eq!(changed("key = 'h0.key'", "port = 7078"), Some("port"));
        assert_eq!(changed("[agent]", "[agent]\nqueue = 9"), Some("agent.queue"));
        let segments = "[agent]\njoin-segments = false";
        assert_eq!(changed("[agent]", segments), Some("agent.join-segments"));
        assert_eq!(changed("[agent]", "[agent]\ngate = 'packet'"), Some("agent.gate"));
    }
}
