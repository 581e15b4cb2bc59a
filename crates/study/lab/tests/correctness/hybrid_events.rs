//! Hybrid fabrics whose links fail: packets on the links are lost, the others wait or take other links, and all racks
//! are informed.

use crate::common::{assemble, load, records};
use slotline_net::frame::Kind;
use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;
use slotline_scenario::Scenario;
use slotline_schemes::counters;
use slotline_sim::{Follow, Hop, Options, Outcome, Watch, run};
use std::path::Path;

const HOSTS: u32 = 3;
const RACKS: u32 = 4;
const MS: u64 = 1_000_000_000;

/// Four racks under a rotor. Every host sends to one host of each other rack, for 8 ms.
fn scenario(scheme: &str, events: &str) -> String {
    let hosts = RACKS * HOSTS;
    let workload = |by: u32| {
        let list = |from: u32| {
            let hosts: Vec<String> =
                (0..hosts).map(|at| ((from + at) % hosts).to_string()).collect();
            hosts.join(",")
        };
        let (from, to) = (list(0), list(by * HOSTS));
        format!("[[workload]]\nkind = \"bulk\"\nsenders = \"{from}\"\nreceivers = \"{to}\"\n")
    };
    let workloads: String = (1..RACKS).map(workload).collect();
    format!(
        "name = \"hybrid\"\nend = {{ at = \"8ms\", when = \"time\" }}\nmeasure = {{ why = false }}\n\
         [fabric]\nkind = \"hybrid\"\nracks = {RACKS}\nhosts-per-rack = {HOSTS}\n\
         packet = {{ rate = \"10Gbps\", delay = \"5us\" }}\n\
         circuits = {{ rate = \"80Gbps\", delay = \"30us\", reconfiguration = \"20us\" }}\n{workloads}\n\
         {events}\n[[scheme]]\nname = \"a\"\nvoq = {{ packets = 32 }}\n\
         queue = {{ kind = \"drop-tail\", limit = \"1MB\" }}\n\
         transport = {{ kind = \"newreno\", mtu = \"9000B\", min-rto = \"1ms\" }}\n{scheme}\n"
    )
}

fn event(at: &str, kind: &str, about: &str) -> String {
    format!("[[event]]\nat = \"{at}\"\nkind = \"{kind}\"\n{about}\n")
}

const ROTOR: &str = "control = \"circuits\"";

/// The packets that left ports of racks' switches, by rack, and the outcome of the run.
fn followed(text: &str, port: u32) -> (Vec<Vec<Hop>>, Outcome) {
    let mut assembly = assemble(text, 1);
    let tor = |rack: u32| NodeId(rack * (HOSTS + 1) + HOSTS);
    let ports = (0..RACKS).map(|rack| (tor(rack), PortId(port as u16))).collect();
    assembly.network.follow = Follow { ports, limit: 1_000_000, ..Follow::default() };
    let options = Options { threads: 1, end: Time::ms(8), completions: u64::MAX };
    let mut outcome = run(assembly.network, options, &Watch::default());
    assert!(outcome.conservation.holds());
    let captures = std::mem::take(&mut outcome.journal.captures);
    (captures.into_iter().map(|(hops, _)| hops).collect(), outcome)
}

/// Number of data packets that started between two times, in ms, and for which `which` holds.
fn count(hops: &[Hop], (from, until): (u64, u64), which: impl Fn(&Hop) -> bool) -> usize {
    let data = |hop: &&Hop| hop.packet.kind != Kind::Control && hop.packet.kind != Kind::Pause;
    let within = |hop: &&Hop| (from * MS..until * MS).contains(&hop.start);
    hops.iter().filter(data).filter(within).filter(|hop| which(hop)).count()
}

#[test]
fn a_failed_port_has_no_circuits_until_it_works_again() {
    let link = "link = \"tor1-circuit0\"";
    let events = event("2ms", "link-down", link) + &event("5ms", "link-up", link);
    let text = scenario(ROTOR, &events);
    let (circuits, _) = followed(&text, HOSTS + 1);
    let to_it = |hop: &Hop| hop.packet.dst.0 / HOSTS == 1;
    for (rack, hops) in circuits.iter().enumerate() {
        // 1 us to the scheduler, 1 us from it, and the messages themselves. A day begins and ends within this time.
        let news = 2 * MS + 5_000_000;
        let late = hops.iter().filter(|hop| hop.start > news && hop.start < 5 * MS);
        let dead = |hop: &&Hop| rack == 1 || to_it(hop);
        assert_eq!(late.filter(dead).count(), 0, "rack {rack}");
        if rack == 1 {
            assert!(count(hops, (0, 2), |_| true) > 100 && count(hops, (6, 8), |_| true) > 100);
        } else {
            assert!(count(hops, (2, 5), |hop| !to_it(hop)) > 100, "others go on");
            assert!(count(hops, (0, 2), to_it) > 20 && count(hops, (6, 8), to_it) > 20);
        }
    }
    // Meanwhile the packet switch has all of its packets, even in what would have been their days.
    let (packets, _) = followed(&text, HOSTS);
    let slot = 200_000_000;
    let day_of_it =
        |hop: &Hop| hop.start % slot < 180_000_000 && (hop.start / slot).is_multiple_of(3);
    let to_next = |hop: &Hop| hop.packet.dst.0 / HOSTS == 0 && day_of_it(hop);
    assert_eq!(count(&packets[1], (0, 2), to_next), 0, "the gate is closed in days");
    assert!(count(&packets[1], (3, 5), to_next) > 10, "without circuits there is no gate");
    let run = &records(&text, 1)[0];
    assert_eq!(run.control(counters::hybrid::PORT_FAILURES), 1);
    assert!(run.control(counters::hybrid::DAYS_WITHOUT_PORT) > 20);
    assert_eq!(records(&text, 3)[0].engine.digest, run.engine.digest);
}

