//! Measures the gates of daemons (`NFQUEUE`, and a packet socket) alone: a program holds the packets that a host sends over the kernel's bridge,
//! and releases them at once or in every second slot of the clock. TCP's segments are held as it joins them, split, and
//! joined as far as they fit into a slot, as daemons hold them. Beside it, where the kernel can, packets leave at given times
//! ([`slotline_linux::departures`]), or pass without the queue in the rest of an open slot.

use crate::bridged::{ADDRESSES, transfer};
use crate::emulate::{SPAN, row};
use crate::table::Outcome;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use slotline_emulate::bridge::{Bridge, BridgeOptions};
use slotline_emulate::isolation;
use slotline_lab::live::TURN_PARTS;
use slotline_linux::departures::{Departures, Slots as OpenSlots};
use slotline_linux::gate::{self, Gate, Held, Joined, Kind, Origin, Room};
use slotline_linux::hold::Leave;
use slotline_live::agent::RELEASED;
use slotline_net::wire::ETHERNET_OVERHEAD;
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The last part of a slot, in which nothing is released, because what was released before it is still on its way: a tenth
/// of the slot, and at least this time.
const LEAST_GUARD_NS: u64 = 20_000;
/// The time before a slot for which the program does not sleep, ns.
const SPIN_NS: u64 = 60_000;
/// The links of hosts with agents, and their rates in Mbit/s.
const LINKS: [(&str, u64); 2] = [("agent, 10 Gbit/s", 10_000), ("agent, 1 Gbit/s", 1_000)];
/// The rate of datagrams, which is less than half of what a bridge carries here, and their bytes.
const PACED: u64 = 400_000_000;
const DATAGRAM: usize = 1_400;
/// The time that 1,024 bytes take at 10 Gbit/s, ns, and the interface at which packets get departure times.
const PACE: u64 = 819;
const INTERFACE: &str = "veth0";
/// The time for which a gate without slots stays open, ns.
const OPENED: u64 = 20_000_000;
const PORT: u16 = 7_002;

/// Measures a gate that is always open, or open in every second slot.
pub(crate) fn measure(slot: &str) -> Outcome {
    let case = format!("gate:{slot}");
    let schedule = match slot {
        "open" => None,
        _ => Some(slot.parse::<slotline_net::time::Time>()?.as_ps() / 1_000).filter(|ns| *ns > 0),
    };
    let slots = Slots { ns: schedule };
    let bridge = Bridge::new(
        &ADDRESSES,
        &BridgeOptions { mtu: 1_500, limit: None, families: Default::default(), one_by_one: false },
    )?;
    let free = transfer(&bridge, SPAN)?;
    let mut rows = vec![row(&case, "none", "goodput", free, "Mbit/s")];
    let ways = [("queue", Way::Joined), ("queue, split", Way::Split), ("opened", Way::Opened)];
    let held = Way::Packet.held(slots);
    let sockets = bridge.inside(0, || gate::open(Kind::Packet, &held).map(drop));
    let sockets = sockets.is_ok().then_some(("packet", Way::Packet));
    let open = slots.ns.is_none().then_some(("passing", Way::Passing));
    let missing = bridge.inside(0, || Departures::at(&[INTERFACE.into()]).map(drop)).err();
    let timed = [("marks, fq", Way::Marks), ("slots, fq", Way::Times)].into_iter();
    let timed: Vec<_> = timed.filter(|_| slots.ns.is_some() && missing.is_none()).collect();
    let agents = LINKS.map(|(name, rate)| (name, Way::Agent(rate)));
    let agents = agents.into_iter().filter(|_| slots.ns.is_some());
    for (name, way) in
        ways.into_iter().chain(sockets).chain(open).chain(agents).chain(timed.clone())
    {
        let (held, cpu) = beside(&bridge, slots, way, || transfer(&bridge, SPAN))?;
        let held = held?;
        rows.extend([
            row(&case, name, "goodput", held, "Mbit/s"),
            row(&case, name, "of_ungated", held / free, "times"),
            row(&case, name, "cpu", cpu * 100.0, "% of a core"),
        ]);
    }
    let datagrams = [("queue", Way::Split), ("opened", Way::Opened)];
    let datagrams = datagrams.into_iter().chain(sockets).chain(timed);
    for (name, way) in datagrams.filter(|_| slots.ns.is_some()) {
        let (arrived, _) = beside(&bridge, slots, way, || paced(&bridge))?;
        let arrived = arrived?;
        let outside = arrived.iter().filter(|at| !slots.contains(**at)).count();
        let share = outside as f64 / arrived.len().max(1) as f64;
        rows.push(row(&case, name, "datagrams", arrived.len() as f64, "packets"));
        rows.push(row(&case, name, "outside", share * 100.0, "% of datagrams"));
    }
    Ok(rows)
}

