//! The daemons of a demonstration, and their files.

use super::testbed::{Network, Testbed};
use super::{Demo, DemoControl, DemoGate, DemoOptions};
use anyhow::Result;
use slotline_emulate::bridge::Bridge;
use slotline_emulate::fat_tree::{FatTree, Router};
use slotline_emulate::isolation;
use slotline_emulate::optical::OpticalSwitch;
use slotline_emulate::racks::Racks;
use slotline_live::keys;
use slotline_net::time::Time;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

/// The named pipe by which the arbiter commands the optical switch.
const PIPE: &str = "optical.pipe";
/// The file in which the optical switch says what it has carried out.
const DONE: &str = "optical.done";
/// The extension of a host's log of timeslots.
pub const TIMESLOTS: &str = "timeslots";

/// The kind of a daemon.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Agent,
    Arbiter,
    Bump,
}

/// A daemon.
pub struct Daemon {
    /// Its name, which is also that of its files.
    pub name: String,
    /// The machine on which it runs; `None`: that of the switch.
    pub machine: Option<usize>,
    pub kind: Kind,
    /// The arguments of this program.
    pub arguments: Vec<OsString>,
    /// Whether it is the one that is killed among those of its kind.
    pub is_victim: bool,
}

/// A machine with an agent or an arbiter, as the configuration describes it.
struct Member {
    name: String,
    machine: usize,
    kind: Kind,
    address: Ipv4Addr,
    /// The address of a host for traffic, if it has another one for daemons.
    data: Option<Ipv4Addr>,
    /// The table of its entry.
    table: &'static str,
    /// The keys of its entry other than name, address and key.
    entry: String,
}

/// The daemons in the order in which they start. Their files are in `folder`.
pub fn roster(demo: &Demo<'_>, folder: &Path) -> Result<Vec<Daemon>> {
    let members = match (&demo.testbed.network, demo.options.control) {
        (_, DemoControl::Bump) => return Ok(vec![bump(demo)]),
        (Network::Star(_), _) => in_star(demo),
        (Network::Racks(racks), _) => in_racks(demo, racks),
        (Network::FatTree(tree), _) => in_fat_tree(demo, tree),
    };
    fs::write(folder.join("fabric.toml"), scenario(demo))?;
    let mut text = preamble(demo, folder);
    let (mut killed, mut rank) = (Vec::new(), 0);
    let mut daemons = Vec::new();
    for member in members {
        let file = folder.join(format!("{}.key", member.name));
        let key = keys::create(&file)?.public();
        text += &member.text(&key.to_string(), demo.options);
        let kind = if member.kind == Kind::Agent { "agent" } else { "arbiter" };
        let config = folder.join("network.toml");
        let mut arguments: Vec<OsString> =
            vec![kind.into(), config.into(), "--key".into(), file.into()];
        if demo.logs_timeslots() && member.kind == Kind::Agent {
            let log = folder.join(format!("{}.{TIMESLOTS}", member.name));
            arguments.extend(["--timeslots".into(), log.into()]);
        }
        if member.kind == Kind::Arbiter {
            arguments.extend(["--rank".into(), rank.to_string().into()]);
            rank += 1;
            if let Some(folder) = &demo.options.record {
                fs::create_dir_all(folder)?;
                let log = std::path::absolute(folder)?.join(format!("{}.log", member.name));
                arguments.extend(["--record".into(), log.into()]);
            }
        }
        let is_victim = !killed.contains(&kind) && member.name != "h0";
        killed.extend(is_victim.then_some(kind));
        daemons.push(Daemon {
            name: member.name,
            machine: Some(member.machine),
            kind: member.kind,
            arguments,
            is_victim,
        });
    }
    fs::write(folder.join("network.toml"), text)?;
    // Arbiters start first.
    daemons.reverse();
    Ok(daemons)
}

