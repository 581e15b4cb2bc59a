//! Fault isolation at the arbiter (§5.2): it receives reports of lost packets, avoids faulty components, and
//! finds out by probes when they work again.

use crate::FastpassSpec;
use crate::faults::{Component, Faults, Thresholds};
use crate::paths::Fabric;
use crate::schedule::Placed;
use crate::schedule::Schedule;
use crate::wire::fastpass::Losses;
use slotline_net::id::HostId;
use slotline_net::node::Fault;
use slotline_net::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The number of successive probes that must succeed.
const TRIES: u32 = 3;
/// The largest number of trials that must succeed where the component has failed again and again.
const MOST_TRIES: u32 = 96;
/// A component that fails again within this number of probe intervals has not worked in between.
const RELAPSE: u64 = 100;
/// The number of trials of one pair of hosts that may fail. The first one begins a session between both.
const OF_PAIR: u32 = 4;

/// A component that is not used.
struct Excluded {
    component: Component,
    /// The number of successive probes that succeeded.
    echoes: u32,
    /// Whether the last probe was answered.
    answered: bool,
    /// The number of trials that were not answered.
    failed: u32,
    /// The number of successive probes that must succeed.
    tries: u32,
}

/// Finds faulty components and makes the schedule avoid them.
pub(super) struct Isolation {
    fabric: Arc<Fabric>,
    faults: Faults,
    excluded: Vec<Excluded>,
    /// All faults found so far, in order.
    pub found: Vec<Fault>,
    /// Losses reported before this time may be of packets on earlier paths.
    valid_from: Time,
    window: Time,
    /// Where hosts probe paths: how many trials each component has passed last, and when.
    passed: BTreeMap<Component, (u32, Time)>,
    apart: bool,
    relapse: Time,
    components: Vec<Component>,
    named: Vec<Component>,
}

