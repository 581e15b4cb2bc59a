//! Captures through bumps, against queues computed by hand.

use super::*;
use crate::ebpf::{EbpfDiscipline, load, threshold};
use crate::frame::{Content, parse};
use crate::object::{SECTION, wrap};
use slotline_net::aqm::spec::{EcnSpec, Policy, QcnSpec, QueueSpec};
use slotline_net::aqm::{Marker, queue_stream};
use slotline_net::rng::Stream;
use slotline_net::wire::cnm::Cnm;

/// An ECN-capable TCP packet of 1476 bytes, 1500 with framing: 12 us at 1 Gbit/s.
fn frame(host: u8, ecn: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, host, 2, 0, 0, 0, 0, 99, 0x08, 0x00];
    let mut header = [0x45, ecn, 0x05, 0xb6, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 99, 10, 0, 0, host];
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    header[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame.extend(header);
    frame.resize(1_476, 7);
    frame
}

/// A capture of these packets: time in microseconds, and bytes.
fn capture(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let port = [Interface { name: "eth0".into(), rate_bps: 10_000_000_000 }];
    let mut writer = PcapngWriter::new(Vec::new(), &port, 128).unwrap();
    for (t_us, bytes) in packets {
        let begin = 1_700_000_000_000_000_000;
        writer.packet(0, begin + t_us * 1_000, bytes, bytes.len() as u32).unwrap();
    }
    writer.finish().unwrap()
}

fn marker(policy: Policy) -> impl FnMut(u32) -> Marker {
    move |at| {
        let rng = queue_stream(1, at.into(), 0);
        let queue = QueueSpec { policy: policy.clone(), ..QueueSpec::default() };
        queue.marker(Rate(1_000_000_000).inverse_rate(), 1_538, rng)
    }
}

struct Result3 {
    report: Report,
    packets: Vec<Vec<u8>>,
    table: Vec<String>,
}

fn take<D: Discipline + Clone>(
    setup: &Setup,
    input: &[u8],
    discipline: impl FnMut(u32) -> D,
) -> Result3 {
    let (mut output, mut table) = (Vec::new(), Vec::new());
    let (report, _) = through(setup, input, discipline, &mut output, &mut table).unwrap();
    let mut packets = Vec::new();
    for_each_packet(&output, |packet| {
        packets.push(packet.data.to_vec());
        Ok(())
    })
    .unwrap();
    let table = String::from_utf8(table).unwrap().lines().map(String::from).collect();
    Result3 { report, packets, table }
}

fn ecn(frame: &[u8]) -> u8 {
    match parse(frame) {
        Ok(Content::Ip(packet)) => packet.ecn,
        other => panic!("{other:?}"),
    }
}

/// Ten packets, one each 2 us, to each of two hosts: queues grow by 10 us of 12 each time.
fn burst() -> Vec<u8> {
    let packets: Vec<_> = (0..20u64).map(|n| (n / 2 * 2, frame(1 + (n % 2) as u8, 2))).collect();
    capture(&packets)
}

#[test]
fn estimates_are_those_computed_by_hand() {
    let result = take(&Setup::default(), &burst(), marker(Policy::default()));
    assert_eq!(result.table[0], "packet,time_ns,length,queue,network,found_bytes,action");
    for (n, line) in result.table[1..].iter().enumerate() {
        let (queue, found) = (n % 2, n / 2 * 1_250);
        let end = format!(",1476,{queue},10.0.0.{},{found},pass", queue + 1);
        assert!(line.ends_with(&end), "{line} {end}");
    }
    assert_eq!(result.packets.len(), 20);
    assert_eq!(result.report.queues.len(), 2);
    assert_eq!(result.report.queues[1].2, 9 * 1_250);
}

#[test]
fn the_output_contains_marked_packets_and_no_dropped_ones() {
    let dctcp = marker(Policy::Ecn(EcnSpec { threshold: Bytes(5_000), drop_non_ect: false }));
    let result = take(&Setup::default(), &burst(), dctcp);
    let marked: Vec<bool> = result.packets.iter().map(|frame| ecn(frame) == 3).collect();
    // Bytes found: 0, 1250, … 5000 (not above), 6250 (marked), …
    let expected: Vec<bool> = (0..20).map(|n| n / 2 >= 5).collect();
    assert_eq!(marked, expected);
    let small = Setup { capacity: Bytes(6_000), ..Setup::default() };
    let result = take(&small, &burst(), marker(Policy::default()));
    assert!(result.table.iter().filter(|line| line.ends_with(",full")).count() > 6);
    assert_eq!(
        result.packets.len() as u64 + result.report.queues.iter().map(|q| q.1.full).sum::<u64>(),
        20
    );
}

