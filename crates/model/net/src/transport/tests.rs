//! Tests of sender and receiver on one connection.

use super::congestion::AlgorithmKind;
use super::harness::{Circuit, Faults, Hop, Outcome, World};
use super::{LossRecovery, Sender, Transport, TransportSpec};
use crate::frame::{Packet, Span};
use crate::id::FlowId;
use crate::time::Time;
use crate::topology::LinkParams;
use crate::units::Bytes;
use proptest::prelude::*;

const KINDS: [AlgorithmKind; 3] =
    [AlgorithmKind::NewReno, AlgorithmKind::Cubic, AlgorithmKind::Dctcp];

/// The algorithms that a network without circuits does not change.
const ALL: [AlgorithmKind; 5] = [
    AlgorithmKind::NewReno,
    AlgorithmKind::Cubic,
    AlgorithmKind::Dctcp,
    AlgorithmKind::Retcp,
    AlgorithmKind::Tdtcp,
];

fn transport(spec: TransportSpec) -> Transport {
    spec.build().unwrap()
}

fn lane(rate: &str, delay: Time) -> LinkParams {
    LinkParams { rate: rate.parse().unwrap(), delay }
}

/// Mbit/s of payload of one message of `bytes`.
fn goodput(bytes: u64, outcome: &Outcome) -> f64 {
    bytes as f64 * 8e-6 / outcome.received.as_secs_f64()
}

/// 10 MB over 1 Gbit/s with a round trip of 1 ms, and a buffer of 100 packets, with marks above 40 for DCTCP.
fn lossy(kind: AlgorithmKind, loss: f64, seed: u64) -> Outcome {
    let spec = TransportSpec { min_rto: Time::ms(10), ..TransportSpec::of(kind) };
    let lanes = [lane("1Gbps", Time::us(500))];
    let mut world = World::new(&transport(spec), &lanes, &lanes)
        .seeded(seed, Faults { loss, ..Faults::default() });
    world.directions[0][0].limit = 100;
    world.directions[0][0].mark = 40;
    world.run(&[10_000_000], 1_000_000).unwrap()
}