/// The configuration without its machines.
fn preamble(demo: &Demo<'_>, folder: &Path) -> String {
    let mut text = String::from("scenario = \"fabric.toml\"\n");
    text += match demo.options.faulty_clock {
        // The kernel's own clock, by which it keeps packets, is not faulty.
        true => "clock = { source = \"system\", bound = \"200us\" }\n",
        false => "agent.departure-times = true\n",
    };
    text += match demo.options.gate {
        None => "",
        Some(DemoGate::Queue) => "agent.gate = \"queue\"\n",
        Some(DemoGate::Packet) => "agent.gate = \"packet\"\n",
    };
    match &demo.testbed.network {
        Network::Star(_) => {
            _ = writeln!(text, "network = {:?}", demo.options.prefixes("10.79.0.0/24"))
        }
        // Many daemons share few processors here.
        Network::FatTree(_) if demo.options.fat_tree => {
            let network = demo.options.prefixes("10.80.0.0/16");
            let _ = write!(
                text,
                "network = {network:?}\nagent.silence = \"400ms\"\nclock.guard = \"20ms\"\n"
            );
        }
        Network::FatTree(_) => text += "agent.silence = \"400ms\"\nclock.guard = \"20ms\"\n",
        Network::Racks(_) => {
            let words = program(folder);
            let mark = Racks::MARK;
            let _ = writeln!(
                text,
                "circuits = {{ command = {words:?}, confirms = true, mark = {mark} }}"
            );
        }
    }
    text
}

/// The program that passes lines to the optical switch, and back.
fn program(folder: &Path) -> Vec<String> {
    let first: Vec<_> = isolation::first_served().map(str::to_owned).collect();
    let (pipe, done) = (folder.join(PIPE), folder.join(DONE));
    // A program in the background has no input but one that it is given.
    let script = format!(
        "exec 3<&0; {} cat <&3 > {} & exec tail -n 0 -f {}",
        first.join(" "),
        pipe.display(),
        done.display()
    );
    first.into_iter().chain(["sh".into(), "-c".into(), script]).collect()
}

impl Member {
    /// Its entry in the configuration.
    fn text(&self, key: &str, options: &DemoOptions) -> String {
        let Member { name, address, table, entry, .. } = self;
        let name = match self.kind {
            Kind::Agent => format!("name = \"{name}\"\n"),
            _ => String::new(),
        };
        let address = match (*table, &self.data) {
            ("host", None) => options.list(*address),
            ("host", Some(data)) => format!("[\"{address}\", {}", &options.list(*data)[1..]),
            _ => format!("\"{address}\""),
        };
        format!("[[{table}]]\n{name}address = {address}\nkey = \"{key}\"\n{entry}\n")
    }
}

/// An agent on each host, and the arbiters on the last machines.
fn in_star(demo: &Demo<'_>) -> Vec<Member> {
    let member = |(machine, address): (usize, &Ipv4Addr)| Member {
        name: format!("h{machine}"),
        machine,
        kind: if machine < demo.hosts() { Kind::Agent } else { Kind::Arbiter },
        address: *address,
        data: None,
        table: if machine < demo.hosts() { "host" } else { "arbiter" },
        entry: String::new(),
    };
    demo.testbed.addresses.iter().enumerate().map(member).collect()
}

/// An agent on the switch of each rack, and an arbiter.
fn in_racks(demo: &Demo<'_>, racks: &Racks) -> Vec<Member> {
    let rack = |rack: usize| Member {
        name: format!("tor{rack}"),
        machine: racks.switch(rack),
        kind: Kind::Agent,
        address: Racks::control_address(rack),
        data: None,
        table: "rack",
        entry: format!("hosts = {:?}", demo.options.prefixes(&Racks::prefix(rack))),
    };
    let addresses = [Racks::control_address(racks.racks()), Racks::STANDBY];
    (0..racks.racks()).map(rack).chain(arbiters(demo, racks.arbiter(), addresses)).collect()
}

