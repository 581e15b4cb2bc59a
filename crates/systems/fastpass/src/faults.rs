//! Fault isolation (§5.2): finds links and switches that lose packets, from reports of lost packets with
//! their paths.
//!
//! The arbiter knows how many timeslots it has allocated over each link and switch, and endpoints report
//! which packets were lost. Both are counted in windows; the last and the present window count. A component
//! is faulty if it loses more than a share of what is sent over it, and at least some packets. Sporadic
//! losses never reach such a share.
//!
//! One fault also raises the loss shares of its neighbours. So the component with the largest share is named
//! first. The losses on paths through it are then explained and do not count against others. If the component
//! is a part of another one (as a link is of its switch) which also loses much of its other traffic, the larger
//! one is named instead. Reports arrive one by one, so a suspicion has to last for a quarter of a window first.
//!
//! Two components with the same traffic cannot be distinguished: with two racks, a spine and its two links.

use slotline_net::time::Time;

/// A link or a switch, numbered by the caller.
pub type Component = u32;

/// When to call a component faulty.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// A component is faulty above this share of lost packets, from 0 to 1.
    pub share: f64,
    /// A component is faulty from this number of lost packets on.
    pub losses: u32,
    /// Length of a window.
    pub window: Time,
}

/// The packets lost on one path, in the present window or the one before.
#[derive(Clone, Debug)]
struct Loss {
    path: Vec<Component>,
    packets: u32,
    /// Reported in the present window.
    fresh: bool,
}

/// The state of fault isolation. It has no clock and sends no messages: callers report sent and lost packets,
/// and it names faulty components.
#[derive(Clone, Debug)]
pub struct Faults {
    thresholds: Thresholds,
    /// The packets sent over each component, in the present window and the one before.
    sent: [Vec<u32>; 2],
    losses: Vec<Loss>,
    window_ends: Time,
    /// Since when something has been suspected.
    suspected: Option<Time>,
    /// Working memory: lost packets by component.
    lost: Vec<u32>,
    named: Vec<bool>,
}

impl Faults {
    /// Makes the state for a number of components, numbered from 0.
    pub fn new(components: usize, thresholds: Thresholds) -> Faults {
        Faults {
            thresholds,
            sent: [vec![0; components], vec![0; components]],
            losses: Vec::new(),
            window_ends: Time::ZERO,
            suspected: None,
            lost: vec![0; components],
            named: vec![false; components],
        }
    }
    /// Whether a component was named and has not been cleared since.
    pub fn is_named(&self, component: Component) -> bool {
        self.named[component as usize]
    }
    /// Counts packets that may be sent over these components.
    #[inline]
    pub fn count(&mut self, path: &[Component], packets: u32) {
        path.iter().for_each(|&at| self.sent[0][at as usize] += packets);
    }
    /// Counts packets that were lost on a path over these components.
    pub fn lost(&mut self, path: &[Component], packets: u32) {
        if path.iter().any(|&at| self.is_named(at)) {
            return; // A known fault explains these losses.
        }
        let known = |loss: &&mut Loss| loss.fresh && loss.path == path;
        match self.losses.iter_mut().find(known) {
            Some(loss) => loss.packets = loss.packets.saturating_add(packets),
            None => self.losses.push(Loss { path: path.to_vec(), packets, fresh: true }),
        }
    }
    /// Begins a new window if the present one is over.
    pub fn pass(&mut self, now: Time) {
        if now < self.window_ends {
            return;
        }
        self.window_ends = now.after(self.thresholds.window);
        self.sent.swap(0, 1);
        self.sent[0].fill(0);
        self.losses.retain_mut(|loss| std::mem::replace(&mut loss.fresh, false));
    }
    /// Forgets what was sent and lost, because the paths have changed.
    pub fn forget(&mut self) {
        self.sent.iter_mut().for_each(|sent| sent.fill(0));
        self.losses.clear();
        self.suspected = None;
    }
    /// A component is known to be faulty: it explains what was lost over it. Returns whether that is new.
    pub fn name(&mut self, component: Component) -> bool {
        self.losses.retain(|loss| !loss.path.contains(&component));
        !std::mem::replace(&mut self.named[component as usize], true)
    }
    /// A component works again.
    pub fn clear(&mut self, component: Component) {
        self.named[component as usize] = false;
    }
    /// Appends the components that are found to be faulty at `now`. Each is named once until it is cleared.
    pub fn judge(&mut self, now: Time, out: &mut Vec<Component>) {
        while let Some(worst) = self.worst() {
            let since = *self.suspected.get_or_insert(now);
            if now.since(since) < self.confirmation_time() {
                return;
            }
            self.name(worst);
            out.push(worst);
        }
        self.suspected = None;
    }
    fn confirmation_time(&self) -> Time {
        Time::ps(self.thresholds.window.as_ps() / 4)
    }
    /// The component that best explains the losses, if it lost enough packets.
    fn worst(&mut self) -> Option<Component> {
        self.lost.fill(0);
        for loss in &self.losses {
            loss.path.iter().for_each(|&at| self.lost[at as usize] += loss.packets);
        }
        let Thresholds { share: least, losses, .. } = self.thresholds;
        let enough = losses.max(1);
        let suspects = |at: &usize| {
            self.lost[*at] >= enough.div_ceil(2) && share(self.lost[*at], self.sent(*at)) > least
        };
        let shares = |at: usize| (share(self.lost[at], self.sent(at)), at);
        let suspects = (0..self.lost.len()).filter(suspects).map(shares);
        // Among equal shares, the first component counts.
        let first = suspects.reduce(|best, next| if next.0 > best.0 { next } else { best })?.1;
        let part_of = (0..self.lost.len()).filter(|&at| self.goes_beyond(at, first));
        let worst =
            part_of.fold(first, |best, at| if self.lost[at] > self.lost[best] { at } else { best });
        // A component that has not lost enough packets yet may be the cause of other components' losses.
        (self.lost[worst] >= enough).then_some(worst as Component)
    }
    fn sent(&self, at: usize) -> u32 {
        self.sent[0][at] + self.sent[1][at]
    }
    /// Whether all losses of `part` are also losses of `whole`, which has many more.
    fn goes_beyond(&self, whole: usize, part: usize) -> bool {
        let more = self.lost[whole].saturating_sub(self.lost[part]);
        let rest = self.sent(whole).saturating_sub(self.sent(part));
        let Thresholds { share: least, losses, .. } = self.thresholds;
        let has = |loss: &Loss, at: usize| loss.path.contains(&(at as Component));
        more >= losses.div_ceil(2).max(1)
            && share(more, rest) > least / 2.0
            && self.losses.iter().all(|loss| !has(loss, part) || has(loss, whole))
    }
}