/// If these numbers change, the behaviour has changed. Check each change before accepting it.
#[test]
fn goodput_by_loss_rate_and_algorithm() {
    let mut table = String::from(
        "\nloss %  newreno         cubic           dctcp           Mbit/s (retransmissions, time-outs)\n",
    );
    for loss in [0.0, 0.1, 1.0, 5.0] {
        table += &format!("{loss:<6}");
        for kind in KINDS {
            let outcome = lossy(kind, loss / 100.0, 1);
            let mbps = goodput(10_000_000, &outcome).round();
            let trouble = format!("({}, {})", outcome.retransmissions, outcome.timeouts);
            table += &format!("  {mbps:>4} {trouble:<9}");
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    assert_eq!(table, GOLDEN, "{table}");
}

const GOLDEN: &str = "
loss %  newreno         cubic           dctcp           Mbit/s (retransmissions, time-outs)
0        920 (185, 0)    920 (330, 0)    902 (0, 0)
0.1      585 (191, 0)    654 (336, 0)    712 (2, 0)
1        159 (67, 0)     164 (70, 0)     166 (58, 0)
5         45 (402, 14)    40 (416, 24)    45 (402, 14)
";

/// A fixed window uses the whole link from the first round trip on, and repairs losses. One acknowledgement for sixteen
/// segments is sufficient.
#[test]
fn a_fixed_window_fills_the_link_and_repairs_losses() {
    let bytes = 10_000_000;
    let spec = TransportSpec::of(AlgorithmKind::Fixed);
    let lanes = [lane("1Gbps", Time::us(500))];
    for (loss, least) in [(0.0, 930.0), (0.01, 200.0), (0.05, 100.0)] {
        let mut world = World::new(&transport(spec.clone()), &lanes, &lanes)
            .seeded(1, Faults { loss, ..Faults::default() });
        world.directions[0][0].limit = 10_000;
        let outcome = world.run(&[bytes], 1_000_000).unwrap();
        assert!(goodput(bytes, &outcome) > least, "{loss}: {outcome:?}");
        assert_eq!(loss == 0.0, outcome.retransmissions == 0, "{loss}: {outcome:?}");
    }
}

/// The defaults of `kind`, with loss detection by time.
fn by_time(kind: AlgorithmKind) -> TransportSpec {
    TransportSpec { loss_recovery: LossRecovery::Rack, ..TransportSpec::of(kind) }
}

/// The algorithms that support loss detection by time.
const TIMED: [AlgorithmKind; 4] =
    [AlgorithmKind::NewReno, AlgorithmKind::Cubic, AlgorithmKind::Dctcp, AlgorithmKind::Retcp];

/// If these numbers change, the behaviour has changed, as in [`goodput_by_loss_rate_and_algorithm`]. Time-outs are
/// rarer.
#[test]
fn goodput_by_loss_rate_where_losses_are_found_by_time() {
    let mut table = String::from("\n");
    for loss in [0.0, 0.001, 0.01, 0.05] {
        for kind in KINDS {
            let spec = TransportSpec { min_rto: Time::ms(10), ..by_time(kind) };
            let lanes = [lane("1Gbps", Time::us(500))];
            let mut world = World::new(&transport(spec), &lanes, &lanes)
                .seeded(1, Faults { loss, ..Faults::default() });
            world.directions[0][0].limit = 100;
            world.directions[0][0].mark = 40;
            let outcome = world.run(&[10_000_000], 1_000_000).unwrap();
            let mbps = goodput(10_000_000, &outcome).round();
            table += &format!("{mbps:>4} {:?}", (outcome.retransmissions, outcome.timeouts));
        }
        table.push('\n');
    }
    assert_eq!(table, BY_TIME, "{table}");
}

const BY_TIME: &str = "
 920 (186, 0) 920 (333, 0) 902 (0, 0)
 788 (188, 0) 818 (336, 0) 523 (5, 0)
 145 (71, 0) 169 (62, 0) 158 (63, 0)
  51 (413, 5)  47 (420, 4)  51 (413, 5)
";

/// RFC 8985, section 3.3: a probe repairs a lost tail. This takes at most two round trips and the time-out of the
/// probe's acknowledgement. Only a tail of one segment waits about as long as for the retransmission timer, but the
/// probe repairs this loss, too. Without probes there is a time-out.
#[test]
fn a_lost_tail_is_found_by_a_probe() {
    let lanes = [lane("1Gbps", Time::us(100))];
    for kind in TIMED {
        for lost in [vec![99], vec![98, 99], vec![95, 96, 97, 98, 99]] {
            let run = |tail_loss_probe| {
                let spec = TransportSpec { tail_loss_probe, ..by_time(kind) };
                let mut world = World::new(&transport(spec), &lanes, &lanes);
                world.faults.lost = lost.clone();
                world.run(&[100 * 1_460], 10_000).unwrap()
            };
            let (with, without) = (run(true), run(false));
            assert_eq!((with.timeouts, without.timeouts), (0, 1), "{kind:?} {lost:?}");
            assert_eq!(with.retransmissions, lost.len() as u32);
            let most = if lost.len() == 1 { Time::ms(210) } else { Time::ms(5) };
            assert!(with.received < most, "{kind:?} {lost:?} {with:?}");
        }
    }
}

/// Besides a segment, its retransmission or another segment is lost. There is no time-out, unless that is the last
/// packet that is sent.
#[test]
fn two_losses_take_no_time_out() {
    let lanes = [lane("1Gbps", Time::us(100))];
    for kind in TIMED {
        for second in 21..95 {
            let mut world = World::new(&transport(by_time(kind)), &lanes, &lanes);
            world.faults.lost = vec![20, second];
            let outcome = world.run(&[100 * 1_460], 10_000).unwrap();
            let lost = (outcome.retransmissions, outcome.timeouts);
            assert_eq!(lost, (2, 0), "{kind:?} {second}");
        }
    }
}

/// If a single packet is lost, only this packet is sent again, except for a probe if a segment was only late.
#[test]
fn one_loss_is_repaired_where_losses_are_found_by_time() {
    let lanes = [lane("1Gbps", Time::us(100))];
    for kind in TIMED {
        for lost in 0..100 {
            let mut world = World::new(&transport(by_time(kind)), &lanes, &lanes);
            world.faults.lost = vec![lost];
            let outcome = world.run(&[100 * 1_460], 10_000).unwrap();
            assert_eq!((outcome.retransmissions, outcome.timeouts), (1, 0), "{kind:?} {lost}");
        }
    }
}

/// The keys of loss detection by time are read, and refused if they have no effect.
#[test]
fn loss_recovery_is_read_and_refused() {
    let read = |text: &str| toml::from_str::<TransportSpec>(text).map_err(|e| e.to_string());
    let rack = "loss-recovery = 'rack'\n";
    let spec = read(&format!("kind = 'cubic'\n{rack}timer-slack = '4ms'")).unwrap();
    assert!(spec.tail_loss_probe && spec.loss_recovery == LossRecovery::Rack);
    assert_eq!(spec.timer_slack, Time::ms(4));
    let again = toml::to_string(&spec).unwrap();
    assert_eq!(toml::from_str::<TransportSpec>(&again).unwrap(), spec);
    for kind in ["fixed", "tdtcp"] {
        let text = format!("kind = '{kind}'\n{rack}");
        assert!(read(&text).unwrap_err().contains("no meaning"), "{kind}");
    }
    for key in ["tail-loss-probe = false", "timer-slack = '4ms'"] {
        let text = format!("kind = 'newreno'\n{key}");
        assert!(read(&text).unwrap_err().contains("needs loss-recovery"), "{key}");
    }
    let long = read(&format!("kind = 'newreno'\n{rack}timer-slack = '2s'")).unwrap();
    assert!(long.build().is_err());
}

/// Tables are read as they are written, and a fixed window has no keys without effect.
#[test]
fn a_table_says_what_its_kind_knows() {
    for &kind in AlgorithmKind::ALL {
        let spec = TransportSpec { mtu: Bytes(9_000), ..TransportSpec::of(kind) };
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(toml::from_str::<TransportSpec>(&text).unwrap(), spec, "{text}");
        for key in ["initial-window = 5", "idle-restart = true", "ecn = true", "gain-shift = 3"] {
            let text = format!("kind = \"{}\"\n{key}", kind.name());
            let read = toml::from_str::<TransportSpec>(&text);
            let refused = read.is_err_and(|error| error.message().contains("no meaning"));
            use AlgorithmKind::{Custom, Fixed, Retcp, Tdtcp};
            let ungained = matches!(kind, Retcp | Tdtcp | Custom);
            let unknown = kind == Fixed || (ungained && key.starts_with("gain"));
            assert_eq!(refused, unknown, "{text}");
        }
    }
}

#[test]
fn jumps_are_read_and_have_limits() {
    let read = |text: &str| {
        let spec = toml::from_str::<TransportSpec>(text).map_err(|error| error.to_string())?;
        spec.build().map_err(|error| error.to_string())
    };
    let wrong = |text: &str| read(text).expect_err(text);
    assert!(read("kind = 'retcp'\ncircuit-increase = 3.5\ncircuit-decrease = 0.25").is_ok());
    assert!(wrong("kind = 'retcp'\ncircuit-increase = 0.5").contains("1 to 64"));
    assert!(wrong("kind = 'retcp'\ncircuit-decrease = 1.5").contains("0 to 1"));
    assert!(wrong("kind = 'tdtcp'\ncircuit-decrease = 0.5").contains("no meaning for `tdtcp`"));
}

/// In a network without information about circuits, both are NewReno.
#[test]
fn without_circuits_there_is_one_path_and_no_jump() {
    for loss in [0.0, 0.01] {
        let expected = lossy(AlgorithmKind::NewReno, loss, 1);
        assert_eq!(lossy(AlgorithmKind::Retcp, loss, 1), expected, "{loss}");
        let by_path = lossy(AlgorithmKind::Tdtcp, loss, 1);
        let ratio = goodput(10_000_000, &by_path) / goodput(10_000_000, &expected);
        assert!((0.9..1.1).contains(&ratio), "{loss}: {ratio} {by_path:?}");
    }
}

/// 20 MB over 1 Gbit/s, and over 8 Gbit/s for 180 us of every 1.4 ms, with a window of up to `segments`.
fn fluctuating(kind: AlgorithmKind, delay: Time, limit: usize, segments: u64) -> Outcome {
    let mut world = fluctuation(kind, delay, limit, segments);
    world.run(&[20_000_000], 1_000_000).unwrap()
}

fn fluctuation(kind: AlgorithmKind, delay: Time, limit: usize, segments: u64) -> World {
    let max_window = Bytes(segments * 1_460);
    let spec = TransportSpec { min_rto: Time::ms(10), max_window, ..TransportSpec::of(kind) };
    let slow = [lane("1Gbps", Time::us(10))];
    let mut world = World::new(&transport(spec), &slow, &slow);
    let hop = Hop::new(&lane("8Gbps", delay));
    let (day, week, notice) = (Time::us(180), Time::us(1_400), None);
    world.circuit = Some(Circuit { hop, day, week, notice });
    world.directions[0][0].limit = limit;
    world
}

/// A sender that is notified of the end of a circuit does not send its window into the packet switch's small queue for
/// another round trip. Lost messages do no harm, because acknowledgements carry the same information.
#[test]
fn messages_about_circuits_save_packets_at_their_ends() {
    let with = |notice: Option<Time>, loss: f64| {
        let mut world = fluctuation(AlgorithmKind::Tdtcp, Time::us(10), 16, 1_000);
        world.circuit.as_mut().unwrap().notice = notice;
        world.faults.notice_loss = loss;
        world.run(&[20_000_000], 1_000_000).unwrap()
    };
    let (none, notified) = (with(None, 0.0), with(Some(Time::ZERO), 0.0));
    assert!(notified.retransmissions < none.retransmissions, "{notified:?} {none:?}");
    assert!(notified.received.as_ps() < none.received.as_ps() / 20 * 21, "{notified:?} {none:?}");
    let lost = with(Some(Time::ZERO), 1.0);
    assert_eq!(Outcome { events: none.events, ..lost }, none);
}

/// Packets on the circuit overtake packets that wait for the slow link. NewReno treats this as loss, TDTCP does not. No
/// packet waits longer than a week.
#[test]
fn what_overtakes_on_another_path_is_no_loss_for_tdtcp() {
    let [reno, tdtcp] = [AlgorithmKind::NewReno, AlgorithmKind::Tdtcp]
        .map(|kind| fluctuating(kind, Time::us(100), 10_000, 60));
    assert!(reno.retransmissions > 100, "{reno:?}");
    assert_eq!((tdtcp.retransmissions, tdtcp.timeouts), (0, 0), "{tdtcp:?}");
    assert!(tdtcp.received < reno.received, "{tdtcp:?} {reno:?}");
}

/// The window of the circuit does not flood the small queue of the packet switch. There the sender sends what the queue
/// and the link of 1 Gbit/s hold, and on the circuit more.
#[test]
fn paths_have_windows_of_their_own() {
    let [reno, tdtcp] = [AlgorithmKind::NewReno, AlgorithmKind::Tdtcp]
        .map(|kind| fluctuating(kind, Time::us(10), 16, 1_000));
    assert!(tdtcp.received < reno.received, "{tdtcp:?} {reno:?}");
}

/// Ott, Kemperman and Mathis 1996: with independent losses of probability p, NewReno's window is
/// 1.31/√p on average.
#[test]
fn reno_follows_the_square_root_law() {
    let spec = TransportSpec { initial_window: 30, ..TransportSpec::of(AlgorithmKind::NewReno) };
    let (ahead, back) = ([lane("10Gbps", Time::ms(5))], [lane("10Gbps", Time::ms(5))]);
    for loss in [0.001, 0.002, 0.004] {
        let mut world =
            World::new(&transport(spec.clone()), &ahead, &back).seeded(3, Faults::default());
        world.faults.data_loss = loss;
        let outcome = world.run(&[200_000_000], 2_000_000).unwrap();
        let window = goodput(200_000_000, &outcome) * 1e6 / (8.0 * 1_460.0) * 0.01;
        let law = 1.31 / f64::sqrt(loss);
        assert!((0.9..1.1).contains(&(window / law)), "{loss}: {window} instead of {law}");
    }
}

/// Every algorithm keeps a link busy, and DCTCP does it with a short queue.
#[test]
fn dctcp_needs_less_buffer() {
    for kind in KINDS {
        let spec = TransportSpec { min_rto: Time::ms(10), ..TransportSpec::of(kind) };
        let lanes = [lane("1Gbps", Time::us(100))];
        let mut world = World::new(&transport(spec), &lanes, &lanes);
        world.directions[0][0].limit = 200;
        world.directions[0][0].mark = 20;
        let outcome = world.run(&[20_000_000], 1_000_000).unwrap();
        assert!(goodput(20_000_000, &outcome) > 920.0, "{kind:?}: {outcome:?}");
        let longest = world.directions[0][0].longest;
        if kind == AlgorithmKind::Dctcp {
            assert!(longest < 60 && outcome.retransmissions == 0, "{longest}: {outcome:?}");
        } else {
            assert_eq!(longest, 200, "{kind:?}");
        }
    }
}

#[test]
fn one_loss_in_a_window_is_repaired_without_a_time_out() {
    for kind in ALL {
        for lost in 0..96 {
            let lanes = [lane("1Gbps", Time::us(100))];
            let mut world = World::new(&transport(TransportSpec::of(kind)), &lanes, &lanes);
            world.faults.lost = vec![lost];
            let outcome = world.run(&[100 * 1_460], 10_000).unwrap();
            assert_eq!(
                (outcome.retransmissions, outcome.timeouts),
                (1, 0),
                "{kind:?}, packet {lost}"
            );
        }
    }
}

/// A late segment looks lost. When it arrives, recovery still ends at the right segment.
#[test]
fn recovery_ends_after_mere_reordering() {
    let transport = transport(TransportSpec::of(AlgorithmKind::NewReno));
    let mut sender = Sender::new(&transport);
    sender.push(FlowId(0), 1_000_000, &transport, Time::ZERO);
    let ack = |sender: &mut Sender, seq: u32, sack: Span| {
        let packet =
            Packet { seq, sack: [sack, Span::default(), Span::default()], ..Packet::default() };
        sender.on_ack(&packet, &transport, Time::us(100));
        while sender.next_segment(&transport, Time::us(100)).is_some() {}
    };
    while sender.next_segment(&transport, Time::ZERO).is_some() {}
    ack(&mut sender, 0, Span { start: 1, end: 4 });
    assert_eq!((sender.window(), sender.losses().0), (5, 0), "segment 0 seems lost");
    (4..=10).for_each(|seq| ack(&mut sender, seq, Span::default()));
    (11..=20).for_each(|seq| ack(&mut sender, seq, Span::default()));
    assert_eq!(sender.window(), 7, "5 and then 6 acknowledgements since segment 10 add one each");
}

#[test]
fn a_lost_tail_or_a_lost_retransmission_at_the_end_takes_a_time_out() {
    let lanes = [lane("1Gbps", Time::us(100))];
    for lost in [vec![99], vec![98, 99], vec![95, 100]] {
        let mut world =
            World::new(&transport(TransportSpec::of(AlgorithmKind::NewReno)), &lanes, &lanes);
        let count = lost.len() as u32;
        world.faults.lost = lost;
        let outcome = world.run(&[100 * 1_460], 10_000).unwrap();
        assert_eq!((outcome.retransmissions, outcome.timeouts), (count, 1));
        assert!(
            outcome.received > Time::ms(200) && outcome.received < Time::ms(210),
            "{outcome:?}"
        );
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    (0.0..0.4f64, 0.0..0.4f64, 0.0..0.4f64, 0..2_000u64).prop_map(
        |(loss, duplication, reordering, late)| Faults {
            loss,
            duplication,
            reordering,
            lateness: Time::us(late),
            lies: late % 2 == 1,
            ..Faults::default()
        },
    )
}

proptest! {
    #[test]
    fn everything_arrives_in_the_end(
        kind in prop::sample::select(ALL.to_vec()),
        messages in prop::collection::vec(1..100_000u64, 1..8),
        faults in faults(),
        delayed_ack in prop::sample::select(vec![Time::ZERO, Time::us(500), Time::ms(40)]),
        max_window in 2..200u64,
        limit in 1..50usize,
        time in any::<bool>(),
        tail_loss_probe in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let loss_recovery = if time { LossRecovery::Rack } else { LossRecovery::Sack };
        let spec = TransportSpec {
            loss_recovery,
            tail_loss_probe,
            min_rto: Time::ms(5),
            max_rto: Time::ms(100),
            max_window: Bytes(max_window * 1_460),
            delayed_ack,
            ..TransportSpec::of(kind)
        };
        let lanes = [lane("1Gbps", Time::us(50)), lane("100Mbps", Time::us(50))];
        let mut world = World::new(&transport(spec), &lanes, &lanes).seeded(seed, faults);
        world.directions[0][1].limit = limit;
        world.directions[0][1].mark = limit / 2;
        let bytes: u64 = messages.iter().sum();
        // At 40 % loss in both directions a segment is sent 2.8 times on average. A livelock would exceed any limit.
        let outcome = world.run(&messages, 20_000 + bytes / 10);
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }

    /// Packets are late, but not lost. There is no time-out, and recovery ends.
    #[test]
    fn reordering_alone_costs_no_time_out(seed in any::<u64>(), late in 1..300u64) {
        let faults = Faults { reordering: 0.1, lateness: Time::us(late), ..Faults::default() };
        let lanes = [lane("1Gbps", Time::us(100))];
        let transport = transport(TransportSpec::of(AlgorithmKind::NewReno));
        let outcome = World::new(&transport, &lanes, &lanes).seeded(seed, faults).run(&[1_000_000], 20_000);
        prop_assert_eq!(outcome.map(|outcome| outcome.timeouts), Ok(0));
    }
}
