//! The demand of all hosts and the links that it needs: backlog groups and contention groups (§3.2.1).

use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;

/// A pair of hosts with packets waiting, stored in a slab. Ids are reused.
pub(super) struct Pair {
    pub src: HostId,
    pub dst: HostId,
    /// The number of V2V flows that wait, times the weight of their host: the weight of the pair where V2V flows share a resource.
    pub flows: u32,
    /// The load on its links while it sends, in bits per second: the capacity of the narrowest link of its
    /// path.
    pub rate: u64,
    /// The rate that it should get in the long run, in bits per second. At first this is a guess.
    pub share: u64,
    /// Its place in turn: low tickets come first.
    pub ticket: u64,
    /// Since when it waits, if it does.
    pub since: Time,
    steps: Vec<Step>,
}

impl Pair {
    /// Replaces the pair's path.
    fn set_path(&mut self, path: &[u32]) {
        self.steps.clear();
        self.steps.extend(path.iter().map(|&link| Step { link, slot: 0 }));
    }
}

/// One link of a pair's path and the pair's place among the link's contenders.
#[derive(Clone, Copy)]
struct Step {
    link: u32,
    slot: u32,
}

/// A pair in the list of a link.
#[derive(Clone, Copy)]
pub(super) struct Contender {
    pub id: u32,
    pub src: HostId,
}

/// A directed link.
pub(super) struct Link {
    /// Bits per second.
    pub capacity: u64,
    /// The sum of the rates of its contenders, as if all sent at once.
    pub offered: u64,
    /// Sum of the V2V flows of its contenders.
    pub flows: u64,
    /// Its contention group: the pairs whose path contains it.
    pub contenders: Vec<Contender>,
    touched: bool,
}

impl Link {
    /// Whether its contenders cannot all send at once. A link that is not contended blocks no pair.
    pub fn is_contended(&self) -> bool {
        self.offered > self.capacity
    }
}

/// What all pairs of a host have in common.
#[derive(Clone, Copy, Default)]
pub(super) struct Common {
    /// The first links of all their paths, and the number of these links.
    links: [u32; 4],
    count: u8,
    /// The least of their rates.
    pub least: u64,
    known: bool,
}

impl Common {
    /// Some of the links that all of them need.
    pub fn links(&self) -> &[u32] {
        &self.links[..usize::from(self.count)]
    }
}

/// The number of pairs of a host whose paths are stored while nothing waits. Most of them come back soon.
const REMEMBERED: usize = 16;

/// The changes that a report makes.
#[derive(Default)]
pub(super) struct Changes {
    /// The pairs that are gone.
    pub gone: Vec<u32>,
    /// The destinations that are new, with their V2V flows.
    pub new: Vec<(HostId, u32)>,
}

/// The links that decide whom an event affects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Affects {
    /// Links whose contenders cannot all send at once. Other links block no pair.
    Contended,
    /// All links.
    All,
}

/// The demand of all hosts.
pub(super) struct Demand {
    network: Network,
    affects: Affects,
    pairs: Vec<Pair>,
    free: Vec<u32>,
    /// By host, the pairs that have nothing waiting, the oldest first.
    idle: Vec<Vec<u32>>,
    /// The backlog group of each host, by ticket.
    of: Vec<Vec<u32>>,
    /// The common links and rates, by host.
    common: Vec<Common>,
    links: Vec<Link>,
    touched: Vec<u32>,
    touched_hosts: Vec<HostId>,
    /// Hosts with a backlog.
    busy: usize,
    /// While a report is read, by destination: its index in the report plus one, until the pair is found.
    marked: Vec<u32>,
    path: Vec<u32>,
    version: u64,
    /// By host, how many V2V flows each of its flows counts as.
    weights: Vec<u32>,
}

