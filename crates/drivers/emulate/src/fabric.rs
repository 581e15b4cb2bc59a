//! The modelled network between real hosts: the simulator's engine, whose time follows a clock.

use crate::classify::{Addresses, Classifier};
use crate::clock::{Clock, Dilation};
use crate::frames::Frames;
use crate::processors::Pinned;
use crate::seat::Seat;
use crate::shared::{Counts, Fidelity, Shared, Snapshot};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{ClockId, clock_gettime};
use slotline_bump::frame as marks;
use slotline_linux::wait::{self, sleep};
use slotline_net::frame::{CE, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_sim::Stepper;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// The network and its hosts.
pub struct Fabric<'a> {
    seats: Vec<Seat>,
    stepper: Stepper,
    classifier: Classifier,
    addresses: Addresses,
    frames: Frames,
    shared: &'a Shared,
    buffer: Vec<u8>,
    /// Hosts with packets to take in.
    ready: Vec<usize>,
    /// What the network has handed over, and frames that it has lost.
    over: Vec<(Time, Handover)>,
    lost: Vec<u32>,
    /// Hosts whose kernel is to be told of released packets.
    released: Vec<usize>,
    end: Time,
    counts: Counts,
    fidelity: Fidelity,
}

/// What a fabric leaves.
pub struct Ended {
    /// The network.
    pub stepper: Stepper,
    /// It knows which segments were sent again.
    pub classifier: Classifier,
    /// What the emulation did to packets.
    pub counts: Counts,
    /// How well the machine kept up.
    pub fidelity: Fidelity,
    /// The network time at the end.
    pub reached: Time,
}

/// Most packets taken from a host before the others have their turn.
const BURST: usize = 32;
/// Where the next event is nearer than this, the thread does not sleep.
const SPIN: Duration = Duration::from_micros(25);
/// How often a snapshot is taken.
const SNAPSHOTS: Duration = Duration::from_millis(500);
/// The longest sleep: how soon a request to stop is seen.
const NAP: Duration = Duration::from_millis(5);

