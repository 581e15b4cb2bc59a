//! What is written is read back unchanged. What was damaged later is refused.

use super::read::{ReadError, open, read};
use super::tests::scratch;
use super::{index, written};
use crate::record::{
    Capture, CapturedPacket, Conservation, ControlRow, EngineStats, EstimateRow, FaultRow, FlowRow,
    LimitRow, NEVER, PortRow, RunRecord, RunSet, Samples, ScheduleRow, SequenceRow, Step,
    StoppedRow, VoqRow, WhyRow, Window,
};
use proptest::prelude::*;
use slotline_net::frame::{Circuits, Kind, Packet, Span};
use slotline_net::id::HostId;
use slotline_scenario::metric::Metric;
use std::fs;
use std::path::Path;

/// Small numbers, large numbers, and limits.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, any::<u64>().prop_map(|n| n >> 1), Just(0), Just(NEVER - 1)]
}
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![number(), Just(NEVER)]
}
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9]{0,6}", "[ -~µ≥\"\n]{0,12}"]
}

fn flow() -> impl Strategy<Value = FlowRow> {
    let ids = (any::<u32>(), any::<u16>(), any::<u32>(), any::<u32>());
    let times = (time(), time(), number(), number(), number());
    let rest = (any::<u32>(), any::<u32>(), any::<bool>(), any::<bool>(), any::<Option<u32>>());
    (ids, times, rest).prop_map(|(ids, times, rest)| FlowRow {
        flow: ids.0,
        group: ids.1,
        src: ids.2,
        dst: ids.3,
        start_ps: times.0,
        finish_ps: times.1,
        ideal_ps: times.2,
        bytes: times.3,
        delivered_bytes: times.4,
        retransmits: rest.0,
        timeouts: rest.1,
        udp: rest.2,
        request: rest.3,
        exchange: rest.4,
    })
}

fn port() -> impl Strategy<Value = PortRow> {
    let counts = prop::array::uniform8(number());
    (text(), text(), any::<bool>(), counts).prop_map(|(node, port, host, counts)| PortRow {
        node,
        port,
        host,
        rate_bps: counts[0],
        tx_packets: counts[1],
        tx_bytes: counts[2],
        drops: counts[3],
        marks: counts[4],
        peak_bytes: counts[5],
        pauses: counts[6],
        message_peak_bytes: counts[7],
    })
}

fn why() -> impl Strategy<Value = WhyRow> {
    let worst = || prop::array::uniform3((any::<u32>(), number()));
    (any::<u32>(), prop::array::uniform10(number()), any::<u32>(), worst())
        .prop_map(|(flow, parts, round_trips, worst)| WhyRow { flow, parts, round_trips, worst })
}

/// Steps in order of flow and time.
fn sequence() -> impl Strategy<Value = Vec<SequenceRow>> {
    let steps = prop::sample::select(vec![Step::Sent, Step::Resent, Step::Acknowledged]);
    let row = (any::<u32>(), number(), steps, number())
        .prop_map(|(flow, t_ps, step, bytes)| SequenceRow { flow, t_ps, step, bytes });
    prop::collection::vec(row, 0..3).prop_map(|mut rows| {
        rows.sort_by_key(|row| (row.flow, row.t_ps));
        rows
    })
}

fn schedule() -> impl Strategy<Value = ScheduleRow> {
    (number(), number(), any::<u32>(), any::<u32>(), number()).prop_map(
        |(from_ps, until_ps, src, dst, rate_bps)| ScheduleRow {
            from_ps: from_ps.min(until_ps),
            until_ps: from_ps.max(until_ps),
            src,
            dst,
            rate_bps,
        },
    )
}

fn packet() -> impl Strategy<Value = CapturedPacket> {
    let kinds = [Kind::Data, Kind::Ack, Kind::Datagram, Kind::Control, Kind::Pause].to_vec();
    let fields = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let small = (any::<u16>(), any::<u16>(), any::<u8>(), any::<u8>());
    let sack = prop::array::uniform3((any::<u16>(), any::<u16>()));
    (number(), fields, small, prop::sample::select(kinds), sack).prop_map(
        |(t_ps, fields, small, kind, sack)| CapturedPacket {
            t_ps,
            src: fields.0,
            packet: Packet {
                dst: HostId(fields.1),
                flow: fields.2,
                seq: fields.3,
                stamp: fields.4,
                entropy: small.0,
                len: small.1,
                kind,
                flags: small.2,
                class: small.3,
                circuits: Circuits::from_bits(small.3 / 2).unwrap(),
                sack: sack.map(|(start, end)| Span { start, end }),
            },
            head: "45".repeat(usize::from(small.3 % 3)),
        },
    )
}

