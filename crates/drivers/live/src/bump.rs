//! The bump as a daemon: packets that this machine forwards pass virtual queues, whose discipline marks or drops them
//! (Al-Fares, NetBump, chapter 5). It never holds a packet.

use crate::metrics::Exposition;
use crate::running::Running;
use crate::status::{Shared, Status};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;
use slotline_bump::pipeline::{Action, Others};
use slotline_bump::{ByDestination, Own, Pipeline};
use slotline_linux::crossing::Crossing;
use slotline_linux::hold::{Hold, Leave, Ticket};
use slotline_net::aqm::{Counts, Discipline};
use slotline_net::time::Time;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// The length of the Ethernet header. Netfilter copies packets without it, and the pipeline reads only its last field.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// The longest time for which the daemon waits for a packet, in ns.
const NAP: i64 = 100_000_000;
/// The number of queues in the status: those with the most packets.
const SHOWN: usize = 20;

/// A bump between interfaces of this machine.
pub struct LiveBump<D> {
    crossing: Crossing,
    pipeline: Pipeline<ByDestination, D, Own>,
    /// The current packet, after room for the Ethernet header.
    frame: Vec<u8>,
    /// The kernel's number of the latest packet.
    latest: Option<u32>,
    passed: Passed,
}

/// Packets that passed without a decision.
#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    /// Packets that passed because the bump was drained.
    drained: u64,
    /// Packets that the kernel let pass because this program was too slow.
    unseen: u64,
}

/// A bump at one moment.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct BumpStatus {
    /// Whether all packets pass without a decision.
    pub drained: bool,
    /// Packets that had a virtual queue.
    pub packets: u64,
    /// Packets that were marked (congestion experienced).
    pub marked: u64,
    /// Packets that the discipline dropped.
    pub dropped: u64,
    /// Packets that were dropped because their virtual queue had no room for them.
    pub no_room: u64,
    /// Malformed packets.
    pub malformed: u64,
    /// Packets without a virtual queue. They passed.
    pub unclassified: u64,
    /// Packets that passed while the bump was drained.
    pub passed_drained: u64,
    /// Packets that the kernel let pass, because the bump was too slow.
    pub passed_unseen: u64,
    /// Virtual queues whose discipline has failed. Their packets pass.
    pub failed: usize,
    /// Bytes in the virtual queues with the most packets, by destination.
    pub queues: BTreeMap<IpAddr, u64>,
}

impl<D: Discipline> LiveBump<D> {
    /// A bump for these packets, with these virtual queues.
    pub fn new(crossing: Crossing, pipeline: Pipeline<ByDestination, D, Own>) -> LiveBump<D> {
        LiveBump { crossing, pipeline, frame: Vec::new(), latest: None, passed: Passed::default() }
    }

    /// Decides about packets until it is stopped. Afterwards packets pass without a decision.
    ///
    /// # Errors
    /// An error of the kernel's queue.
    pub fn run(mut self, running: &Running, shared: &Shared<BumpStatus>) -> io::Result<()> {
        while !running.stopped() {
            self.burst(running, shared.is_drained())?;
            self.crossing.queue.flush()?;
            shared.show(|| self.status(now(running), shared.is_drained()));
        }
        Ok(())
    }

    fn burst(&mut self, running: &Running, drained: bool) -> io::Result<()> {
        self.crossing.queue.fill()?;
        let mut idle = true;
        self.frame.resize(ETHERNET, 0);
        while let Some(packet) = self.crossing.queue.next(&mut self.frame) {
            idle = false;
            self.count_unseen(packet.number);
            match drained {
                true => self.pass(packet),
                false => self.judge(packet, now(running)),
            }
            self.frame.resize(ETHERNET, 0);
        }
        if idle { self.sleep() } else { Ok(()) }
    }

