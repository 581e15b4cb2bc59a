//! Hybrid fabrics: circuits carry packets only in their days, gates keep order, and everything is accounted for.

use crate::common::{assemble, records};
use slotline_net::frame::Kind;
use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;
use slotline_schemes::counters;
use slotline_sim::{Follow, Hop, Options, Watch, run};

const SLOT: u64 = 200_000_000;
const DAY: u64 = 180_000_000;
const RACKS: u64 = 5;
const HOSTS: u64 = 3;

/// Five racks. Every host sends to one host of each other rack, for 5 ms.
fn scenario(scheme: &str) -> String {
    let racks = format!("racks = {RACKS}\nhosts-per-rack = {HOSTS}");
    let workload = |by: u64| {
        let all = RACKS * HOSTS;
        let list = |from: u64| {
            let hosts: Vec<String> = (0..all).map(|at| ((from + at) % all).to_string()).collect();
            hosts.join(",")
        };
        format!(
            "[[workload]]\nkind = \"bulk\"\nsenders = \"{}\"\nreceivers = \"{}\"\n",
            list(0),
            list(by * HOSTS)
        )
    };
    let workloads: String = (1..RACKS).map(workload).collect();
    format!(
        "name = \"hybrid\"\nend = {{ at = \"5ms\", when = \"time\" }}\nmeasure = {{ why = false }}\n\
         [fabric]\nkind = \"hybrid\"\n{racks}\npacket = {{ rate = \"10Gbps\", delay = \"5us\" }}\n\
         circuits = {{ rate = \"80Gbps\", delay = \"30us\", reconfiguration = \"20us\" }}\n{workloads}\n\
         [[scheme]]\nname = \"a\"\nqueue = {{ kind = \"drop-tail\", limit = \"1MB\" }}\n\
         transport = {{ kind = \"newreno\", mtu = \"9000B\", min-rto = \"1ms\" }}\n{scheme}\n"
    )
}

/// The packets that left the uplinks of all racks: by rack, through the packet switch and through the circuit switch.
fn uplinks(text: &str) -> Vec<[Vec<Hop>; 2]> {
    let mut assembly = assemble(text, 1);
    let tor = |rack: u64| NodeId((rack * (HOSTS + 1) + HOSTS) as u32);
    let ports =
        (0..RACKS).flat_map(|rack| [HOSTS, HOSTS + 1].map(|port| (tor(rack), PortId(port as u16))));
    let ports = ports.collect();
    assembly.network.follow = Follow { ports, limit: 1_000_000, ..Follow::default() };
    let options = Options { threads: 1, end: Time::ms(5), completions: u64::MAX };
    let outcome = run(assembly.network, options, &Watch::default());
    assert!(outcome.conservation.holds());
    let mut captures = outcome.journal.captures.into_iter().map(|(hops, _)| hops);
    (0..RACKS).map(|_| [captures.next().unwrap(), captures.next().unwrap()]).collect()
}

/// The rack to which a rack has a circuit in slot `at`: destination j receives from i + 1 + j.
fn circuit(rack: u64, at: u64) -> u64 {
    (2 * RACKS + rack - at % (RACKS - 1) - 1) % RACKS
}

fn to(hop: &Hop) -> u64 {
    u64::from(hop.packet.dst.0) / HOSTS
}

#[test]
fn nothing_passes_a_circuit_in_a_night_and_all_goes_where_it_leads() {
    for (rule, late) in [("hold", false), ("drop", false), ("drain", true)] {
        let voq =
            format!("control = \"circuits\"\nvoq = {{ packets = 64, at-night = \"{rule}\" }}");
        let (mut passed, mut into_night) = (0, 0);
        for (rack, [_, by_circuit]) in (0..).zip(uplinks(&scenario(&voq))) {
            for hop in by_circuit {
                let (slot, within) = (hop.start / SLOT, hop.start % SLOT);
                assert!(within < DAY, "begun at night: {hop:?}");
                assert_eq!(to(&hop), circuit(rack, slot), "{hop:?}");
                passed += 1;
                into_night += u64::from(hop.leave - slot * SLOT > DAY);
            }
        }
        assert!(passed > 500, "{rule}: {passed} packets");
        assert_eq!(into_night > 0, late, "{rule}: {into_night} packets");
    }
}