fn capture() -> impl Strategy<Value = Capture> {
    (any::<u32>(), prop::collection::vec(packet(), 0..5), number())
        .prop_map(|(port, packets, omitted)| Capture { port, packets, omitted })
}

fn engine() -> impl Strategy<Value = (EngineStats, Conservation)> {
    let counts = prop::array::uniform8(number());
    let dropped = prop::array::uniform7(number());
    (0.0..1e9f64, 0.0..1.0f64, any::<u32>(), counts, dropped).prop_map(
        |(cpu_s, wall_s, threads, n, dropped)| {
            let engine = EngineStats {
                cpu_s,
                wall_s,
                threads,
                events: n[0],
                packet_hops: n[1],
                peak_rss_bytes: n[2],
                digest: n[3],
                sim_time_ps: n[4],
                flow_level: n[0].is_multiple_of(2),
                emulation: None,
            };
            (engine, Conservation { sent: n[5], delivered: n[6], in_flight: n[7], dropped })
        },
    )
}

prop_compose! {
    /// A run of any scheme and seed.
    fn record()(
        flows in prop::collection::vec(flow(), 0..20),
        ports in prop::collection::vec(port(), 0..4),
        samples in samples(),
        control in prop::collection::vec((text(), number()), 0..3),
        faults in prop::collection::vec(fault(), 0..3),
        estimates in prop::collection::vec((number(), any::<u32>(), any::<u16>(), number(), number()), 0..5),
        limits in prop::collection::vec((number(), any::<u32>(), any::<u32>(), number(), number()), 0..4),
        stopped in prop::collection::vec((number(), any::<u32>(), number(), any::<u8>(), text()), 0..3),
        voqs in prop::collection::vec(voq(), 0..3),
        why in prop::collection::vec(why(), 0..3),
        sequence in sequence(),
        schedule in prop::collection::vec(schedule(), 0..3),
        captures in prop::collection::vec(capture(), 0..3),
        (engine, census) in engine(),
    ) -> RunRecord {
        let estimate = |(t_ps, port, bump, estimate_bytes, real_bytes)| {
            EstimateRow { t_ps, port, bump, estimate_bytes, real_bytes }
        };
        let limit = |(t_ps, port, connection, rate_bps, queue_bytes)| {
            LimitRow { t_ps, port, connection, rate_bps, queue_bytes }
        };
        let row = |(t_ps, port, bump, class, why)| {
            StoppedRow { t_ps, port, bump, class, unjudged: t_ps / 3, why }
        };
        let stopped = stopped.into_iter().map(row).collect();
        let limits = limits.into_iter().map(limit).collect();
        let estimates = estimates.into_iter().map(estimate).collect();
        let control = control.into_iter().map(|(count, value)| ControlRow { count, value }).collect();
        let (scheme, seed) = (String::new(), 0);
        RunRecord {
            scheme, seed, flows, ports, samples, control, faults, estimates, limits, stopped, voqs,
            apps: vec![],
            why, sequence, schedule, captures, engine, census,
        }
    }
}

prop_compose! {
    fn samples()(
        mut times in prop::collection::vec(number(), 1..5),
        ports in prop::collection::btree_set(any::<u32>(), 0..4),
        values in prop::collection::vec((0..3u64, number()), 16),
    ) -> Samples {
        if ports.is_empty() {
            return Samples::default();
        }
        times.sort();
        let (mut samples, mut values) = (Samples::of_ports(ports), values.into_iter());
        times.into_iter().for_each(|t_ps| samples.take(t_ps, |_| values.next().unwrap()));
        samples
    }
}

prop_compose! {
    fn voq()(racks: (u16, u16), n in prop::array::uniform9(number())) -> VoqRow {
        VoqRow {
            src_rack: racks.0.into(),
            dst_rack: racks.1.into(),
            packets: n[0],
            circuit_bytes: n[1],
            packet_switch_bytes: n[2],
            drops: n[3],
            resize_drops: n[4],
            resizes: n[5],
            longest: n[6],
            mean_wait_ps: n[7],
            circuit_up_ps: n[8],
        }
    }
}

fn failed(scheme: &str, why: &str) -> crate::record::FailedRun {
    crate::record::FailedRun { scheme: scheme.into(), seed: 7, why: why.into() }
}

prop_compose! {
    fn fault()(name in text(), switch: bool, found_ps in number(), avoided_ps in time(), cleared_ps in time()) -> FaultRow {
        FaultRow { name, switch, found_ps, avoided_ps, cleared_ps }
    }
}