/// Of two packets every 2 us one is not ECN-capable: it is dropped if `drop_non_ect` is set.
#[test]
fn packets_that_are_not_ecn_capable_are_dropped_as_configured() {
    let packets: Vec<_> = (0..40u64).map(|n| (n / 2 * 2, frame(1, (n % 2 * 2) as u8))).collect();
    let policy = |drop_non_ect| Policy::Ecn(EcnSpec { threshold: Bytes(5_000), drop_non_ect });
    let counts = |drops| {
        let result = take(&Setup::default(), &capture(&packets), marker(policy(drops)));
        [0, 2, 3]
            .map(|expected| result.packets.iter().filter(|frame| ecn(frame) == expected).count())
    };
    let [others, unmarked, marked] = counts(false);
    assert_eq!((others, unmarked + marked), (20, 20));
    let [others, unmarked, marked] = counts(true);
    assert!(others < 4 && unmarked < 6 && unmarked + marked == 20, "{others} {unmarked} {marked}");
}

#[test]
fn an_ebpf_discipline_has_the_verdicts_of_that_in_rust() {
    let program = load(&wrap(&threshold(5_000), SECTION)).unwrap();
    let setup = Setup::default();
    let ebpf = |at: u32| {
        let rng = Stream::named(1, "test", at.into());
        EbpfDiscipline::new(program.clone(), setup.rate, setup.capacity, rng)
    };
    let dctcp = marker(Policy::Ecn(EcnSpec { threshold: Bytes(5_000), drop_non_ect: false }));
    let (one, other) = (take(&setup, &burst(), ebpf), take(&setup, &burst(), dctcp));
    assert_eq!(one.table, other.table);
    assert_eq!(one.packets, other.packets);
}

#[test]
fn notices_are_frames_of_the_output() {
    let spec = QcnSpec {
        equilibrium: Bytes(2_000),
        sample: Bytes(3_000),
        least_sample: Bytes(1_500),
        ..QcnSpec::default()
    };
    let result = take(&Setup::default(), &burst(), marker(Policy::Qcn(spec)));
    let notices: Vec<Cnm> =
        result.packets.iter().filter_map(|frame| Cnm::parse(frame).ok()).collect();
    assert!(notices.len() > 3 && notices.len() as u64 == result.report.notices);
    assert!(
        notices.iter().all(|cnm| cnm.quantised > 0 && cnm.destination == Mac([2, 0, 0, 0, 0, 99]))
    );
    assert_eq!(result.packets.len(), 20 + notices.len());
}

#[test]
fn malformed_and_foreign_frames_pass_or_are_dropped_as_configured() {
    let arp = [&[0xff; 12][..], &[0x08, 0x06, 0, 1]].concat();
    let mut broken = frame(1, 2);
    broken[14] = 0x42;
    let input =
        capture(&[(0, arp.clone()), (1, broken.clone()), (2, vec![1, 2, 3]), (1, frame(1, 0))]);
    let result = take(&Setup::default(), &input, marker(Policy::default()));
    assert_eq!(result.packets.len(), 4);
    assert_eq!(result.packets[1], broken[..128]);
    assert_eq!(result.report.others, Others { unclassified: 1, malformed: 2 });
    assert_eq!(result.report.late, 1);
    let strict = Setup { malformed: Malformed::Drop, ..Setup::default() };
    let result = take(&strict, &input, marker(Policy::default()));
    assert_eq!(result.packets, [arp, frame(1, 0)[..128].to_vec()]);
}

#[test]
fn a_capture_of_another_link_is_refused() {
    let mut input = burst();
    // The link type, after the section header of 48 bytes and the interface block's type and length.
    let at = input.windows(4).position(|w| w == [1, 0, 0, 0]).unwrap();
    let link = input[at + 4..].windows(4).position(|w| w == [1, 0, 0, 0]).unwrap() + at + 4;
    let interface = if input[at - 4..at] == [0x4d, 0x3c, 0x2b, 0x1a] { link } else { at };
    input[interface + 8] = 101;
    let done =
        through(&Setup::default(), &input, marker(Policy::default()), Vec::new(), Vec::new());
    let why = done.unwrap_err().to_string();
    assert!(why.contains("link type 101"), "{why}");
}
