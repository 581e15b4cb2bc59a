use super::*;
use etherparse::{SlicedPacket, TransportSlice};
use slotline_lab::record::{
    Capture, CapturedPacket, Conservation, FlowRow, NEVER, Part, SampleRow, Samples, ScheduleRow,
    WhyRow, Window,
};
use slotline_net::frame::{ECT, Kind, PUSH, Packet, RETRANSMITTED, Span};
use slotline_net::id::HostId;

const US: u64 = 1_000_000;
const SCENARIO: &str = "name = \"pair\"\n[end]\n[fabric]\nkind = \"star\"\nhosts = 2\n\
    [[scheme]]\nname = \"tcp\"\n[[scheme]]\nname = \"two \\\"quoted\\\"\"\n\
    transport = { kind = \"cubic\", headers = \"52B\" }\n";

/// Two flows on one connection from `h0` to `h1` (3,000 and 2,000 bytes), one that never ends.
fn pair() -> RunSet {
    let schemes = vec!["tcp".to_string(), "two \"quoted\"".to_string()];
    let runs = schemes.iter().flat_map(|scheme| [1, 2].map(|seed| run(scheme, seed)));
    RunSet {
        name: "pair".into(),
        description: String::new(),
        scenario: SCENARIO.into(),
        fabric: "star of 2 hosts".into(),
        workloads: vec!["bulk".into(), "incast".into()],
        seeds: vec![1, 2],
        metrics: vec![],
        window: Window::ALL,
        runs: runs.collect(),
        failed: vec![],
        schemes,
    }
}

fn run(scheme: &str, seed: u64) -> RunRecord {
    let mss: u16 = if scheme == "tcp" { 1_460 } else { 1_448 };
    let flow = |flow, group, bytes, start, finish_ps| FlowRow {
        flow,
        group,
        src: 0,
        dst: 1,
        bytes,
        delivered_bytes: bytes,
        start_ps: start * US + 999,
        finish_ps,
        ideal_ps: 2 * US,
        ..FlowRow::default()
    };
    let port = |node: &str, port: &str, host| PortRow {
        node: node.into(),
        port: port.into(),
        host,
        rate_bps: 10_000_000_000,
        tx_packets: 5,
        tx_bytes: 5_000 + u64::from(mss),
        ..PortRow::default()
    };
    let mut parts = [0; Part::ALL.len()];
    parts[Part::Queue as usize] = 3 * US + 7;
    let sample = |(t, queue_bytes)| SampleRow { t_ps: t * US, port: 1, queue_bytes, tx_bytes: 0 };
    let samples = [(1, 0), (2, 0), (3, 1_500), (4, 1_500), (5, 0)].map(sample);
    let window = |from, until, dst| ScheduleRow {
        from_ps: from * US,
        until_ps: until * US,
        src: 0,
        dst,
        rate_bps: 0,
    };
    let mut record = RunRecord {
        scheme: scheme.into(),
        seed,
        flows: vec![
            flow(0, 0, 3_000, 1, 7 * US),
            flow(1, 1, 2_000, 4, 6 * US + 999),
            FlowRow { delivered_bytes: 9, ..flow(2, 0, 10_000, 5, NEVER) },
            FlowRow { request: true, ..flow(3, 1, 100, 1, 2 * US) },
        ],
        ports: vec![
            port("h0", "s0", true),
            port("s0", "h0", false),
            port("s0", "h1", false),
            port("h1", "s0", true),
        ],
        why: vec![WhyRow { flow: 1, parts, round_trips: 2, worst: [(2, 5), (0, 0), (0, 0)] }],
        samples: Samples::from_rows(&samples).unwrap(),
        schedule: vec![window(1, 3, 1), window(2, 4, 1), window(3, 5, 1)],
        captures: captures(mss),
        census: Conservation {
            sent: 9,
            delivered: 8,
            dropped: [1, 0, 0, 0, 0, 0, 0],
            in_flight: 0,
        },
        ..RunRecord::default()
    };
    record.engine.sim_time_ps = 20 * US;
    record
}

