//! The modelled network between real hosts: the simulator's engine, whose time follows a clock.

use crate::burst::{self, Burst};
use crate::circuits::Circuits;
use crate::classify::{Addresses, Classifier};
use crate::clock::{Clock, Dilation};
use crate::frames::{Frames, State};
use crate::port::PREFIX;
use crate::processors::{Pinned, cpu_time, share};
use crate::seat::Seat;
use crate::shared::{Counts, Fidelity, SNAPSHOTS, Shared, Snapshot};
use rustix::event::epoll::{self, EventData, EventFlags};
use slotline_bump::frame as marks;
use slotline_linux::wait::{self, sleep};
use slotline_net::frame::{CE, Kind, Packet};
use slotline_net::id::HostId;
use slotline_net::node::Handover;
use slotline_net::time::Time;
use slotline_sim::Stepper;
use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

mod arrivals;

/// The network and its hosts.
pub struct Fabric<'a> {
    seats: Vec<Seat>,
    stepper: Stepper,
    classifier: Classifier,
    addresses: Addresses,
    frames: Frames,
    circuits: Option<Circuits>,
    shared: &'a Shared,
    /// The beginning of a packet that the kernel holds, and a packet that has left by an interface.
    shown: Vec<u8>,
    buffer: Vec<u8>,
    /// Hosts whose packets wait to enter the network.
    ready: Vec<usize>,
    /// Packets that the network has delivered or sent, and frames that it has lost.
    over: Vec<(Time, Handover)>,
    lost: Vec<u32>,
    /// The segments of a packet that is about to enter the network.
    entering: Vec<Packet>,
    /// Hosts whose kernels have yet to learn what happens to packets that they hold.
    decided: Vec<usize>,
    /// Hosts whose kernels have yet to get segments that have arrived.
    receiving: Vec<usize>,
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
    /// When its first bit left.
    pub at: Time,
    /// The packet of the model.
    pub packet: Packet,
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
/// The sources of packets of a host: the queue of the kernel, and the interface.
const SOURCES: u64 = 2;
const HELD: u64 = 0;
const LOOSE: u64 = 1;
/// The largest number of packets taken from a host before the next host has its turn.
const BURST: usize = 32;
/// If the next event is nearer than this, the thread does not sleep.
const SPIN: Duration = Duration::from_micros(25);
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
        let (frames, counts, fidelity, shown, buffer) = Default::default();
        let (ready, over, lost, entering, decided, receiving, captured) = Default::default();
        Fabric {
            seats,
            stepper,
            classifier,
            addresses,
            frames,
            circuits: None,
            shared,
            shown,
            buffer,
            ready,
            over,
            lost,
            entering,
            decided,
            receiving,
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
        for (at, seat) in (0..).zip(&self.seats) {
            let port = &seat.host.port;
            let add = |file, source: u64| {
                epoll::add(&list, file, EventData::new_u64(SOURCES * at + source), EventFlags::IN)
            };
            port.held().map_or(Ok(()), |file| add(file, HELD))?;
            add(port.loose(), LOOSE)?;
        }
        Ok(list)
    }

    /// Passes packets from host to host without the model. It is used before network time begins, while connections are
    /// opened.
    fn pass_on(&mut self) -> io::Result<()> {
        for at in 0..self.seats.len() {
            let port = &mut self.seats[at].host.port;
            port.fill()?;
            while let Some(number) = port.next_held(&mut self.shown) {
                port.release(number);
            }
            port.flush()?;
            while let Some(length) = self.seats[at].host.port.read(&mut self.buffer)? {
                let burst = Burst::by_prefix(&self.buffer[..length]);
                for n in 0..burst.count() {
                    burst.write(n, &mut self.shown);
                    let packet = &self.shown[PREFIX..];
                    if let Ok(seen) = self.classifier.classify(HostId(at as u32), packet) {
                        let port = &mut self.seats[seen.dst.at()].host.port;
                        port.deliver(&[IoSlice::new(&self.shown)]);
                        port.flush_delivered();
                    }
                }
            }
        }
        Ok(())
    }

    /// Advances the network to the time of the clock, and moves packets between the network and the hosts. Returns
    /// whether there was anything to do.
    fn round(&mut self, clock: &Clock, list: &OwnedFd) -> io::Result<bool> {
        let advanced = self.stepper.advance(clock.now());
        self.carry_out(clock)?;
        let mut ready = std::mem::take(&mut self.ready);
        wait::ready(list, &mut ready)?;
        let worked = advanced || !ready.is_empty();
        for number in ready.drain(..) {
            let host = number / SOURCES as usize;
            match number as u64 % SOURCES {
                HELD => self.take_held(host, clock)?,
                _ => self.take_loose(host, clock)?,
            }
        }
        self.ready = ready;
        self.collect(clock)?;
        Ok(worked)
    }

    /// Moves packets that a host's kernel holds into the network.
    fn take_held(&mut self, at: usize, clock: &Clock) -> io::Result<()> {
        self.seats[at].host.port.fill()?;
        let mut shown = std::mem::take(&mut self.shown);
        loop {
            shown.clear();
            shown.resize(PREFIX, 0);
            let port = &mut self.seats[at].host.port;
            let Some(number) = port.next_held(&mut shown) else { break };
            match Burst::by_mtu(&shown, port.mtu) {
                Some(burst) => self.enter(at, &burst, Some(number), clock.now()),
                None => {
                    self.seats[at].postponed.push_back(number);
                    self.let_kernel_split(at, clock)?;
                }
            }
        }
        self.shown = shown;
        Ok(())
    }

    /// Moves packets that have left by a host's interface into the network.
    fn take_loose(&mut self, at: usize, clock: &Clock) -> io::Result<()> {
        for _ in 0..BURST {
            let seat = &mut self.seats[at];
            if seat.is_full() && !seat.host.port.holds() {
                return Ok(());
            }
            let Some(length) = seat.host.port.read(&mut self.buffer)? else { return Ok(()) };
            self.enter_unheld(at, length, clock.now());
        }
        Ok(())
    }

    /// Lets the kernel split datagrams of several packets, while the card has room for them.
    fn let_kernel_split(&mut self, at: usize, clock: &Clock) -> io::Result<()> {
        while let Some(number) = self.seats[at].next_postponed() {
            let port = &mut self.seats[at].host.port;
            port.release(number);
            port.flush()?;
            self.read_released(at, clock)?;
            while let Some(length) = self.seats[at].host.port.read(&mut self.buffer)? {
                self.enter_unheld(at, length, clock.now());
            }
        }
        Ok(())
    }

    /// Moves the packet in the buffer, which has left by the interface, into the network.
    fn enter_unheld(&mut self, at: usize, length: usize, now: Time) {
        let buffer = std::mem::take(&mut self.buffer);
        self.enter(at, &Burst::by_prefix(&buffer[..length]), None, now);
        self.buffer = buffer;
    }

    /// Moves the segments of a packet into the network. The kernel may hold the packet under a number.
    fn enter(&mut self, at: usize, burst: &Burst<'_>, held: Option<u32>, now: Time) {
        let mut entering = std::mem::take(&mut self.entering);
        for n in 0..burst.count() {
            let stamp = self.frames.put(burst, n, at as u32);
            let bytes = &self.frames.slots[stamp as usize].bytes[PREFIX..];
            let packet = self.classifier.classify(HostId(at as u32), bytes);
            entering.push(Packet { stamp, ..packet.unwrap_or_default() });
            if packet.is_err() {
                entering.drain(..).for_each(|packet| self.frames.free(packet.stamp));
                self.refuse(at, held);
                break;
            }
        }
        let mut previous = None;
        for Packet { stamp, .. } in &entering {
            held.iter().for_each(|number| self.frames.hold(*stamp, *number, previous));
            previous = Some(*stamp);
        }
        let goes_ahead = entering.iter().fold(false, |_, packet| self.inject(at, *packet, now));
        if let Some(last) = previous.filter(|_| goes_ahead) {
            self.release(last);
        }
        entering.clear();
        self.entering = entering;
    }

    /// Moves a frame into the network. Returns whether the kernel may release it before it leaves the card.
    fn inject(&mut self, at: usize, packet: Packet, now: Time) -> bool {
        let seat = &mut self.seats[at];
        let (node, len) = (seat.node, packet.len.into());
        let frame = &mut self.frames.slots[packet.stamp as usize];
        frame.loose = frame.state != State::Kernel;
        seat.enter(frame.loose);
        let ahead = !frame.loose && seat.may_go_ahead(len);
        frame.ahead = if ahead { len } else { 0 };
        let entered = self.stepper.inject(node, now, packet);
        self.counts.entered += u64::from(entered);
        if !entered {
            self.lose(packet.stamp);
        }
        ahead && entered
    }

    /// Drops a packet that does not belong to the network.
    fn refuse(&mut self, at: usize, held: Option<u32>) {
        self.counts.foreign += 1;
        if let Some(number) = held {
            self.seats[at].host.port.discard(number);
            self.note_decision(at);
        }
    }

    /// Records the beginning of real packets that left captured ports. Their frames are still there.
    fn capture(&mut self) {
        for (place, hop) in self.stepper.captured() {
            if matches!(hop.packet.kind, Kind::Control | Kind::Pause) {
                continue;
            }
            let frame = &self.frames.slots[hop.packet.stamp as usize];
            let mut head = burst::head(&frame.bytes, CAPTURED);
            if hop.packet.has(CE) {
                mark(&mut head, self.addresses, hop.packet.dst);
            }
            let (at, packet) = (Time::ps(hop.start), hop.packet);
            self.captured.push(CapturedFrame { place, at, packet, head });
        }
    }

    /// Handles the packets that the network has sent or delivered, and the frames that it has lost.
    fn carry_out(&mut self, clock: &Clock) -> io::Result<()> {
        let mut over = std::mem::take(&mut self.over);
        over.extend(self.stepper.handovers());
        over.sort_by_key(|(at, _)| *at);
        for (_, what) in &over {
            if let Handover::Left(packet) = what {
                self.leave(packet.stamp);
            }
        }
        // Packets are whole before they are recorded or delivered.
        self.collect(clock)?;
        self.capture();
        for (at, what) in over.drain(..) {
            match what {
                Handover::Arrived(packet) => self.arrive(&packet, at, clock)?,
                Handover::Notified(host, news) => {
                    self.circuits.iter_mut().try_for_each(|own| own.notify(host, &news))?;
                }
                Handover::Left(_) => {}
            }
        }
        self.over = over;
        self.deliver_all(clock);
        let mut lost = std::mem::take(&mut self.lost);
        lost.extend(self.stepper.lost_frames());
        lost.drain(..).for_each(|handle| self.lose(handle));
        self.lost = lost;
        Ok(())
    }

    /// Tells kernels what happens to the packets that they hold, and reads those that leave by their interfaces.
    fn collect(&mut self, clock: &Clock) -> io::Result<()> {
        let mut decided = std::mem::take(&mut self.decided);
        for at in decided.drain(..) {
            self.seats[at].host.port.flush()?;
            self.read_released(at, clock)?;
            // The interface has dropped those that are still missing, and counts them.
            self.seats[at].awaited.drain(..).for_each(|first| self.frames.resolve(first, None));
            self.let_kernel_split(at, clock)?;
        }
        decided.append(&mut self.decided);
        self.decided = decided;
        Ok(())
    }

    /// Reads packets that a host's kernel has released.
    fn read_released(&mut self, at: usize, clock: &Clock) -> io::Result<()> {
        while !self.seats[at].awaited.is_empty() {
            let seat = &mut self.seats[at];
            let Some(length) = seat.host.port.read(&mut self.buffer)? else { break };
            let (packet, mtu) = (&self.buffer[..length], seat.host.port.mtu);
            match self.frames.complete(&seat.awaited, packet, mtu) {
                Some(place) => drop(seat.awaited.remove(place)),
                None => self.enter_unheld(at, length, clock.now()),
            }
        }
        Ok(())
    }

    /// Notes that a host's kernel has yet to learn what happens to packets.
    fn note_decision(&mut self, at: usize) {
        if self.decided.last() != Some(&at) {
            self.decided.push(at);
        }
    }

    /// Lets the packet of a frame leave by its host's interface, if the kernel holds it.
    fn release(&mut self, handle: u32) {
        let Some(number) = self.frames.let_go(handle) else { return };
        let frame = &self.frames.slots[handle as usize];
        let at = frame.host as usize;
        self.seats[at].host.port.release(number);
        self.seats[at].awaited.push_back(frame.first);
        self.note_decision(at);
    }

    /// Notes that a frame has left its host's card.
    fn leave(&mut self, handle: u32) {
        let frame = &mut self.frames.slots[handle as usize];
        if !std::mem::replace(&mut frame.left, true) {
            let at = frame.host as usize;
            self.seats[at].leave(frame.ahead, frame.loose);
            self.release(handle);
            self.note_room(at);
        }
    }

    /// Notes that datagrams wait for the room that a packet has left in the card.
    fn note_room(&mut self, at: usize) {
        if !self.seats[at].postponed.is_empty() {
            self.note_decision(at);
        }
    }

    /// Removes a frame that the network has dropped, perhaps before it left its host's card.
    fn lose(&mut self, handle: u32) {
        let frame = &mut self.frames.slots[handle as usize];
        let at = frame.host as usize;
        if !std::mem::replace(&mut frame.left, true) {
            self.seats[at].leave(frame.ahead, frame.loose);
        }
        if let Some(number) = self.frames.lose(handle) {
            self.seats[at].host.port.discard(number);
            self.note_decision(at);
        }
        self.note_room(at);
    }
}

/// Marks an ECN-capable IPv4 packet.
fn mark(bytes: &mut [u8], addresses: Addresses, dst: HostId) {
    let ecn = bytes.get(1).map_or(0, |byte| byte & 3);
    let destination = IpAddr::V4(addresses.of(dst));
    marks::mark(bytes, &marks::Packet { at: 0, destination, ports: (0, 0), ecn });
}
