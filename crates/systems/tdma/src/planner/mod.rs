//! Fills the slots of a round.
//!
//! Each host has a *head*: the destination whose turn it is, in a fixed order over those for which it has bytes.
//! Hosts stand in a line. In each slot, first each host in turn gets its head if all links of the path are
//! free. It goes to the end of the line once it has had as many turns as its weight. Then each host whose link
//! has room gets any destination that fits, and keeps its place in the line. Finally, senders exchange
//! destinations: one that got nothing takes the destination of another that can use a different one.
//!
//! The first host in line always gets its head. So a host gets its head at least once in as many slots as the sum
//! of all weights, and each of its destinations once in as many such spans as it has destinations.

pub(crate) mod host_set;
pub(crate) mod links;
mod slot_length;
mod switch_buffers;

use crate::RoundScheduler;
use crate::demand::Demand;
use crate::options::rounds::Rounds;
use crate::paths::{Candidate, Paths, Search};
use crate::round::{Assignment, Round};
use host_set::{find, has_bit, set_bit};
use links::{Links, NOBODY};
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use switch_buffers::SwitchBuffers;

/// How many destinations a host that got nothing tries to take from others, in each slot.
const TRIES: usize = 8;
/// The number of hosts whose data is prefetched together.
const AHEAD: usize = 16;
/// The most paths that are looked up in each slot for exchanges, for each host of the network.
const LOOKUPS: usize = 4;

pub(crate) struct Planner<P> {
    rounds: Rounds,
    paths: P,
    links: Links,
    buffers: SwitchBuffers,
    /// Whether all links work.
    all_work: bool,
    /// The line of all hosts.
    line: Vec<u32>,
    /// The hosts, in order of the line, whose links may have room after the turns.
    rest: Vec<u32>,
    served: Vec<u32>,
    hosts: Vec<Host>,
    /// By host, the first destination from its head on for which it has bytes, or [`NOBODY`].
    first: Vec<u32>,
    /// By host, the number of its destinations in the present slot.
    sends: Vec<u16>,
    /// By host, the assignment of the present slot that was its turn.
    turn: Vec<u32>,
    /// The hosts that go to the end of the line after this slot, 64 to a word.
    done: Vec<u64>,
    /// The destinations with room on their link and in their buffer, 64 to a word.
    open: Vec<u64>,
    /// Whether an exchange in this slot changed to a path of another rate, which may leave room on a link.
    eased: bool,
    /// The assignments before this index have been taken out of the demand.
    accounted: usize,
    /// Working memory for the destinations of a host.
    wanted: Vec<u64>,
    /// A combination of all prefetched data. Its value has no meaning.
    prefetched: u32,
    /// The latest rate, and the bytes that a slot carries at it.
    carries: (u64, u64),
    /// The rate of the fastest pair. The time that a demand takes is computed with it.
    reference: Rate,
}

/// A host as a sender.
#[derive(Clone, Copy)]
struct Host {
    weight: u32,
    /// The turns that are left before it goes to the end of the line.
    turns: u32,
    /// The head is the first waiting destination from here on.
    head: u32,
    /// Where the search for another destination begins.
    next: u32,
}

