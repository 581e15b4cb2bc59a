//! Measures emulation: the throughput of the network between real hosts, its lateness, how well slots are kept, the gate
//! of a host alone, and the time to create and remove hosts. The kernel's bridge, packet by packet, is the reference.

use crate::Row;
use crate::table::{Choice, Outcome, Separate};
use crate::{bridged, gates};
use slotline_emulate::isolation;
use slotline_emulate::namespace::{GateKind, Host, HostError, KernelTcp};
use slotline_lab::record::{FlowRow, RunRecord};
use slotline_lab::run::Jobs;
use slotline_scenario::{Loaded, Scenario, ScenarioError};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

/// The real time that each transfer takes.
pub(crate) const SPAN: Duration = Duration::from_secs(2);

/// The benchmark for the command line.
pub const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: None,
    has_large: false,
    takes_threads: false,
};

const CASES: [&str; 12] = [
    "switch:1500",
    "switch:9000",
    "delay:50Mbps",
    "delay:500Mbps",
    "slots:1ms",
    "slots:250us",
    "slots:100us",
    "gate:open",
    "gate:1ms",
    "gate:250us",
    "gate:100us",
    "hosts:64",
];

fn names(_: &Choice<'_>) -> Vec<String> {
    CASES.map(String::from).into()
}

/// Runs one case in namespaces of its own.
fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    run_isolated(|| one(case))
}

/// Runs `work` in a process with namespaces of its own.
pub(crate) fn run_isolated(work: impl FnOnce() -> Outcome) -> Outcome {
    if isolation::is_inside() {
        return work();
    }
    // The isolated process prints the rows.
    let code = isolation::run_inside()?;
    let done = code == std::process::ExitCode::SUCCESS;
    if done { Ok(vec![]) } else { Err("the isolated process failed".into()) }
}

fn one(case: &str) -> Outcome {
    match case.split_once(':') {
        Some(("switch", mtu)) => switch(mtu),
        Some(("delay", rate)) => delay(rate),
        Some(("slots", slot)) => slots(slot),
        Some(("gate", slot)) => gates::measure(slot),
        Some(("hosts", number)) => hosts(number),
        _ => Err(
            "a case is switch:MTU, delay:RATE, slots:TIME, gate:TIME, gate:open or hosts:NUMBER"
                .into(),
        ),
    }
}

pub(crate) fn row(case: &str, scheme: &str, name: &str, value: f64, unit: &str) -> Row {
    Row {
        name: format!("emulate/{name}"),
        scenario: case.into(),
        scheme: scheme.into(),
        threads: 1,
        value,
        unit: unit.into(),
    }
}

fn run(text: String) -> Result<RunRecord, ScenarioError> {
    let loaded: Loaded = Scenario::parse(Path::new("bench.toml"), text)?;
    let runs = Jobs::of(&loaded).run(&loaded, 1)?;
    Ok(runs.into_iter().next().unwrap_or_default())
}

/// The goodput of all flows, in Mbit/s of network time.
fn goodput(run: &RunRecord) -> f64 {
    let bytes: u64 = run.flows.iter().map(|flow| flow.delivered_bytes).sum();
    bytes as f64 * 8e6 / run.engine.sim_time_ps as f64
}

/// A bulk transfer between two hosts, over a network that is faster than this machine, and over the kernel's bridge.
fn switch(mtu: &str) -> Outcome {
    let case = format!("switch:{mtu}");
    let kernel = bridged::goodput(mtu.parse()?, SPAN)?;
    let mut rows = vec![row(&case, "bridge", "goodput", kernel, "Mbit/s")];
    let all = ["queue", "interface", "packet", "xdp"].into_iter();
    // A frame of AF_XDP is in one page.
    for gate in all.filter(|gate| *gate != "xdp" || mtu == "1500") {
        rows.extend(through(&case, gate, mtu, kernel)?);
    }
    Ok(rows)
}

/// Measures the transfer through a gate. The bridge carries `kernel` Mbit/s.
fn through(case: &str, gate: &str, mtu: &str, kernel: f64) -> Outcome {
    let run = run(bulk(gate, mtu))?;
    let emulation = run.engine.emulation.unwrap_or_default();
    let carried = goodput(&run);
    let busy = emulation.cpu_share * run.engine.sim_time_ps as f64 * 1e-12;
    Ok(vec![
        row(case, gate, "goodput", carried, "Mbit/s"),
        row(case, gate, "of_bridge", carried / kernel, "times"),
        row(case, gate, "packets", emulation.deliveries as f64 / busy, "packets/s of a core"),
        row(case, gate, "lost_outside", emulation.lost_outside as f64, "packets"),
    ])
}

fn bulk(gate: &str, mtu: &str) -> String {
    format!(
        "name = \"switch\"\nengine = {{ kind = \"emulate\", gate = \"{gate}\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 2\nrate = \"100Gbps\"\ndelay = \"1us\"\n\
         [[workload]]\nkind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\n\
         [[scheme]]\nname = \"tcp\"\ntransport = {{ kind = \"newreno\", mtu = \"{mtu}B\" }}\n\
         queue = {{ kind = \"drop-tail\", limit = \"4MB\" }}\n[end]\nat = \"{}s\"\n",
        SPAN.as_secs()
    )
}