    /// Waits for a packet, and not longer than [`NAP`], so that commands are handled.
    fn sleep(&self) -> io::Result<()> {
        let mut files = [PollFd::from_borrowed_fd(self.crossing.queue.as_fd(), PollFlags::IN)];
        match poll(&mut files, Some(&Timespec { tv_sec: 0, tv_nsec: NAP })) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts packets that the kernel let pass because this program was too slow. Their numbers are missing.
    fn count_unseen(&mut self, number: u32) {
        let missing = self.latest.map_or(0, |latest| number.wrapping_sub(latest).saturating_sub(1));
        self.passed.unseen += u64::from(missing);
        self.latest = Some(number);
    }

    fn pass(&mut self, packet: Ticket) {
        self.passed.drained += 1;
        self.crossing.queue.release(packet, Leave::Now);
    }

    fn judge(&mut self, packet: Ticket, now: Time) {
        let six = self.frame.get(ETHERNET).is_some_and(|byte| byte >> 4 == 6);
        self.frame[ETHERNET - 2..ETHERNET].copy_from_slice(if six { &IPV6 } else { &IPV4 });
        let length = self.frame.len() as u32;
        let action = self.pipeline.pass(&mut self.frame, length, now).action;
        let queue = &mut self.crossing.queue;
        match action {
            Action::Mark => queue.release_as(packet, &self.frame[ETHERNET..]),
            action if action.forwards() => queue.release(packet, Leave::Now),
            _ => queue.discard(packet),
        }
    }

    fn status(&mut self, now: Time, drained: bool) -> BumpStatus {
        let counts: Vec<Counts> = self.pipeline.counts().collect();
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
        let Others { unclassified, malformed } = self.pipeline.others();
        BumpStatus {
            drained,
            packets: sum(|counts| counts.packets),
            marked: sum(|counts| counts.marks),
            dropped: sum(|counts| counts.early),
            no_room: sum(|counts| counts.full),
            malformed,
            unclassified,
            passed_drained: self.passed.drained,
            passed_unseen: self.passed.unseen,
            failed: self.pipeline.disciplines().filter(|one| one.failure().is_some()).count(),
            queues: self.busiest(&counts, now),
        }
    }

    /// The virtual queues with the most packets, and the bytes in them now.
    fn busiest(&mut self, counts: &[Counts], now: Time) -> BTreeMap<IpAddr, u64> {
        let networks = self.pipeline.classifier().networks().to_vec();
        let mut queues: Vec<usize> = (0..networks.len()).collect();
        queues.sort_by_key(|&queue| std::cmp::Reverse(counts[queue].packets));
        queues.truncate(SHOWN);
        queues.iter().map(|&queue| (networks[queue], self.pipeline.backlog(queue, now))).collect()
    }
}

/// The time of virtual queues: the time since the start of the daemon.
fn now(running: &Running) -> Time {
    Time::ps(running.now().0.saturating_mul(1_000))
}

impl Status for BumpStatus {
    fn metrics(&self) -> String {
        let mut out = Exposition::default();
        out.gauge(
            "drained",
            "Whether all packets pass without a decision.",
            u8::from(self.drained),
        );
        out.counter("packets", "Packets that had a virtual queue.", self.packets);
        out.counter("marked_packets", "Packets marked with congestion experienced.", self.marked);
        out.counter("dropped_packets", "Packets that the discipline dropped.", self.dropped);
        out.counter(
            "no_room_packets",
            "Packets dropped because their virtual queue had no room.",
            self.no_room,
        );
        out.counter("malformed_packets", "Malformed packets.", self.malformed);
        out.counter(
            "unclassified_packets",
            "Packets without a virtual queue, which passed.",
            self.unclassified,
        );
        out.counter(
            "passed_drained_packets",
            "Packets that passed while the bump was drained.",
            self.passed_drained,
        );
        out.counter(
            "passed_unseen_packets",
            "Packets that passed because the bump was too slow.",
            self.passed_unseen,
        );
        out.gauge("failed_disciplines", "Virtual queues whose discipline has failed.", self.failed);
        let queues = self.queues.iter().map(|(network, bytes)| (network.to_string(), *bytes));
        out.labelled(
            "virtual_queue_bytes",
            "Bytes in virtual queues, by destination.",
            "destination",
            queues,
        );
        out.end()
    }
    fn unready(&self) -> Option<String> {
        self.drained.then(|| "it is drained: packets pass without a decision".into())
    }
}
