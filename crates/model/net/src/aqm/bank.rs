//! The virtual queues of one bump with their disciplines. A bump estimates a queue, and then marks, drops or notifies.

use super::discipline::{Arrival, Departure, Discipline, Left, Verdict};
use super::virtual_queue::VirtualQueue;
use crate::time::Time;
use crate::units::InverseRate;

/// The counters of one virtual queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// The packets that arrived, including dropped ones.
    pub packets: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets dropped by the discipline.
    pub early: u64,
    /// Packets for which the virtual queue had no room.
    pub full: u64,
    /// Senders notified.
    pub notices: u64,
}

/// The fate of a packet in a bump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// The discipline's verdict; [`Verdict::Drop`] is an early drop.
    Judged(Verdict),
    /// There is no room for it in the virtual queue.
    Full,
}

/// One virtual queue: its level, its discipline, its counters.
#[derive(Clone, Debug)]
pub struct Entry<D> {
    /// Level, rate and capacity.
    pub queue: VirtualQueue,
    /// Its discipline.
    pub discipline: D,
    /// Its counters.
    pub counts: Counts,
}

impl<D: Discipline> Entry<D> {
    /// An empty queue under `discipline`.
    pub fn new(queue: VirtualQueue, discipline: D) -> Entry<D> {
        Entry { queue, discipline, counts: Counts::default() }
    }

    /// A packet passes: `vAQM` and the discipline of Figure 5.5. Dropped packets do not count in the
    /// level.
    #[inline]
    pub fn pass(&mut self, len: u32, ect: bool, now: Time) -> Fate {
        self.counts.packets += 1;
        let (fate, filled) = self.judge(self.queue, len, &[], ect, now);
        if let Some(queue) = filled {
            self.queue = queue;
        }
        fate
    }

    /// The fate of a packet if the queue is `queue`, and the queue with the packet; `None` if the packet is dropped.
    /// `len` is the packet's length on the wire, and `frame` are the bytes of it that are available.
    #[inline]
    pub fn judge(
        &mut self,
        queue: VirtualQueue,
        len: u32,
        frame: &[u8],
        ect: bool,
        now: Time,
    ) -> (Fate, Option<VirtualQueue>) {
        let arrival = queue.arrival(len, ect, now);
        let early = self.discipline.arrive_with(&arrival, frame);
        let mut filled = queue;
        if early != Verdict::Drop && !filled.add(len, now) {
            self.counts.full += 1;
            return (Fate::Full, None);
        }
        let verdict = at_departure(&mut self.discipline, &arrival, early);
        self.count(verdict);
        (Fate::Judged(verdict), (verdict != Verdict::Drop).then_some(filled))
    }

    #[inline]
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => {}
            Verdict::Mark => self.counts.marks += 1,
            Verdict::Drop => self.counts.early += 1,
            Verdict::Notify(_) => self.counts.notices += 1,
        }
    }
}

/// The verdict of a discipline alone on a packet that arrives; `frame` are the bytes of it that are available.
#[inline]
pub fn verdict(discipline: &mut impl Discipline, arrival: &Arrival, frame: &[u8]) -> Verdict {
    let early = discipline.arrive_with(arrival, frame);
    at_departure(discipline, arrival, early)
}

/// The verdict on a packet that was judged `early` at its arrival, when it leaves the virtual queue.
#[inline]
fn at_departure(discipline: &mut impl Discipline, arrival: &Arrival, early: Verdict) -> Verdict {
    let &Arrival { now, backlog, pace, ect, .. } = arrival;
    let (wait, left) = (backlog.wait, Left::Wait(backlog.wait, pace));
    match early {
        Verdict::Pass => discipline.leave(&Departure { now: now + wait, sojourn: wait, left, ect }),
        decided => decided,
    }
}

/// The virtual queues of one bump, by number.
#[derive(Clone, Debug)]
pub struct Bank<D> {
    entries: Vec<Entry<D>>,
}

impl<D: Discipline> Bank<D> {
    /// A bank of these queues.
    pub fn new(entries: Vec<Entry<D>>) -> Bank<D> {
        Bank { entries }
    }