/// Probes over a chain of four switches, with links of 100 us, beside datagrams of a given rate. The result is the
/// difference of the round trip from that in simulation, for each link.
fn delay(rate: &str) -> Outcome {
    let case = format!("delay:{rate}");
    let [simulated, real] = ["packet", "emulate"].map(|engine| run(line(engine, rate)));
    let (simulated, real) = (simulated?, real?);
    let excess = (round_trip_us(&real) - round_trip_us(&simulated)) / f64::from(2 * (SWITCHES + 1));
    let mut rows = vec![
        row(&case, "simulated", "round_trip", round_trip_us(&simulated), "us"),
        row(&case, gate(&real), "round_trip", round_trip_us(&real), "us"),
        row(&case, gate(&real), "excess_per_link", excess, "us"),
    ];
    rows.extend(kept_up(&case, &real));
    Ok(rows)
}

const SWITCHES: u32 = 4;

/// A chain of switches with two hosts at each end.
fn line(engine: &str, rate: &str) -> String {
    let link = |a: &str, b: &str| format!("[[fabric.link]]\na = \"{a}\"\nb = \"{b}\"\n");
    let switches: Vec<String> = (0..SWITCHES).map(|n| format!("s{n}")).collect();
    let last = &switches[switches.len() - 1];
    let trunk: String = switches.windows(2).map(|pair| link(&pair[0], &pair[1])).collect();
    let ends = [("a0", "s0"), ("a1", "s0"), ("b0", last), ("b1", last)];
    let access = ends.map(|(host, at)| link(host, at)).concat();
    format!(
        "name = \"delay\"\nengine = {{ kind = \"{engine}\" }}\n[fabric]\nkind = \"graph\"\n\
         hosts = [\"a0\", \"a1\", \"b0\", \"b1\"]\nswitches = {switches:?}\nrate = \"1Gbps\"\ndelay = \"100us\"\n\
         {trunk}{access}[[workload]]\nkind = \"probe\"\nclients = \"0\"\nservers = \"2\"\nevery = \"2ms\"\n\
         [[workload]]\nkind = \"udp\"\nsenders = \"1\"\nreceivers = \"3\"\nrate = \"{rate}\"\n\
         [[scheme]]\nname = \"udp\"\ntransport = {{ kind = \"newreno\" }}\n[end]\nat = \"{}s\"\n",
        SPAN.as_secs()
    )
}

/// The mean time from a probe to its answer.
fn round_trip_us(run: &RunRecord) -> f64 {
    let asked = |flow: &&FlowRow| flow.finished();
    let spans: Vec<f64> =
        run.flows.iter().filter(asked).map(|f| (f.finish_ps - f.start_ps) as f64 * 1e-6).collect();
    spans.iter().sum::<f64>() / spans.len().max(1) as f64
}

/// Two senders take turns in slots of TDMA. Their goodput is compared with simulation.
fn slots(slot: &str) -> Outcome {
    let case = format!("slots:{slot}");
    let [simulated, real] = ["packet", "emulate"].map(|engine| run(turns(engine, slot)));
    let (simulated, real) = (simulated?, real?);
    let (model, carried) = (goodput(&simulated), goodput(&real));
    let mut rows = vec![
        row(&case, "simulated", "goodput", model, "Mbit/s"),
        row(&case, gate(&real), "goodput", carried, "Mbit/s"),
        row(&case, gate(&real), "of_simulated", carried / model, "times"),
    ];
    rows.extend(kept_up(&case, &real));
    Ok(rows)
}

fn turns(engine: &str, slot: &str) -> String {
    format!(
        "name = \"slots\"\nengine = {{ kind = \"{engine}\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 3\nrate = \"1Gbps\"\ndelay = \"1us\"\n\
         [[workload]]\nkind = \"bulk\"\nsenders = \"0,1\"\nreceivers = \"2\"\n\
         [[scheme]]\nname = \"tdma\"\ntransport = {{ kind = \"newreno\" }}\n\
         control = {{ kind = \"tdma\", slot = \"{slot}\" }}\n[end]\nat = \"{}s\"\n",
        SPAN.as_secs()
    )
}

/// The gate by which packets entered the network.
fn gate(run: &RunRecord) -> &'static str {
    run.engine.emulation.unwrap_or_default().gate.name()
}

/// How well the machine kept up with a run.
fn kept_up(case: &str, run: &RunRecord) -> [Row; 2] {
    let emulation = run.engine.emulation.unwrap_or_default();
    [
        row(case, gate(run), "late_p99", emulation.late_p99_ns as f64 / 1e3, "us"),
        row(case, gate(run), "cpu", emulation.cpu_share * 100.0, "% of a core"),
    ]
}

/// Creates and removes hosts.
fn hosts(number: &str) -> Outcome {
    let number = number.parse()?;
    let mut rows = Vec::new();
    let (queue, interface) = ((GateKind::Queue, "queue"), (GateKind::Interface, "interface"));
    let (packet, xdp) = ((GateKind::Packet, "packet"), (GateKind::Xdp, "xdp"));
    for (gate, name) in [queue, interface, packet, xdp] {
        let case = format!("hosts:{number}");
        let make = || (0..number).map(|n| host(n, gate)).collect::<Result<Vec<_>, _>>();
        let (made, up) = timed(make);
        let hosts = made?;
        let ((), down) = timed(|| drop(hosts));
        rows.extend([row(&case, name, "up", up, "s"), row(&case, name, "down", down, "s")]);
    }
    Ok(rows)
}

/// The result of `work`, and the seconds that it takes.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let made = work();
    (made, began.elapsed().as_secs_f64())
}

fn host(n: u32, gate: GateKind) -> Result<Host, HostError> {
    let address = Ipv4Addr::from(u32::from_be_bytes([10, 77, 0, 1]) + n);
    Host::new(&format!("h{n}"), address, &KernelTcp::default(), gate)
}