/// An agent on each router that chooses among paths, on each host where these have agents, and an arbiter.
fn in_fat_tree(demo: &Demo<'_>, tree: &FatTree) -> Vec<Member> {
    let routers = tree.routers().filter(|router| !matches!(router, Router::Core(_)));
    let member = |router: Router| Member {
        name: router_name(router),
        machine: tree.machine(router),
        kind: Kind::Agent,
        address: tree.control_address(tree.machine(router)),
        data: None,
        table: "switch",
        entry: router_entry(demo.options, tree, router),
    };
    let host = |host: usize| Member {
        name: format!("h{host}"),
        machine: host,
        kind: Kind::Agent,
        address: tree.control_address(host),
        data: Some(tree.host_address(host)),
        table: "host",
        entry: String::new(),
    };
    let hosts = 0..if demo.options.fat_tree { tree.hosts() } else { 0 };
    let addresses = [tree.control_address(tree.arbiter()), FatTree::STANDBY];
    hosts
        .map(host)
        .chain(routers.map(member))
        .chain(arbiters(demo, tree.arbiter(), addresses))
        .collect()
}

/// One or two arbiters, on one machine.
fn arbiters(demo: &Demo<'_>, machine: usize, addresses: [Ipv4Addr; 2]) -> Vec<Member> {
    let member = |(rank, address): (usize, Ipv4Addr)| Member {
        name: demo.arbiter_name(rank),
        machine,
        kind: Kind::Arbiter,
        address,
        data: None,
        table: "arbiter",
        entry: String::new(),
    };
    addresses.into_iter().enumerate().take(demo.arbiters).map(member).collect()
}

/// The name of a router in the fabric.
fn router_name(router: Router) -> String {
    match router {
        Router::Edge(pod, n) => format!("edge{pod}.{n}"),
        Router::Aggregation(pod, n) => format!("agg{pod}.{n}"),
        Router::Core(n) => format!("core{n}"),
    }
}

/// The hosts of a router, and the routers above.
fn router_entry(options: &DemoOptions, tree: &FatTree, router: Router) -> String {
    let hosts = match router {
        Router::Edge(pod, n) if !options.fat_tree => tree.hosts_of(pod, n),
        _ => 0..0,
    };
    let hosts = hosts.map(|host| format!("h{host} = {}", options.list(tree.host_address(host))));
    let up = tree.above(router).into_iter();
    let up = up.map(|(above, to)| format!("\"{}\" = {}", router_name(above), options.list(to)));
    let list = |entries: Vec<String>| entries.join(", ");
    format!("hosts = {{ {} }}\nup = {{ {} }}", list(hosts.collect()), list(up.collect()))
}

impl Demo<'_> {
    /// The optical switch between racks, which the arbiter commands.
    pub fn optical_switch(&self, folder: &Path) -> Result<Option<OpticalSwitch>> {
        match &self.testbed.network {
            Network::Star(_) | Network::FatTree(_) => Ok(None),
            Network::Racks(racks) => {
                let (pipe, done) = (folder.join(PIPE), folder.join(DONE));
                Ok(Some(OpticalSwitch::new(&pipe, &done, racks)?))
            }
        }
    }
}

/// Virtual queues that drain a little slower than the switch, for the packets to the host that receives.
fn bump(demo: &Demo<'_>) -> Daemon {
    let (rate, buffer) = (demo.options.rate().0, demo.options.buffer.0);
    let queue =
        format!("{{ kind = \"ecn\", threshold = \"{}B\", limit = \"{buffer}B\" }}", buffer / 5);
    let rate = format!("{}bps", rate / 100 * 95);
    // The bridge's own limit does not count preambles and gaps.
    let words =
        ["bump", "--out", Bridge::PORT0, "--framing", "0", "--rate", &rate, "--queue", &queue];
    Daemon {
        name: "bump".into(),
        machine: None,
        kind: Kind::Bump,
        arguments: words.map(OsString::from).into(),
        is_victim: true,
    }
}

