//! Allocators of Fastpass in the arbiter's thread, and in threads of their own: the processor time of each thread for a timeslot,
//! where hosts under several switches always have packets for each other. Messages are encrypted datagrams of real sockets.

use super::paper::BACKLOG;
use super::{Fault, Host, cpu, key, network_with, row};
use crate::Row;
use crate::table::Outcome;
use slotline_arbiter::THREAD;
use slotline_lab::live::LiveNetwork;
use slotline_lab::usage::named_threads_cpu_s;
use slotline_live::arbiter::Arbiter;
use slotline_live::clock::Local;
use std::time::Duration;

/// The time between two turns: that of a batch of 64 timeslots of 1.25 us.
const TURN: Duration = Duration::from_micros(80);
/// Turns until clocks and sessions have settled, and those that are measured.
const SETTLE: u32 = 1_500;
const TURNS: u32 = 500;
const RACK_HOSTS: u32 = 16;
/// The messages that an arbiter sends before it hears others again.
const AT_ONCE: usize = 64;

/// Compares one and two allocators, in the arbiter's thread and beside it.
pub(super) fn compare(case: &str, hosts: u32) -> Outcome {
    let forms = [(1, false), (1, true), (2, false), (2, true)];
    let rows = forms.map(|form| measure(case, hosts, form));
    let rows = rows.into_iter().collect::<Result<Vec<Vec<Row>>, Fault>>()?;
    Ok(rows.concat())
}

/// The number of allocators, and whether they have threads.
type Form = (u32, bool);

fn network(hosts: u32, (allocators, apart): Form) -> Result<LiveNetwork, Fault> {
    let fabric = format!(
        "kind = 'leaf-spine', leaves = {}, spines = {RACK_HOSTS}, hosts-per-leaf = {RACK_HOSTS}, uplink-rate = '10Gbps'",
        hosts.div_ceil(RACK_HOSTS)
    );
    let options = format!(
        "slot = '1300ns', batch = 64, allocators = {allocators}, lead = '1ms', timeout = '5ms', gap = '80us', \
         messages = 'first', isolate-faults = false, arbiter-rate = '100Gbps'"
    );
    network_with(&fabric, hosts, 1, &options, apart)
}

/// Hosts and an arbiter that take turns on one thread, beside which its allocators may have theirs.
struct Turns {
    arbiter: Arbiter,
    hosts: Vec<Host>,
    now: Local,
    /// What the arbiter took of this thread, in seconds.
    own: f64,
}

/// What was done until some moment.
struct Done {
    own: f64,
    beside: Vec<f64>,
    slots: f64,
}

impl Turns {
    fn new(hosts: u32, form: Form) -> Result<Turns, Fault> {
        let (network, now) = (network(hosts, form)?, Local(1));
        let arbiter = Arbiter::open(network.arbiter(0, key(hosts))?, now)?;
        let host = |n| Host::new(&network, n, now);
        let mut hosts = (0..hosts).map(host).collect::<Result<Vec<Host>, Fault>>()?;
        (0..).zip(&mut hosts).for_each(|(at, host)| (host.exact, host.given) = (true, at));
        Ok(Turns { arbiter, hosts, now, own: 0.0 })
    }
    fn turn(&mut self, backlog: u32) -> Result<(), Fault> {
        let now = self.now.after(TURN);
        self.now = now;
        self.hosts.iter_mut().try_for_each(|host| host.round(now, backlog).map(drop))?;
        let began = cpu();
        let rounds = 1 + self.hosts.len() / AT_ONCE;
        (0..rounds).try_for_each(|_| self.arbiter.round(&|| now).map(drop))?;
        self.own += cpu() - began;
        Ok(())
    }
    fn done(&mut self) -> Done {
        let slots = self.arbiter.status(self.now).counters.get("slots_granted").copied();
        let beside = named_threads_cpu_s(THREAD);
        Done { own: self.own, beside, slots: slots.unwrap_or(0) as f64 }
    }
}

impl Done {
    fn since(self, before: &Done) -> Done {
        let beside = self.beside.iter().zip(&before.beside).map(|(now, then)| now - then);
        Done {
            own: self.own - before.own,
            beside: beside.collect(),
            slots: self.slots - before.slots,
        }
    }
}

fn measure(case: &str, hosts: u32, form: Form) -> Result<Vec<Row>, Fault> {
    let mut turns = Turns::new(hosts, form)?;
    (0..SETTLE / 2).try_for_each(|_| turns.turn(0))?;
    (0..SETTLE / 2).try_for_each(|_| turns.turn(BACKLOG))?;
    let before = turns.done();
    (0..TURNS).try_for_each(|_| turns.turn(BACKLOG))?;
    let Done { own, beside, slots } = turns.done().since(&before);
    let busiest = beside.into_iter().fold(0.0, f64::max);
    let all = f64::from(TURNS * 64 * hosts);
    let place = if form.1 { "on threads" } else { "in the node" };
    let scheme = format!("{} allocator{}, {place}", form.0, &"s"[..usize::from(form.0 > 1)]);
    let row = |name, value, unit| Row { scheme: scheme.clone(), ..row(case, name, value, unit) };
    Ok(vec![
        row("node_per_slot", own / slots * 1e9, "ns"),
        row("busiest_allocator_per_slot", busiest / slots * 1e9, "ns"),
        row("slots_granted", 100.0 * slots / all, "%"),
    ])
}
