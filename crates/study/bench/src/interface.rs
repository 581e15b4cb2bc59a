//! The latency of packets through a bump between real interfaces, by load (Al-Fares, NetBump, section 5.5.2). Two hosts are
//! network namespaces at a bridge of the kernel, and `slotline bump` decides about the packets that the bridge forwards. A
//! host sends datagrams at a constant rate, each with the time at which it was sent; the kernel of the other one notes
//! when it arrives.

use crate::bridged::ADDRESSES;
use crate::emulate::run_isolated;
use crate::gates::{arrived, now};
use crate::table::{Choice, Outcome, Separate};
use crate::{Failure, Row};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBuf, ReceiveTimestampns};
use slotline_emulate::bridge::{Bridge, BridgeOptions};
use slotline_emulate::isolation;
use slotline_net::units::Rate;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The benchmark for the command line.
pub(crate) const SEPARATE: Separate = Separate {
    cases: |_: &Choice<'_>| all().collect(),
    run: run_named,
    compared: None,
    has_large: false,
    takes_threads: false,
};

/// What decides about packets: nothing, or a bump with this discipline, whose thresholds are those of the experiments.
const DISCIPLINES: [(&str, Option<&str>); 3] = [
    ("none", None),
    (
        "red",
        Some(
            r#"{ kind = "red", limit = "150KB", min = "30760B", max = "92280B", weight = 0.1, ecn = true }"#,
        ),
    ),
    ("dctcp", Some(r#"{ kind = "ecn", limit = "150KB", threshold = "30760B" }"#)),
];
/// The loads in Mbit/s of packets of 1,500 bytes.
const LOADS: [u32; 6] = [100, 200, 400, 800, 1_600, 2_400];
/// The percentiles of the latency.
const PERCENTILES: [f64; 12] =
    [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 100.0];

/// Bytes of a datagram, so that a packet has 1,500.
const DATAGRAM: usize = 1_472;
const PORT: u16 = 7_003;
/// The first part of a run, which does not count, and the rest.
const WARM_NS: u64 = 200_000_000;
const SPAN_NS: u64 = 1_000_000_000;
/// Room of the receiver for a hundred milliseconds of packets.
const ROOM: usize = 16 << 20;

/// The names of the cases.
fn all() -> impl Iterator<Item = String> {
    let of = |(name, _): (&str, _)| LOADS.map(|load| format!("{name}:{load}Mbps"));
    DISCIPLINES.into_iter().flat_map(of)
}

fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    let parsed = case.split_once(':').and_then(|(name, rate)| {
        let (_, queue) = DISCIPLINES.into_iter().find(|(known, _)| *known == name)?;
        Some((name, queue, rate.parse::<Rate>().ok().filter(|rate| rate.0 > 0)?))
    });
    let (name, queue, rate) = parsed.ok_or_else(|| {
        let names = DISCIPLINES.map(|(name, _)| name).join(", ");
        format!("a case is a discipline ({names}), a colon and a rate, such as dctcp:400Mbps")
    })?;
    run_isolated(|| measure(name, queue, rate))
}

fn measure(name: &str, queue: Option<&str>, rate: Rate) -> Outcome {
    let options =
        BridgeOptions { mtu: 1_500, limit: None, families: Default::default(), one_by_one: true };
    let bridge = Bridge::new(&ADDRESSES, &options)?;
    let _bump = queue.map(Bump::start).transpose()?;
    let (sent, mut latencies) = stream(&bridge, rate)?;
    latencies.sort_unstable();
    let row = |what: &str, value: f64, unit: &str| Row {
        name: format!("interface/{what}"),
        scenario: rate.to_string(),
        scheme: name.into(),
        threads: 1,
        value,
        unit: unit.into(),
    };
    let at = |percent: f64| {
        let rank = (percent / 100.0 * latencies.len() as f64).ceil() as usize;
        latencies.get(rank.max(1) - 1).map_or(f64::NAN, |ns| *ns as f64 / 1e3)
    };
    if latencies.is_empty() {
        return Err(format!("{name}, {rate}: no datagram arrived").into());
    }
    let mean = latencies.iter().sum::<u64>() as f64 / latencies.len() as f64 / 1e3;
    let lost = 100.0 * (1.0 - latencies.len() as f64 / sent.max(1) as f64);
    let load = sent as f64 * 1_500.0 * 8e3 / SPAN_NS as f64;
    let mut rows = vec![row("sent", load, "Mbit/s"), row("mean", mean, "us")];
    rows.extend(PERCENTILES.map(|percent| row(&format!("p{percent}"), at(percent), "us")));
    rows.push(row("lost", lost, "%"));
    Ok(rows)
}

/// `slotline bump` between the ports of the bridge. It ends with this value.
struct Bump(Child);

impl Bump {
    /// Starts it, and waits until it decides about packets.
    fn start(queue: &str) -> Result<Bump, Failure> {
        let control =
            std::env::temp_dir().join(format!("slotline-bump-{}.sock", std::process::id()));
        let words =
            ["bump", "--in", "port0", "--out", "port1", "--rate", "10Gbps", "--queue", queue];
        // As in the thesis, whose bump has a processor of its own: other programs do not keep it waiting.
        let own = std::env::current_exe()?.into_os_string();
        let mut line = isolation::first_served().map(OsString::from).chain([own]);
        let child = Command::new(line.next().unwrap_or_default())
            .args(line)
            .args(words)
            .arg("--control")
            .arg(control)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut bump = Bump(child);
        let mut said = String::new();
        if let Some(output) = bump.0.stdout.as_mut() {
            BufReader::new(output).read_line(&mut said)?;
        }
        if said.starts_with("bump for packets") {
            return Ok(bump);
        }
        let mut why = String::new();
        if let Some(errors) = bump.0.stderr.as_mut() {
            errors.read_to_string(&mut why)?;
        }
        Err(format!("the bump did not start: {}", why.trim()).into())
    }
}

impl Drop for Bump {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends datagrams at `rate` after a warm-up. Returns the number of those that count, and the latency in ns of those that
/// arrived.
fn stream(bridge: &Bridge, rate: Rate) -> io::Result<(u64, Vec<u64>)> {
    let receiver = bridge.inside(1, || UdpSocket::bind((ADDRESSES[1], PORT)))?;
    receiver.set_read_timeout(Some(Duration::from_millis(300)))?;
    setsockopt(&receiver, ReceiveTimestampns, &true)?;
    setsockopt(&receiver, RcvBuf, &ROOM)?;
    let sender = bridge.inside(0, || UdpSocket::bind((ADDRESSES[0], PORT)))?;
    sender.connect((ADDRESSES[1], PORT))?;
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| send(&sender, rate));
        let (mut latencies, mut datagram) = (Vec::new(), [0; DATAGRAM]);
        loop {
            match arrived(&receiver, &mut datagram)? {
                Some(at) if datagram[8] == 1 => latencies.push(at.saturating_sub(stamp(&datagram))),
                Some(_) => {}
                None if sending.is_finished() => break,
                // On a busy machine the sender may wait for a processor.
                None => {}
            }
        }
        Ok((sending.join().unwrap_or(0), latencies))
    })
}