#[test]
fn the_packet_switch_is_barred_in_a_pairs_day_and_the_night_before() {
    let mut passed = 0;
    for (rack, [by_packet, _]) in (0..).zip(uplinks(&scenario("control = \"circuits\""))) {
        for hop in by_packet.iter().filter(|hop| hop.packet.kind != Kind::Control) {
            let (slot, within) = (hop.start / SLOT, hop.start % SLOT);
            let own = within < DAY && to(hop) == circuit(rack, slot);
            let next = within >= DAY && to(hop) == circuit(rack, slot + 1);
            assert!(!own && !next, "rack {rack}: {hop:?}");
            passed += 1;
        }
    }
    assert!(passed > 500, "{passed} packets");
}

/// The results are the same and every packet is accounted for with any number of threads, under each scheduler, each
/// rule, and each way to make queues shorter.
#[test]
fn threads_change_nothing() {
    let week = "week = \"1ms\", report-ahead = \"500us\"";
    let planned = |scheduler: &str, more: &str| {
        format!("control = {{ kind = \"circuits\", scheduler = \"{scheduler}\", {week}{more} }}")
    };
    let resized = |shrink: &str, rule: &str| {
        format!(
            "voq = {{ packets = 8, at-night = \"{rule}\", \
             resize = {{ to = 60, ahead = \"300us\", shrink = \"{shrink}\" }} }}"
        )
    };
    let schemes = [
        String::from("control = \"none\""),
        format!("control = \"circuits\"\n{}", resized("drain", "hold")),
        format!("{}\n{}", planned("solstice", ", demand = \"adu\""), resized("drop", "drop")),
        format!("{}\n{}\ncontrol-loss = 0.2", planned("eclipse", ""), resized("drop", "drain")),
        planned("max-weight", ", demand = \"adu\""),
        planned("birkhoff-von-neumann", ""),
    ];
    for scheme in schemes {
        for switches in [1, 3] {
            let more = format!("circuits = {{ switches = {switches},");
            let text = scenario(&scheme).replace("circuits = {", &more);
            let digest = |threads| records(&text, threads)[0].engine.digest;
            let alone = digest(1);
            assert_eq!(alone, digest(3), "{scheme} {switches}");
        }
    }
}

/// A full queue of q packets of 9,000 B at 10 Gbit/s is q x 7.2 us long, a packet takes 7.2 us on each of two links, and
/// the links take 10 us.
#[test]
fn a_full_queue_has_the_latency_of_arithmetic() {
    for packets in [4, 16, 64] {
        let text = format!(
            "name = \"full\"\nend = {{ at = \"20ms\", when = \"time\" }}\nmeasure = {{ why = false }}\n\
             [fabric]\nkind = \"hybrid\"\nracks = 2\nhosts-per-rack = 4\n\
             packet = {{ rate = \"10Gbps\", delay = \"5us\" }}\n\
             [[workload]]\nkind = \"udp\"\nsenders = \"0-3\"\nreceivers = \"4-7\"\nmessage = \"8934B\"\n\
             rate = \"6Gbps\"\nuntil = \"20ms\"\n\
             [[scheme]]\nname = \"a\"\nvoq = {{ packets = {packets} }}\n\
             queue = {{ kind = \"drop-tail\", limit = \"1MB\" }}\n\
             transport = {{ kind = \"newreno\", mtu = \"9000B\" }}\n"
        );
        let run = &records(&text, 1)[0];
        let want = (packets + 2) as f64 * 7.2 + 10.0;
        let (median, tail) = (
            run.control(counters::hybrid::LATENCY.p50),
            run.control(counters::hybrid::LATENCY.p99),
        );
        let (median, tail) = (median as f64 / 1e3, tail as f64 / 1e3);
        assert!(median > want - 7.2 && median <= want * 1.01, "{packets}: {median} for {want}");
        assert!(tail > want - 7.2 && tail <= want * 1.01, "{packets}: {tail} for {want}");
        assert_eq!(run.control(counters::hybrid::VOQ_LONGEST), packets);
        assert_eq!(run.control(counters::hybrid::CIRCUIT_PACKETS), 0);
    }
}

/// Many racks send to one through the packet switch. It holds them back, and packets are lost only where they waited.
#[test]
fn the_packet_switch_loses_nothing() {
    let text = scenario("control = \"none\"");
    let text = text.replace(
        "packet = { rate = \"10Gbps\",",
        "packet = { rate = \"10Gbps\", down-rate = \"4Gbps\",",
    );
    let run = &records(&text, 1)[0];
    assert!(run.control(counters::hybrid::PACKET_SWITCH_HOLDS) > 100);
    // Three packets, and those that arrive within a round trip of 10 us at 10 Gbit/s.
    let longest = run.control(counters::hybrid::PACKET_SWITCH_LONGEST_QUEUE);
    assert!((3..=8).contains(&longest) || longest < 80, "{longest} packets");
    assert_eq!(run.census.lost(), run.control(counters::hybrid::VOQ_DROPS));
}

