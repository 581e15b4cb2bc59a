//! Runs another simulator in turn with this one, on the same input, and compares their cost.

use crate::engine::{CPU, MEMORY, case_of, value};
use crate::htsim::Input;
use crate::{Outcome, Row};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A program of another simulator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The program.
    pub program: PathBuf,
}

impl std::str::FromStr for Peer {
    type Err = String;

    /// Reads `htsim:PATH`.
    fn from_str(text: &str) -> Result<Peer, String> {
        let path =
            text.strip_prefix("htsim:").ok_or("expected htsim:PATH with a program of htsim")?;
        let program = fs::canonicalize(path).map_err(|error| format!("`{path}`: {error}"))?;
        if !program.is_file() {
            return Err(format!("`{path}` is not a program"));
        }
        Ok(Peer { program })
    }
}

/// The cases of `bench engine` that other simulators can run.
pub const CASES: [&str; 4] =
    ["perm128:tcp:1", "perm128:dctcp:1", "perm1024:tcp:1", "perm1024:dctcp:1"];

/// The number of times that both programs run, in turn.
const TURNS: usize = 3;

impl Peer {
    /// Runs the case of `bench engine` with `ours` and with this program in turn, and returns the rows of the run
    /// of ours and of the peer with the least CPU time. `scratch` is a folder for its input and output.
    pub fn compare(
        &self,
        case: &str,
        scenarios: &Path,
        scratch: &Path,
        ours: &mut dyn FnMut(&str) -> Outcome,
    ) -> Outcome {
        let input = Input::of(&case_of(case, scenarios)?)?;
        let mut fastest: Option<(Vec<Row>, Cost)> = None;
        for _ in 0..TURNS {
            let rows = ours(case)?;
            let cost = self.run(&input, scratch)?;
            fastest = Some(match fastest {
                None => (rows, cost),
                Some(best) => {
                    (faster(best.0, rows), if cost.cpu_s < best.1.cpu_s { cost } else { best.1 })
                }
            });
        }
        let (rows, cost) = fastest.expect("there are several turns");
        Ok(table(rows, &cost))
    }

    /// One run.
    fn run(&self, input: &Input, scratch: &Path) -> Result<Cost, String> {
        let at = |name: &str| scratch.join(name);
        let cannot =
            |error: std::io::Error| format!("cannot write to {}: {error}", scratch.display());
        fs::write(at("topology"), &input.topology).map_err(cannot)?;
        fs::write(at("matrix"), &input.matrix).map_err(cannot)?;
        let child = Command::new(&self.program)
            .current_dir(scratch)
            .args(["-topo", "topology", "-tm", "matrix"])
            .args(&input.options)
            .stdin(Stdio::null())
            .stdout(File::create(at("output")).map_err(cannot)?)
            .stderr(File::create(at("errors")).map_err(cannot)?)
            .spawn();
        let name = self.program.display();
        let (usage, status) =
            child.and_then(measured).map_err(|error| format!("{name}: {error}"))?;
        let text = |name: &str| fs::read_to_string(at(name)).unwrap_or_default();
        if !status.success() {
            let errors = text("errors");
            return Err(format!(
                "{name} failed ({status}): {}",
                errors.lines().last().unwrap_or("")
            ));
        }
        Cost::of(usage, &text("output")).ok_or(format!(
            "{name} does not say `slotline-hops` and `slotline-flows`: it has to be \
             crates/study/bench/peers/htsim.cpp, linked to htsim"
        ))
    }
}

/// What a process used.
#[derive(Clone, Copy, Default)]
struct Usage {
    cpu_s: f64,
    memory_mb: f64,
}

/// What a run of the peer took, and what it did.
struct Cost {
    cpu_s: f64,
    memory_mb: f64,
    hops: f64,
    flows: f64,
    fct_ms: f64,
}

impl Cost {
    fn of(Usage { cpu_s, memory_mb }: Usage, output: &str) -> Option<Cost> {
        let said = |name: &str| {
            let line = output.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.trim().parse::<f64>().ok())
        };
        let (hops, flows) = (said("slotline-hops ")?, said("slotline-flows ")?);
        Some(Cost { cpu_s, memory_mb, hops, flows, fct_ms: said("slotline-fct-ms ")? })
    }
}

/// Waits for the end of a process of one thread, and returns its CPU time and largest memory. A process that has
/// ended and is not waited for still has its accounts.
fn measured(mut child: Child) -> std::io::Result<(Usage, ExitStatus)> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", child.id()));
    let mut usage = Usage::default();
    loop {
        let status = read("status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next().map(str::to_string))
        };
        let kilobytes = field("VmHWM:").and_then(|text| text.parse::<f64>().ok());
        usage.memory_mb = kilobytes.map_or(usage.memory_mb, |kilobytes| kilobytes * 1.024e-3);
        if field("State:").is_some_and(|state| state == "Z") {
            break;
        }
        sleep(Duration::from_millis(5));
    }
    let ns = read("schedstat")?.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
    usage.cpu_s = ns.unwrap_or(f64::NAN) * 1e-9;
    Ok((usage, child.wait()?))
}

