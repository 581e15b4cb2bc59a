//! Busy hosts with the timeslots of Fastpass' paper: the traffic for which one core handles messages (its experiment D), and what
//! messages take beside that traffic (its section 7.2). Messages are encrypted datagrams of real sockets.

use super::{Fault, Host, cpu, key, network_of, pairs, row, star};
use crate::table::Outcome;
use slotline_live::arbiter::Arbiter;
use slotline_live::clock::Local;
use std::fs;
use std::time::Duration;

/// The time between two turns: that of a batch of 64 timeslots of 1.25 us.
const TURN: Duration = Duration::from_micros(80);
/// Turns until clocks and sessions have settled, and those that are measured.
const SETTLE: u32 = 5_000;
const TURNS: u32 = 5_000;
/// Packets that wait at each host: those of several batches.
pub(super) const BACKLOG: u32 = 4_096;
/// A packet of data on the wire, and what a frame has there besides its bytes on the loopback interface: checksum, preamble
/// and gap.
const PACKET: f64 = 1_538.0;
const FRAMING: f64 = 24.0;
const OPTIONS: &str = "slot = '1250ns', batch = 64, lead = '400us', timeout = '2ms', gap = '80us'";

/// Measures hosts that always have packets for each other. They and the arbiter take turns on one thread.
pub(super) fn busy(case: &str, hosts: u32) -> Outcome {
    let network = network_of(&star(hosts, "10Gbps"), hosts, 1, OPTIONS)?;
    let mut now = Local(1);
    let mut arbiter = Arbiter::open(network.arbiter(0, key(hosts))?, now)?;
    let mut all =
        (0..hosts).map(|n| Host::new(&network, n, now)).collect::<Result<Vec<Host>, Fault>>()?;
    let (mut spent, mut handled, mut left, mut sent) = (0.0, 0, 0u64, 0.0);
    // Each begins with another host.
    (0..).zip(&mut all).for_each(|(at, host)| (host.exact, host.given) = (true, at));
    for turn in 0..SETTLE + TURNS {
        now = now.after(TURN);
        if turn == SETTLE {
            (spent, left) = (0.0, 0);
            (handled, sent) = (pairs(&arbiter.status(now)), on_loopback()?);
        }
        let backlog = if turn < SETTLE / 2 { 0 } else { BACKLOG };
        for host in &mut all {
            left += u64::from(host.round(now, backlog)?);
        }
        let began = cpu();
        arbiter.round(&|| now)?;
        spent += cpu() - began;
    }
    let (data, messages) = (left as f64 * PACKET, on_loopback()? - sent);
    let handled = (pairs(&arbiter.status(now)) - handled) as f64;
    let used = data * 8.0 / f64::from(TURNS) / TURN.as_secs_f64() / f64::from(hosts) / 1e10;
    Ok(vec![
        row(case, "traffic_per_core", data * 8.0 / spent / 1e9, "Gbit/s"),
        row(case, "pairs_per_core", handled / spent, "pairs/s"),
        row(case, "messages_over_data", 100.0 * messages / data, "%"),
        row(case, "links_used", 100.0 * used, "%"),
    ])
}

/// The bytes that have left by the loopback interface, as they would be on a wire: those of messages in both directions, if nothing
/// else uses it.
fn on_loopback() -> Result<f64, Fault> {
    let text = fs::read_to_string("/proc/thread-self/net/dev")?;
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix("lo:"));
    let numbers = line.unwrap_or_default().split_whitespace().map(str::parse);
    let numbers = numbers.collect::<Result<Vec<f64>, _>>()?;
    match numbers[..] {
        [.., bytes, packets, _, _, _, _, _, _] => Ok(bytes + packets * FRAMING),
        _ => Err("/proc/net/dev has no loopback interface".into()),
    }
}
