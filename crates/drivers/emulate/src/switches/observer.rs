//! Observes a network of real switches while it runs: samples of the queues of its ports, and packets that leave ports.

use super::cables::interface;
use super::ports::{Counts, Place, Ports};
use super::{SwitchError, failed};
use crate::burst::{self, Burst};
use crate::classify::{Addresses, Classifier};
use crate::clock::Clock;
use crate::fabric::{CAPTURED, CapturedFrame};
use crate::ipv4;
use crate::isolation;
use crate::port::PREFIX;
use crate::shared::Shared;
use crate::wire::without_ethernet;
use slotline_net::node::host::Plan;
use slotline_net::samples::Samples;
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, Wiring};
use slotline_rings::{CaptureSocket, Direction};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often captured packets are read.
const READ: Duration = Duration::from_millis(5);
/// How often the beginning of network time is looked for.
const WAIT: Duration = Duration::from_millis(1);
/// The size of the ring of a captured port in MiB: some 120 packets.
const BLOCKS: u16 = 2;

/// What is observed.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The ports of switches that are sampled.
    pub sampled: Vec<Place>,
    /// The time between samples; zero for no samples.
    pub interval: Time,
    /// The captured ports.
    pub captured: Vec<Place>,
    /// The most packets captured at each port.
    pub limit: u64,
}

/// What was observed.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Samples. Numbers of ports are places in [`Asked::sampled`].
    pub samples: Samples,
    /// Packets that left captured ports, in order of time at each port.
    pub frames: Vec<CapturedFrame>,
    /// By captured port, the packets that are not among these.
    pub omitted: Vec<u64>,
}

/// Observes a network. It belongs to a thread of its own.
pub struct Observer {
    asked: Asked,
    ports: Ports,
    captures: Vec<PortCapture>,
    frame: Vec<u8>,
    observed: Observed,
}

/// A captured port.
struct PortCapture {
    socket: CaptureSocket,
    /// Each port has a classifier of its own, which recognises segments that it has seen before.
    classifier: Classifier,
    addresses: Addresses,
    left: u64,
    /// A packet of a frame, with its prefix.
    packet: Vec<u8>,
}