impl Demand {
    pub fn new(network: Network, weights: Vec<u32>, affects: Affects) -> Demand {
        let link = |rate: &slotline_net::units::Rate| Link {
            capacity: rate.0,
            offered: 0,
            flows: 0,
            contenders: Vec::new(),
            touched: false,
        };
        Demand {
            pairs: Vec::new(),
            free: Vec::new(),
            idle: vec![Vec::new(); network.hosts()],
            of: vec![Vec::new(); network.hosts()],
            common: vec![Common::default(); network.hosts()],
            links: network.capacity().iter().map(link).collect(),
            touched: Vec::new(),
            touched_hosts: Vec::new(),
            busy: 0,
            marked: vec![0; network.hosts()],
            path: Vec::new(),
            version: 0,
            affects,
            weights,
            network,
        }
    }
    pub fn hosts(&self) -> usize {
        self.of.len()
    }
    /// Hosts with a backlog.
    pub fn busy(&self) -> usize {
        self.busy
    }
    pub fn links(&self) -> &[Link] {
        &self.links
    }
    pub fn pair(&self, id: u32) -> &Pair {
        &self.pairs[id as usize]
    }
    /// A number that changes whenever pairs come, go or change their number of flows.
    pub fn version(&self) -> u64 {
        self.version
    }
    /// The length of the slab. Ids are below it.
    pub fn slots(&self) -> usize {
        self.pairs.len()
    }
    /// All pairs, host by host.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.of.iter().flatten().copied()
    }
    pub fn set_share(&mut self, id: u32, share: u64) {
        self.pairs[id as usize].share = share;
    }
    /// The links of a pair's path.
    pub fn path(&self, id: u32) -> impl Iterator<Item = usize> + '_ {
        self.pair(id).steps.iter().map(|step| step.link as usize)
    }
    /// The backlog group of `host` in the order of turns. It is empty for an unknown host.
    pub fn backlog(&self, host: HostId) -> &[u32] {
        self.of.get(host.at()).map_or(&[], Vec::as_slice)
    }
    pub fn find(&self, src: HostId, dst: HostId) -> Option<u32> {
        self.backlog(src).iter().copied().find(|&id| self.pair(id).dst == dst)
    }

    /// Compares a report with the known pairs, and updates their numbers of V2V flows. If `flows` is empty, each
    /// destination has one flow.
    pub fn compare(&mut self, src: HostId, destinations: &[HostId], flows: &[u32]) -> Changes {
        let hosts = self.of.len();
        for (at, dst) in (1..).zip(destinations).filter(|(_, dst)| dst.at() < hosts && **dst != src)
        {
            self.marked[dst.at()] = at;
        }
        let weight = self.weights.get(src.at()).copied().unwrap_or(1);
        let flows_of =
            |mark: u32| flows.get(mark as usize - 1).copied().unwrap_or(1).max(1) * weight;
        let mut changes = Changes::default();
        for at in 0..self.of[src.at()].len() {
            let id = self.of[src.at()][at];
            let dst = self.pair(id).dst;
            match std::mem::take(&mut self.marked[dst.at()]) {
                0 => changes.gone.push(id),
                mark => self.set_flows(id, flows_of(mark)),
            }
        }
        for dst in destinations.iter().filter(|dst| dst.at() < hosts) {
            let mark = std::mem::take(&mut self.marked[dst.at()]);
            changes.new.extend((mark > 0).then(|| (*dst, flows_of(mark))));
        }
        changes
    }
    /// Changes the number of V2V flows of a pair.
    fn set_flows(&mut self, id: u32, flows: u32) {
        let old = std::mem::replace(&mut self.pairs[id as usize].flows, flows);
        if old == flows {
            return;
        }
        self.version += 1;
        for step in &self.pairs[id as usize].steps {
            let link = &mut self.links[step.link as usize];
            link.flows = link.flows - u64::from(old) + u64::from(flows);
        }
        self.touch(id);
    }
    /// Adds a pair with its place in turn and touches its path. Does nothing where there is no path.
    pub fn add(&mut self, src: HostId, dst: HostId, flows: u32, ticket: u64, now: Time) {
        let Some(id) = self.slot(src, dst) else { return };
        let pair = &mut self.pairs[id as usize];
        (pair.flows, pair.ticket, pair.since) = (flows, ticket, now);
        self.link(id);
        self.common[src.at()].known = false;
        self.busy += usize::from(self.of[src.at()].is_empty());
        self.enqueue(id);
        self.touch(id);
        self.version += 1;
    }
    /// A place in the slab for a pair, with its path. `None`: there is no path.
    fn slot(&mut self, src: HostId, dst: HostId) -> Option<u32> {
        let idle = &self.idle[src.at()];
        let known = idle.iter().position(|&id| self.pairs[id as usize].dst == dst);
        if let Some(at) = known {
            return Some(self.idle[src.at()].remove(at));
        }
        self.network.path(src, dst, &mut self.path);
        if self.path.is_empty() {
            return None;
        }
        let id = self.free.pop().unwrap_or(self.pairs.len() as u32);
        if id as usize == self.pairs.len() {
            let (since, steps) = (Time::ZERO, Vec::new());
            self.pairs.push(Pair {
                src,
                dst,
                flows: 1,
                rate: 0,
                share: 0,
                ticket: 0,
                since,
                steps,
            });
        }
        let pair = &mut self.pairs[id as usize];
        (pair.src, pair.dst) = (src, dst);
        pair.set_path(&self.path);
        Some(id)
    }
    /// Makes a pair a contender for the links of its path.
    fn link(&mut self, id: u32) {
        let Demand { pairs, links, .. } = self;
        let pair = &mut pairs[id as usize];
        let capacities = pair.steps.iter().map(|step| links[step.link as usize].capacity);
        pair.rate = capacities.min().unwrap_or(0);
        pair.share = pair.rate;
        for step in &mut pair.steps {
            let link = &mut links[step.link as usize];
            step.slot = link.contenders.len() as u32;
            link.contenders.push(Contender { id, src: pair.src });
            link.offered += pair.rate;
            link.flows += u64::from(pair.flows);
            pair.share = pair.share.min(link.capacity / link.flows * u64::from(pair.flows));
        }
        pair.share = pair.share.max(1);
    }
    fn unlink(&mut self, id: u32) {
        let Pair { rate, flows, .. } = self.pairs[id as usize];
        let steps = std::mem::take(&mut self.pairs[id as usize].steps);
        for &Step { link, slot } in &steps {
            let contention = &mut self.links[link as usize];
            contention.offered -= rate;
            contention.flows -= u64::from(flows);
            contention.contenders.swap_remove(slot as usize);
            if let Some(moved) = contention.contenders.get(slot as usize) {
                let steps = &mut self.pairs[moved.id as usize].steps;
                steps.iter_mut().filter(|step| step.link == link).for_each(|step| step.slot = slot);
            }
        }
        self.pairs[id as usize].steps = steps;
    }
    /// Puts a pair into its host's backlog group, behind all pairs with the same ticket.
    fn enqueue(&mut self, id: u32) {
        let Demand { of, pairs, .. } = self;
        let Pair { src, ticket, .. } = pairs[id as usize];
        let group = &mut of[src.at()];
        let at = group.iter().rposition(|&other| pairs[other as usize].ticket <= ticket);
        group.insert(at.map_or(0, |at| at + 1), id);
    }
    /// Removes a pair that has nothing waiting and touches its path, which is stored for a while.
    pub fn remove(&mut self, id: u32) {
        self.touch(id);
        self.unlink(id);
        let src = self.pairs[id as usize].src;
        self.of[src.at()].retain(|&other| other != id);
        self.common[src.at()].known = false;
        self.busy -= usize::from(self.of[src.at()].is_empty());
        self.idle[src.at()].push(id);
        if self.idle[src.at()].len() > REMEMBERED {
            self.free.push(self.idle[src.at()].remove(0));
        }
        self.version += 1;
    }
    /// What all pairs of a host with a backlog have in common.
    pub fn common(&mut self, host: HostId) -> Common {
        if !self.common[host.at()].known {
            self.common[host.at()] = self.find_common(host);
        }
        self.common[host.at()]
    }
    fn find_common(&self, host: HostId) -> Common {
        let pairs = || self.backlog(host).iter().map(|&id| self.pair(id));
        let least = pairs().map(|pair| pair.rate).min().unwrap_or(0);
        let Some(first) = pairs().next() else { return Common::default() };
        let shared = |at: &usize| {
            let link = first.steps[*at].link;
            pairs().all(|pair| pair.steps.get(*at).is_some_and(|step| step.link == link))
        };
        let mut common = Common { least, known: true, ..Common::default() };
        for at in (0..first.steps.len().min(common.links.len())).take_while(shared) {
            common.links[at] = first.steps[at].link;
            common.count += 1;
        }
        common
    }
    /// Lets a pair wait from now on with another ticket, after it has had its turn.
    pub fn waits(&mut self, id: u32, ticket: u64, now: Time) {
        let pair = &mut self.pairs[id as usize];
        (pair.ticket, pair.since) = (ticket, now);
        self.of[pair.src.at()].retain(|&other| other != id);
        self.enqueue(id);
    }

    /// Marks the host of a pair and those links of its path that matter. The contenders for these links are
    /// affected by an event.
    pub fn touch(&mut self, id: u32) {
        let pair = &self.pairs[id as usize];
        self.touched_hosts.push(pair.src);
        for step in &pair.steps {
            let link = &mut self.links[step.link as usize];
            let matters = self.affects == Affects::All || link.is_contended();
            if matters && !std::mem::replace(&mut link.touched, true) {
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
    /// Takes the next marked link out.
    pub fn untouch(&mut self) -> Option<usize> {
        let link = self.touched.pop()? as usize;
        self.links[link].touched = false;
        Some(link)
    }
    /// Takes the next marked host out.
    pub fn untouch_host(&mut self) -> Option<HostId> {
        self.touched_hosts.pop()
    }

    /// Finds all paths again. Pairs that have no path any more are removed, and all others are touched.
    pub fn rewire(&mut self, network: &Network) {
        let ids: Vec<u32> = self.ids().collect();
        ids.iter().for_each(|&id| self.unlink(id));
        self.network = network.clone();
        self.links
            .iter_mut()
            .zip(network.capacity())
            .for_each(|(link, rate)| link.capacity = rate.0);
        self.common.fill(Common::default());
        self.idle.iter_mut().for_each(|idle| self.free.append(idle));
        for id in ids {
            let Pair { src, dst, .. } = self.pairs[id as usize];
            self.network.path(src, dst, &mut self.path);
            self.pairs[id as usize].set_path(&self.path);
            self.link(id);
            if self.path.is_empty() {
                self.remove(id);
                self.idle[src.at()].pop().into_iter().for_each(|id| self.free.push(id));
            }
        }
        let ids: Vec<u32> = self.ids().collect();
        ids.into_iter().for_each(|id| self.touch(id));
        self.version += 1;
    }
}

#[cfg(test)]
#[path = "demand_tests.rs"]
mod tests;