/// As above, but the packet switch returns packets that it has no room for. Its queues are never longer than three,
/// attempts take the capacity that links have left, and packets are lost in the racks.
#[test]
fn the_packet_switch_gives_back_what_it_has_no_room_for() {
    let run = |more: &str| {
        let text = scenario("control = \"none\"");
        let packet = format!("packet = {{ rate = \"10Gbps\", down-rate = \"4Gbps\",{more}");
        let text = text.replace("packet = { rate = \"10Gbps\",", &packet);
        records(&text, 1).remove(0)
    };
    let (held, returned) = (run(""), run(" inner-full = \"return\","));
    assert_eq!(held.control(counters::hybrid::PACKET_SWITCH_RETURNS), 0);
    assert!(returned.control(counters::hybrid::PACKET_SWITCH_RETURNS) > 100);
    assert_eq!(returned.control(counters::hybrid::PACKET_SWITCH_HOLDS), 0);
    assert_eq!(returned.control(counters::hybrid::PACKET_SWITCH_LONGEST_QUEUE), 3);
    assert!(returned.census.lost() > 0);
    let bytes = [&held, &returned].map(|run| run.control(counters::hybrid::PACKET_SWITCH_BYTES));
    assert!(bytes[1] > bytes[0] / 2, "{bytes:?}");
}

/// With demand between only two racks, a scheduler that considers demand gives them the circuit for nearly all of the
/// time. A rotation cannot.
#[test]
fn circuits_go_where_demand_is() {
    let one_pair = |control: &str| {
        let text = format!(
            "name = \"pair\"\nend = {{ at = \"20ms\", when = \"time\" }}\nmeasure = {{ why = false }}\n\
             [fabric]\nkind = \"hybrid\"\nracks = 8\nhosts-per-rack = 8\n\
             packet = {{ rate = \"10Gbps\", delay = \"5us\" }}\n\
             circuits = {{ rate = \"80Gbps\", delay = \"30us\", reconfiguration = \"20us\" }}\n\
             [[workload]]\nkind = \"bulk\"\nsenders = \"0-7\"\nreceivers = \"8-15\"\n\
             [[scheme]]\nname = \"a\"\nvoq = {{ packets = 128 }}\n\
             queue = {{ kind = \"drop-tail\", limit = \"1MB\" }}\n\
             transport = {{ kind = \"newreno\", mtu = \"9000B\", min-rto = \"1ms\" }}\n{control}"
        );
        let run = records(&text, 1).remove(0);
        assert_eq!(run.control(counters::hybrid::LATE_WEEKS), 0);
        run.control(counters::hybrid::DATA_CIRCUIT_UP_NS) as f64 / 20e6
    };
    assert!(one_pair("control = \"circuits\"") < 0.15);
    for demand in ["voq", "adu"] {
        for scheduler in ["solstice", "eclipse", "max-weight"] {
            // A queue holds less than the shortest day carries, so Solstice leaves it to a rotation.
            let inflate = if scheduler == "solstice" { "inflate = true, " } else { "" };
            let control = format!(
                "control = {{ kind = \"circuits\", {inflate}scheduler = \"{scheduler}\", demand = \"{demand}\" }}"
            );
            let share = one_pair(&control);
            assert!(share > 0.6, "{scheduler} by {demand}: {share}");
        }
    }
}

/// Two panels and no packet switch. Packets without a direct circuit are relayed by another pod, and all arrive. In the
/// first panel, circuits that both configurations have stay up.
#[test]
fn all_arrives_over_patch_panels() {
    for (hops, dark) in [("opportunistic", "changed"), ("valiant", "all")] {
        let text = format!(
            "name = \"panels\"\nend = {{ at = \"2s\" }}\nmeasure = {{ why = false }}\n\
             [fabric]\nkind = \"hybrid\"\nracks = 4\nhosts-per-rack = 2\n\
             circuits = {{ switches = 2, rate = \"20Gbps\", delay = \"2us\", reconfiguration = \"2ms\", \
             dark = \"{dark}\" }}\n\
             [[workload]]\nkind = \"shuffle\"\nsize = \"100KB\"\n\
             [[scheme]]\nname = \"a\"\ntransport = {{ kind = \"newreno\", min-rto = \"1ms\" }}\n\
             voq = {{ packets = 400, relay = {{ hops = \"{hops}\", packets = 1000 }} }}\n\
             control = {{ kind = \"circuits\", scheduler = \"fixed\", schedule = \"\"\"\n\
             4 8000 1/2/3/0 2000 -1/-1/-1/-1 8000 1/0/3/2 2000 -1/-1/-1/-1\n\
             2 18000 3/0/1/2 2000 -1/-1/-1/-1\n\"\"\" }}\n"
        );
        let run = &records(&text, 1)[0];
        assert!(run.flows.iter().all(|flow| flow.finished()), "{hops}");
        assert!(run.control(counters::hybrid::RELAYED_PACKETS) > 0, "{hops}");
    }
}

