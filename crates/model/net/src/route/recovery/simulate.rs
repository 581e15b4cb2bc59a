//! A simulation of the sessions and tags of all switches while links fail and return.

use super::{Avoid, RecoverySpec, Session, ShortestPaths, Speaker, State, Tag};
use crate::id::NodeId;
use crate::rng::Stream;
use crate::route::{Routes, RoutingSpec};
use crate::time::Time;
use crate::topology::{Down, End, Graph, LinkParams, NodeKind};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A link fails or returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkChange {
    /// The time of the change.
    pub at: Time,
    /// The link, by index into [`Graph::links`].
    pub link: usize,
    /// Whether it works from now on.
    pub up: bool,
}

/// The tables of some switches have changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The time of the change.
    pub at: Time,
    /// The switches.
    pub nodes: BTreeSet<NodeId>,
    /// The ports that all switches avoid from now on.
    pub avoid: Avoid,
}

/// All table changes that follow from the changes of links.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// The steps in order of time. No two have the same time.
    pub steps: Vec<Step>,
    /// Tags sent.
    pub tags: u64,
}

/// Bytes of a hello packet or a tag on the wire: 24 bytes over UDP, IPv4 and Ethernet.
const MESSAGE: Bytes = Bytes(24 + 8 + 20 + 18);

/// Simulates the switches of `graph` until `end`, with `changes` in order of time. All sessions are up at the start.
/// `seed` determines the phase of each end's hello packets. Messages are never queued.
pub fn simulate(
    graph: &Graph,
    spec: &RecoverySpec,
    changes: &[LinkChange],
    end: Time,
    seed: u64,
) -> Timeline {
    let routes = Routes::build(graph, RoutingSpec::Ecmp, &Down::default(), seed);
    let mut run = Run::new(graph, spec, ShortestPaths::new(graph, &routes), seed);
    for change in changes {
        run.plan(change.at, Event::Link { link: change.link, up: change.up });
    }
    while let Some(((now, ..), event)) = run.events.pop_first() {
        if now >= end {
            break;
        }
        run.handle(now, event);
    }
    run.timeline()
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Link {
        link: usize,
        up: bool,
    },
    /// A hello packet reaches end `side` of a link. It is lost if the link has failed since it left.
    Hello {
        link: usize,
        side: usize,
        state: State,
        epoch: u32,
    },
    /// A tag reaches end `side` of a link.
    ReceiveTag {
        link: usize,
        side: usize,
        tag: Tag,
        epoch: u32,
    },
    /// End `side` has processed a change, and sends a tag.
    SendTag {
        link: usize,
        side: usize,
        tag: Tag,
    },
    Send {
        link: usize,
        side: usize,
    },
    Timeout {
        link: usize,
        side: usize,
    },
}

impl Event {
    /// The order of events at the same time: arrivals come before time-outs.
    fn order(&self) -> u8 {
        match self {
            Event::Link { .. } => 0,
            Event::Hello { .. } => 1,
            Event::ReceiveTag { .. } => 2,
            Event::SendTag { .. } => 3,
            Event::Send { .. } => 4,
            Event::Timeout { .. } => 5,
        }
    }
}

/// A link between two switches, with both ends of its session.
struct SessionLink {
    ends: [End; 2],
    /// The time that a message takes from each end to the other.
    delay: [Time; 2],
    works: bool,
    /// The number of its failures.
    epoch: u32,
    sessions: [Session; 2],
    /// The phase of each end's hello packets: a fraction of the interval, from 0 to 1.
    phases: [f64; 2],
    /// When each end stops waiting for the next hello packet.
    deadline: [Time; 2],
    /// When each end sends its next hello packet, while these are simulated.
    next: [Time; 2],
    /// Whether each hello packet is simulated. They are not simulated while they cannot change a state.
    simulated: [bool; 2],
}

struct Run<'a> {
    spec: &'a RecoverySpec,
    paths: ShortestPaths<'a>,
    /// By link. Links to hosts have none.
    cables: Vec<Option<SessionLink>>,
    speakers: BTreeMap<NodeId, Speaker>,
    /// By node and port: the link and its end.
    ports: BTreeMap<(NodeId, u16), (usize, usize)>,
    events: BTreeMap<(Time, u8, u64), Event>,
    planned: u64,
    changed: BTreeMap<Time, BTreeMap<NodeId, super::NodeAvoid>>,
    tags: u64,
}

fn delay(lane: LinkParams) -> Time {
    lane.delay + lane.rate.time_for(MESSAGE)
}

