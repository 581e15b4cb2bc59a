//! Fills the slots of a round.
//!
//! Every host has a *head*: the destination whose turn it is, in a fixed order over those it has bytes
//! for. Hosts stand in a line. In each slot, first every host in turn gets its head if all links of the
//! path are free; who does goes to the end of the line once it has had as many turns as its weight.
//! Then who has still room on its link gets any destination that fits, and keeps its place. Last,
//! senders change places: one that got nothing takes the destination of another that can go elsewhere.
//!
//! The first in line always gets its head. So a host gets it at least once in as many slots as the
//! weights of all hosts add up to, and each of its destinations once in as many such spans as it has
//! destinations.

use super::demand::Demand;
use super::links::{Links, NOBODY};
use super::parts::Scratch;
use super::paths::{Fit, Paths};
use super::round::{Assignment, Round};
use super::set::{find, set_bit};
use super::spec::Rounds;
use super::{RoundScheduler, slot_length};
use crate::control::network::Network;
use crate::error::SpecError;
use crate::id::HostId;
use crate::time::Time;
use crate::units::Rate;

/// Destinations that a host which got nothing tries to take from another, in each slot.
const TRIES: usize = 8;
/// Hosts whose data is read together.
const AHEAD: usize = 16;
/// Paths looked at in each slot for hosts to change places, for each host of the network.
const LOOKS: usize = 4;

pub(super) struct Planner<P> {
    rounds: Rounds,
    paths: P,
    links: Links,
    /// All hosts: the line.
    line: Vec<u32>,
    served: Vec<u32>,
    hosts: Vec<Host>,
    /// Destinations with room on their link and in their buffer, 64 to a word.
    open: Vec<u64>,
    /// Room for sets: of a search, and of what a host wants.
    scratch: Scratch,
    wishes: Vec<u64>,
    /// By place among those read together, the first destination from the head on.
    first: [u32; AHEAD],
    /// What was read ahead, put together: it means nothing.
    read: u32,
    /// The latest rate, and what a slot carries at it.
    carries: (u64, u64),
    /// The rate at which a demand's time is measured: that of the fastest pair.
    reference: Rate,
}

/// A host as a sender.
#[derive(Clone, Copy)]
struct Host {
    weight: u32,
    /// Turns it has before it goes to the end of the line.
    turns: u32,
    /// Its head is the first destination from here on.
    head: u32,
    /// Where it looks first for another destination.
    next: u32,
    /// Destinations in the slot being filled.
    sends: u16,
    /// The assignment in this slot that was its turn.
    turn: u32,
    /// It is at the end of the line after this slot.
    done: bool,
}

