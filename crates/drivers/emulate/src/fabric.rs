//! The modelled network between real hosts: the simulator's engine, whose time follows a clock.

use crate::classify::{Addresses, Classifier};
use crate::clock::{Clock, Dilation};
use crate::lateness::Lateness;
use crate::namespace::{GateKind, Host};
use crate::processors::Pinned;
use crate::wait::{self, sleep};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::time::{ClockId, clock_gettime};
use slotline_bump::frame as marks;
use slotline_net::frame::{CE, Packet};
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::{Counters, Handover};
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_sim::{PortState, Stepper};
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The network at one moment.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// Network time.
    pub at: Time,
    /// What happened to packets outside of the model so far.
    pub counts: Counts,
    /// How well the machine kept up so far.
    pub fidelity: Fidelity,
    /// Packets that the network has dropped so far.
    pub dropped: u64,
    /// All ports, by node.
    pub ports: Vec<PortState>,
    /// What nodes have counted so far.
    pub counters: Counters,
}

/// What the threads of an emulation share.
#[derive(Default)]
pub struct Shared {
    clock: OnceLock<Clock>,
    begin: AtomicBool,
    stop: AtomicBool,
    latest: Mutex<Option<Snapshot>>,
}

impl Shared {
    /// Lets network time begin.
    pub fn begin(&self) {
        self.begin.store(true, Ordering::Release);
    }
    /// Ends the emulation soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
    /// Whether it is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
    /// Waits until network time has begun; `None` where the emulation ends before.
    pub fn wait_for_clock(&self) -> Option<Clock> {
        while self.clock().is_none() && !self.stopped() {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.clock()
    }
    /// The latest snapshot, if there is one that nobody has taken.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
    /// The clock; `None` before network time has begun.
    pub fn clock(&self) -> Option<Clock> {
        self.clock.get().copied()
    }
}

/// What happened to packets outside of the model.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    /// Packets that entered the network.
    pub entered: u64,
    /// Packets handed to hosts.
    pub delivered: u64,
    /// Packets that a host's kernel did not take, or that it dropped before the network saw them.
    pub refused: u64,
    /// Packets that were not for the network: of another protocol, for another address, or too long.
    pub foreign: u64,
}

/// How well the machine kept up.
#[derive(Clone, Default, Debug)]
pub struct Fidelity {
    /// How much later than planned packets were handed to hosts, in real time.
    pub deliveries: Lateness,
    /// Processor time of the network without that in which it only waited, as a share of the real time.
    pub cpu_share: f64,
}

/// A host, and where it is in the network.
pub struct Seat {
    /// The host.
    pub host: Host,
    /// Its node.
    pub node: NodeId,
    /// The rate of its card.
    pub rate: Rate,
}

/// A frame on its way.
#[derive(Default)]
struct Frame {
    bytes: Vec<u8>,
    host: u32,
    number: u32,
    /// Its bytes, if the kernel has let go of it before it left the card.
    ahead: u64,
    /// Whether it has left the card of its host.
    left: bool,
}

/// Frames on their way, by handle.
#[derive(Default)]
struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    fn put(&mut self, bytes: &mut Vec<u8>, host: u32, number: u32) -> u32 {
        let handle = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Frame::default());
            self.slots.len() as u32 - 1
        });
        let frame = &mut self.slots[handle as usize];
        std::mem::swap(&mut frame.bytes, bytes);
        (frame.host, frame.number, frame.ahead, frame.left) = (host, number, 0, false);
        handle
    }
    fn free(&mut self, handle: u32) {
        self.free.push(handle);
    }
}

/// The network and its hosts.
pub struct Fabric<'a> {
    hosts: Vec<Host>,
    nodes: Vec<NodeId>,
    stepper: Stepper,
    classifier: Classifier,
    addresses: Addresses,
    frames: Frames,
    /// By host, its packets in the queue of its card.
    waiting: Vec<u32>,
    /// By host, bytes that the kernel may let go of before they leave the card, and those that it has.
    ahead: Vec<(u64, u64)>,
    rates: Vec<Rate>,
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