/// The trace of the connection at both ports of `h0`: the fourth segment is lost and sent again.
fn captures(mss: u16) -> Vec<Capture> {
    let common = Packet { flow: 5, stamp: 77, class: 1, ..Packet::default() };
    let data = |t, seq, payload: u16, flags| CapturedPacket {
        t_ps: t * US + 999,
        src: 0,
        packet: Packet {
            dst: HostId(1),
            seq,
            len: (1_538 - mss + payload).max(84),
            kind: Kind::Data,
            flags: ECT | flags,
            ..common
        },
        head: String::new(),
    };
    let ack = |t, seq, sack| CapturedPacket {
        t_ps: t * US,
        src: 1,
        packet: Packet {
            dst: HostId(0),
            seq,
            len: 84,
            kind: Kind::Ack,
            sack: [sack, Span::default(), Span::default()],
            ..common
        },
        head: String::new(),
    };
    let last = 3_000 - 2 * mss;
    let none = Span::default();
    let sent = vec![
        data(1, 0, mss, 0),
        data(2, 1, mss, 0),
        data(3, 2, last, PUSH),
        data(4, 3, mss, 0),
        data(5, 4, 2_000 - mss, PUSH),
        data(9, 3, mss, RETRANSMITTED),
    ];
    let acks = vec![
        ack(4, 1, none),
        ack(5, 2, none),
        ack(6, 3, none),
        ack(8, 3, Span { start: 1, end: 2 }),
        ack(12, 5, none),
    ];
    vec![
        Capture { port: 0, packets: sent, omitted: 0 },
        Capture { port: 1, packets: acks, omitted: 3 },
    ]
}

/// Interface, time and bytes of each packet of a pcapng file.
fn packets(mut file: &[u8]) -> Vec<(u32, u64, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| {
        u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
    };
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        if word(file, 0) == 6 {
            let time = u64::from(word(file, 12)) << 32 | u64::from(word(file, 16));
            let captured = word(file, 20) as usize;
            found.push((word(file, 8), time, file[28..28 + captured].to_vec()));
        }
        file = &file[length..];
    }
    found
}

fn pcapng(run: &RunRecord, ports: &[&str], snap: u32) -> Result<Vec<u8>, ExportError> {
    let ports: Vec<String> = ports.iter().map(|port| port.to_string()).collect();
    let mut file = Vec::new();
    pcapng::write(&pair(), run, &ports, snap, &mut file).map(|()| file)
}

#[test]
fn captures_count_bytes_as_tcp_does_and_are_in_order() {
    let set = pair();
    for run in [&set.runs[0], &set.runs[2]] {
        let all = packets(&pcapng(run, &[], u32::MAX).unwrap());
        assert!(all.is_sorted_by_key(|(_, time, _)| *time));
        assert_eq!(all[0].1, 1_000, "rounded down to nanoseconds");
        let (mut numbers, mut acks) = (Vec::new(), Vec::new());
        for (interface, _, bytes) in &all {
            let slice = SlicedPacket::from_ethernet(bytes).unwrap();
            let Some(TransportSlice::Tcp(tcp)) = slice.transport else { panic!("not TCP") };
            match interface {
                0 => numbers.push((tcp.sequence_number(), tcp.payload().len() as u32)),
                _ => acks.push(tcp.acknowledgment_number()),
            }
        }
        let (sent, again) = numbers.split_at(5);
        for pair in sent.windows(2) {
            assert_eq!(pair[0].0 + pair[0].1, pair[1].0, "no byte is left out");
        }
        assert_eq!((sent[3].0, sent[4].0 + sent[4].1), (3_001, 5_001));
        assert_eq!(again, [sent[3]]);
        assert_eq!(acks, [sent[1].0, sent[2].0, 3_001, 3_001, 5_001]);
    }
}

#[test]
fn ports_of_a_capture_can_be_chosen_and_frames_cut() {
    let run = &pair().runs[0];
    let some = packets(&pcapng(run, &["s0-h0"], 60).unwrap());
    assert_eq!(some.len(), 5);
    assert!(some.iter().all(|(interface, _, bytes)| *interface == 0 && bytes.len() == 60));
    let error = pcapng(run, &["s0-h9"], 60).unwrap_err().to_string();
    assert_eq!(error, "port `s0-h9` was not captured: there are `h0-s0`, `s0-h0`");
    let bare = |scheme: &str| {
        let (scheme, captures) = (scheme.into(), vec![]);
        let run = RunRecord { scheme, seed: 2, captures, ..run.clone() };
        pcapng(&run, &[], 60).unwrap_err().to_string()
    };
    assert!(bare("none").contains("capture = [\"s0-h0\"]"));
    let late = "the run with seed 2 has no captured packets: a simulation captures those of its first seed, 1";
    assert_eq!(bare("tcp"), late);
}