/// Sends datagrams one by one at their times, and returns the number of those after the warm-up. A datagram that finds no room in
/// the socket is lost.
fn send(socket: &UdpSocket, rate: Rate) -> u64 {
    let gap_ns = 1_500 * 8_000_000_000 / rate.0.max(1);
    let (began, mut datagram, mut counted) = (now(), [0; DATAGRAM], 0);
    let mut due = began;
    while due < began + WARM_NS + SPAN_NS {
        while now() < due {
            std::hint::spin_loop();
        }
        let counts = due >= began + WARM_NS;
        datagram[8] = u8::from(counts);
        counted += u64::from(counts);
        datagram[..8].copy_from_slice(&now().to_le_bytes());
        let _ = socket.send(&datagram);
        due += gap_ns;
    }
    counted
}

/// The time at which a datagram was sent.
fn stamp(datagram: &[u8; DATAGRAM]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&datagram[..8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_a_discipline_and_a_rate() {
        assert_eq!(all().count(), DISCIPLINES.len() * LOADS.len());
        for case in ["dctcp", "dctcp:", "dctcp:0bps", "codel:1Gbps"] {
            let error = run_named(case, Path::new("")).unwrap_err().to_string();
            assert!(error.contains("such as dctcp:400Mbps"), "{case}: {error}");
        }
    }
}