prop_compose! {
    /// A set with some of its planned runs, in order.
    fn set()(
        schemes in prop::collection::btree_set(text(), 1..4),
        seeds in prop::collection::btree_set(any::<u64>(), 1..3),
        runs in prop::collection::vec((record(), any::<bool>()), 8),
        texts in prop::array::uniform4(text()),
        workloads in prop::collection::vec(text(), 0..3),
        metrics in prop::sample::subsequence(Metric::ALL.to_vec(), 0..4),
        (from_ps, until_ps) in (number(), time()),
    ) -> RunSet {
        let [name, description, scenario, fabric] = texts;
        let schemes: Vec<String> = schemes.into_iter().collect();
        let seeds: Vec<u64> = seeds.into_iter().collect();
        let names = schemes.iter().flat_map(|scheme| seeds.iter().map(move |seed| (scheme, *seed)));
        let named = |((scheme, seed), (run, done)): ((&String, u64), (RunRecord, bool))| {
            done.then(|| RunRecord { scheme: scheme.clone(), seed, ..run })
        };
        RunSet {
            failed: schemes.iter().map(|scheme| failed(scheme, &description)).collect(),
            runs: names.zip(runs).filter_map(named).collect(),
            window: Window { from_ps, until_ps },
            name, description, scenario, fabric, schemes, seeds, workloads, metrics,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_written_is_read_back(set in set()) {
        let folder = scratch("round-trip");
        written::write_data(&folder, "id", &set).unwrap();
        let stored = open(&folder).unwrap();
        prop_assert_eq!(&stored.set, &set);
        prop_assert_eq!((&*stored.id, &*stored.version), ("id", env!("CARGO_PKG_VERSION")));
        fs::remove_dir_all(folder).unwrap();
    }
}

/// A result on disk, in a folder of its own.
fn stored(name: &str, set: &RunSet) -> std::path::PathBuf {
    let folder = scratch(name);
    written::write_data(&folder, "id", set).unwrap();
    folder
}

#[test]
fn several_row_groups_of_a_run_are_joined() {
    let mut set = RunSet::example(2);
    let flow = |flow: u32| FlowRow { flow, bytes: u64::from(flow) * 3, ..FlowRow::default() };
    set.runs[1].flows = (0..300_000).map(flow).collect();
    set.runs[3].flows = (0..131_072).map(flow).collect();
    set.runs[4].flows.clear();
    let folder = stored("groups", &set);
    assert_eq!(read(&folder).unwrap(), set);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn foreign_files_and_other_versions_are_distinguished() {
    let set = RunSet::example(1);
    let folder = stored("versions", &set);
    let nowhere = read(Path::new("/no/such/folder")).unwrap_err();
    assert!(matches!(nowhere, ReadError::NotAResult(_)), "{nowhere}");
    let file = folder.join(index::FILE);
    assert!(matches!(read(&file).unwrap_err(), ReadError::NotAResult(_)));
    let text = fs::read_to_string(&file).unwrap();
    let own = format!("\"schema\": {}", index::SCHEMA);
    let newer = text.replace(&own, "\"schema\": 99, \"unheard-of\": 1");
    fs::write(&file, newer.replace("\"version\": \"", "\"version\": \"7.")).unwrap();
    let shown = read(&folder).unwrap_err().to_string();
    assert!(shown.contains("slotline 7.") && shown.contains("form 99"), "{shown}");
    let other = text.replace("\"fabric\"", "\"fabrik\"");
    fs::write(&file, &other).unwrap();
    let shown = read(&folder).unwrap_err().to_string();
    assert!(shown.contains("runs.json") && shown.contains("must not be edited"), "{shown}");
    fs::write(&file, index::seal(&other)).unwrap();
    let shown = read(&folder).unwrap_err().to_string();
    assert!(shown.contains("runs.json") && shown.contains("fabrik"), "{shown}");
    fs::remove_file(&file).unwrap();
    assert!(matches!(read(&folder).unwrap_err(), ReadError::NotAResult(_)));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damage_names_its_file() {
    let folder = stored("damage", &RunSet::example(2));
    let file = folder.join("flows.parquet");
    let whole = fs::read(&file).unwrap();
    let shown = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        read(&folder).unwrap_err().to_string()
    };
    let cut = shown(&whole[..whole.len() / 2]);
    assert!(cut.contains("flows.parquet") && cut.contains("cut off after"), "{cut}");
    let longer = shown(&[&whole[..], b"x"].concat());
    assert!(longer.contains("flows.parquet") && longer.contains("checksum differs"), "{longer}");
    fs::remove_file(&file).unwrap();
    let missing = read(&folder).unwrap_err().to_string();
    assert!(missing.contains("flows.parquet") && missing.contains("missing"), "{missing}");
    fs::remove_dir_all(folder).unwrap();
}

/// Every file with a byte changed, and cut off, at many places: always an error, never a panic.
#[test]
fn no_mutation_makes_it_panic() {
    let set = RunSet::example(1);
    let folder = stored("mutation", &set);
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(names.len() >= 5, "{names:?}");
    let mut rng = 7u64;
    for path in names {
        let whole = fs::read(&path).unwrap();
        for _ in 0..200 {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (rng >> 33) as usize % whole.len();
            let mut changed = whole.clone();
            changed[at] ^= ((rng >> 20) as u8).max(1);
            for content in [&changed[..], &whole[..at]] {
                fs::write(&path, content).unwrap();
                assert!(read(&folder).is_err(), "{}: byte {at}", path.display());
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    assert_eq!(read(&folder).unwrap(), set);
    fs::remove_dir_all(folder).unwrap();
}

/// A damaged table with a matching checksum is an error or has other content, and never causes a panic.
#[test]
fn damage_with_a_checksum_that_fits_is_an_error() {
    let folder = stored("sealed", &RunSet::example(1));
    let file = folder.join(index::FILE);
    let text = fs::read_to_string(&file).unwrap();
    let path = folder.join("flows.parquet");
    let whole = fs::read(&path).unwrap();
    let (mut rng, mut errors) = (11u64, 0);
    for _ in 0..1_500 {
        let mut changed = whole.clone();
        for _ in 0..2 {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (rng >> 33) as usize % whole.len();
            changed[at] = (rng >> 20) as u8;
        }
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        json["files"]["flows.parquet"]["xxh64"] = written::checksum(&changed).into();
        fs::write(&path, &changed).unwrap();
        fs::write(&file, index::seal(&serde_json::to_string_pretty(&json).unwrap())).unwrap();
        errors += u32::from(read(&folder).is_err());
    }
    assert!(errors > 300, "{errors} of 1500");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn steps_of_a_flow_that_are_not_in_order_are_refused() {
    let mut set = RunSet::example(1);
    let row = |t_ps| SequenceRow { flow: 0, t_ps, step: Step::Sent, bytes: 1 };
    for (times, fits) in [([5, 9], true), ([9, 5], false)] {
        set.runs[0].sequence = times.map(row).into();
        let folder = stored("order", &set);
        let read = read(&folder);
        assert_eq!(read.is_ok(), fits);
        assert!(fits || read.unwrap_err().to_string().contains("not in order of flow and time"));
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn permissions_that_end_before_they_begin_are_refused() {
    let mut set = RunSet::example(1);
    set.runs[0].schedule =
        vec![ScheduleRow { src: 0, dst: 1, from_ps: 9, until_ps: 5, rate_bps: 1 }];
    let folder = stored("permission", &set);
    assert!(read(&folder).unwrap_err().to_string().contains("ends before it begins"));
    fs::remove_dir_all(folder).unwrap();
}

/// Tables with a matching checksum are still checked.
#[test]
fn tables_that_do_not_fit_are_refused() {
    let (set, other) = (RunSet::example(1), RunSet::example(2));
    let folder = stored("swap", &set);
    let foreign = stored("swap-other", &other);
    let file = folder.join(index::FILE);
    let text = fs::read_to_string(&file).unwrap();
    let note = |folder: &Path, name: &str| {
        let bytes = fs::read(folder.join(name)).unwrap();
        (bytes.len() as u64, written::checksum(&bytes))
    };
    for (place, source) in [("flows", "ports"), ("flows", "flows"), ("samples", "samples")] {
        let (place, source) = (format!("{place}.parquet"), format!("{source}.parquet"));
        let whole = fs::read(folder.join(&place)).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (bytes, sum) = note(&foreign, &source);
        json["files"][&place] = serde_json::json!({ "bytes": bytes, "xxh64": sum });
        fs::copy(foreign.join(&source), folder.join(&place)).unwrap();
        let text = serde_json::to_string_pretty(&json).unwrap();
        fs::write(&file, index::seal(&text)).unwrap();
        let shown = read(&folder).unwrap_err().to_string();
        assert!(shown.contains(&place) && shown.contains("damaged"), "{shown}");
        fs::write(folder.join(&place), whole).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
    fs::remove_dir_all(foreign).unwrap();
}