impl<P: Paths> Planner<P> {
    pub fn new(rounds: Rounds, network: Network) -> Result<Planner<P>, SpecError> {
        let hosts = network.hosts();
        let buffers = SwitchBuffers::new(&rounds, &network);
        let links = Links::new(&rounds, &network, buffers.links());
        let paths = P::new(network)?;
        let host = |at: u32| Host { weight: 1, turns: 1, head: at + 1, next: at + 1 };
        let mut planner = Planner {
            line: paths.order(),
            rest: Vec::with_capacity(hosts),
            served: Vec::with_capacity(hosts),
            hosts: (0..hosts as u32).map(host).collect(),
            first: vec![NOBODY; hosts],
            sends: vec![0; hosts],
            turn: vec![NOBODY; hosts],
            done: vec![0; hosts.div_ceil(64)],
            open: vec![0; hosts.div_ceil(64)],
            eased: false,
            accounted: 0,
            wanted: Vec::with_capacity(hosts.div_ceil(64)),
            prefetched: 0,
            carries: (0, 0),
            reference: Rate(1),
            all_work: false,
            rounds,
            paths,
            links,
            buffers,
        };
        planner.measure();
        Ok(planner)
    }
    /// Finds the reference rate, from one pair of each host.
    fn measure(&mut self) {
        let hosts = self.hosts.len();
        let rate = |src: usize| {
            let path = self.paths.path(src, (src + 1) % hosts)?;
            Some(self.links.rate(path))
        };
        self.reference = Rate((0..hosts).filter_map(rate).max().unwrap_or(1));
    }
    fn slot_length(&self, demand: &Demand) -> Time {
        let (shortest, longest) = self.rounds.slot_range();
        let guard = self.rounds.spec().guard;
        if shortest == longest {
            return longest;
        }
        slot_length::best(demand.sizes(), self.reference, (shortest, longest), guard)
    }
    /// Puts a pair into the slot. Its bytes are determined once the slot is filled, except if the buffer of the
    /// receiver is limited.
    fn serve(&mut self, fit: Candidate, demand: &mut Demand, round: &mut Round) -> u32 {
        let scarce = demand.room(HostId(fit.dst as u32)) != u64::MAX;
        let carried = if scarce { self.carry(fit, round.slot, demand) } else { fit.carrying(0) };
        let at = round.push(carried) as u32;
        self.occupy(fit, at, demand);
        self.sends[fit.src] += 1;
        at
    }
    /// Takes the assignments of a slot out of the demand. All are taken at once, so that the processor waits for the
    /// memory of many of them at the same time.
    fn account(&mut self, demand: &mut Demand, round: &mut Round) {
        for at in self.accounted..round.assignments().len() {
            let assigned = *round.assignment(at);
            if assigned.bytes == 0 {
                *round.assignment(at) = self.carry(Candidate::of(assigned), round.slot, demand);
            }
        }
        self.accounted = round.assignments().len();
    }
    /// Takes an assignment out of the demand and returns it with its bytes.
    fn carry(&mut self, fit: Candidate, slot: Time, demand: &mut Demand) -> Assignment {
        let most = self.buffers.limit(fit.dst).min(self.slot_bytes(fit.rate, slot));
        fit.carrying(self.take(fit.src, fit.dst, most, demand))
    }
    /// Takes at most `most` bytes out of the demand, as far as they wait and there is room. Returns their number.
    fn take(&mut self, src: usize, dst: usize, most: u64, demand: &mut Demand) -> u64 {
        let (bytes, left) = demand.take(src, dst, most);
        if left == 0 && self.first[src] == dst as u32 {
            self.find_first(src, demand);
        }
        bytes
    }
    /// Undoes an assignment.
    fn release(&mut self, of: Assignment, user: u32, demand: &mut Demand) {
        let (src, dst) = (of.src.at(), of.dst.at());
        demand.give_back(src, dst, of.bytes);
        self.find_first(src, demand);
        let Some(path) = self.paths.path(src, dst) else { return };
        self.links.give_back(path, of.rate.0, user);
        for link in path.ends() {
            self.paths.open(link);
        }
        set_bit(&mut self.open, dst, true);
    }
    fn occupy(&mut self, fit: Candidate, user: u32, demand: &Demand) {
        let mut full = self.paths.occupy(fit, user, &mut self.links);
        if let Some(link) = self.buffers.link_of(fit.dst) {
            // One sender at a time may fill the buffer.
            self.links.fill(link, user);
            full = true;
        }
        if full && self.paths.has_one_link(fit.dst) || demand.room(HostId(fit.dst as u32)) == 0 {
            set_bit(&mut self.open, fit.dst, false);
        }
    }
    /// Whether `src` may have one more destination in this slot and its link has room.
    fn may_send(&self, src: usize) -> bool {
        let own = self.paths.own_link(src);
        own.is_none_or(|link| !self.links.is_full(link))
            && self.sends[src] < self.rounds.spec().classes
    }
    /// The number of the next destination; `next` may be one past the last.
    fn wrapped(&self, next: u32) -> usize {
        if next as usize == self.hosts.len() { 0 } else { next as usize }
    }
    fn find_first(&mut self, src: usize, demand: &Demand) {
        self.first[src] = self.first_waiting(src, demand);
    }
    fn first_waiting(&self, src: usize, demand: &Demand) -> u32 {
        let from = self.wrapped(self.hosts[src].head);
        find(demand.waiting(src), from, |_| true).map_or(NOBODY, |dst| dst as u32)
    }
    /// The head of `src`, which is the next destination that it could reach in an empty network; `None` if its
    /// path is not free in this slot.
    fn head(&mut self, src: usize, demand: &Demand) -> Option<Candidate> {
        debug_assert_eq!(self.first[src], self.first_waiting(src, demand));
        let first = self.first[src] as usize;
        if first >= self.hosts.len() {
            return None;
        }
        if self.all_work && demand.room(HostId(first as u32)) > 0 {
            let open = has_bit(&self.open, first);
            if self.paths.is_blocked(src, first, open) {
                return None;
            }
            if let Some(path) = self.paths.path(src, first) {
                let (rate, fits) = self.links.rate_and_fit(path);
                return fits.then_some(Candidate { src, dst: first, rate });
            }
        }
        let (paths, links) = (&mut self.paths, &self.links);
        let mut fit = None;
        find(demand.waiting(src), first, |dst| {
            if demand.room(HostId(dst as u32)) == 0 {
                return false;
            }
            let Some(path) = paths.path(src, dst) else { return false };
            let (rate, fits) = links.rate_and_fit(path);
            fit = fits.then_some(Candidate { src, dst, rate });
            rate > 0
        })?;
        fit
    }
    /// Each host in line gets its head, if the path is free.
    fn turns(&mut self, demand: &mut Demand, round: &mut Round) {
        self.rest.clear();
        for place in 0..self.line.len() {
            if P::ARE_MANY && place % AHEAD == 0 {
                self.prefetch_heads(place);
            }
            let src = self.line[place] as usize;
            let fit = self.head(src, demand);
            if let Some(fit) = fit {
                self.turn[src] = self.serve(fit, demand, round);
                self.had_turn(fit, demand);
            }
            if fit.is_none() || self.may_send(src) {
                self.rest.push(src as u32);
            }
        }
    }
    fn had_turn(&mut self, Candidate { src, dst, .. }: Candidate, demand: &Demand) {
        let host = &mut self.hosts[src];
        (host.head, host.next) = (dst as u32 + 1, dst as u32 + 1);
        host.turns = host.turns.saturating_sub(1);
        if host.turns == 0 {
            host.turns = host.weight;
            set_bit(&mut self.done, src, true);
        }
        self.find_first(src, demand);
    }
    /// Reads what will be needed of the next hosts in line, so that the processor waits for the memory of all of
    /// them at once.
    fn prefetch_heads(&mut self, place: usize) {
        for &src in self.line[place..].iter().take(AHEAD) {
            let dst = self.first[src as usize];
            if dst != NOBODY {
                self.prefetched ^= self.paths.prefetch(src as usize, dst as usize);
            }
        }
    }
    /// Reads what will be needed of the next hosts that search for a destination.
    fn prefetch_searches(&mut self, place: usize, demand: &Demand) {
        for &src in self.rest[place..].iter().take(AHEAD) {
            let src = src as usize;
            let from = self.wrapped(self.hosts[src].next);
            let waiting = demand.waiting(src).get(from / 64).copied().unwrap_or(0);
            self.prefetched ^= self.paths.prefetch(src, from) ^ waiting as u32;
        }
    }
    /// Each host whose link has room gets any destinations that fit.
    fn fill(&mut self, demand: &mut Demand, round: &mut Round) {
        let mut lookups = usize::MAX;
        for place in 0..self.rest.len() {
            if P::ARE_MANY && place % AHEAD == 0 {
                self.prefetch_searches(place, demand);
            }
            let src = self.rest[place] as usize;
            while self.may_send(src) {
                let Some(fit) = self.any(src, demand, &mut lookups) else { break };
                self.serve(fit, demand, round);
                self.hosts[src].next = fit.dst as u32 + 1;
            }
        }
    }
    /// A destination of `src` whose path is free, found with at most the remaining `lookups`.
    fn any(&mut self, src: usize, demand: &Demand, lookups: &mut usize) -> Option<Candidate> {
        let waiting = demand.waiting(src);
        if waiting.is_empty() {
            return None;
        }
        let from = self.wrapped(self.hosts[src].next);
        let search = Search { src, from, waiting, open: &self.open, links: &self.links };
        self.paths.search(search, lookups)
    }
    /// Each host that got nothing takes a destination from another host that can use a different one. Returns whether
    /// any host did.
    fn exchange(&mut self, demand: &mut Demand, round: &mut Round) -> bool {
        let start = round.open();
        let (mut lookups, mut any) = (LOOKUPS * self.hosts.len(), false);
        self.eased = false;
        for place in 0..self.rest.len() {
            let src = self.rest[place] as usize;
            if self.sends[src] > 0 || lookups == 0 {
                continue;
            }
            let mut tries = TRIES;
            let mut wanted = std::mem::take(&mut self.wanted);
            wanted.clear();
            wanted.extend(demand.waiting(src));
            let from = self.wrapped(self.hosts[src].next);
            find(&wanted, from, |dst| {
                (tries, lookups) = (tries - 1, lookups.saturating_sub(1));
                let done = self.replace(src, dst, start, demand, round, &mut lookups);
                any |= done;
                done || tries == 0 || lookups == 0
            });
            self.wanted = wanted;
        }
        any
    }
    /// Moves the assignment that blocks `src` to another destination. The first assignment of a slot, which is that of
    /// the first host in line, stays. Returns whether `src` got `dst`.
    fn replace(
        &mut self,
        src: usize,
        dst: usize,
        start: usize,
        demand: &mut Demand,
        round: &mut Round,
        lookups: &mut usize,
    ) -> bool {
        if demand.room(HostId(dst as u32)) == 0 {
            return false;
        }
        let Some(path) = self.paths.path(src, dst) else { return false };
        let rate = self.links.rate(path);
        let obstacle = self.links.sole_obstacle(path, rate, start + 1);
        let Some(at) = obstacle.filter(|_| rate > 0) else { return false };
        let moved = *round.assignment(at);
        self.release(moved, at as u32, demand);
        if let Some(wanted) = self.paths.fit(src, dst, &self.links) {
            let user = self.serve(wanted, demand, round);
            if let Some(other) = self.any(moved.src.at(), demand, lookups) {
                self.eased |= other.rate != moved.rate.0;
                *round.assignment(at) = self.carry(other, round.slot, demand);
                self.occupy(other, at as u32, demand);
                self.hosts[src].next = dst as u32 + 1;
                self.turn_again(moved, at as u32, demand);
                return true;
            }
            if let Some(undone) = round.pop() {
                self.release(undone, user, demand);
                self.sends[src] -= 1;
            }
        }
        let fit = Candidate::of(moved);
        self.take(fit.src, fit.dst, moved.bytes, demand);
        self.occupy(fit, at as u32, demand);
        false
    }
    /// If the assignment was the turn of its sender, the sender has its turn once more.
    fn turn_again(&mut self, moved: Assignment, at: u32, demand: &Demand) {
        let src = moved.src.at();
        if self.turn[src] == at {
            let (host, done) = (&mut self.hosts[src], has_bit(&self.done, src));
            host.head = moved.dst.0;
            host.turns = if done { 1 } else { host.turns + 1 };
            self.turn[src] = NOBODY;
            set_bit(&mut self.done, src, false);
            self.find_first(src, demand);
        }
    }
    /// Fills one slot. Returns whether it has any assignment.
    fn slot(&mut self, demand: &mut Demand, round: &mut Round) -> bool {
        self.links.clear();
        self.buffers.draining().for_each(|(_, link)| self.links.fill(link, NOBODY));
        self.paths.open_all(&self.links);
        self.sends.fill(0);
        self.turn.fill(NOBODY);
        self.done.fill(0);
        self.open.iter_mut().zip(demand.with_room()).for_each(|(open, room)| *open = room);
        self.buffers.draining().for_each(|(dst, _)| set_bit(&mut self.open, dst, false));
        self.turns(demand, round);
        self.fill(demand, round);
        self.account(demand, round);
        if self.rounds.exchanges() && self.exchange(demand, round) {
            if self.eased {
                self.rest.clone_from(&self.line);
            }
            self.fill(demand, round);
            self.account(demand, round);
            self.top_up(demand, round);
        }
        self.go_to_the_end();
        // If what waits is for hosts whose ports are busy, a slot passes without senders.
        let waits = self.buffers.draining().next().is_some() && demand.total() > 0;
        if round.open() == round.assignments().len() && !waits {
            return false;
        }
        self.buffers.advance(round);
        round.close();
        true
    }
    /// Gives the room that moved assignments have left to the others.
    fn top_up(&mut self, demand: &mut Demand, round: &mut Round) {
        for at in round.open()..round.assignments().len() {
            let Assignment { src, dst, rate, bytes } = *round.assignment(at);
            let most = self.buffers.limit(dst.at()).min(self.slot_bytes(rate.0, round.slot));
            let more = most.saturating_sub(bytes);
            if more > 0 {
                round.assignment(at).bytes += self.take(src.at(), dst.at(), more, demand);
            }
        }
    }
    /// The bytes that a slot carries at a rate. At least one, so that all demand is served in the end.
    fn slot_bytes(&mut self, rate: u64, slot: Time) -> u64 {
        if self.carries.0 != rate {
            self.carries = (rate, Rate(rate).inverse_rate().bytes_in(slot).max(1));
        }
        self.carries.1
    }
    /// Hosts that had all their turns go to the end of the line.
    fn go_to_the_end(&mut self) {
        let (done, served) = (&self.done, &mut self.served);
        served.clear();
        self.line.retain(|&at| {
            let done = has_bit(done, at as usize);
            if done {
                served.push(at);
            }
            !done
        });
        self.line.extend_from_slice(served);
    }
}