impl<'a> Run<'a> {
    fn new(graph: &Graph, spec: &'a RecoverySpec, paths: ShortestPaths<'a>, seed: u64) -> Run<'a> {
        let is_switch = |node: NodeId| graph.nodes[node.at()].kind == NodeKind::Switch;
        let wiring = graph.wiring();
        let cable = |link: &crate::topology::Link| {
            let key = wiring.of(link.a.node)[link.a.port.at()].key;
            let mut stream = Stream::named(seed, "route.hello", key);
            link.ends().iter().all(|end| is_switch(end.node)).then(|| SessionLink {
                ends: link.ends(),
                delay: [delay(link.ab), delay(link.ba)],
                works: true,
                epoch: 0,
                sessions: [Session::UP; 2],
                phases: [stream.unit(), stream.unit()],
                deadline: [Time::MAX; 2],
                next: [Time::MAX; 2],
                simulated: [false; 2],
            })
        };
        let cables: Vec<Option<SessionLink>> = graph.links.iter().map(cable).collect();
        let mut ports = BTreeMap::new();
        let ends = cables.iter().enumerate().flat_map(|(at, cable)| {
            cable
                .iter()
                .flat_map(move |c| c.ends.into_iter().zip(0..).map(move |(e, s)| (e, at, s)))
        });
        ends.for_each(|(end, link, side)| {
            ports.insert((end.node, end.port.0), (link, side));
        });
        let counts = graph.ports();
        let speaker = |at: usize| {
            let node = NodeId(at as u32);
            let known = (0..counts[at]).map(|port| ports.contains_key(&(node, port))).collect();
            (node, Speaker::new(node, known))
        };
        let switches = (0..graph.nodes.len()).filter(|&at| is_switch(NodeId(at as u32)));
        let speakers = switches.map(speaker).collect();
        let (events, changed) = (BTreeMap::new(), BTreeMap::new());
        Run { spec, paths, cables, speakers, ports, events, planned: 0, changed, tags: 0 }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.events.insert((at, event.order(), self.planned), event);
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Link { link, up } => self.link(now, link, up),
            Event::Send { link, side } => self.send(now, link, side),
            Event::Hello { link, side, state, epoch } => {
                if self.arrives(link, epoch) {
                    self.session(now, link, side, |session| session.receive(state));
                    self.expect(now, link, side);
                }
            }
            Event::Timeout { link, side } => {
                // Hello packets that are not simulated still arrive, unless the link has failed.
                let due = |cable: &SessionLink| {
                    cable.deadline[side] == now
                        && cable.sessions[side].state() != State::Down
                        && (cable.simulated[1 - side] || !cable.works)
                };
                if self.cables[link].as_ref().is_some_and(due) {
                    self.session(now, link, side, Session::expire);
                }
            }
            Event::SendTag { link, side, tag } => self.send_tag(now, link, side, tag),
            Event::ReceiveTag { link, side, tag, epoch } => {
                if self.arrives(link, epoch) {
                    self.receive_tag(now, link, side, tag);
                }
            }
        }
    }

    fn arrives(&self, link: usize, epoch: u32) -> bool {
        self.cables[link].as_ref().is_some_and(|cable| cable.works && cable.epoch == epoch)
    }

    /// A link fails or returns. From now on its hello packets are simulated.
    fn link(&mut self, now: Time, link: usize, up: bool) {
        let Some(cable) = &mut self.cables[link] else { return };
        if cable.works == up {
            return;
        }
        cable.works = up;
        cable.epoch += u32::from(!up);
        if !up {
            [0, 1].into_iter().for_each(|side| self.last_heard(now, link, side));
        }
        [0, 1].into_iter().for_each(|side| self.simulate_hellos(now, link, side));
    }

    /// Sets the deadline of end `side` from the last packet that arrived before `now`, unless packets are
    /// simulated already.
    fn last_heard(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if cable.simulated[1 - side] || !cable.sessions[side].is_up() {
            return;
        }
        let interval = self.spec.interval.as_ps();
        let phase = (cable.phases[1 - side] * interval as f64) as u64;
        let first = phase + cable.delay[1 - side].as_ps();
        // Packets that arrived before the start of the run count too.
        let since = (now.as_ps() + interval - first % interval) % interval;
        let due = now + cable.sessions[side].detection_time(self.spec) - Time::ps(since);
        cable.deadline[side] = due;
        self.plan(due, Event::Timeout { link, side });
    }

    fn simulate_hellos(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if !std::mem::replace(&mut cable.simulated[side], true) {
            self.next_hello(now, link, side);
        }
    }

    /// Schedules the next hello packet of end `side`, by its interval and its phase.
    fn next_hello(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        let interval = cable.sessions[side].interval(self.spec).as_ps();
        let phase = (cable.phases[side] * interval as f64) as u64;
        let past = (now.as_ps() + interval - phase) % interval;
        cable.next[side] = now + Time::ps(interval - past);
        let at = cable.next[side];
        self.plan(at, Event::Send { link, side });
    }

    fn send(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if cable.next[side] != now {
            return;
        }
        cable.next[side] = Time::MAX;
        let calm = cable.works && cable.sessions.iter().all(Session::is_up);
        let dead =
            !cable.works && cable.sessions.iter().all(|session| session.state() == State::Down);
        if calm || dead {
            cable.simulated[side] = false;
            return;
        }
        if cable.works {
            let (state, epoch) = (cable.sessions[side].state(), cable.epoch);
            let at = now + cable.delay[side];
            self.plan(at, Event::Hello { link, side: 1 - side, state, epoch });
        }
        self.next_hello(now, link, side);
    }

    /// A packet has arrived. The deadline for the next one is set.
    fn expect(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        let due = now + cable.sessions[side].detection_time(self.spec);
        cable.deadline[side] = due;
        self.plan(due, Event::Timeout { link, side });
    }

    /// Changes one end of a session, and reports changed states to its switch.
    fn session(&mut self, now: Time, link: usize, side: usize, change: impl Fn(&mut Session)) {
        let Some(cable) = &mut self.cables[link] else { return };
        let session = &mut cable.sessions[side];
        let before = *session;
        change(session);
        let after = *session;
        let end = cable.ends[side];
        let up = [before, after].map(|session| session.state() == State::Up);
        let both_up = [before, after].map(|session| session.is_up());
        let faster = before.interval(self.spec) > after.interval(self.spec);
        // This end reports first what it cannot carry. The port is used when the other end is up too, and has reported
        // so.
        let gone = before.state() != State::Down && after.state() == State::Down;
        if gone || up[0] != up[1] {
            self.change(now, end, |speaker, paths, out| {
                speaker.session_state(end.port, up[1], paths, out)
            });
        }
        if both_up[0] != both_up[1] {
            self.change(now, end, |s, paths, out| s.port_state(end.port, both_up[1], paths, out));
        }
        if faster {
            self.next_hello(now, link, side);
        }
    }

    fn receive_tag(&mut self, now: Time, link: usize, side: usize, tag: Tag) {
        // Tags from before the session went down are out of date. They are sent again when it is up.
        let receiver =
            self.cables[link].as_ref().filter(|c| c.sessions[side].state() != State::Down);
        let Some(end) = receiver.map(|cable| cable.ends[side]) else { return };
        self.change(now, end, |speaker, paths, out| speaker.receive(end.port, tag, paths, out));
    }

    /// An event reaches a switch. After the processing time its table changes and its tags leave.
    fn change(
        &mut self,
        now: Time,
        end: End,
        event: impl FnOnce(&mut Speaker, &ShortestPaths<'_>, &mut Vec<(crate::id::PortId, Tag)>),
    ) {
        let Some(speaker) = self.speakers.get_mut(&end.node) else { return };
        let before = speaker.avoid().clone();
        let mut out = Vec::new();
        event(speaker, &self.paths, &mut out);
        let done = now + self.spec.processing;
        if *speaker.avoid() != before {
            let avoid = speaker.avoid().clone();
            self.changed.entry(done).or_default().insert(end.node, avoid);
        }
        for (port, tag) in out {
            if let Some(&(link, side)) = self.ports.get(&(end.node, port.0)) {
                self.plan(done, Event::SendTag { link, side, tag });
            }
        }
    }

    fn send_tag(&mut self, now: Time, link: usize, side: usize, tag: Tag) {
        let Some(cable) = &self.cables[link] else { return };
        let (at, epoch) = (now + cable.delay[side], cable.epoch);
        if cable.works && cable.sessions[side].state() == State::Up {
            self.tags += 1;
            self.plan(at, Event::ReceiveTag { link, side: 1 - side, tag, epoch });
        }
    }

    fn timeline(self) -> Timeline {
        let mut avoid = Avoid::default();
        let step = |(at, nodes): (Time, BTreeMap<NodeId, super::NodeAvoid>)| {
            let changed = nodes.keys().copied().collect();
            nodes.into_iter().for_each(|(node, own)| avoid.set(node, own));
            Step { at, nodes: changed, avoid: avoid.clone() }
        };
        Timeline { steps: self.changed.into_iter().map(step).collect(), tags: self.tags }
    }
}
