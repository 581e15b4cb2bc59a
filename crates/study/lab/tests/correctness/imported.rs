//! Traffic from files of other programs in simulation: flows start when their triggers and programs require.

use crate::common::{load, records};
use slotline_lab::record::{FlowRow, RunRecord};
use std::fs;
use std::path::PathBuf;

/// Hosts react at once. Sixteen of them are attached to one switch whose queues are never full.
fn scenario(file: &str, keys: &str) -> String {
    format!(
        "name = \"imported\"\nend = {{ at = \"1s\" }}\n\
         [fabric]\nkind = \"star\"\nhosts = 16\nrate = \"100Gbps\"\n\
         [[workload]]\nkind = \"trace\"\nfile = \"{file}\"\n{keys}\n\
         [[scheme]]\nname = \"tcp\"\nqueue = {{ kind = \"drop-tail\", limit = \"10MB\" }}\n\
         transport = {{ kind = \"newreno\", processing = \"0ps\" }}\n"
    )
}

/// A file of a test, with its path. It is removed at the end of the test.
struct Imported(PathBuf);

impl Imported {
    fn new(name: &str, text: &str) -> Imported {
        let path = std::env::temp_dir().join(format!("slotline-{}-{name}", std::process::id()));
        fs::write(&path, text).expect("a writable temporary folder");
        Imported(path)
    }
    fn run(&self, keys: &str) -> RunRecord {
        records(&scenario(&self.0.to_string_lossy(), keys), 1).remove(0)
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// The flow of `bytes` bytes.
fn flow(run: &RunRecord, bytes: u64) -> &FlowRow {
    let found: Vec<&FlowRow> = run.flows.iter().filter(|flow| flow.bytes == bytes).collect();
    assert_eq!(found.len(), 1, "flows of {bytes} bytes");
    assert!(found[0].finished(), "{:?}", found[0]);
    found[0]
}

const NS: u64 = 1_000;

#[test]
fn computation_and_messages_take_turns() {
    let ping = Imported::new(
        "ping.goal",
        "num_ranks 2\nrank 0 {\na: calc 700\nb: calc 50\ns: send 100001b to 1 tag 1\ns requires a\n\
         t: send 103b to 1 tag 3\nt requires s\nu: send 104b to 1 tag 4\nu irequires s\n\
         r: recv 102b from 1 tag 2\nv: send 105b to 1 tag 5\nv requires r\nv requires b\n}\n\
         rank 1 {\nr: recv 100001b from 0 tag 1\nc: calc 1500\nc requires r\n\
         s: send 102b to 0 tag 2\ns requires c\nrecv 103b from 0 tag 3\nrecv 104b from 0 tag 4\n\
         recv 105b from 0 tag 5\n}\n",
    );
    let run = ping.run("");
    let [first, back, acked, begun, last] =
        [100_001, 102, 103, 104, 105].map(|bytes| flow(&run, bytes));
    assert_eq!(first.start_ps, 700 * NS);
    assert_eq!(back.start_ps, first.finish_ps + 1_500 * NS);
    assert_eq!(begun.start_ps, first.start_ps);
    // The acknowledgement travels over two links of 1 us.
    let elapsed = acked.start_ps - first.finish_ps;
    assert!((2_000 * NS..2_100 * NS).contains(&elapsed), "{elapsed}");
    assert_eq!(last.start_ps, back.finish_ps);
    let eager = flow(&ping.run("eager = \"1MB\""), 103).start_ps;
    assert_eq!(eager, first.start_ps);
}

#[test]
fn the_ring_waits_for_data_and_computation() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/tests/data/goal/allreduce.goal");
    let run = records(&scenario(file, ""), 2).remove(0);
    let of_rank = |rank: u32| {
        let mut flows: Vec<&FlowRow> = run.flows.iter().filter(|flow| flow.src == rank).collect();
        flows.sort_by_key(|flow| flow.start_ps);
        flows
    };
    for rank in 0..4 {
        let (own, before) = (of_rank(rank), of_rank((rank + 3) % 4));
        assert_eq!(own[0].start_ps, 0);
        for step in 1..6 {
            // Computation after steps of the first half takes 20 us, then 5 us.
            let work = if step <= 3 { 20_000 * NS } else { 5_000 * NS };
            assert_eq!(own[step].start_ps, before[step - 1].finish_ps + work, "{rank} {step}");
        }
    }
}

#[test]
fn triggers_of_htsim_start_flows() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/tests/data/htsim/allreduce.cm");
    let run = records(&scenario(file, ""), 1).remove(0);
    assert_eq!(run.flows.len(), 56);
    // Eight rings of seven hops. Each hop but the first starts when the previous one has arrived.
    let starts = |flow: &&FlowRow| flow.start_ps > 0;
    let later: Vec<&FlowRow> = run.flows.iter().filter(starts).collect();
    assert_eq!(later.len(), 48);
    for flow in later {
        let arrived = |other: &&FlowRow| other.dst == flow.src && other.finish_ps == flow.start_ps;
        assert!(run.flows.iter().any(|other| arrived(&other)), "{flow:?}");
    }
}

