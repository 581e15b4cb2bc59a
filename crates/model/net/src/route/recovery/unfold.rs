//! What all switches do when links fail and return: sessions and tags over the links of a network.

use super::{Avoid, RecoverySpec, Session, Speaker, State, Tag, Ways};
use crate::id::NodeId;
use crate::rng::Stream;
use crate::route::{Down, Routes, RoutingSpec};
use crate::time::Time;
use crate::topology::{End, Graph, Lane, NodeKind};
use crate::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// A link fails or returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkChange {
    /// When.
    pub at: Time,
    /// Which, by index into [`Graph::links`].
    pub link: usize,
    /// Whether it works from now on.
    pub up: bool,
}

/// The tables of some switches have changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub at: Time,
    /// Whose.
    pub nodes: BTreeSet<NodeId>,
    /// What all switches avoid from now on.
    pub avoid: Avoid,
}

/// Everything that follows from the changes of links.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// In order of time; no two at the same.
    pub steps: Vec<Step>,
    /// Tags sent.
    pub tags: u64,
}

/// A hello packet or a tag: 24 bytes over UDP, IPv4 and Ethernet.
const MESSAGE: Bytes = Bytes(24 + 8 + 20 + 18);

/// What the switches of `graph` do about `changes`, which are in order of time, before `end`. All
/// sessions are up at the start; `seed` draws when each end sends its hello packets. Messages wait in no
/// queue.
pub fn unfold(
    graph: &Graph,
    spec: &RecoverySpec,
    changes: &[LinkChange],
    end: Time,
    seed: u64,
) -> Story {
    let routes = Routes::build(graph, RoutingSpec::Ecmp, &Down::default(), seed);
    let mut run = Run::new(graph, spec, Ways::new(graph, &routes), seed);
    for change in changes {
        run.plan(change.at, Event::Link { link: change.link, up: change.up });
    }
    while let Some(((now, ..), event)) = run.events.pop_first() {
        if now >= end {
            break;
        }
        run.handle(now, event);
    }
    run.story()
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Link {
        link: usize,
        up: bool,
    },
    /// A hello packet reaches end `side` of a link; lost where the link has failed since it left.
    Hello {
        link: usize,
        side: usize,
        said: State,
        epoch: u32,
    },
    Told {
        link: usize,
        side: usize,
        tag: Tag,
        epoch: u32,
    },
    /// End `side` has processed what changed: its tags leave.
    Tell {
        link: usize,
        side: usize,
        tag: Tag,
    },
    Send {
        link: usize,
        side: usize,
    },
    Silence {
        link: usize,
        side: usize,
    },
}

impl Event {
    /// What comes first of what is due at the same time: what is heard comes before silence.
    fn order(&self) -> u8 {
        match self {
            Event::Link { .. } => 0,
            Event::Hello { .. } => 1,
            Event::Told { .. } => 2,
            Event::Tell { .. } => 3,
            Event::Send { .. } => 4,
            Event::Silence { .. } => 5,
        }
    }
}

/// A link between two switches, with both ends of its session.
struct Cable {
    ends: [End; 2],
    /// What a message takes from each end to the other.
    takes: [Time; 2],
    works: bool,
    /// How often it has failed.
    epoch: u32,
    sessions: [Session; 2],
    /// A number between 0 and 1 for each end: when in an interval it sends.
    phases: [f64; 2],
    /// Until when each end waits for the next one.
    patience: [Time; 2],
    /// When each end sends next, while that is followed.
    next: [Time; 2],
    /// Whether hello packets are followed one by one: not while nothing can come of them.
    followed: [bool; 2],
}

struct Run<'a> {
    spec: &'a RecoverySpec,
    ways: Ways<'a>,
    /// By link; none where a host is at an end.
    cables: Vec<Option<Cable>>,
    speakers: BTreeMap<NodeId, Speaker>,
    /// By node and port: the link and its end.
    ports: BTreeMap<(NodeId, u16), (usize, usize)>,
    events: BTreeMap<(Time, u8, u64), Event>,
    planned: u64,
    changed: BTreeMap<Time, BTreeMap<NodeId, super::NodeAvoid>>,
    tags: u64,
}

