//! The modelled network between real hosts: the simulator's engine, whose time follows a clock.

use crate::circuits::Circuits;
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
use slotline_net::frame::{CE, Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_sim::{Hop, Stepper};
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
    circuits: Option<Circuits>,
    shared: &'a Shared,
    buffer: Vec<u8>,
    /// Hosts whose packets wait to enter the network.
    ready: Vec<usize>,
    /// Packets that the network has delivered or sent, and frames that it has lost.
    over: Vec<(Time, Handover)>,
    lost: Vec<u32>,
    /// Hosts whose kernel has yet to learn of released packets.
    released: Vec<usize>,
    captured: Vec<CapturedFrame>,
    end: Time,
    counts: Counts,
    fidelity: Fidelity,
}

/// A real packet that left a captured port.
#[derive(Clone, Debug)]
pub struct CapturedFrame {
    /// The place of the port in [`slotline_sim::Follow::ports`].
    pub place: usize,
    /// The packet of the model.
    pub hop: Hop,
    /// The first bytes of the IP packet, at most [`CAPTURED`], with the mark of the model.
    pub head: Vec<u8>,
}

/// The result of a fabric that has ended.
pub struct Ended {
    /// The network.
    pub stepper: Stepper,
    /// The classifier, which has counted retransmitted segments.
    pub classifier: Classifier,
    /// Counts of packets outside the model.
    pub counts: Counts,
    /// How well the machine kept up.
    pub fidelity: Fidelity,
    /// Packets that left captured ports, in order of time at each port.
    pub captured: Vec<CapturedFrame>,
    /// The network time at the end.
    pub reached: Time,
}

/// The most bytes recorded of a captured packet.
pub const CAPTURED: usize = 128;
/// The largest number of packets taken from a host before the next host has its turn.
const BURST: usize = 32;
/// If the next event is nearer than this, the thread does not sleep.
const SPIN: Duration = Duration::from_micros(25);
/// The interval between snapshots.
const SNAPSHOTS: Duration = Duration::from_millis(500);
/// The longest sleep. It bounds the time until a request to stop is noticed.
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
        let (ready, over, lost, released, captured) = Default::default();
        Fabric {
            seats,
            stepper,
            classifier,
            addresses,
            frames,
            circuits: None,
            shared,
            buffer,
            ready,
            over,
            lost,
            released,
            captured,
            end,
            counts,
            fidelity,
        }
    }

    /// Tells the kernel's TCP of circuits.
    #[must_use]
    pub fn with_circuits(self, circuits: Option<Circuits>) -> Fabric<'a> {
        Fabric { circuits, ..self }
    }

    /// Runs until the emulation is stopped, or until its end.
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
        let Fabric { stepper, classifier, counts, fidelity, captured, .. } = self;
        Ok(Ended { stepper, classifier, counts, fidelity, captured, reached: clock.now() })
    }

    /// Stores a snapshot, unless a reader is taking one at this moment.
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

    /// An epoll list that wakes the thread when a host has a packet.
    fn waiting_list(&self) -> io::Result<OwnedFd> {
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (at, seat) in self.seats.iter().enumerate() {
            epoll::add(&list, seat.host.readable(), EventData::new_u64(at as u64), EventFlags::IN)?;
        }
        Ok(list)
    }

    /// Passes packets from host to host without the model. It is used before network time begins, while connections are
    /// opened.
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

    /// Advances the network to the time of the clock, and moves packets between the network and the hosts. Returns
    /// whether there was anything to do.
    fn round(&mut self, clock: &Clock, list: &OwnedFd) -> io::Result<bool> {
        let advanced = self.stepper.advance(clock.now());
        self.capture();
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

    /// Moves packets of a host's applications into the network.
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

    /// Records the beginning of real packets that left captured ports. Their frames are still there.
    fn capture(&mut self) {
        for (place, hop) in self.stepper.captured() {
            if matches!(hop.packet.kind, Kind::Control | Kind::Pause) {
                continue;
            }
            let bytes = &self.frames.slots[hop.packet.stamp as usize].bytes;
            let mut head = bytes[..bytes.len().min(CAPTURED)].to_vec();
            if hop.packet.has(CE) {
                mark(&mut head, self.addresses, hop.packet.dst);
            }
            self.captured.push(CapturedFrame { place, hop, head });
        }
    }

    /// Handles the packets that the network has sent or delivered, and the frames that it has lost.
    fn carry_out(&mut self, clock: &Clock) -> io::Result<()> {
        let mut over = std::mem::take(&mut self.over);
        over.extend(self.stepper.handovers());
        over.sort_by_key(|(at, _)| *at);
        for (at, what) in over.drain(..) {
            match what {
                Handover::Left(packet) => self.leave(packet.stamp),
                Handover::Arrived(packet) => {
                    self.deliver(&packet)?;
                    self.fidelity.deliveries.add(clock.since(at));
                }
                Handover::Notified(host, news) => {
                    self.circuits.iter_mut().try_for_each(|own| own.notify(host, &news))?;
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

    /// Releases a packet that the host's kernel holds.
    fn release(&mut self, at: usize, number: u32) {
        self.seats[at].host.release(number);
        if self.released.last() != Some(&at) {
            self.released.push(at);
        }
    }

    /// Notes that a frame has left its host's card, or was dropped before.
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

    fn deliver(&mut self, packet: &Packet) -> io::Result<()> {
        let frame = &mut self.frames.slots[packet.stamp as usize];
        if packet.has(CE) {
            mark(&mut frame.bytes, self.addresses, packet.dst);
        }
        if let Some(circuits) = &mut self.circuits {
            circuits.arrive(frame.host, packet, &mut frame.bytes)?;
        }
        let taken = self.seats[packet.dst.at()].host.deliver(&frame.bytes);
        self.counts.delivered += u64::from(taken);
        self.counts.refused += u64::from(!taken);
        self.frames.free(packet.stamp);
        Ok(())
    }

    /// Removes a frame that the network has dropped.
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

/// A span as a fraction of the time since `began`.
fn share(span: Duration, began: Instant) -> f64 {
    span.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9)
}

/// Processor time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