/// The scenario that describes the network to the arbiter.
fn scenario(demo: &Demo<'_>) -> String {
    let control = match demo.options.control {
        DemoControl::Fastpass if demo.options.fat_tree => {
            "kind = \"fastpass\"\nmessages = \"first\"\nreserve = 0.06\nbatch = 8\nlead = \"5ms\"\nlate = \"10ms\"\n\
             timeout = \"30ms\"\ngap = \"1ms\"\nfault-window = \"100ms\"\n\
             fault-share = 0.15\nprobe-interval = \"200ms\""
        }
        DemoControl::Fastpass => {
            "kind = \"fastpass\"\nslot = \"500us\"\nbatch = 4\nlead = \"2ms\"\ntimeout = \"5ms\"\ngap = \"100us\""
        }
        DemoControl::Tdma => {
            "kind = \"tdma\"\nslot = \"2ms\"\nguard = \"200us\"\nround = \"20ms\"\nlead = \"3ms\"\nplanning-time = \"1ms\""
        }
        // Its two controllers choose between themselves.
        DemoControl::Xco if demo.arbiters == 2 => "kind = \"xco\"\ncontrollers = \"standby\"",
        DemoControl::Xco => "kind = \"xco\"",
        DemoControl::Hedera => {
            "kind = \"hedera\"\npoll = \"500ms\"\ngather = \"50ms\"\ncomputing = \"1ms\"\ninstall = \"0s\""
        }
        DemoControl::FlowScheduler => {
            "kind = \"flow-scheduler\"\npoll = \"500ms\"\ncomputing = \"1ms\"\ninstall = \"0s\""
        }
        DemoControl::Circuits => {
            "kind = \"circuits\"\nscheduler = \"solstice\"\nweek = \"200ms\"\nday = \"20ms\"\ngather = \"5ms\"\ncomputing = \"1ms\""
        }
        DemoControl::Bump => "kind = \"none\"",
    };
    let silence = demo.options.watchdog.unwrap_or(Time::ms(20));
    let secondary = match demo.has_secondary() {
        true => format!(
            "\nsecondary = true\nwatchdog-timeout = \"{silence}\"\nwatchdog-interval = \"{}\"",
            Time::ps(silence.as_ps() / 10)
        ),
        false => String::new(),
    };
    let voq = match demo.options.control {
        DemoControl::Circuits => "voq = { packets = 1000 }\n",
        _ => "",
    };
    format!(
        "name = \"demo\"\nend.at = \"1s\"\n{}[[workload]]\nkind = \"bulk\"\nsenders = \"1\"\nreceivers = \"0\"\n\
         [[scheme]]\nname = \"{}\"\n{voq}[scheme.control]\n{control}{secondary}\n",
        fabric(demo),
        demo.options.control.name()
    )
}

fn fabric(demo: &Demo<'_>) -> String {
    match &demo.testbed.network {
        Network::Star(_) => {
            let (hosts, rate) = (demo.hosts(), demo.options.rate());
            format!(
                "[fabric]\nkind = \"star\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"50us\"\n"
            )
        }
        Network::FatTree(_) => {
            let rate = demo.options.rate();
            format!("[fabric]\nkind = \"fat-tree\"\nk = 4\nrate = \"{rate}\"\ndelay = \"50us\"\n")
        }
        Network::Racks(racks) => {
            let hosts = demo.testbed.addresses.len() / racks.racks();
            let (circuit, packet) = Testbed::rates(demo.options);
            format!(
                "[fabric]\nkind = \"hybrid\"\nracks = {}\nhosts-per-rack = {hosts}\nhost-rate = \"1Gbps\"\n\
                 packet = {{ rate = \"{packet}bps\" }}\n\
                 circuits = {{ rate = \"{circuit}bps\", reconfiguration = \"10ms\" }}\n",
                racks.racks()
            )
        }
    }
}