/// There is a row for each queue. Their sums are the counts of racks, and waits are within the run.
#[test]
fn queues_are_notified_one_by_one() {
    let voq =
        "voq = { packets = 8, resize = { to = 60, ahead = \"300us\" } }\ncontrol = \"circuits\"";
    let run = &records(&scenario(voq), 1)[0];
    let sum = |of: fn(&slotline_lab::record::VoqRow) -> u64| run.voqs.iter().map(of).sum::<u64>();
    assert_eq!(run.voqs.len() as u64, RACKS * (RACKS - 1));
    assert_eq!(sum(|row| row.circuit_bytes), run.control(counters::hybrid::CIRCUIT_BYTES));
    assert_eq!(
        sum(|row| row.packet_switch_bytes),
        run.control(counters::hybrid::PACKET_SWITCH_BYTES)
    );
    assert_eq!(sum(|row| row.drops), run.control(counters::hybrid::VOQ_DROPS));
    assert_eq!(sum(|row| row.resize_drops), run.control(counters::hybrid::VOQ_DROPS_BY_RESIZING));
    assert_eq!(sum(|row| row.circuit_up_ps) / 1000, run.control(counters::hybrid::CIRCUIT_UP_NS));
    assert_eq!(
        run.voqs.iter().map(|row| row.longest).max(),
        Some(run.control(counters::hybrid::VOQ_LONGEST))
    );
    // In 5 ms there are six or seven days for each pair. The size changes before and after each.
    assert!(run.voqs.iter().all(|row| (10..=14).contains(&row.resizes)), "{:?}", run.voqs);
    assert!(run.voqs.iter().all(|row| row.mean_wait_ps > 0 && row.mean_wait_ps < 5_000_000_000));
}

/// Circuits of a mesh follow demand. Packets without a direct circuit are relayed by another pod, and all arrive.
#[test]
fn a_mesh_follows_demand() {
    let text = |scheduler: &str| {
        format!(
            "name = \"pods\"\nend = {{ at = \"2s\" }}\nmeasure = {{ why = false }}\n\
             [fabric]\nkind = \"hybrid\"\nracks = 4\nhosts-per-rack = 4\n\
             circuits = {{ switches = 5, rate = \"5Gbps\", delay = \"2us\", reconfiguration = \"2ms\", \
             dark = \"changed\" }}\n\
             [[workload]]\nkind = \"bulk\"\nsenders = \"0-3\"\nreceivers = \"4-7\"\nsize = \"20MB\"\n\
             [[workload]]\nkind = \"shuffle\"\nsize = \"20KB\"\n\
             [[scheme]]\nname = \"a\"\ntransport = {{ kind = \"newreno\", min-rto = \"1ms\" }}\n\
             voq = {{ packets = 400, relay = {{ hops = \"opportunistic\", packets = 1000 }} }}\n\
             control = {{ kind = \"circuits\", scheduler = \"mesh\", {scheduler} }}\n"
        )
    };
    let week = "week = \"20ms\", day = \"10ms\", demand = \"adu\"";
    let run = &records(&text(week), 1)[0];
    assert!(run.flows.iter().all(|flow| flow.finished()));
    assert!(run.control(counters::hybrid::RELAYED_PACKETS) > 0);
    let up = |to: u32| {
        let row = run.voqs.iter().find(|row| (row.src_rack, row.dst_rack) == (0, to));
        row.map_or(0, |row| row.circuit_up_ps)
    };
    assert!(up(1) > up(3) * 2, "{} {}", up(1), up(3));
    let held = &records(&text("week = \"2s\""), 1)[0];
    let last =
        |run: &slotline_lab::record::RunRecord| run.flows.iter().map(|flow| flow.finish_ps).max();
    assert!(last(run) < last(held), "{:?} {:?}", last(run), last(held));
    assert_eq!(records(&text(week), 3)[0].engine.digest, run.engine.digest);
}