#[test]
fn circuits_are_not_planned_for_failed_ports() {
    let planned = "control = { kind = \"circuits\", scheduler = \"eclipse\", week = \"1ms\", \
                   report-ahead = \"500us\" }";
    let whole = &records(&scenario(planned, ""), 1)[0];
    let down = event("2ms", "link-down", "link = \"tor1-circuit0\"");
    let text = scenario(planned, &down);
    let run = &records(&text, 1)[0];
    let up = |run: &slotline_lab::record::RunRecord, dead: bool| {
        let of = run.voqs.iter().filter(|row| (row.src_rack == 1 || row.dst_rack == 1) == dead);
        of.map(|row| row.circuit_up_ps).sum::<u64>()
    };
    assert!(up(run, true) < up(whole, true) / 2, "{} {}", up(run, true), up(whole, true));
    assert!(up(run, false) > up(whole, false), "the others have its time");
    assert_eq!(records(&text, 2)[0].engine.digest, run.engine.digest);
}

#[test]
fn a_failed_link_to_the_packet_switch_leaves_circuits() {
    let link = "link = \"packet0-tor2\"";
    let events = event("2ms", "link-down", link) + &event("4ms", "link-up", link);
    let text = scenario(ROTOR, &events);
    let (packets, _) = followed(&text, HOSTS);
    assert_eq!(count(&packets[2], (2, 4), |_| true), 0);
    assert!(count(&packets[2], (0, 2), |_| true) > 50 && count(&packets[2], (5, 8), |_| true) > 50);
    // Others do not send to it: only packets in transmission are lost.
    let to_it = |hop: &Hop| hop.packet.dst.0 / HOSTS == 2;
    assert!(count(&packets[0], (3, 4), to_it) < 10);
    assert!(count(&packets[0], (5, 8), to_it) > 20, "and they go on");
    let (circuits, outcome) = followed(&text, HOSTS + 1);
    assert!(count(&circuits[2], (2, 4), |_| true) > 50);
    let lost = outcome.conservation.dropped[slotline_net::node::DropReason::LinkDown as usize];
    assert!((1..60).contains(&lost), "{lost} packets were on the link");
    // The whole packet switch fails.
    let all = scenario(ROTOR, &event("2ms", "switch-down", "switch = \"packet0\""));
    let (packets, _) = followed(&all, HOSTS);
    assert!(packets.iter().all(|hops| count(hops, (2, 8), |_| true) == 0));
    assert!(records(&all, 1)[0].control(counters::hybrid::CIRCUIT_BYTES) > 0);
}

#[test]
fn a_host_whose_link_fails_goes_on_later() {
    let link = "link = \"h4-tor1\"";
    let text = scenario(ROTOR, &(event("2ms", "link-down", link) + &event("4ms", "link-up", link)));
    let (down, _) = followed(&text, 1);
    // A packet is noted when it reaches its queue, which is 0.8 ms long at most. The rest of the queue is lost.
    let sent = |span| count(&down[1], span, |_| true);
    assert!(sent((0, 2)) > 50 && sent((3, 4)) == 0 && sent((6, 8)) > 50);
    assert_eq!(records(&text, 1)[0].engine.digest, records(&text, 2)[0].engine.digest);
}

#[test]
fn circuits_have_the_rate_of_the_port_that_they_leave_by() {
    let link = "link = \"tor0-circuit0\"\nrate = \"20Gbps\"";
    let (circuits, _) = followed(&scenario(ROTOR, &event("4ms", "rate", link)), HOSTS + 1);
    // Picoseconds for each byte.
    let took = |rack: usize, late: bool| {
        let full = circuits[rack].iter().filter(|hop| hop.packet.len > 8_000);
        let mut of =
            full.filter(|hop| (hop.start > 4 * MS) == late && hop.start.abs_diff(4 * MS) > MS);
        of.next().map(|hop| (hop.leave - hop.start) / u64::from(hop.packet.len))
    };
    assert_eq!((took(0, false), took(0, true)), (Some(100), Some(400)));
    assert_eq!(took(1, true), Some(100));
    // No packet starts that the slower link could not finish in its day.
    let within = circuits[0].iter().all(|hop| (hop.leave - 1) % 200_000_000 < 180_000_000);
    assert!(within, "a packet was under way at night");
}

#[test]
fn what_cannot_happen_is_refused() {
    let no = |kind: &str, about: &str| {
        let text = scenario(ROTOR, &event("1ms", kind, about));
        Scenario::parse(Path::new("a.toml"), text).expect_err(about).to_string()
    };
    let link = no("link-down", "link = \"tor1-scheduler\"");
    assert!(link.contains("links to the scheduler do not change"), "{link}");
    assert!(no("switch-down", "switch = \"tor1\"").contains("`packet0`"));
    assert!(no("leave", "host = \"h1\"").contains("only events of links, switches and rates"));
    let late = no("link-down", "link = \"tor1-packet0\"\nreroute-after = \"1ms\"");
    assert!(late.contains("does nothing on a hybrid fabric"), "{late}");
    let unequal =
        scenario(ROTOR, "").replace("hosts-per-rack = 3", "hosts-per-rack = [3, 2, 3, 3]");
    let unequal =
        Scenario::parse(Path::new("a.toml"), unequal).expect_err("unequal racks").to_string();
    assert!(
        unequal.contains("hosts-per-rack") && unequal.contains("expected a whole number"),
        "{unequal}"
    );
    load(&scenario(ROTOR, &event("1ms", "switch-down", "switch = \"circuit0\"")));
}