/// How packets go through the gate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Segments that TCP joins are held as one packet.
    Joined,
    /// The same by a packet socket, as far as its ring has room for joined segments.
    Packet,
    /// Each segment is held.
    Split,
    /// As agents hold segments where the links of hosts have this rate, in Mbit/s: joined as far as they fit into a slot.
    Agent(u64),
    /// None is held: the gate lets packets pass, as an agent does that obeys no arbiter.
    Passing,
    /// Joined segments are held between slots, and pass without the queue in a slot once none is held any more.
    Opened,
    /// Each packet is released at once, with a mark, and `fq` keeps it until its slot.
    Marks,
    /// No packet is held by a queue: a program at the interface computes its slot, and `fq` keeps it until then.
    Times,
}

impl Way {
    fn kind(self) -> Kind {
        if self == Way::Packet { Kind::Packet } else { Kind::Queue }
    }

    fn held(self, slots: Slots) -> Held {
        Held {
            origin: Origin::Applications,
            network: vec!["10.78.0.0/24".into()],
            hosts: vec![ADDRESSES[1].into()],
            exempt_ports: vec![],
            queue: 1,
            joined: self.joined(slots),
            timed: matches!(self, Way::Marks | Way::Times),
        }
    }

    fn joined(self, slots: Slots) -> Joined {
        let bytes = |rate: u64| rate * slots.ns.unwrap_or(u64::MAX / rate) / 8_000 / TURN_PARTS;
        match self {
            Way::Joined | Way::Packet | Way::Opened | Way::Marks => Joined::All,
            Way::Split | Way::Passing | Way::Times => Joined::No,
            Way::Agent(rate) => {
                Joined::Within(Room { bytes: bytes(rate), framing: ETHERNET_OVERHEAD.into() })
            }
        }
    }
}

/// The slots in which the gate is open: all time, or every second slot of the clock.
#[derive(Clone, Copy)]
struct Slots {
    ns: Option<u64>,
}

impl Slots {
    /// Whether a time is in an open slot.
    fn contains(self, at: u64) -> bool {
        self.ns.is_none_or(|ns| (at / ns).is_multiple_of(2))
    }

    /// Whether packets are released at a time.
    fn is_open(self, at: u64) -> bool {
        let guarded = |ns: u64| at % ns + Slots::guard(ns) < ns;
        self.contains(at) && self.ns.is_none_or(guarded)
    }

    /// The last part of a slot, in which nothing is released.
    fn guard(ns: u64) -> u64 {
        LEAST_GUARD_NS.max(ns / 10)
    }

    /// The time of the end of the open slot of a time.
    fn end(self, at: u64) -> u64 {
        self.ns.map_or(at + OPENED, |ns| at - at % ns + ns - Slots::guard(ns))
    }

    /// The slots for a program at the interface. The monotonic clock differs from that of slots by `offset`.
    fn of_program(self, offset: u64) -> Option<OpenSlots> {
        let network = (ADDRESSES[0], 24);
        self.ns.map(|ns| OpenSlots {
            origin: offset.wrapping_neg().next_multiple_of(2 * ns).wrapping_add(offset),
            period: 2 * ns,
            open: ns - Slots::guard(ns),
            pace: PACE,
            network,
        })
    }

    /// The number of packets that are released before the clock is read again.
    fn at_once(self) -> usize {
        if self.ns.is_some() { RELEASED } else { usize::MAX }
    }

    /// The time until packets are released again.
    fn until_open(self, at: u64) -> u64 {
        self.ns.filter(|_| !self.is_open(at)).map_or(0, |ns| 2 * ns - at % (2 * ns))
    }
}

/// The time of day in ns.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Runs `work` while a gate is in the first host. Returns its result, and the processor time of the gate's thread as a
/// fraction of the time.
fn beside<T: Send>(
    bridge: &Bridge,
    slots: Slots,
    way: Way,
    work: impl FnOnce() -> T + Send,
) -> io::Result<(T, f64)> {
    let (ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let keeper = scope.spawn(|| bridge.inside(0, || keep(slots, way, &ready, &stop)));
        while !ready.load(Ordering::Acquire) && !keeper.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let done = work();
        stop.store(true, Ordering::Release);
        let cpu = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok((done, cpu))
    })
}