impl Isolation {
    /// `apart`: hosts probe paths, see [`super::Common::apart`].
    pub fn new(fabric: Arc<Fabric>, spec: &FastpassSpec, apart: bool) -> Isolation {
        let thresholds = Thresholds {
            share: spec.fault_share,
            losses: spec.fault_losses,
            window: spec.fault_window,
        };
        Isolation {
            faults: Faults::new(fabric.components(), thresholds),
            fabric,
            excluded: Vec::new(),
            found: Vec::new(),
            valid_from: Time::ZERO,
            window: spec.fault_window,
            passed: BTreeMap::new(),
            apart,
            relapse: spec.probe_interval.times(RELAPSE),
            components: Vec::new(),
            named: Vec::new(),
        }
    }
    /// Uses the paths of `fabric` from now on. Excluded components stay excluded until probes succeed.
    /// Reports are ignored until the fate of packets that left before is known.
    pub fn reroute(&mut self, fabric: &Arc<Fabric>, now: Time) {
        self.fabric = Arc::clone(fabric);
        self.faults.forget();
        self.valid_from = now.after(self.window).after(self.window);
    }
    /// Counts timeslots that are granted.
    pub fn sent(&mut self, placed: &Placed) {
        self.fabric.on_path(
            placed.src.into(),
            placed.dst.into(),
            placed.path,
            &mut self.components,
        );
        self.faults.count(&self.components, placed.slots.count_ones());
    }
    /// Begins a new window if one is due.
    pub fn pass(&mut self, now: Time) {
        self.faults.pass(now);
    }
    /// Handles a report of lost packets. The schedule avoids components that are found to be faulty.
    pub fn lost(&mut self, src: u32, losses: &[Losses], schedule: &mut Schedule, now: Time) {
        if now < self.valid_from {
            return;
        }
        for loss in losses.iter().filter(|loss| (loss.dst as usize) < self.fabric.hosts()) {
            self.fabric.on_path(src, loss.dst, loss.path, &mut self.components);
            self.faults.lost(&self.components, loss.packets.into());
        }
        self.named.clear();
        self.faults.judge(now, &mut self.named);
        for component in std::mem::take(&mut self.named) {
            self.exclude(component, schedule, now);
        }
    }
    /// A switch, which is the machine with this number, reports that a link does not work.
    pub fn down(&mut self, machine: u32, port: u16, schedule: &mut Schedule, now: Time) {
        let Some(link) = self.fabric.link_of(machine, port) else { return };
        if self.faults.name(link) {
            self.exclude(link, schedule, now);
        }
        // The switch itself has sent packets another way, where they have delayed others.
        self.faults.forget();
        self.valid_from = now.after(self.window).after(self.window);
    }
    fn exclude(&mut self, component: Component, schedule: &mut Schedule, now: Time) {
        self.found.push(Fault::new(now, self.fabric.part(component)));
        let tries = self.tries(component, now);
        self.excluded.push(Excluded { component, echoes: 0, answered: true, failed: 0, tries });
        schedule.set_works(component, false);
    }
    /// A part of all probes succeeds over a link that loses a part of all packets. Where that would let it be used again and
    /// again, twice as many must succeed each time.
    fn tries(&self, component: Component, now: Time) -> u32 {
        match self.passed.get(&component) {
            Some((tries, at)) if now < at.after(self.relapse) => (2 * tries).min(MOST_TRIES),
            _ => TRIES,
        }
    }
    /// Notes that timeslots from `at` on avoid all faults found.
    pub fn avoids(&mut self, at: Time) {
        let open = |fault: &&mut Fault| fault.avoided.is_none() && fault.cleared.is_none();
        self.found.iter_mut().filter(open).for_each(|fault| fault.avoided = Some(at));
    }
    /// Whether any component is excluded.
    pub fn has_exclusions(&self) -> bool {
        !self.excluded.is_empty()
    }
    /// A path from `from` to a host that avoids all faults. The search begins with path `first`, which is the
    /// result if there is none.
    pub fn path(&mut self, from: HostId, to: HostId, first: u64) -> u16 {
        let paths = self.fabric.paths();
        let first = (first % u64::from(paths)) as u16;
        let Isolation { fabric, faults, components, excluded, .. } = self;
        if excluded.is_empty() {
            return first;
        }
        let mut all = (first..paths).chain(0..first);
        let whole = all.find(|&path| {
            fabric.on_path(from.0, to.0, path, components);
            !components.iter().any(|&at| faults.is_named(at))
        });
        whole.unwrap_or(first)
    }
    /// The probes to send: the host that is to answer, the path, and the token.
    pub fn probes(&mut self, from: HostId) -> Vec<(HostId, u16, u32)> {
        let Isolation { fabric, faults, excluded, .. } = self;
        let probe = |out: &mut Excluded| {
            out.echoes = if out.answered { out.echoes } else { 0 };
            out.answered = false;
            let components = fabric.path_over(from.0, out.component, |at| faults.is_named(at));
            components.map(|(host, path)| (host, path, out.component))
        };
        excluded.iter_mut().filter_map(probe).collect()
    }
    /// The trials to ask hosts for: the host that probes, the host that is to answer, the path, and the token.
    pub fn trials(&mut self) -> Vec<(HostId, HostId, u16, u32)> {
        let Isolation { fabric, faults, excluded, .. } = self;
        let trial = |out: &mut Excluded| {
            out.failed += u32::from(!out.answered);
            out.echoes = if out.answered { out.echoes } else { 0 };
            out.answered = false;
            let found =
                fabric.pair_over(out.failed / OF_PAIR, out.component, |at| faults.is_named(at));
            found.map(|(from, to, path)| (from, to, path, out.component))
        };
        excluded.iter_mut().filter_map(trial).collect()
    }
    /// Handles the answer to a probe.
    pub fn echo(&mut self, token: u32, schedule: &mut Schedule, now: Time) {
        let Some(at) = self.excluded.iter().position(|out| out.component == token) else { return };
        let out = &mut self.excluded[at];
        out.echoes += u32::from(!out.answered);
        out.answered = true;
        if out.echoes < out.tries {
            return;
        }
        if self.apart {
            self.passed.insert(token, (out.tries, now));
        }
        self.excluded.remove(at);
        let part = self.fabric.part(token);
        let last = self.found.iter_mut().rfind(|fault| fault.part == part);
        last.into_iter().for_each(|fault| fault.cleared = Some(now));
        self.faults.clear(token);
        schedule.set_works(token, true);
    }
}