/// The kernel lets a connection have so much time of its data on the way to the wire (TCP small queues). With dilation this
/// is less network time, which is made up for: packets may wait long for their turn.
const SMALL_QUEUE: Time = Time::ms(1);
/// Without back-pressure, a card's queue has room for so many packets, as an interface's usually has.
const MOST_WAITING: u32 = 1_000;
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
        let rates = seats.iter().map(|seat| seat.rate).collect();
        let (hosts, nodes): (Vec<Host>, Vec<NodeId>) =
            seats.into_iter().map(|seat| (seat.host, seat.node)).unzip();
        let addresses = Addresses { hosts: hosts.len() as u32 };
        let (waiting, ahead) = (vec![0; hosts.len()], vec![(0, 0); hosts.len()]);
        let (frames, counts, fidelity, buffer) = Default::default();
        let (ready, over, lost, released) = Default::default();
        Fabric {
            hosts,
            nodes,
            stepper,
            classifier,
            addresses,
            frames,
            waiting,
            ahead,
            rates,
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
        let own = SMALL_QUEUE.as_ps() as f64 * (1.0 - 1.0 / dilation.factor());
        for (ahead, rate) in self.ahead.iter_mut().zip(&self.rates) {
            ahead.0 = rate.inverse_rate().bytes_in(Time::ps(own as u64));
        }
        let wait = self.waiting_list()?;
        while !self.shared.begin.load(Ordering::Acquire) && !self.shared.stopped() {
            self.pass_on()?;
            sleep(&wait, NAP)?;
        }
        let clock = *self.shared.clock.get_or_init(|| Clock::start(dilation));
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
        for host in &self.hosts {
            self.counts.refused += host.dropped_outside()?;
        }
        let Fabric { stepper, classifier, counts, fidelity, .. } = self;
        Ok(Ended { stepper, classifier, counts, fidelity, reached: clock.now() })
    }

    /// Leaves a snapshot, unless somebody is just taking one.
    fn show(&self, clock: &Clock) {
        let Ok(mut latest) = self.shared.latest.try_lock() else { return };
        *latest = Some(Snapshot {
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
        for (at, host) in self.hosts.iter().enumerate() {
            epoll::add(&list, host.readable(), EventData::new_u64(at as u64), EventFlags::IN)?;
        }
        Ok(list)
    }

    /// Hands packets from host to host at once: before network time begins, while connections are made.
    fn pass_on(&mut self) -> io::Result<()> {
        for at in 0..self.hosts.len() {
            while let Some(number) = self.hosts[at].receive(&mut self.buffer)? {
                if let Ok(packet) = self.classifier.classify(HostId(at as u32), &self.buffer) {
                    self.hosts[packet.dst.at()].deliver(&self.buffer);
                }
                self.hosts[at].release(number);
            }
            self.hosts[at].flush()?;
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
            if self.hosts[at].gate() == GateKind::Interface && self.waiting[at] >= MOST_WAITING {
                return Ok(());
            }
            let Some(number) = self.hosts[at].receive(&mut self.buffer)? else { return Ok(()) };
            self.enter(at, number, clock.now());
        }
        Ok(())
    }

    fn enter(&mut self, at: usize, number: u32, now: Time) {
        self.waiting[at] += 1;
        let Ok(packet) = self.classifier.classify(HostId(at as u32), &self.buffer) else {
            self.counts.foreign += 1;
            return self.release(at as u32, number);
        };
        let stamp = self.frames.put(&mut self.buffer, at as u32, number);
        self.let_go_ahead(stamp, packet.len.into());
        if self.stepper.inject(self.nodes[at], now, Packet { stamp, ..packet }) {
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
            self.hosts[host].flush()?;
        }
        Ok(())
    }

    /// Lets the kernel go of a frame that has just come, if not too many bytes wait of which it did.
    fn let_go_ahead(&mut self, handle: u32, len: u64) {
        let frame = &mut self.frames.slots[handle as usize];
        let (most, ahead) = &mut self.ahead[frame.host as usize];
        if *ahead + len <= *most {
            *ahead += len;
            frame.ahead = len;
            let (host, number) = (frame.host as usize, frame.number);
            self.hosts[host].release(number);
            self.note_released(host);
        }
    }

    /// Lets go of a frame that has left the card of its host, or that never will.
    fn release(&mut self, host: u32, number: u32) {
        let host = host as usize;
        self.waiting[host] -= 1;
        self.hosts[host].release(number);
        self.note_released(host);
    }

    fn note_released(&mut self, host: usize) {
        if self.released.last() != Some(&host) {
            self.released.push(host);
        }
    }

    /// A frame leaves its host's card: the host's kernel may let go of it.
    fn leave(&mut self, handle: u32) {
        let frame = &mut self.frames.slots[handle as usize];
        let (host, number, ahead) = (frame.host, frame.number, frame.ahead);
        if std::mem::replace(&mut frame.left, true) {
            return;
        }
        if ahead == 0 {
            return self.release(host, number);
        }
        self.ahead[host as usize].1 -= ahead;
        self.waiting[host as usize] -= 1;
    }

    fn deliver(&mut self, packet: &Packet) {
        let frame = &mut self.frames.slots[packet.stamp as usize];
        if packet.has(CE) {
            mark(&mut frame.bytes, self.addresses, packet.dst);
        }
        let taken = self.hosts[packet.dst.at()].deliver(&frame.bytes);
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
