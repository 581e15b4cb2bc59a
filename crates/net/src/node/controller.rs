//! The host on which a central scheduler runs.

use super::{Census, Cx, DropReason, Node, Tally};
use crate::control::{Control, Decision, News, Plan};
use crate::frame::{Kind, Packet};
use crate::id::{HostId, PortId};
use crate::time::Time;
use crate::wire::xco::{Body, MAX_RATES, Message, OVERHEAD, newer};
use std::any::Any;

/// Priority class of control messages.
pub const CONTROL_CLASS: u8 = 7;

const DECIDE: u32 = 0;
const SWEEP: u32 = 1;

/// What a controller has done so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Times the scheduler was asked.
    pub decisions: u64,
    /// Directives sent.
    pub directives: u64,
    /// Bytes of directives on the wire.
    pub bytes_sent: u64,
    /// Messages from coordinators.
    pub reports: u64,
    /// Bytes of these on the wire.
    pub bytes_received: u64,
    /// Messages that could not be understood, or came late.
    pub ignored: u64,
}

#[derive(Clone, Default)]
struct Peer {
    /// Number of the last message from it.
    heard: Option<u32>,
    /// Number of the next directive to it.
    next: u32,
    /// When it was last heard.
    at: Time,
    /// Whether it has something waiting.
    busy: bool,
}

/// Translates messages into news for a [`Control`], and its decisions into directives. Sends by its
/// FIFO port 0.
pub struct Controller {
    host: HostId,
    decision_time: Time,
    timeout: Time,
    control: Box<dyn Control>,
    peers: Vec<Peer>,
    plan: Plan,
    /// When the scheduler is asked next; [`Time::MAX`]: when there are news.
    due: Time,
    sweeping: bool,
    census: Census,
    counters: Counters,
}

impl Controller {
    /// A controller on `host`, one of `hosts` hosts. Directives leave `decision_time` after the event
    /// that they answer; busy hosts that are silent for `timeout` are taken to be gone.
    pub fn new(
        host: HostId,
        hosts: usize,
        decision_time: Time,
        timeout: Time,
        control: Box<dyn Control>,
    ) -> Controller {
        Controller {
            host,
            decision_time,
            timeout,
            control,
            peers: vec![Peer::default(); hosts],
            plan: Plan::new(),
            due: Time::MAX,
            sweeping: false,
            census: Census::default(),
            counters: Counters::default(),
        }
    }
    /// What it has done so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Asks the scheduler `decision_time` after an event at `event`.
    fn ask(&mut self, event: Time, cx: &mut Cx<'_>) {
        let at = event.after(self.decision_time);
        if at < self.due {
            self.due = at;
            cx.wake(at, DECIDE);
        }
    }
    fn hear(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        self.counters.reports += 1;
        let message = Message::parse(bytes).ok();
        if message.and_then(|message| self.accept(message, cx)).is_none() {
            self.counters.ignored += 1;
        }
    }
    fn accept(&mut self, message: Message, cx: &mut Cx<'_>) -> Option<()> {
        let Message { host, seq, body, .. } = message;
        let peer = self.peers.get_mut(host.at())?;
        let restarted = body == Body::Hello;
        if !restarted && peer.heard.is_some_and(|last| !newer(seq, last)) {
            return None;
        }
        let news = match &body {
            Body::Hello => News::Joined(host),
            Body::Leave => News::Left(host),
            Body::Backlog(destinations) => News::backlog(host, destinations),
            Body::Release(dst) => News::Released { host, dst: *dst },
            Body::Window { .. } | Body::Rates(_) => return None,
        };
        peer.heard = Some(seq);
        peer.at = cx.now;
        match &body {
            Body::Backlog(destinations) => peer.busy = !destinations.is_empty(),
            Body::Release(_) => {}
            _ => peer.busy = false,
        }
        self.control.observe(&news, cx.now);
        self.ask(cx.now, cx);
        self.watch(cx);
        Some(())
    }
    /// Looks for silent hosts from time to time, while there are busy ones.
    fn watch(&mut self, cx: &mut Cx<'_>) {
        if !self.sweeping && self.peers.iter().any(|peer| peer.busy) {
            self.sweeping = true;
            cx.wake(cx.now.after(self.timeout), SWEEP);
        }
    }
    fn sweep(&mut self, cx: &mut Cx<'_>) {
        self.sweeping = false;
        for (at, peer) in self.peers.iter_mut().enumerate() {
            if peer.busy && cx.now.since(peer.at) > self.timeout {
                peer.busy = false;
                self.control.observe(&News::Left(HostId(at as u32)), cx.now);
            }
        }
        self.ask(cx.now, cx);
        self.watch(cx);
    }
    fn decide(&mut self, cx: &mut Cx<'_>) {
        self.due = Time::MAX;
        self.counters.decisions += 1;
        let mut plan = std::mem::take(&mut self.plan);
        let again = self.control.decide(cx.now, &mut plan);
        for directive in plan.chunk_by(joined) {
            directive.chunks(MAX_RATES).for_each(|part| self.direct(part, cx));
        }
        plan.clear();
        self.plan = plan;
        if let Some(at) = again {
            self.ask(at, cx);
        }
    }
    /// Sends one message: a window, or the rates of one host.
    fn direct(&mut self, decisions: &[Decision], cx: &mut Cx<'_>) {
        let host = decisions[0].host();
        let Some(peer) = self.peers.get_mut(host.at()) else {
            return;
        };
        let body = body(decisions, cx.now);
        let seq = peer.next;
        peer.next = seq.wrapping_add(1);
        let heard = peer.heard.unwrap_or(0);
        let bytes = Message { host, seq, heard, body }.emit();
        let packet = cx.attach((self.host, host), bytes, OVERHEAD, CONTROL_CLASS);
        self.census.created += 1;
        self.counters.directives += 1;
        self.counters.bytes_sent += u64::from(packet.len);
        cx.send(PortId(0), packet);
    }
}