#[test]
fn parallel_ports_are_numbered() {
    let port = |node: &str, port: &str| PortRow {
        node: node.into(),
        port: port.into(),
        ..PortRow::default()
    };
    let ports = [port("a", "b"), port("a", "b"), port("a", "c"), port("b", "a")];
    assert_eq!(port_names(&ports), ["a-b#0", "a-b#1", "a-c", "b-a"]);
}

#[test]
fn runs_are_chosen_or_listed() {
    let set = pair();
    let chosen = |scheme, seed| runs(&set, scheme, seed).map(|runs| runs.len());
    assert_eq!(chosen(None, None).unwrap(), 4);
    assert_eq!(chosen(Some("tcp"), None).unwrap(), 2);
    assert_eq!(one_run(&set, Some("tcp"), Some(2)).unwrap().seed, 2);
    let several = one_run(&set, Some("tcp"), None).unwrap_err().to_string();
    assert!(
        several.contains("--seed; there are `tcp` with seed 1, `tcp` with seed 2"),
        "{several}"
    );
    let none = runs(&set, Some("udp"), Some(7)).unwrap_err().to_string();
    assert!(none.starts_with("no such run of scheme `udp` with seed 7: there are `tcp`"), "{none}");
}

#[test]
fn fct_files_are_as_hpcc_writes_them() {
    let set = pair();
    let mut file = Vec::new();
    let left_out = hpcc_fct::write(&set, &set.runs[0], &mut file).unwrap();
    assert_eq!(left_out, hpcc_fct::LeftOut { unfinished: 1, without_ideal: 0, requests: 1 });
    assert_eq!(
        String::from_utf8(file).unwrap(),
        "0b000001 0b000101 10001 200 2000 4000 2000 2000\n\
         0b000001 0b000101 10000 100 3000 1000 5999 2000\n"
    );
}

fn trace(run: &RunRecord) -> Vec<serde_json::Value> {
    let mut text = Vec::new();
    perfetto::write(&pair(), run, &mut text).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let serde_json::Value::Array(events) = json["traceEvents"].take() else { panic!("no events") };
    events
}

#[test]
fn time_lines_have_flows_windows_and_queues_where_they_belong() {
    let events = trace(&pair().runs[0]);
    let of = |phase: &str| events.iter().filter(|e| e["ph"] == phase).collect::<Vec<_>>();
    let name_of = |pid: &serde_json::Value| {
        let is = |e: &&&serde_json::Value| e["name"] == "process_name" && e["pid"] == *pid;
        of("M").iter().find(is).map(|e| e["args"]["name"].clone()).unwrap()
    };
    let (begun, ended) = (of("b"), of("e"));
    assert_eq!((begun.len(), ended.len()), (4, 4));
    for (begin, end) in begun.iter().zip(&ended) {
        assert_eq!((&begin["id2"], &begin["pid"]), (&end["id2"], &end["pid"]));
        assert!(begin["ts"].as_f64() <= end["ts"].as_f64());
        assert_eq!(name_of(&begin["pid"]), "h0");
    }
    assert_eq!(begun[1]["args"]["queue_us"], 3.000_007);
    assert_eq!(begun[1]["args"]["waited_longest_at"], "s0-h1");
    assert_eq!(begun[1]["args"]["slowdown"], 1.0);
    assert_eq!(begun[2]["args"]["finished"], false);
    assert_eq!(ended[2]["ts"], 20.0);
    let tracks: Vec<_> = of("X").iter().map(|e| e["tid"].as_u64().unwrap()).collect();
    assert_eq!(tracks, [1, 2, 1], "windows on one track do not overlap");
    let queue: Vec<_> =
        of("C").iter().map(|e| (e["ts"].as_f64(), e["args"]["bytes"].as_u64())).collect();
    assert_eq!(queue, [(1.0, 0), (3.0, 1_500), (5.0, 0)].map(|(t, bytes)| (Some(t), Some(bytes))));
    assert_eq!(of("C")[0]["name"], "queue s0-h0");
    assert_eq!(name_of(&of("C")[0]["pid"]), "s0");
}