impl<'a> Fabric<'a> {
    /// Joins hosts, each at a node of the network.
    pub fn new(
        seats: Vec<Seat>,
        stepper: Stepper,
        classifier: Classifier,
        end: Time,
        shared: &'a Shared,
    ) -> Fabric<'a> {
        let addresses = Addresses { hosts: seats.len() as u32 };
        let (frames, counts, fidelity, buffer) = Default::default();
        let (ready, over, lost, released) = Default::default();
        Fabric {
            seats,
            stepper,
            classifier,
            addresses,
            frames,
            shared,
            buffer,
            ready,
            over,
            lost,
            released,
            end,
            counts,
            fidelity,
        }
    }

    /// Runs until somebody stops it, or until its end.
    pub fn run(mut self, dilation: Dilation) -> io::Result<Ended> {
        let _pinned = Pinned::here();
        self.seats.iter_mut().for_each(|seat| seat.dilate(dilation));
        let wait = self.waiting_list()?;
        while !self.shared.begun() && !self.shared.stopped() {
            self.pass_on()?;
            sleep(&wait, NAP)?;
        }
        let clock = self.shared.start(dilation);
        let (began, cpu) = (Instant::now(), cpu_time());
        let (mut idle, mut shown) = (Duration::ZERO, began);
        while !self.shared.stopped() && clock.now() < self.end {
            let start = Instant::now();
            let worked = self.round(&clock, &wait)?;
            if start - shown >= SNAPSHOTS {
                shown = start;
                self.fidelity.cpu_share = share((cpu_time() - cpu).saturating_sub(idle), began);
                self.show(&clock);
            }
            let next = self.stepper.next_event().map_or(NAP, |at| clock.until(at));
            if next > SPIN {
                sleep(&wait, (next - SPIN).min(NAP))?;
            } else if !worked {
                idle += start.elapsed();
            }
        }
        self.fidelity.cpu_share = share((cpu_time() - cpu).saturating_sub(idle), began);
        for seat in &self.seats {
            self.counts.refused += seat.host.dropped_outside()?;
        }
        let Fabric { stepper, classifier, counts, fidelity, .. } = self;
        Ok(Ended { stepper, classifier, counts, fidelity, reached: clock.now() })
    }

    /// Leaves a snapshot, unless somebody is just taking one.
    fn show(&self, clock: &Clock) {
        self.shared.show(|| Snapshot {
            at: clock.now(),
            counts: self.counts.clone(),
            fidelity: self.fidelity.clone(),
            dropped: self.stepper.dropped(),
            ports: self.stepper.ports(),
            counters: self.stepper.counters(),
        });
    }

    /// What wakes the thread: a packet of a host.
    fn waiting_list(&self) -> io::Result<OwnedFd> {
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (at, seat) in self.seats.iter().enumerate() {
            epoll::add(&list, seat.host.readable(), EventData::new_u64(at as u64), EventFlags::IN)?;
        }
        Ok(list)
    }

    /// Hands packets from host to host at once: before network time begins, while connections are made.
    fn pass_on(&mut self) -> io::Result<()> {
        for at in 0..self.seats.len() {
            while let Some(number) = self.seats[at].host.receive(&mut self.buffer)? {
                if let Ok(packet) = self.classifier.classify(HostId(at as u32), &self.buffer) {
                    self.seats[packet.dst.at()].host.deliver(&self.buffer);
                }
                self.seats[at].host.release(number);
            }
            self.seats[at].host.flush()?;
        }
        Ok(())
    }

    /// Lets the network catch up with the clock, and moves packets between it and the hosts. Returns whether there was
    /// anything to do.
    fn round(&mut self, clock: &Clock, list: &OwnedFd) -> io::Result<bool> {
        let advanced = self.stepper.advance(clock.now());
        self.carry_out(clock)?;
        let mut ready = std::mem::take(&mut self.ready);
        wait::ready(list, &mut ready)?;
        let worked = advanced || !ready.is_empty();
        for host in ready.drain(..) {
            self.take_in(host, clock)?;
        }
        self.ready = ready;
        Ok(worked)
    }

    /// Takes packets of a host's applications into the network.
    fn take_in(&mut self, at: usize, clock: &Clock) -> io::Result<()> {
        for _ in 0..BURST {
            let seat = &mut self.seats[at];
            if seat.is_full() {
                return Ok(());
            }
            let Some(number) = seat.host.receive(&mut self.buffer)? else { return Ok(()) };
            self.enter(at, number, clock.now());
        }
        Ok(())
    }

    fn enter(&mut self, at: usize, number: u32, now: Time) {
        let Ok(packet) = self.classifier.classify(HostId(at as u32), &self.buffer) else {
            self.counts.foreign += 1;
            return self.release(at, number);
        };
        let seat = &mut self.seats[at];
        let (node, len) = (seat.node, packet.len.into());
        seat.enter();
        let ahead = if seat.may_go_ahead(len) { len } else { 0 };
        if ahead > 0 {
            self.release(at, number);
        }
        let stamp = self.frames.put(&mut self.buffer, at as u32, number);
        self.frames.slots[stamp as usize].ahead = ahead;
        if self.stepper.inject(node, now, Packet { stamp, ..packet }) {
            self.counts.entered += 1;
        } else {
            self.lose(stamp);
        }
    }

    /// Carries out what the network has handed over.
    fn carry_out(&mut self, clock: &Clock) -> io::Result<()> {
        let mut over = std::mem::take(&mut self.over);
        over.extend(self.stepper.handovers());
        over.sort_by_key(|(at, _)| *at);
        for (at, what) in over.drain(..) {
            match what {
                Handover::Left(packet) => self.leave(packet.stamp),
                Handover::Arrived(packet) => {
                    self.deliver(&packet);
                    self.fidelity.deliveries.add(clock.since(at));
                }
            }
        }
        self.over = over;
        let mut lost = std::mem::take(&mut self.lost);
        lost.extend(self.stepper.lost_frames());
        lost.drain(..).for_each(|handle| self.lose(handle));
        self.lost = lost;
        while let Some(host) = self.released.pop() {
            self.seats[host].host.flush()?;
        }
        Ok(())
    }

    /// The host's kernel may let go of a packet.
    fn release(&mut self, at: usize, number: u32) {
        self.seats[at].host.release(number);
        if self.released.last() != Some(&at) {
            self.released.push(at);
        }
    }

    /// A frame leaves its host's card, or the network has dropped it before.
    fn leave(&mut self, handle: u32) {
        let frame = &mut self.frames.slots[handle as usize];
        if std::mem::replace(&mut frame.left, true) {
            return;
        }
        let (at, number, ahead) = (frame.host as usize, frame.number, frame.ahead);
        self.seats[at].leave(ahead);
        if ahead == 0 {
            self.release(at, number);
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let frame = &mut self.frames.slots[packet.stamp as usize];
        if packet.has(CE) {
            mark(&mut frame.bytes, self.addresses, packet.dst);
        }
        let taken = self.seats[packet.dst.at()].host.deliver(&frame.bytes);
        self.counts.delivered += u64::from(taken);
        self.counts.refused += u64::from(!taken);
        self.frames.free(packet.stamp);
    }

    /// The network has dropped a frame.
    fn lose(&mut self, handle: u32) {
        self.leave(handle);
        self.frames.free(handle);
    }
}

/// Marks an ECN-capable IPv4 packet.
fn mark(bytes: &mut [u8], addresses: Addresses, dst: HostId) {
    let ecn = bytes.get(1).map_or(0, |byte| byte & 3);
    let destination = IpAddr::V4(addresses.of(dst));
    marks::mark(bytes, &marks::Packet { at: 0, destination, ports: (0, 0), ecn });
}

/// A span as a share of the time since `began`.
fn share(span: Duration, began: Instant) -> f64 {
    span.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9)
}

/// Processor time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