    /// A packet of queue `at` passes. Returns `None` if there is no such queue.
    #[inline]
    pub fn pass(&mut self, at: usize, len: u32, ect: bool, now: Time) -> Option<Fate> {
        self.entries.get_mut(at).map(|entry| entry.pass(len, ect, now))
    }

    /// Counts a packet without a verdict: one that passed a neighbour, or a bump that only observes.
    #[inline]
    pub fn see(&mut self, at: usize, len: u32, now: Time) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.counts.packets += 1;
            let fits = entry.queue.add(len, now);
            entry.counts.full += u64::from(!fits);
        }
    }

    /// The estimate of queue `at` in bytes, the paper's `estimateQlen`; zero if there is no such queue.
    pub fn bytes(&self, at: usize, now: Time) -> u64 {
        self.entries.get(at).map_or(0, |entry| entry.queue.bytes(now))
    }

    /// The time at which queue `at` is or was empty, if no more packets arrive.
    pub fn empty_at(&self, at: usize) -> Time {
        self.entries.get(at).map_or(Time::ZERO, |entry| entry.queue.empty_at())
    }

    /// Changes the rate at which queue `at` drains.
    pub fn set_pace(&mut self, at: usize, pace: InverseRate, now: Time) {
        if let Some(entry) = self.entries.get_mut(at) {
            entry.queue.set_pace(pace, now);
            entry.discipline.set_pace(pace);
        }
    }

    /// All queues.
    pub fn entries(&self) -> &[Entry<D>] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::{CodelSpec, EcnSpec, Policy, QueueSpec};
    use super::super::{Marker, queue_stream};
    use super::*;
    use crate::units::{Bytes, Rate};

    fn entry(policy: Policy, capacity: u64) -> Entry<Marker> {
        let pace = Rate(1_000_000_000).inverse_rate();
        let rng = queue_stream(1, 0, 0);
        let queue = QueueSpec { policy, ..QueueSpec::default() };
        Entry::new(VirtualQueue::new(pace, Bytes(capacity)), queue.marker(pace, 1500, rng))
    }

    #[test]
    fn drop_tail_fills_up_and_drops_what_does_not_fit() {
        let mut entry = entry(Policy::default(), 4_500);
        let fates: Vec<Fate> = (0..5).map(|_| entry.pass(1500, true, Time::us(1))).collect();
        let pass = Fate::Judged(Verdict::Pass);
        assert_eq!(fates, [pass, pass, pass, Fate::Full, Fate::Full]);
        assert_eq!(entry.counts, Counts { packets: 5, full: 2, ..Counts::default() });
        assert_eq!(entry.pass(1500, true, Time::us(13)), pass);
    }

    #[test]
    fn the_threshold_of_dctcp_marks_above_k() {
        let mut entry =
            entry(Policy::Ecn(EcnSpec { threshold: Bytes(3_000), drop_non_ect: false }), 150_000);
        let marks: Vec<bool> = (0..5)
            .map(|_| entry.pass(1500, true, Time::ZERO) == Fate::Judged(Verdict::Mark))
            .collect();
        assert_eq!(marks, [false, false, false, true, true]);
        assert_eq!(entry.pass(1500, false, Time::ZERO), Fate::Judged(Verdict::Pass));
    }

    /// CoDel on a virtual queue decides at arrival as it would at departure from a queue with packets.
    #[test]
    fn codel_sees_the_delay_of_the_virtual_queue() {
        let spec = CodelSpec { target: Time::us(50), interval: Time::us(500), ecn: false };
        let mut entry = entry(Policy::Codel(spec), 1_000_000);
        let mut first = None;
        for n in 0..400u64 {
            let now = Time::us(10 * n);
            if entry.pass(1500, false, now) == Fate::Judged(Verdict::Drop) {
                first = first.or(Some(now));
            }
        }
        // Each packet adds 2 us. After 25 packets, the queue's delay is 50 us, and they leave at 300 us. An interval
        // later, at 800 us, the packet that arrived at 670 us leaves.
        assert_eq!(first, Some(Time::us(670)));
        assert!(entry.counts.early > 3, "{:?}", entry.counts);
    }
}