/// The share of sent packets that were lost. A packet that is reported lost was sent.
fn share(lost: u32, sent: u32) -> f64 {
    f64::from(lost) / f64::from(sent.max(lost).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_net::rng::Stream;

    /// Leaf-spine with one host per leaf: links `leaf * spines + spine`, then the spines.
    struct Fabric {
        leaves: u32,
        spines: u32,
    }

    impl Fabric {
        fn path(&self, a: u32, b: u32, spine: u32) -> [Component; 3] {
            let link = |leaf| leaf * self.spines + spine;
            [link(a), self.leaves * self.spines + spine, link(b)]
        }
        fn components(&self) -> u32 {
            self.leaves * self.spines + self.spines
        }
        /// Uniform traffic; packets over `dead` are lost, others with `chance`.
        fn run(&self, dead: &[Component], chance: f64, seed: u64) -> (Faults, Vec<Component>) {
            let thresholds = Thresholds { share: 0.3, losses: 10, window: Time::ms(1) };
            let mut faults = Faults::new(self.components() as usize, thresholds);
            let (mut random, mut named) = (Stream::named(seed, "test", 0), Vec::new());
            for step in 0..6_000 {
                faults.pass(Time::us(step));
                let a = random.below(self.leaves.into()) as u32;
                let b = random.below(self.leaves.into()) as u32;
                let path = self.path(a, b, random.below(self.spines.into()) as u32);
                if a == b || path.iter().any(|&at| faults.is_named(at)) {
                    continue;
                }
                faults.count(&path, 1);
                if path.iter().any(|at| dead.contains(at)) || random.unit() < chance {
                    faults.lost(&path, 1);
                    faults.judge(Time::us(step), &mut named);
                }
            }
            (faults, named)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn a_dead_component_is_named_and_no_other(
            leaves in 3u32..7, spines in 2u32..5, which: u32, chance in 0.0f64..0.02, seed: u64
        ) {
            let fabric = Fabric { leaves, spines };
            let dead = which % fabric.components();
            prop_assert_eq!(fabric.run(&[dead], chance, seed).1, [dead]);
        }

        #[test]
        fn sporadic_losses_name_nothing(
            leaves in 2u32..7, spines in 1u32..5, chance in 0.0f64..0.05, seed: u64
        ) {
            prop_assert_eq!(Fabric { leaves, spines }.run(&[], chance, seed).1, [0; 0]);
        }
    }

    #[test]
    fn two_dead_links_are_both_named() {
        let fabric = Fabric { leaves: 5, spines: 3 };
        let (mut faults, mut named) = fabric.run(&[1, 6], 0.0, 3);
        named.sort_unstable();
        assert_eq!(named, [1, 6]);
        faults.clear(6);
        assert!(faults.is_named(1) && !faults.is_named(6));
    }

    #[test]
    fn old_losses_are_forgotten() {
        let thresholds = Thresholds { share: 0.3, losses: 10, window: Time::ms(1) };
        let mut faults = Faults::new(1, thresholds);
        for ms in 0..40 {
            faults.pass(Time::ms(ms));
            faults.count(&[0], 5);
            faults.lost(&[0], 4);
            let mut named = Vec::new();
            faults.judge(Time::ms(ms), &mut named);
            assert_eq!(named, [0; 0], "8 of 10 in two windows");
        }
    }
}
