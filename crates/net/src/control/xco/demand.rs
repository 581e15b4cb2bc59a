//! Who wants to send to whom, through which links: backlog groups and contention groups (§3.2.1).

use crate::control::network::Network;
use crate::id::HostId;
use crate::time::Time;

/// A pair of hosts with packets waiting, kept in a slab; ids are reused.
pub(super) struct Pair {
    pub src: HostId,
    pub dst: HostId,
    /// Bits per second it loads its links with while it sends: the narrowest link of its path.
    pub rate: u64,
    /// Drawn at the end of its last turn, or else when it was reported: low tickets go first.
    pub ticket: u64,
    /// Since when it waits, if it does.
    pub since: Time,
    steps: Vec<Step>,
}

/// One link of a pair's path and the pair's place among the link's contenders.
#[derive(Clone, Copy)]
struct Step {
    link: u32,
    slot: u32,
}

/// A directed link.
pub(super) struct Link {
    /// Bits per second.
    pub capacity: u64,
    /// Sum of the rates of its contenders, as if all sent at once.
    pub wanted: u64,
    /// Its contention group: the pairs whose path it is on.
    pub contenders: Vec<u32>,
    touched: bool,
}

/// All that wants to be sent.
pub(super) struct Demand {
    network: Network,
    pairs: Vec<Pair>,
    free: Vec<u32>,
    /// Backlog group of each host, by ticket.
    of: Vec<Vec<u32>>,
    links: Vec<Link>,
    touched: Vec<u32>,
    tickets: u64,
    marked: Vec<bool>,
    path: Vec<u32>,
}

