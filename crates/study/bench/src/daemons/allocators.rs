//! Allocators of Fastpass in the arbiter's thread, and in threads of their own: the processor time of each thread for a timeslot,
//! where hosts under several switches always have packets for each other. Messages are encrypted datagrams of real sockets.

use super::paper::BACKLOG;
use super::{Fault, Host, cpu, key, network_with, row};
use crate::Row;
use crate::table::Outcome;
use slotline_arbiter::THREAD;
use slotline_lab::usage::named_threads_cpu_s;
use slotline_live::arbiter::Arbiter;
use slotline_live::clock::Local;
use std::time::Duration;

/// The time between two turns for each allocator: that of a batch of 64 timeslots of 1.25 us.
const TURN: Duration = Duration::from_micros(80);
/// Turns until clocks and sessions have settled, and those that are measured.
const SETTLE: u32 = 1_500;
const TURNS: u32 = 500;
const RACK_HOSTS: u32 = 16;

/// Compares one and two allocators, in the arbiter's thread and beside it.
pub(super) fn compare(case: &str, hosts: u32) -> Outcome {
    let forms = [(1, false), (1, true), (2, false), (2, true)];
    let rows = forms.map(|(allocators, apart)| measure(case, hosts, allocators, apart));
    let rows = rows.into_iter().collect::<Result<Vec<Vec<Row>>, Fault>>()?;
    Ok(rows.concat())
}

/// Hosts and the arbiter take turns on one thread, beside which its allocators have theirs.
fn measure(case: &str, hosts: u32, allocators: u32, apart: bool) -> Result<Vec<Row>, Fault> {
    let fabric = format!(
        "kind = 'leaf-spine', leaves = {}, spines = {RACK_HOSTS}, hosts-per-leaf = {RACK_HOSTS}, uplink-rate = '10Gbps'",
        hosts.div_ceil(RACK_HOSTS)
    );
    let options = format!(
        "slot = '1300ns', batch = 64, allocators = {allocators}, lead = '400us', timeout = '2ms', gap = '80us', \
         messages = 'first', isolate-faults = false"
    );
    let network = network_with(&fabric, hosts, 1, &options, apart)?;
    let (mut now, turn) = (Local(1), TURN * allocators);
    let mut arbiter = Arbiter::open(network.arbiter(0, key(hosts))?, now)?;
    let mut all =
        (0..hosts).map(|n| Host::new(&network, n, now)).collect::<Result<Vec<Host>, Fault>>()?;
    (0..).zip(&mut all).for_each(|(at, host)| (host.exact, host.given) = (true, at));
    let (mut own, mut beside, mut before) = (0.0, Vec::new(), 0);
    for at in 0..SETTLE + TURNS {
        now = now.after(turn);
        if at == SETTLE {
            (own, beside, before) = (0.0, named_threads_cpu_s(THREAD), granted(&mut arbiter, now));
        }
        let backlog = if at < SETTLE / 2 { 0 } else { BACKLOG };
        all.iter_mut().try_for_each(|host| host.round(now, backlog).map(drop))?;
        let began = cpu();
        arbiter.round(&|| now)?;
        own += cpu() - began;
    }
    let slots = (granted(&mut arbiter, now) - before) as f64;
    let after = named_threads_cpu_s(THREAD);
    let busiest =
        after.iter().zip(beside).map(|(after, before)| after - before).fold(0.0, f64::max);
    let scheme = format!(
        "{allocators} allocator{}, {}",
        &"s"[..usize::from(allocators > 1)],
        if apart { "on threads" } else { "in the node" }
    );
    let all = f64::from(TURNS * allocators * 64 * hosts);
    let row = |name, value, unit| Row { scheme: scheme.clone(), ..row(case, name, value, unit) };
    Ok(vec![
        row("node_per_slot", own / slots * 1e9, "ns"),
        row("busiest_allocator_per_slot", busiest / slots * 1e9, "ns"),
        row("slots_granted", 100.0 * slots / all, "%"),
    ])
}

/// The timeslots granted so far.
fn granted(arbiter: &mut Arbiter, now: Local) -> u64 {
    arbiter.status(now).counters.get("slots_granted").copied().unwrap_or(0)
}