fn exposition(set: &RunSet) -> String {
    let mut text = Vec::new();
    openmetrics::write(set, &set.in_order(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Requirements of OpenMetrics 1.0 for this writer: the samples of a family are consecutive; each family has its type,
/// unit and help once, at the beginning; samples have their family's name and suffix; no series occurs twice; values
/// are numbers; the end is marked.
fn check_exposition(text: &str) -> Result<usize, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("no end")?;
    let mut families = std::collections::BTreeMap::new();
    let mut series = std::collections::BTreeSet::new();
    let mut family = ("", "");
    for line in body.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        match line.strip_prefix("# ").map(|rest| rest.splitn(3, ' ').collect::<Vec<_>>()) {
            Some(parts) if parts[0] == "TYPE" => {
                family = (parts[1], parts[2]);
                if families.insert(family.0, family.1).is_some() {
                    return wrong("a family twice");
                }
            }
            Some(parts) if parts[1] != family.0 => return wrong("not of this family"),
            Some(parts) if parts[0] == "UNIT" && !family.0.ends_with(&format!("_{}", parts[2])) => {
                return wrong("the name lacks the unit");
            }
            Some(parts) if !["UNIT", "HELP"].contains(&parts[0]) => return wrong("no such line"),
            Some(_) => {}
            None => {
                let (head, value) = line.rsplit_once(' ').ok_or("no value")?;
                let (name, labels) = head.split_once('{').ok_or("no labels")?;
                let suffix = match family.1 {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                if name != format!("{}{suffix}", family.0) || !labels.ends_with("\"}") {
                    return wrong("a sample of another family");
                }
                let value: f64 = value.parse().map_err(|_| format!("no number: {line}"))?;
                if !value.is_finite() || value < 0.0 || !series.insert(head) {
                    return wrong("a bad value, or a series twice");
                }
            }
        }
    }
    Ok(series.len())
}

#[test]
fn runs_without_packets_have_no_counts_of_them() {
    let mut set = pair();
    let flow_level =
        |set: &mut RunSet| set.runs.iter_mut().for_each(|run| run.engine.flow_level = true);
    flow_level(&mut set);
    let text = exposition(&set);
    check_exposition(&text).unwrap();
    for absent in ["slotline_packet", "_packets", "port_pauses", "longest_queue", "slotline_drops"]
    {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
    assert!(text.contains("slotline_port_sent_bytes_total{"));
    // Beside a run with packets, these families belong to that run only.
    set.runs[0].engine.flow_level = false;
    let text = exposition(&set);
    check_exposition(&text).unwrap();
    assert_eq!(text.matches("slotline_packets_sent_total{").count(), 1);
}

#[test]
fn metrics_follow_the_format() {
    let set = pair();
    let text = exposition(&set);
    let series = check_exposition(&text).unwrap();
    assert!(series > 4 * (6 * 4 + 8 + 5), "{series}");
    for line in [
        "slotline_fct_mean_seconds{scheme=\"tcp\",seed=\"1\",lower_bound=\"true\"} ",
        "slotline_port_sent_bytes_total{scheme=\"tcp\",seed=\"2\",node=\"s0\",port=\"s0-h1\"} 6460\n",
        "slotline_packets_dropped_total{scheme=\"two \\\"quoted\\\"\",seed=\"1\",reason=\"buffer_full\"} 1\n",
        "# UNIT slotline_port_longest_queue_bytes bytes\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    for (old, new) in [
        ("# EOF\n", ""),
        ("# TYPE slotline_makespan_seconds", "# TYPE slotline_fct_mean_seconds"),
        ("bytes_total", "bytes"),
        ("# UNIT slotline_cpu_seconds seconds", "# UNIT slotline_cpu_seconds s"),
        ("seed=\"2\"", "seed=\"1\""),
    ] {
        assert!(check_exposition(&text.replace(old, new)).is_err(), "{old}");
    }
}