/// Whether two decisions go into one message.
fn joined(a: &Decision, b: &Decision) -> bool {
    let rates = |d: &Decision| matches!(d, Decision::Rate { .. });
    rates(a) && rates(b) && a.host() == b.host()
}

fn body(decisions: &[Decision], now: Time) -> Body {
    if let Decision::Window { dst, until, rate, .. } = decisions[0] {
        return Body::Window { dst, duration: until.since(now), rate };
    }
    let rate = |decision: &Decision| match *decision {
        Decision::Rate { dst, rate, .. } => Some((dst, rate)),
        Decision::Window { .. } => None,
    };
    Body::Rates(decisions.iter().filter_map(rate).collect())
}

impl Node for Controller {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.host {
            cx.drop(&packet, DropReason::Misrouted);
            return;
        }
        self.census.consumed += 1;
        if packet.kind == Kind::Control {
            self.counters.bytes_received += u64::from(packet.len);
            let bytes = cx.detach(&packet);
            self.hear(&bytes, cx);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            SWEEP => self.sweep(cx),
            _ if cx.now >= self.due => self.decide(cx),
            _ => {}
        }
    }
    fn census(&self) -> Census {
        self.census
    }
    fn tally(&self, tally: &mut Tally) {
        let Counters { decisions, directives, reports, ignored, .. } = self.counters;
        tally.add("decisions", decisions);
        tally.add("directives", directives);
        tally.add("control_bytes_sent", self.counters.bytes_sent);
        tally.add("reports", reports);
        tally.add("control_bytes_received", self.counters.bytes_received);
        tally.add("ignored_messages", ignored);
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::network::Network;
    use crate::control::xco::spec::{Mode, XcoSpec};
    use crate::node::Effects;
    use crate::units::Rate;

    const HERE: HostId = HostId(3);

    struct Bench {
        controller: Controller,
        effects: Effects,
    }

    impl Bench {
        /// Three hosts and the controller at one switch.
        fn new(mode: Mode) -> Bench {
            let star = Network::new(4, vec![Rate(1_000_000_000); 8], |src, dst, out| {
                out.extend([src.0, 4 + dst.0]);
            });
            let spec = XcoSpec { mode, ..XcoSpec::default() };
            let controller = spec.build().unwrap().controller(HERE, star);
            Bench { controller, effects: Effects::default() }
        }
        fn say(&mut self, us: u64, host: u32, seq: u32, body: Body) {
            self.bytes(us, Message { host: HostId(host), seq, heard: 0, body }.emit());
        }
        fn bytes(&mut self, us: u64, bytes: Vec<u8>) {
            let mut cx = Cx::new(Time::us(us), &mut self.effects);
            let packet = cx.attach((HostId(1), HERE), bytes, OVERHEAD, CONTROL_CLASS);
            self.controller.receive(PortId(0), packet, &mut cx);
        }
        /// Has wake-ups up to a time come, and returns what is sent then.
        fn until(&mut self, us: u64) -> Vec<(u32, u32, Body)> {
            while let Some(at) = self.effects.wakes.iter().map(|(at, _)| *at).min() {
                if at > Time::us(us) {
                    break;
                }
                let first = self.effects.wakes.iter().position(|wake| wake.0 == at);
                let (at, token) = self.effects.wakes.remove(first.unwrap());
                self.controller.expire(token, &mut Cx::new(at, &mut self.effects));
            }
            let sends = std::mem::take(&mut self.effects.sends);
            let read = |(_, packet): (PortId, Packet)| {
                let message = Message::parse(&self.effects.release(packet.seq)).unwrap();
                assert_eq!((message.host, packet.class), (packet.dst, CONTROL_CLASS));
                (message.host.0, message.seq, message.body)
            };
            sends.into_iter().map(read).collect()
        }
    }

    fn backlog(dst: u32) -> Body {
        Body::Backlog(vec![HostId(dst)])
    }
    fn window(dst: Option<u32>, us: u64) -> Body {
        Body::Window { dst: dst.map(HostId), duration: Time::us(us), rate: None }
    }

    #[test]
    fn directives_take_the_decision_time() {
        let mut bench = Bench::new(Mode::Timeslice);
        bench.say(0, 0, 0, backlog(2));
        bench.say(4, 1, 0, backlog(2));
        assert_eq!(bench.until(9), []);
        assert_eq!(bench.until(10), [(0, 0, window(Some(2), 10_000)), (1, 0, window(None, 0))]);
        // The slice ends at 10,010 us.
        assert_eq!(bench.until(10_019), []);
        assert_eq!(bench.until(10_020), [(1, 1, window(Some(2), 10_000))]);
        let counters = bench.controller.counters();
        assert_eq!((counters.decisions, counters.directives, counters.reports), (2, 3, 2));
        assert_eq!((counters.bytes_sent, counters.bytes_received), (3 * 84, 2 * 84));
        assert_eq!(bench.controller.census(), Census { created: 3, consumed: 2, held: 0 });
    }

    #[test]
    fn late_and_broken_messages_do_not_count() {
        let mut bench = Bench::new(Mode::Timeslice);
        bench.say(0, 0, 5, Body::Backlog(Vec::new()));
        bench.say(1, 0, 4, backlog(2));
        bench.say(2, 77, 0, backlog(2));
        bench.say(3, 0, 6, window(None, 0));
        bench.bytes(4, vec![1, 2, 3]);
        assert_eq!(bench.until(20), [(0, 0, window(None, 0))]);
        assert_eq!(bench.controller.counters().ignored, 4);
        bench.say(30, 0, 0, Body::Hello);
        bench.say(31, 0, 1, backlog(2));
        assert_eq!(bench.until(50), [(0, 1, window(Some(2), 10_000))], "it has started again");
    }

    #[test]
    fn silent_hosts_are_forgotten() {
        let mut bench = Bench::new(Mode::RateLimit);
        let rates = |rate| Body::Rates(vec![(HostId(2), Rate(rate))]);
        bench.say(0, 0, 0, backlog(2));
        bench.say(0, 1, 0, backlog(2));
        let half = [(0, 0, rates(500_000_000)), (1, 0, rates(500_000_000))];
        assert_eq!(bench.until(20), half);
        // Only host 1 goes on, up to 100 ms.
        let mut said = Vec::new();
        for beat in 1..=10 {
            bench.say(beat * 10_000, 1, beat as u32, backlog(2));
            said.extend(bench.until(beat * 10_000 + 20));
        }
        assert_eq!(
            said.last().map(|(host, _, body)| (*host, body)),
            Some((1, &rates(1_000_000_000)))
        );
        bench.until(1_000_000);
        assert!(bench.effects.wakes.is_empty(), "no sweeps when nobody is busy");
    }

    #[test]
    fn packets_for_others_are_dropped() {
        let mut bench = Bench::new(Mode::Timeslice);
        let mut cx = Cx::new(Time::ZERO, &mut bench.effects);
        let packet = cx.attach((HERE, HostId(1)), vec![0; 12], OVERHEAD, CONTROL_CLASS);
        bench.controller.receive(PortId(0), packet, &mut cx);
        assert_eq!(bench.effects.dropped[DropReason::Misrouted as usize], 1);
        assert_eq!(bench.controller.census(), Census::default());
    }
}