impl<P: Paths> Planner<P> {
    pub fn new(rounds: Rounds, network: Network) -> Result<Planner<P>, SpecError> {
        let hosts = network.hosts();
        let links = Links::new(&rounds, &network);
        let paths = P::new(network)?;
        let host = |at: u32| Host {
            weight: 1,
            turns: 1,
            head: at + 1,
            next: at + 1,
            sends: 0,
            turn: NOBODY,
            done: false,
        };
        let mut planner = Planner {
            line: paths.order(),
            served: Vec::with_capacity(hosts),
            hosts: (0..hosts as u32).map(host).collect(),
            open: vec![0; hosts.div_ceil(64)],
            scratch: Scratch::default(),
            wishes: Vec::with_capacity(hosts.div_ceil(64)),
            first: [0; AHEAD],
            read: 0,
            carries: (0, 0),
            reference: Rate(1),
            rounds,
            paths,
            links,
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
    /// Opens all destinations with room in their buffer.
    fn open_all(&mut self, demand: &Demand) {
        for dst in 0..self.hosts.len() {
            set_bit(&mut self.open, dst, demand.room(HostId(dst as u32)) > 0);
        }
    }
    fn serve(&mut self, fit: Fit, demand: &mut Demand, round: &mut Round) -> u32 {
        let at = round.push(self.carry(fit, round.slot, demand)) as u32;
        self.occupy(fit, at, demand);
        self.hosts[fit.src].sends += 1;
        at
    }
    /// The assignment, taken out of the demand.
    fn carry(&mut self, fit: Fit, slot: Time, demand: &mut Demand) -> Assignment {
        let Fit { src, dst, rate } = fit;
        let waits = demand.at(src, dst);
        let bytes = self.slot_bytes(rate, slot).min(waits).min(demand.room(HostId(dst as u32)));
        demand.take(src, dst, bytes);
        let (src, dst) = (HostId(src as u32), HostId(dst as u32));
        Assignment { src, dst, rate: Rate(rate), bytes }
    }
    /// Undoes an assignment.
    fn release(&mut self, of: Assignment, user: u32, demand: &mut Demand) {
        let (src, dst) = (of.src.at(), of.dst.at());
        demand.give_back(src, dst, of.bytes);
        let Some(path) = self.paths.path(src, dst) else { return };
        self.links.give_back(path, of.rate.0, user);
        for link in path.ends() {
            self.paths.open(link);
        }
        set_bit(&mut self.open, dst, true);
    }
    fn occupy(&mut self, fit: Fit, user: u32, demand: &Demand) {
        let Some(path) = self.paths.path(fit.src, fit.dst) else { return };
        self.links.take(path, fit.rate, user);
        let (ends, down) = (path.ends(), self.links.at(path.down));
        for link in ends {
            if self.links.left[self.links.at(link)] == 0 {
                self.paths.close(link);
            }
        }
        let full = self.links.left[down] == 0;
        let full = full && self.paths.has_one_link(fit.dst);
        if full || demand.room(HostId(fit.dst as u32)) == 0 {
            set_bit(&mut self.open, fit.dst, false);
        }
    }
    /// Whether `src` may have one more destination in this slot, and anything left of its link.
    fn may_send(&mut self, src: usize) -> bool {
        let own = self.paths.own_link(src);
        own.is_none_or(|link| self.links.left[self.links.at(link)] > 0)
            && usize::from(self.hosts[src].sends) < usize::from(self.rounds.spec().classes)
    }
    /// The place of the next destination, which may be one behind the last.
    fn from(&self, next: u32) -> usize {
        if next as usize == self.hosts.len() { 0 } else { next as usize }
    }
    /// The head of `src`: the next destination that it could reach in an empty network; and whether its
    /// path is free in this slot. There is none before `from`.
    fn head(&mut self, src: usize, from: usize, demand: &Demand) -> Option<Fit> {
        let (paths, links) = (&mut self.paths, &self.links);
        let mut fit = None;
        find(demand.waiting(src), from, |dst| {
            if demand.room(HostId(dst as u32)) == 0 {
                return false;
            }
            let Some(path) = paths.path(src, dst) else { return false };
            let rate = links.rate(path);
            fit = links.fits(path, rate).then_some(Fit { src, dst, rate });
            rate > 0
        })?;
        fit
    }
    /// Every host in line gets its head, if it is free.
    fn turns(&mut self, demand: &mut Demand, round: &mut Round) {
        for place in 0..self.line.len() {
            let src = self.line[place] as usize;
            if P::ARE_MANY && place % AHEAD == 0 {
                self.come_near(place, demand);
            }
            let first = match P::ARE_MANY {
                true => self.first[place % AHEAD] as usize,
                false => self.from(self.hosts[src].head),
            };
            let Some(fit) = self.head(src, first, demand) else { continue };
            let dst = fit.dst;
            let turn = self.serve(fit, demand, round);
            let host = &mut self.hosts[src];
            host.turn = turn;
            (host.head, host.next) = (dst as u32 + 1, dst as u32 + 1);
            host.turns = host.turns.saturating_sub(1);
            if host.turns == 0 {
                (host.turns, host.done) = (host.weight, true);
            }
        }
    }
    /// Reads what will be needed of the next hosts in line: so the processor waits for the memory of all
    /// of them at once.
    fn come_near(&mut self, place: usize, demand: &Demand) {
        for at in place..self.line.len().min(place + AHEAD) {
            let src = self.line[at] as usize;
            let from = self.from(self.hosts[src].head);
            if let Some(dst) = find(demand.waiting(src), from, |_| true) {
                self.first[at - place] = dst as u32;
                self.read ^= self.paths.glance(src, dst) ^ demand.at(src, dst) as u32;
            }
        }
    }
    /// The same where the next hosts in line will search.
    fn look_ahead(&mut self, place: usize, demand: &Demand) {
        for at in place..self.line.len().min(place + AHEAD) {
            let src = self.line[at] as usize;
            if self.may_send(src) {
                let from = self.from(self.hosts[src].next);
                let waiting = demand.waiting(src).get(from / 64).copied().unwrap_or(0);
                self.read ^= self.paths.glance(src, from) ^ waiting as u32;
            }
        }
    }
    /// Who has room on its link gets whatever fits.
    fn fill(&mut self, demand: &mut Demand, round: &mut Round) {
        let mut looks = usize::MAX;
        for place in 0..self.line.len() {
            if P::ARE_MANY && place % AHEAD == 0 {
                self.look_ahead(place, demand);
            }
            let src = self.line[place] as usize;
            while self.may_send(src) {
                let Some(fit) = self.any(src, demand, &mut looks) else { break };
                self.serve(fit, demand, round);
                self.hosts[src].next = fit.dst as u32 + 1;
            }
        }
    }
    /// A destination of `src` whose path is free, among the first that it looks at: so many are left.
    fn any(&mut self, src: usize, demand: &Demand, looks: &mut usize) -> Option<Fit> {
        let waiting = demand.waiting(src);
        if waiting.is_empty() {
            return None;
        }
        let from = self.from(self.hosts[src].next);
        let sets = (waiting, &self.open[..]);
        self.paths.search((src, from), sets, &self.links, &mut self.scratch, looks)
    }
    /// Who got nothing takes a destination from another that can go elsewhere. Says whether anybody
    /// did.
    fn exchange(&mut self, demand: &mut Demand, round: &mut Round) -> bool {
        let start = round.open();
        let (mut looks, mut any) = (LOOKS * self.hosts.len(), false);
        for place in 0..self.line.len() {
            let src = self.line[place] as usize;
            if self.hosts[src].sends > 0 || looks == 0 {
                continue;
            }
            let mut tries = TRIES;
            let mut wishes = std::mem::take(&mut self.wishes);
            wishes.clear();
            wishes.extend(demand.waiting(src));
            let from = self.from(self.hosts[src].next);
            find(&wishes, from, |dst| {
                (tries, looks) = (tries - 1, looks.saturating_sub(1));
                let done = self.replace((src, dst), start, demand, round, &mut looks);
                any |= done;
                done || tries == 0 || looks == 0
            });
            self.wishes = wishes;
        }
        any
    }
    /// Moves the one that is in the way of `src` to another destination. The first assignment of a
    /// slot, which is that of the first in line, stays.
    fn replace(
        &mut self,
        (src, dst): (usize, usize),
        start: usize,
        demand: &mut Demand,
        round: &mut Round,
        looks: &mut usize,
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
        if let Some(wanted) = self.paths.fit((src, dst), &self.links) {
            let user = self.serve(wanted, demand, round);
            if let Some(other) = self.any(moved.src.at(), demand, looks) {
                *round.assignment(at) = self.carry(other, round.slot, demand);
                self.occupy(other, at as u32, demand);
                self.hosts[src].next = dst as u32 + 1;
                self.turn_again(moved, at as u32);
                return true;
            }
            if let Some(undone) = round.pop() {
                self.release(undone, user, demand);
                self.hosts[src].sends -= 1;
            }
        }
        let fit = Fit { src: moved.src.at(), dst: moved.dst.at(), rate: moved.rate.0 };
        demand.take(fit.src, fit.dst, moved.bytes);
        self.occupy(fit, at as u32, demand);
        false
    }
    /// If the assignment was its sender's turn, it has it once more.
    fn turn_again(&mut self, moved: Assignment, at: u32) {
        let host = &mut self.hosts[moved.src.at()];
        if host.turn == at {
            host.turn = NOBODY;
            host.head = moved.dst.0;
            host.turns = if host.done { 1 } else { host.turns + 1 };
            host.done = false;
        }
    }
    /// Fills one slot. Says whether there is anything in it.
    fn slot(&mut self, demand: &mut Demand, round: &mut Round) -> bool {
        self.links.clear();
        self.paths.open_all(&self.links);
        for host in &mut self.hosts {
            (host.sends, host.turn) = (0, NOBODY);
        }
        self.open_all(demand);
        self.turns(demand, round);
        self.fill(demand, round);
        if self.rounds.exchanges() && self.exchange(demand, round) {
            self.fill(demand, round);
            self.top_up(demand, round);
        }
        self.go_to_the_end();
        round.close()
    }
    /// Room that a moved assignment has left goes to the others.
    fn top_up(&mut self, demand: &mut Demand, round: &mut Round) {
        let (start, slot) = (round.open(), round.slot);
        for at in start..round.assignments().len() {
            let Assignment { src, dst, rate, bytes } = *round.assignment(at);
            let more = self.slot_bytes(rate.0, slot).saturating_sub(bytes);
            let more = more.min(demand.at(src.at(), dst.at())).min(demand.room(dst));
            if more > 0 {
                demand.take(src.at(), dst.at(), more);
                round.assignment(at).bytes += more;
            }
        }
    }
    /// What a slot carries at a rate; at least a byte, so that there is an end to every demand.
    fn slot_bytes(&mut self, rate: u64, slot: Time) -> u64 {
        if self.carries.0 != rate {
            self.carries = (rate, Rate(rate).pace().bytes_in(slot).max(1));
        }
        self.carries.1
    }
    /// Who had all its turns goes to the end of the line.
    fn go_to_the_end(&mut self) {
        let (hosts, served) = (&mut self.hosts, &mut self.served);
        served.clear();
        self.line.retain(|&at| {
            let done = std::mem::take(&mut hosts[at as usize].done);
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
        assert_eq!(demand.hosts(), self.hosts.len(), "a demand is among the network's hosts");
        let guard = self.rounds.spec().guard;
        round.clear(self.slot_length(demand), guard);
        self.carries = (0, 0);
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
        self.links.set(&self.rounds, self.paths.network(), link, up);
    }
    fn reroute(&mut self, network: Network) -> Result<(), SpecError> {
        let mut links = Links::new(&self.rounds, &network);
        for (link, _) in self.links.down.iter().enumerate().filter(|(_, down)| **down) {
            links.set(&self.rounds, &network, link as u32, false);
        }
        self.paths = P::new(network)?;
        self.links = links;
        self.measure();
        Ok(())
    }
}