/// The rows of the run with the lower CPU time.
fn faster(one: Vec<Row>, other: Vec<Row>) -> Vec<Row> {
    if value(&other, CPU) < value(&one, CPU) { other } else { one }
}

/// Our rows, those of the peer, and the ratios, peer to ours.
fn table(ours: Vec<Row>, peer: &Cost) -> Vec<Row> {
    let row = |name: &str, value: f64, unit: &str| Row {
        name: format!("engine/{name}"),
        value,
        unit: unit.into(),
        ..ours[0].clone()
    };
    let per_hop = peer.cpu_s * 1e9 / peer.hops;
    let cpu_s = value(&ours, CPU) * value(&ours, "hops") * 1e-9;
    let added = [
        row("cpu", cpu_s, "s"),
        row("htsim_cpu_per_hop", per_hop, "ns"),
        row("htsim_hops", peer.hops, "packets"),
        row("htsim_cpu", peer.cpu_s, "s"),
        row("htsim_peak_memory", peer.memory_mb, "MB"),
        row("htsim_flows_finished", peer.flows, "flows"),
        row("htsim_fct_mean", peer.fct_ms, "ms"),
        row("htsim_cpu_per_hop_of_ours", per_hop / value(&ours, CPU), "times"),
        row("htsim_cpu_of_ours", peer.cpu_s / cpu_s, "times"),
        row("htsim_memory_of_ours", peer.memory_mb / value(&ours, MEMORY), "times"),
    ];
    ours.iter().cloned().chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("slotline-peer-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn input() -> Input {
        Input { topology: "Nodes 2".into(), matrix: String::new(), options: Vec::new() }
    }

    #[test]
    fn a_peer_is_named_by_its_kind_and_path() {
        let error = "ns3:/bin/sh".parse::<Peer>().unwrap_err();
        assert_eq!(error, "expected htsim:PATH with a program of htsim");
        let error = "htsim:/no/such/program".parse::<Peer>().unwrap_err();
        assert!(error.starts_with("`/no/such/program`: No such file"), "{error}");
        assert_eq!("htsim:/".parse::<Peer>().unwrap_err(), "`/` is not a program");
    }

    /// The costs are those of the other process: a shell that counts for a while and says what it did.
    #[test]
    fn a_peer_is_measured_from_outside() {
        use std::os::unix::fs::PermissionsExt;
        let folder = scratch("measured");
        let program = folder.join("peer");
        let text = "#!/bin/sh\ni=0\nwhile [ $i -lt 20000 ]; do i=$((i+1)); done\ncat topology >&2\n\
                    printf 'slotline-hops 5\\nslotline-flows 2\\nslotline-fct-ms 1.5\\n'\n";
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let cost = Peer { program }.run(&input(), &folder).unwrap();
        assert_eq!((cost.hops, cost.flows, cost.fct_ms), (5.0, 2.0, 1.5));
        assert!(cost.cpu_s > 1e-4 && cost.cpu_s < 30.0 && cost.memory_mb > 0.1, "{}", cost.cpu_s);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn other_programs_are_refused() {
        let folder = scratch("refused");
        let run = |program: &str| Peer { program: program.into() }.run(&input(), &folder);
        let error = run("/bin/true").err().unwrap();
        assert!(error.starts_with("/bin/true does not say `slotline-hops`"), "{error}");
        let error = run("/bin/false").err().unwrap();
        assert!(error.starts_with("/bin/false failed (exit status: 1): "), "{error}");
        let error = run("/etc/hostname").err().unwrap();
        assert!(error.starts_with("/etc/hostname: "), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn ratios_are_of_the_peer_to_ours() {
        let row = |name: &str, value| Row {
            name: format!("engine/{name}"),
            scenario: "perm128".into(),
            scheme: "tcp".into(),
            threads: 1,
            value,
            unit: String::new(),
        };
        let ours = vec![row(CPU, 40.0), row("hops", 1e6), row(MEMORY, 10.0)];
        let peer = Cost { cpu_s: 0.6, memory_mb: 5.0, hops: 2e6, flows: 1.0, fct_ms: 1.0 };
        let rows = table(ours, &peer);
        let ratio = |name| value(&rows, name);
        assert!((ratio("htsim_cpu_per_hop_of_ours") - 7.5).abs() < 1e-9);
        assert!((ratio("htsim_cpu_of_ours") - 15.0).abs() < 1e-9);
        assert!((ratio("htsim_memory_of_ours") - 0.5).abs() < 1e-9);
    }
}