impl Observer {
    /// Opens what is needed to observe a network whose switches are in the present network namespace.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn new(
        (graph, wiring): (&Graph, &Wiring),
        plan: &Arc<Plan>,
        asked: Asked,
    ) -> Result<Observer, SwitchError> {
        let ports = Ports::open(graph, wiring, &[]).map_err(failed("find queues"))?;
        let addresses = Addresses { hosts: graph.hosts.len() as u32 };
        let open = |place: &Place| -> io::Result<PortCapture> {
            let socket = socket(graph, wiring, *place)?;
            let classifier = Classifier::new(Arc::clone(plan), addresses);
            Ok(PortCapture { socket, classifier, addresses, left: asked.limit, packet: Vec::new() })
        };
        let captures = asked.captured.iter().map(open).collect::<io::Result<Vec<_>>>();
        let captures = captures.map_err(failed("capture packets"))?;
        let observed = Observed {
            samples: Samples::of_ports(0..asked.sampled.len() as u32),
            frames: Vec::new(),
            omitted: vec![0; captures.len()],
        };
        Ok(Observer { asked, ports, captures, frame: Vec::new(), observed })
    }

    /// Observes from the beginning of network time until the emulation is stopped, or until its end.
    ///
    /// # Errors
    /// The kernel no longer answers. The emulation is then stopped.
    pub fn run(self, end: Time, shared: &Shared) -> Result<Observed, SwitchError> {
        let observed = self.observe(end, shared);
        if observed.is_err() {
            shared.stop();
        }
        observed.map_err(failed("observe ports"))
    }

    fn observe(mut self, end: Time, shared: &Shared) -> io::Result<Observed> {
        if self.is_idle() {
            return Ok(self.observed);
        }
        isolation::serve_first();
        let Some(clock) = self.wait(shared)? else { return Ok(self.observed) };
        let before = self.ports.read()?;
        let mut next = self.after(Time::ZERO, end);
        while !shared.stopped() && clock.now() < end {
            let until = next.map_or(READ, |at| clock.until(at));
            std::thread::sleep(until.min(READ));
            if let Some(due) = next.filter(|due| clock.now() >= *due) {
                self.sample(&clock, &before)?;
                next = self.after(due.max(clock.now()), end);
            }
            self.capture(&clock, end)?;
        }
        self.capture(&clock, end)?;
        for (capture, omitted) in self.captures.iter_mut().zip(&mut self.observed.omitted) {
            *omitted += capture.socket.dropped()?;
        }
        Ok(self.observed)
    }

    /// Waits until network time begins. What leaves ports before is not recorded.
    fn wait(&mut self, shared: &Shared) -> io::Result<Option<Clock>> {
        while shared.clock().is_none() && !shared.stopped() {
            for capture in &mut self.captures {
                while capture.socket.receive(&mut self.frame).is_some() {
                    self.frame.clear();
                }
                capture.socket.dropped()?;
            }
            std::thread::sleep(WAIT);
        }
        Ok(shared.clock())
    }

    fn is_idle(&self) -> bool {
        self.captures.is_empty() && self.asked.interval == Time::ZERO
    }

    /// The time of the next sample after `now` and before `end`: a multiple of the interval.
    fn after(&self, now: Time, end: Time) -> Option<Time> {
        let interval = self.asked.interval;
        let passed = now.as_ps().checked_div(interval.as_ps())?;
        Some(interval.times(passed + 1)).filter(|at| *at < end)
    }

    /// Records what each sampled port has sent since `before`, and what waits there.
    fn sample(&mut self, clock: &Clock, before: &Counts) -> io::Result<()> {
        let time = clock.now().as_ps();
        let now = self.ports.read_switches()?.since(before);
        self.observed.samples.take(time, |port| {
            let counted = now.of(self.asked.sampled[port as usize]);
            (counted.waiting, counted.bytes)
        });
        Ok(())
    }

    /// Records packets that have left captured ports before `end`.
    fn capture(&mut self, clock: &Clock, end: Time) -> io::Result<()> {
        let (now, today) = (Instant::now(), SystemTime::UNIX_EPOCH.elapsed());
        let today = today.map_err(io::Error::other)?;
        let Observer { captures, frame, observed, .. } = self;
        for (place, capture) in captures.iter_mut().enumerate() {
            frame.clear();
            while let Some(seen) = capture.socket.receive(frame) {
                // Those that came since then are later than now.
                let instant = now + seen.saturating_sub(today);
                let instant = instant.checked_sub(today.saturating_sub(seen));
                let at = instant.and_then(|instant| clock.at(instant));
                if let Some(at) = at.filter(|at| *at < end) {
                    capture.record(place, at, frame, observed);
                }
                frame.clear();
            }
        }
        Ok(())
    }
}

impl PortCapture {
    /// Records the packets of a frame.
    fn record(&mut self, place: usize, at: Time, frame: &mut Vec<u8>, observed: &mut Observed) {
        if !without_ethernet(frame) {
            return;
        }
        let burst = Burst::by_prefix(frame);
        for n in 0..burst.count() {
            burst.write(n, &mut self.packet);
            let bytes = &self.packet[PREFIX..];
            let source = ipv4::parse(bytes).map(|headers| headers.src);
            let source = source.and_then(|address| self.addresses.host(address));
            let classified = source.map(|src| self.classifier.classify(src, bytes));
            let Some(Ok(packet)) = classified else { continue };
            match self.left.checked_sub(1) {
                None => observed.omitted[place] += 1,
                Some(left) => {
                    self.left = left;
                    let head = burst::head(&self.packet, CAPTURED);
                    observed.frames.push(CapturedFrame { place, at, packet, head });
                }
            }
        }
    }
}

/// The socket that sees what leaves a port. What a switch sends passes the queue of the interface at the far end. What a host
/// sends arrives by the interface next to it, behind the queue of its card.
fn socket(graph: &Graph, wiring: &Wiring, (node, port): Place) -> io::Result<CaptureSocket> {
    let far = wiring.of(node)[port.at()].far;
    let (end, direction) = match graph.hosts.contains(&node) {
        true => (End { node, port }, Direction::Arriving),
        false => (far, Direction::Leaving),
    };
    CaptureSocket::open(&interface(graph, end), direction, BLOCKS)
}