impl Demand {
    pub fn new(network: Network) -> Demand {
        let link = |rate: &crate::units::Rate| Link {
            capacity: rate.0,
            wanted: 0,
            contenders: Vec::new(),
            touched: false,
        };
        Demand {
            pairs: Vec::new(),
            free: Vec::new(),
            of: vec![Vec::new(); network.hosts()],
            links: network.capacity().iter().map(link).collect(),
            touched: Vec::new(),
            tickets: 0,
            marked: vec![false; network.hosts()],
            path: Vec::new(),
            network,
        }
    }
    pub fn hosts(&self) -> usize {
        self.of.len()
    }
    pub fn links(&self) -> &[Link] {
        &self.links
    }
    pub fn pair(&self, id: u32) -> &Pair {
        &self.pairs[id as usize]
    }
    /// The links of a pair's path.
    pub fn path(&self, id: u32) -> impl Iterator<Item = usize> + '_ {
        self.pair(id).steps.iter().map(|step| step.link as usize)
    }
    /// The backlog group of `host`, longest waiting first; empty for an unknown host.
    pub fn backlog(&self, host: HostId) -> &[u32] {
        self.of.get(host.at()).map_or(&[], Vec::as_slice)
    }
    pub fn find(&self, src: HostId, dst: HostId) -> Option<u32> {
        self.backlog(src).iter().copied().find(|&id| self.pair(id).dst == dst)
    }
    /// What a report changes: pairs that are gone, destinations that are new.
    pub fn compare(&mut self, src: HostId, destinations: &[HostId]) -> (Vec<u32>, Vec<HostId>) {
        let Demand { of, pairs, marked, .. } = self;
        let hosts = of.len();
        let known = |dst: &&HostId| dst.at() < hosts && **dst != src;
        destinations.iter().filter(known).for_each(|dst| marked[dst.at()] = true);
        let mut gone = of[src.at()].clone();
        gone.retain(|&id| !std::mem::take(&mut marked[pairs[id as usize].dst.at()]));
        let mut new: Vec<HostId> = destinations.iter().filter(known).copied().collect();
        new.retain(|dst| std::mem::take(&mut marked[dst.at()]));
        (gone, new)
    }
    /// Enters a pair that was not there and touches its path; nothing where there is no path.
    pub fn add(&mut self, src: HostId, dst: HostId, now: Time) {
        self.network.path(src, dst, &mut self.path);
        let capacities = self.path.iter().map(|&link| self.links[link as usize].capacity);
        let Some(rate) = capacities.min() else { return };
        let id = self.slot(src, dst);
        let ticket = self.ticket();
        let pair = &mut self.pairs[id as usize];
        (pair.rate, pair.ticket, pair.since) = (rate, ticket, now);
        for &index in &self.path {
            let link = &mut self.links[index as usize];
            pair.steps.push(Step { link: index, slot: link.contenders.len() as u32 });
            link.contenders.push(id);
            link.wanted += rate;
        }
        self.of[src.at()].push(id);
        self.touch(id);
    }
    fn slot(&mut self, src: HostId, dst: HostId) -> u32 {
        if let Some(id) = self.free.pop() {
            (self.pairs[id as usize].src, self.pairs[id as usize].dst) = (src, dst);
            return id;
        }
        let steps = Vec::with_capacity(self.path.len());
        self.pairs.push(Pair { src, dst, rate: 0, ticket: 0, since: Time::ZERO, steps });
        self.pairs.len() as u32 - 1
    }
    fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }
    /// Forgets a pair and touches its path.
    pub fn remove(&mut self, id: u32) {
        self.touch(id);
        let (src, rate) = (self.pair(id).src, self.pair(id).rate);
        let mut steps = std::mem::take(&mut self.pairs[id as usize].steps);
        for Step { link, slot } in steps.drain(..) {
            let contention = &mut self.links[link as usize];
            contention.wanted -= rate;
            contention.contenders.swap_remove(slot as usize);
            if let Some(&moved) = contention.contenders.get(slot as usize) {
                let steps = &mut self.pairs[moved as usize].steps;
                steps.iter_mut().filter(|step| step.link == link).for_each(|step| step.slot = slot);
            }
        }
        self.pairs[id as usize].steps = steps;
        self.of[src.at()].retain(|&other| other != id);
        self.free.push(id);
    }
    /// A pair has had its turn: it waits from now on, at the end of its host's backlog group.
    pub fn waits(&mut self, id: u32, now: Time) {
        let ticket = self.ticket();
        let pair = &mut self.pairs[id as usize];
        (pair.ticket, pair.since) = (ticket, now);
        let group = &mut self.of[pair.src.at()];
        group.retain(|&other| other != id);
        group.push(id);
    }
    /// Remembers the links of a pair: who contends for them is affected by an event.
    pub fn touch(&mut self, id: u32) {
        for step in &self.pairs[id as usize].steps {
            let link = &mut self.links[step.link as usize];
            if !std::mem::replace(&mut link.touched, true) {
                self.touched.push(step.link);
            }
        }
    }
    /// Touches the paths of the whole backlog group of `host`.
    pub fn touch_all(&mut self, host: HostId) {
        for at in 0..self.of[host.at()].len() {
            self.touch(self.of[host.at()][at]);
        }
    }
    /// Takes the next touched link out.
    pub fn untouch(&mut self) -> Option<usize> {
        let link = self.touched.pop()? as usize;
        self.links[link].touched = false;
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;

    proptest! {
        /// After any reports, each link's contenders are exactly the pairs whose path has it.
        #[test]
        fn contention_groups_follow_the_reports(
            reports in prop::collection::vec((0u32..6, prop::collection::btree_set(0u32..8, 0..6)), 1..30)
        ) {
            // Every pair shares link 8 with those of the same parity of src + dst.
            let path = |src: HostId, dst: HostId, out: &mut Vec<u32>| {
                out.extend([src.0, 8 + (src.0 + dst.0) % 2]);
            };
            let mut demand = Demand::new(Network::new(6, vec![Rate(10); 10], path));
            let mut model = vec![Vec::new(); 6];
            for (src, set) in reports {
                let src = HostId(src);
                let set: Vec<HostId> = set.into_iter().map(HostId).collect();
                let (gone, new) = demand.compare(src, &set);
                gone.into_iter().for_each(|id| demand.remove(id));
                new.into_iter().for_each(|dst| demand.add(src, dst, Time::ZERO));
                model[src.at()] = set.into_iter().filter(|d| *d != src && d.0 < 6).collect();
                for link in 0..10u32 {
                    let mut got: Vec<_> = demand.links[link as usize].contenders.iter()
                        .map(|&id| (demand.pair(id).src, demand.pair(id).dst)).collect();
                    got.sort();
                    let mut want = Vec::new();
                    for (s, group) in model.iter().enumerate() {
                        for &d in group {
                            let s = HostId(s as u32);
                            let mut links = Vec::new();
                            path(s, d, &mut links);
                            if links.contains(&link) { want.push((s, d)); }
                        }
                    }
                    want.sort();
                    prop_assert_eq!(&got, &want);
                    prop_assert_eq!(demand.links[link as usize].wanted, want.len() as u64 * 10);
                }
            }
        }
    }
}