fn takes(lane: Lane) -> Time {
    lane.delay + lane.rate.time_for(MESSAGE)
}

impl<'a> Run<'a> {
    fn new(graph: &Graph, spec: &'a RecoverySpec, ways: Ways<'a>, seed: u64) -> Run<'a> {
        let is_switch = |node: NodeId| graph.nodes[node.at()].kind == NodeKind::Switch;
        let cable = |(at, link): (u64, &crate::topology::Link)| {
            let mut stream = Stream::named(seed, "route.hello", at);
            link.ends().iter().all(|end| is_switch(end.node)).then(|| Cable {
                ends: link.ends(),
                takes: [takes(link.ab), takes(link.ba)],
                works: true,
                epoch: 0,
                sessions: [Session::UP; 2],
                phases: [stream.unit(), stream.unit()],
                patience: [Time::MAX; 2],
                next: [Time::MAX; 2],
                followed: [false; 2],
            })
        };
        let cables: Vec<Option<Cable>> = (0..).zip(&graph.links).map(cable).collect();
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
        Run { spec, ways, cables, speakers, ports, events, planned: 0, changed, tags: 0 }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.planned += 1;
        self.events.insert((at, event.order(), self.planned), event);
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Link { link, up } => self.link(now, link, up),
            Event::Send { link, side } => self.send(now, link, side),
            Event::Hello { link, side, said, epoch } => {
                if self.arrives(link, epoch) {
                    self.session(now, link, side, |session| session.hear(said));
                    self.expect(now, link, side);
                }
            }
            Event::Silence { link, side } => {
                // Packets that are not followed one by one do come, unless the link has failed.
                let due = |cable: &Cable| {
                    cable.patience[side] == now
                        && cable.sessions[side].state() != State::Down
                        && (cable.followed[1 - side] || !cable.works)
                };
                if self.cables[link].as_ref().is_some_and(due) {
                    self.session(now, link, side, Session::silence);
                }
            }
            Event::Tell { link, side, tag } => self.tell(now, link, side, tag),
            Event::Told { link, side, tag, epoch } => {
                if self.arrives(link, epoch) {
                    self.heard(now, link, side, tag);
                }
            }
        }
    }

    fn arrives(&self, link: usize, epoch: u32) -> bool {
        self.cables[link].as_ref().is_some_and(|cable| cable.works && cable.epoch == epoch)
    }

    /// A link fails or returns: from now on its hello packets are followed.
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
        [0, 1].into_iter().for_each(|side| self.follow(now, link, side));
    }

    /// Silence begins at end `side` with the last packet that came before `now`, unless packets have been
    /// followed anyway.
    fn last_heard(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if cable.followed[1 - side] || !cable.sessions[side].settled() {
            return;
        }
        let interval = self.spec.interval.as_ps();
        let phase = (cable.phases[1 - side] * interval as f64) as u64;
        let first = phase + cable.takes[1 - side].as_ps();
        // Packets that came before the run began count, too.
        let since = (now.as_ps() + interval - first % interval) % interval;
        let due = now + cable.sessions[side].patience(self.spec) - Time::ps(since);
        cable.patience[side] = due;
        self.plan(due, Event::Silence { link, side });
    }

    fn follow(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if !std::mem::replace(&mut cable.followed[side], true) {
            self.next_hello(now, link, side);
        }
    }

    /// End `side` sends at the next moment that its pace and its phase give.
    fn next_hello(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        let pace = cable.sessions[side].pace(self.spec).as_ps();
        let phase = (cable.phases[side] * pace as f64) as u64;
        let past = (now.as_ps() + pace - phase) % pace;
        cable.next[side] = now + Time::ps(pace - past);
        let at = cable.next[side];
        self.plan(at, Event::Send { link, side });
    }

    fn send(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        if cable.next[side] != now {
            return;
        }
        cable.next[side] = Time::MAX;
        let calm = cable.works && cable.sessions.iter().all(Session::settled);
        let dead =
            !cable.works && cable.sessions.iter().all(|session| session.state() == State::Down);
        if calm || dead {
            cable.followed[side] = false;
            return;
        }
        if cable.works {
            let (said, epoch) = (cable.sessions[side].state(), cable.epoch);
            let at = now + cable.takes[side];
            self.plan(at, Event::Hello { link, side: 1 - side, said, epoch });
        }
        self.next_hello(now, link, side);
    }

    /// A packet has come: the next silence begins.
    fn expect(&mut self, now: Time, link: usize, side: usize) {
        let Some(cable) = &mut self.cables[link] else { return };
        let due = now + cable.sessions[side].patience(self.spec);
        cable.patience[side] = due;
        self.plan(due, Event::Silence { link, side });
    }

    /// Something happens to an end of a session; its switch is told where that matters.
    fn session(&mut self, now: Time, link: usize, side: usize, change: impl Fn(&mut Session)) {
        let Some(cable) = &mut self.cables[link] else { return };
        let session = &mut cable.sessions[side];
        let before = *session;
        change(session);
        let after = *session;
        let end = cable.ends[side];
        let spoke = [before, after].map(|session| session.state() == State::Up);
        let settled = [before, after].map(|session| session.settled());
        let faster = before.pace(self.spec) > after.pace(self.spec);
        // What this end cannot carry it says first; the port is used when the other end is up, too, and
        // has said the same.
        let gone = before.state() != State::Down && after.state() == State::Down;
        if gone || spoke[0] != spoke[1] {
            self.change(now, end, |speaker, ways, out| {
                speaker.heard(end.port, spoke[1], ways, out)
            });
        }
        if settled[0] != settled[1] {
            self.change(now, end, |s, ways, out| s.session(end.port, settled[1], ways, out));
        }
        if faster {
            self.next_hello(now, link, side);
        }
    }

    fn heard(&mut self, now: Time, link: usize, side: usize, tag: Tag) {
        // What was said before the session went down is out of date: when it is up, all is said again.
        let heard = self.cables[link].as_ref().filter(|c| c.sessions[side].state() != State::Down);
        let Some(end) = heard.map(|cable| cable.ends[side]) else { return };
        self.change(now, end, |speaker, ways, out| speaker.hear(end.port, tag, ways, out));
    }

    /// A switch gets to know something: its table changes, and it tells others, when that is processed.
    fn change(
        &mut self,
        now: Time,
        end: End,
        news: impl FnOnce(&mut Speaker, &Ways<'_>, &mut Vec<(crate::id::PortId, Tag)>),
    ) {
        let Some(speaker) = self.speakers.get_mut(&end.node) else { return };
        let before = speaker.avoid().clone();
        let mut out = Vec::new();
        news(speaker, &self.ways, &mut out);
        let done = now + self.spec.processing;
        if *speaker.avoid() != before {
            let avoid = speaker.avoid().clone();
            self.changed.entry(done).or_default().insert(end.node, avoid);
        }
        for (port, tag) in out {
            if let Some(&(link, side)) = self.ports.get(&(end.node, port.0)) {
                self.plan(done, Event::Tell { link, side, tag });
            }
        }
    }

    fn tell(&mut self, now: Time, link: usize, side: usize, tag: Tag) {
        let Some(cable) = &self.cables[link] else { return };
        let (at, epoch) = (now + cable.takes[side], cable.epoch);
        if cable.works && cable.sessions[side].state() == State::Up {
            self.tags += 1;
            self.plan(at, Event::Told { link, side: 1 - side, tag, epoch });
        }
    }

    fn story(self) -> Story {
        let mut avoid = Avoid::default();
        let step = |(at, nodes): (Time, BTreeMap<NodeId, super::NodeAvoid>)| {
            let changed = nodes.keys().copied().collect();
            nodes.into_iter().for_each(|(node, own)| avoid.set(node, own));
            Step { at, nodes: changed, avoid: avoid.clone() }
        };
        Story { steps: self.changed.into_iter().map(step).collect(), tags: self.tags }
    }
}