#[test]
fn messages_about_triggers_are_no_transfers() {
    let sent = Imported::new(
        "sent.cm",
        "Nodes 4\nConnections 2\nTriggers 1\n0->1 start 0 size 5000 recv_done_trigger 1\n\
         2->3 trigger 1 size 6000\ntrigger id 1 oneshot\n",
    );
    let run = sent.run("");
    let (first, signal, second) = (flow(&run, 5_000), flow(&run, 64), flow(&run, 6_000));
    assert_eq!((first.request, signal.request, second.request), (false, true, false));
    assert_eq!((signal.src, signal.dst, signal.start_ps), (1, 2, first.finish_ps));
    assert_eq!(second.start_ps, signal.finish_ps);
}

#[test]
fn captures_are_workloads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../model/formats/tests/data/captures");
    let rows = |name: &str, keys: &str| {
        let loaded = load(&scenario(&format!("{folder}/{name}"), keys));
        let run = records(&scenario(&format!("{folder}/{name}"), keys), 1).remove(0);
        let mut rows: Vec<_> = run.flows.iter().map(|f| (f.src, f.dst, f.bytes)).collect();
        rows.sort_unstable();
        (rows, loaded.notes.join("\n"))
    };
    let expected = vec![(0, 1, 150), (1, 0, 2_000), (2, 3, 321), (4, 0, 2_000)];
    for name in ["mix.pcap", "mix.pcapng", "mix-nanoseconds.pcap"] {
        let (flows, notes) = rows(name, "");
        assert_eq!(flows, expected);
        assert!(notes.contains("2 flows were UDP") && notes.contains("by its name"), "{notes}");
    }
    assert_eq!(rows("mix.pcap", "idle-gap = \"500ms\"").0.len(), 5);
}

#[test]
fn logs_are_workloads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenario/tests/data/logs");
    let rows = |name: &str, keys: &str| {
        let text = scenario(
            &format!("{folder}/{name}"),
            &format!("addresses = \"{folder}/addresses.txt\"\n{keys}"),
        );
        // The flows start within three seconds.
        let run = records(&text.replacen("\"1s\"", "\"5s\"", 1), 1).remove(0);
        let mut rows: Vec<_> =
            run.flows.iter().map(|f| (f.src, f.dst, f.bytes, f.start_ps)).collect();
        rows.sort_unstable();
        rows
    };
    let ms = |ms: u64| ms * 1_000_000_000;
    let expected = vec![
        (1, 2, 1_500_000, 0),
        (2, 1, 26_000, 0),
        (3, 4, 14_000, ms(2_500)),
        (4, 1, 58_000, ms(1_250)),
    ];
    for name in ["conn.log", "v5.netflow", "flows.ipfix"] {
        assert_eq!(rows(name, ""), expected, "{name}");
    }
    assert_eq!(rows("nfdump.csv", "format = \"flow-log\""), expected);
    let later = rows("conn-json.log", "epoch = \"1714566601\"\nstart = \"1ms\"");
    assert_eq!(later, [(3, 4, 14_000, ms(1_501)), (4, 1, 58_000, ms(251))]);
    let small = rows("v9.netflow", "packet-headers = \"40B\"");
    assert_eq!(small[0], (1, 2, 1_460_000, 0));
}
