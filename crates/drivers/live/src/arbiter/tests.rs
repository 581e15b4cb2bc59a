use super::time::PATIENCE;
use super::topology::Assemble;
use super::*;
use crate::channel::{LONGEST, Peer};
use crate::clock::{NetworkClock, TimeReply};
use crate::config::ClockOptions;
use crate::discovery::{Discovery, Member};
use crate::links::Links;
use crate::parts::{FaultStatus, Parts};
use crate::quotas::Quotas;
use crate::status::Status;
use slotline_envelope::KeyPair;
use slotline_net::error::SpecError;
use slotline_net::frame::Packet;
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Cx, PacketAccount};
use slotline_net::time::Time;
use std::net::{Ipv4Addr, UdpSocket};

const NOW: Local = Local(1_000);

struct Idle;

impl Node for Idle {
    fn start(&mut self, _: &mut Cx<'_>) {}
    fn transmit(&mut self, _: PortId, _: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _: u32, _: &mut Cx<'_>) {}
    fn receive(&mut self, _: PortId, _: Packet, _: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        PacketAccount::default()
    }
}

fn key(number: u8) -> KeyPair {
    KeyPair::from_private([number + 1; 32])
}

/// Arbiter 8, which knows arbiter 9 and host 1.
fn setup() -> ArbiterSetup {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    drop(socket);
    let peer = |number: u8| Peer { number: number.into(), address, key: key(number).public() };
    ArbiterSetup {
        me: HostId(8),
        rank: 0,
        address,
        key: key(8),
        peers: vec![peer(1), peer(9)],
        arbiters: vec![8, 9],
        wires: Vec::new(),
        links: Links::default(),
        hook: None,
        program: None,
        switches: 0,
        standby: None,
        parts: Parts::default(),
        make: Box::new(|_| Err(SpecError::new("control", "no node here"))),
        discovery: None,
        digest: 1,
        clock: ClockOptions::default(),
        quotas: Quotas { each: 1_000, tenants: Vec::new() },
        threads: 1,
        scenario: Default::default(),
        recorder: None,
    }
}

/// An arbiter that has no network time yet.
fn arbiter() -> Arbiter {
    Arbiter::open(setup(), NOW).unwrap()
}

#[test]
fn a_host_does_not_say_what_time_it_is() {
    let mut arbiter = arbiter();
    let reply = TimeReply { asked: NOW, received: 5, sent: 5, epoch: 7, drained: false };
    arbiter.learn_time(1, &reply, NOW).unwrap();
    assert!(arbiter.source.is_none());
    arbiter.learn_time(9, &reply, NOW).unwrap();
    assert_eq!(arbiter.source.map(|source| source.epoch()), Some(7));
}

#[test]
fn network_time_begins_anew_before_it_is_over() {
    let mut arbiter = arbiter();
    arbiter.seek_time(&|| NOW);
    assert!(arbiter.source.is_none(), "it asks the other one");
    let now = NOW.after(PATIENCE[0] * 2);
    arbiter.seek_time(&|| now);
    let epoch = arbiter.source.as_ref().map(Source::epoch).unwrap();
    let late = now.after(LONGEST + PATIENCE[0]);
    arbiter.renew_epoch(&|| late);
    let source = arbiter.source.as_mut().unwrap();
    assert_ne!(source.epoch(), epoch);
    assert_eq!(source.now(late.after(Duration::from_micros(3))), Some(Time::us(3)));
    // One that has the time of another arbiter asks that one again.
    let mut clock = NetworkClock::new(&ClockOptions::default());
    let received = LONGEST.as_nanos() as u64 + 1_000;
    let reply = TimeReply { asked: late, received, sent: received, epoch: 7, drained: false };
    clock.answered(&reply, late);
    arbiter.source = Some(Source::Other { clock: Box::new(clock), of: 9 });
    arbiter.renew_epoch(&|| late);
    arbiter.seek_time(&|| late);
    assert!(arbiter.source.is_none());
    arbiter.seek_time(&|| late.after(PATIENCE[0] * 2));
    assert!(arbiter.source.is_some(), "nobody answers");
}

#[test]
fn metrics_name_what_is_avoided() {
    let mut status = arbiter().status(NOW);
    let (found_ns, avoided_ns) = (1, Some(2));
    let fault = |part: &str, cleared_ns| FaultStatus {
        part: part.into(),
        found_ns,
        avoided_ns,
        cleared_ns,
    };
    status.faults = vec![fault("agg1.0-core0", None), fault("core1", Some(5))];
    let text = status.metrics();
    assert!(text.contains("slotline_avoided{part=\"agg1.0-core0\"} 1\n"), "{text}");
    assert!(!text.contains("core1"), "it is used again: {text}");
}

#[test]
fn an_arbiter_whose_clock_has_stepped_begins_anew() {
    let mut arbiter = arbiter();
    let reply = |asked: Local, received| TimeReply {
        asked,
        received,
        sent: received,
        epoch: 7,
        drained: false,
    };
    let time = 5_000_000_000;
    arbiter.learn_time(9, &reply(NOW, time), NOW).unwrap();
    arbiter.seat = Some(Seat::new(Box::new(Idle), &[], Time::ZERO));
    let later = NOW.after(Duration::from_secs(1));
    arbiter.learn_time(9, &reply(later, time + 1_000_000_000), later).unwrap();
    assert!(arbiter.seat.is_some(), "time has gone on");
    arbiter.learn_time(9, &reply(later, time), later).unwrap();
    assert!(arbiter.seat.is_none());
    let network = arbiter.source.as_mut().and_then(|source| source.now(later));
    assert_eq!(
        network,
        Some(Time::ns(time)),
        "time is that of the other arbiter, although it goes back"
    );
}

#[test]
fn a_host_out_of_the_schedule_is_told_so() {
    let mut arbiter = arbiter();
    let drain = |drained| Request::DrainHost { number: 1, name: "h1".into(), drained };
    arbiter.carry_out(drain(true), NOW).unwrap();
    assert_eq!(arbiter.status(NOW).drained_hosts, ["h1"]);
    arbiter.carry_out(drain(false), NOW).unwrap();
    assert!(arbiter.status(NOW).drained_hosts.is_empty());
}

#[test]
fn an_arbiter_says_what_it_lacks_of_a_network() {
    let host = Member { number: 1, name: "h1".into(), is_host: true };
    let discovery = Discovery::new(vec![host], Duration::from_secs(2));
    let assemble: Assemble = Arc::new(|_| Err("nothing can be assembled".into()));
    let setup = ArbiterSetup { discovery: Some((discovery, assemble)), ..setup() };
    let mut arbiter = Arbiter::open(setup, NOW).unwrap();
    arbiter.seek_time(&|| NOW);
    let later = NOW.after(PATIENCE[0] * 2);
    arbiter.seek_time(&|| later);
    assert!(arbiter.source.is_some() && arbiter.seat.is_none() && !arbiter.knows_network());
    let why = arbiter.status(later).unready();
    let expected = "the network is not known yet: h1 has not told its neighbours";
    assert_eq!(why.as_deref(), Some(expected));
    assert!(arbiter.status(later).metrics().contains("slotline_cables_missing 1\n"));
}

#[test]
fn agents_with_another_scenario_are_out_of_the_schedule() {
    let mut arbiter = arbiter();
    arbiter.seek_time(&|| NOW);
    arbiter.seek_time(&|| NOW.after(PATIENCE[0] * 2));
    let epoch = arbiter.source.as_ref().map(Source::epoch);
    let drain = Request::DrainHost { number: 1, name: "h1".into(), drained: true };
    assert!(!arbiter.is_out(1), "it has told nothing");
    arbiter.hear_scenario(1, 1);
    assert!(!arbiter.is_out(1), "it has the same one");
    arbiter.carry_out(drain, NOW).unwrap();
    arbiter.seat = Some(Seat::new(Box::new(Idle), &[], Time::ZERO));
    // In another scenario that host has number 3, and the other arbiter number 12.
    let mut other = ArbiterSetup { digest: 2, ..setup() };
    (other.peers[0].number, other.peers[1].number, other.arbiters) = (3, 12, vec![8, 12]);
    arbiter.carry_out(Request::ArbiterAnew(Box::new(other)), NOW).unwrap();
    assert!(arbiter.seat.is_none(), "its node begins anew");
    assert_eq!(arbiter.source.as_ref().map(Source::epoch), epoch);
    let status = arbiter.status(NOW);
    assert_eq!((status.other_scenario, &status.drained_hosts[..]), (1, &["h1".to_owned()][..]));
    let resume = Request::DrainHost { number: 3, name: "h1".into(), drained: false };
    arbiter.carry_out(resume, NOW).unwrap();
    assert!(arbiter.is_out(3) && !arbiter.is_out(1));
    arbiter.hear_scenario(3, 2);
    assert_eq!((arbiter.is_out(3), arbiter.status(NOW).other_scenario), (false, 0));
}