/// Holds and releases packets until it is stopped. Returns the share of a processor that it took.
fn keep(slots: Slots, way: Way, ready: &AtomicBool, stop: &AtomicBool) -> io::Result<f64> {
    let mut gate = gate::open(way.kind(), &way.held(slots))?;
    gate.pass(matches!(way, Way::Passing | Way::Times))?;
    let offset = monotonic().wrapping_sub(now());
    if way == Way::Times {
        gate.keep(slots.of_program(offset))?;
    }
    isolation::serve_first();
    ready.store(true, Ordering::Release);
    let (began, cpu) = (now(), cpu_ns());
    let (mut waiting, mut head) = (VecDeque::new(), Vec::new());
    while !stop.load(Ordering::Acquire) {
        gate.fill()?;
        while let Some(packet) = gate.next(&mut head) {
            head.clear();
            match way {
                Way::Marks => {
                    let at = now();
                    let leaves = at + slots.until_open(at);
                    gate.release(packet, Leave::At(leaves.wrapping_add(offset)));
                }
                _ => waiting.push_back(packet),
            }
        }
        gate.flush()?;
        while !waiting.is_empty() && slots.is_open(now()) {
            let some = waiting.len().min(slots.at_once());
            waiting.drain(..some).for_each(|packet| gate.release(packet, Leave::Now));
            gate.flush()?;
        }
        if way == Way::Opened && waiting.is_empty() && slots.is_open(now()) {
            gate.open_until(slots.end(now()).wrapping_add(offset));
        }
        let at = now();
        rest(&*gate, slots.until_open(at), waiting.is_empty())?;
    }
    waiting.drain(..).for_each(|packet| gate.release(packet, Leave::Now));
    gate.flush()?;
    Ok((cpu_ns() - cpu) as f64 / (now() - began).max(1) as f64)
}

/// Sleeps until a packet comes; if packets wait already, until shortly before the next slot.
fn rest(gate: &dyn Gate, until_open: u64, idle: bool) -> io::Result<()> {
    let span = match (idle, until_open) {
        (true, _) => 5_000_000,
        (false, span) => span.saturating_sub(SPIN_NS),
    };
    let timeout = Timespec { tv_sec: 0, tv_nsec: span as i64 };
    let watched = if idle { PollFlags::IN } else { PollFlags::empty() };
    poll(&mut [PollFd::from_borrowed_fd(gate.as_fd(), watched)], Some(&timeout))?;
    Ok(())
}

fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sends datagrams at a rate, and returns the times at which they arrived in the kernel of the receiver.
fn paced(bridge: &Bridge) -> io::Result<Vec<u64>> {
    let receiver = bridge.inside(1, || UdpSocket::bind((ADDRESSES[1], PORT)))?;
    receiver.set_read_timeout(Some(Duration::from_millis(200)))?;
    setsockopt(&receiver, ReceiveTimestampns, &true)?;
    let sender = bridge.inside(0, || UdpSocket::bind((ADDRESSES[0], PORT)))?;
    sender.connect((ADDRESSES[1], PORT))?;
    std::thread::scope(|scope| {
        scope.spawn(move || send(&sender));
        let mut arrived = Vec::new();
        while let Some(at) = arrival(&receiver)? {
            arrived.push(at);
        }
        Ok(arrived)
    })
}

/// Sends datagrams for the time of a transfer. A datagram that finds no room is left out.
fn send(socket: &UdpSocket) {
    let (began, datagram) = (now(), [0; DATAGRAM]);
    let mut sent = 0;
    while now() - began < SPAN.as_nanos() as u64 {
        let due = (now() - began) * PACED / 8_000_000_000 / DATAGRAM as u64;
        for _ in sent..due {
            let _ = socket.send(&datagram);
        }
        sent = due;
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The time at which the next datagram came to the kernel; `None` if none comes any more.
fn arrival(socket: &UdpSocket) -> io::Result<Option<u64>> {
    arrived(socket, &mut [0; DATAGRAM])
}

/// Reads the next datagram into `room`, and returns the time at which it came to the kernel; `None` if none comes any more.
pub(crate) fn arrived(socket: &UdpSocket, room: &mut [u8]) -> io::Result<Option<u64>> {
    let mut messages = nix::cmsg_space!(TimeSpec);
    let mut slices = [IoSliceMut::new(room)];
    let flags = MsgFlags::empty();
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut messages), flags);
    match received.map_err(io::Error::from) {
        Ok(received) => Ok(received.cmsgs()?.find_map(|message| match message {
            ControlMessageOwned::ScmTimestampns(at) => {
                Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64)
            }
            _ => None,
        })),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_slot_is_open_up_to_the_guard() {
        let slots = Slots { ns: Some(100_000) };
        let open = |at| (slots.contains(at), slots.is_open(at), slots.until_open(at));
        assert_eq!(open(400_000), (true, true, 0));
        assert_eq!(open(479_999), (true, true, 0));
        assert_eq!(open(480_000), (true, false, 120_000));
        assert_eq!(open(500_000), (false, false, 100_000));
        assert_eq!(slots.end(412_345), 480_000);
        // The monotonic clock may be behind that of slots.
        for behind in [0, 1, 1_234_567, 1_700_000_000_000_000_000] {
            let own = slots.of_program(0u64.wrapping_sub(behind)).unwrap();
            assert!((own.origin + behind).is_multiple_of(200_000) && own.origin < 200_000);
        }
        let always = Slots { ns: None };
        assert!(always.is_open(500_000) && always.until_open(500_000) == 0);
    }
}