impl<P: Paths> RoundScheduler for Planner<P> {
    fn plan(&mut self, demand: &mut Demand, round: &mut Round) {
        assert_eq!(demand.hosts(), self.hosts.len(), "the demand has another number of hosts");
        let guard = self.rounds.spec().guard;
        round.clear(self.slot_length(demand), guard);
        (self.carries, self.accounted, self.all_work) = ((0, 0), 0, self.links.all_work());
        (0..self.hosts.len()).for_each(|src| self.find_first(src, demand));
        let each = (round.slot + guard).as_ps();
        let slots = (self.rounds.spec().round.as_ps() / each).clamp(1, u16::MAX.into());
        for _ in 0..slots {
            if !self.slot(demand, round) {
                break;
            }
        }
    }
    fn set_weight(&mut self, host: HostId, weight: u32) {
        if let Some(host) = self.hosts.get_mut(host.at()) {
            host.weight = weight.max(1);
            host.turns = host.weight;
        }
    }
    fn set_link(&mut self, link: u32, up: bool) {
        self.links.set(link, up);
    }
    fn reroute(&mut self, network: Network) -> Result<(), SpecError> {
        self.buffers = SwitchBuffers::new(&self.rounds, &network);
        let mut links = Links::new(&self.rounds, &network, self.buffers.links());
        self.links.down().iter().for_each(|&link| links.set(link, false));
        self.paths = P::new(network)?;
        self.links = links;
        self.measure();
        Ok(())
    }
}
