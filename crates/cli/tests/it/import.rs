//! `slotline import`: files of other programs become parts of scenarios that run, or are refused with their line.

use crate::folder::{BAD_INPUT, Folder, stderr, stdout};
use slotline_scenario::Scenario;
use std::fs;
use std::path::Path;

impl Folder {
    fn copy(&self, from: &str) -> &Folder {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(from);
        let name = source.file_name().expect("a file");
        fs::copy(&source, self.0.join(name)).unwrap_or_else(|e| panic!("{from}: {e}"));
        self
    }

    /// Exit code, standard output, standard error output.
    fn import(&self, arguments: &str) -> (i32, String, String) {
        let words = ["import"].into_iter().chain(arguments.split_whitespace());
        let output = self.run(&words.collect::<Vec<_>>());
        (output.status.code().unwrap_or(-1), stdout(&output), stderr(&output))
    }

    /// Checks that the fragment in `part.toml`, completed to a scenario on `fabric`, is valid.
    fn loads(&self, fragment: &str, fabric: &str) -> Scenario {
        let head = format!("name = \"s\"\nend = {{ at = \"10s\" }}\n[fabric]\n{fabric}\n");
        let text = format!("{head}{fragment}\n[[scheme]]\nname = \"tcp\"\n");
        let loaded = Scenario::parse(&self.0.join("s.toml"), text.clone());
        loaded.unwrap_or_else(|e| panic!("{e}\n{text}")).scenario
    }
}

const STAR: &str = "kind = \"star\"\nhosts = 128";

#[test]
fn every_kind_gives_a_scenario_with_and_without_a_file_of_its_own() {
    for (kind, file, note) in [
        ("htsim-cm", "study/scenario/tests/data/htsim/allreduce.cm", "read as picoseconds"),
        ("htsim-cm", "study/scenario/tests/data/htsim/incast.cm", "read as picoseconds"),
        ("hpcc-flows", "study/scenario/tests/data/hpcc/flow.txt", "2 further lines are ignored"),
        ("hpcc-fct", "study/scenario/tests/data/hpcc/fct.txt", "hexadecimal addresses"),
        ("goal", "study/scenario/tests/data/goal/allreduce.goal", ""),
        ("pcap", "model/formats/tests/data/captures/mix.pcapng", "2 flows were UDP"),
        ("flow-log", "study/scenario/tests/data/logs/nfdump.csv", "neither TCP nor UDP"),
        ("zeek", "study/scenario/tests/data/logs/conn.log", "data in both directions"),
        ("netflow", "study/scenario/tests/data/logs/v9.netflow", "sizes include the headers"),
        ("sizes", "../data/distributions/websearch.txt", "read as per cent"),
    ] {
        let folder = Folder::new(&kind.replace('/', "-"), &[]);
        folder.copy(file);
        let name = Path::new(file).file_name().and_then(|name| name.to_str()).expect("a name");
        let (code, fragment, printed) = folder.import(&format!("{kind} {name}"));
        assert_eq!(code, 0, "{kind}: {printed}");
        assert!(
            printed.contains(note) && (note.is_empty() || printed.starts_with("note: ")),
            "{printed}"
        );
        folder.loads(&fragment, STAR);
        let (code, out, printed) = folder.import(&format!("{kind} {name} -o part.toml"));
        assert_eq!(code, 0, "{kind}: {printed}");
        assert!(out.starts_with("wrote part.toml\nwrote part."), "{out}");
        folder.loads(&folder.read("part.toml"), STAR);
        let (code, _, printed) = folder.import(&format!("{kind} {name} -o part.toml"));
        assert_eq!((code, printed.contains("--force replaces it")), (BAD_INPUT, true), "{printed}");
        assert_eq!(folder.import(&format!("{kind} {name} -o part.toml --force")).0, 0);
        let left = fs::read_dir(&folder.0).expect("a folder").flatten();
        let parts = left.filter(|entry| entry.path().extension().is_some_and(|e| e == "part"));
        assert_eq!(parts.count(), 0);
    }
}

#[test]
fn traces_are_written_exactly() {
    let folder = Folder::new("exact", &[]);
    folder
        .copy("study/scenario/tests/data/hpcc/flow.txt")
        .copy("study/scenario/tests/data/hpcc/topology.txt");
    let import = "hpcc-flows flow.txt --topology topology.txt --priorities -o part.toml";
    let (code, _, printed) = folder.import(import);
    assert_eq!(code, 0, "{printed}");
    // Nodes 1, 2, 4 and 5 are hosts 0 to 3; priority group 3 is class 4.
    let expected = "src,dst,bytes,start_s,class\n\
        0,1,20000,2.000000000000,4\n2,0,1500,2.000000125000,4\n3,0,3000000,2.000010000000,4\n\
        1,3,77,2.000010000500,4\n0,2,8192,2.500000000000,4\n3,1,1,2.500000001000,4\n";
    assert_eq!(folder.read("part.csv"), expected);
    folder.loads(&folder.read("part.toml"), "kind = \"star\"\nhosts = 4");
    let (code, fragment, _) = folder.import("csv part.csv");
    assert_eq!(code, 0);
    assert!(fragment.contains("6 flows") && fragment.contains("needs 4 hosts"), "{fragment}");
}

#[test]
fn logs_of_all_kinds_give_the_same_trace() {
    let folder = Folder::new("logs", &[]);
    let files = [
        ("flow-log", "nfdump.csv"),
        ("zeek", "conn.log"),
        ("zeek", "conn-json.log"),
        ("netflow", "v5.netflow"),
        ("netflow", "v9.netflow"),
        ("netflow", "flows.ipfix"),
    ];
    folder.copy("study/scenario/tests/data/logs/addresses.txt");
    for (kind, file) in files {
        folder.copy(&format!("study/scenario/tests/data/logs/{file}"));
        let import = format!("{kind} {file} --addresses addresses.txt -o part.toml --force");
        let (code, _, printed) = folder.import(&import);
        assert_eq!(code, 0, "{printed}");
        let expected = "src,dst,bytes,start_s\n1,2,1500000,0.000000000000\n2,1,26000,0.000000000000\n\
            3,4,14000,2.500000000000\n4,1,58000,1.250000000000\n";
        assert_eq!(folder.read("part.csv"), expected, "{file}");
    }
    let (_, fragment, printed) = folder.import(
        "netflow v9.netflow --addresses addresses.txt --epoch 2024-05-01T12:30:01Z --packet-headers 40B",
    );
    assert!(fragment.contains("2 flows, 70000 bytes, the last starts at 1500ms"), "{fragment}");
    assert!(printed.contains("2 records are left out: they begin before the epoch"), "{printed}");
    let fabric = "kind = \"star\"\nhosts = 8";
    folder.loads(&fragment, fabric);
    let columns = "flow-log nfdump.csv --column bytes=ipkt --column start=te";
    folder.loads(&folder.import(columns).1, fabric);
    for (arguments, why) in [
        ("flow-log nfdump.csv --column octets=x", "unknown field `octets`"),
        ("flow-log nfdump.csv --column src=sa --column src=da", "`src` is given twice"),
        ("flow-log nfdump.csv --column bytes=size", "there is no column `size`"),
        ("flow-log nfdump.csv --epoch yesterday", "expected a date"),
        ("zeek conn.log --packet-headers 40B", "--packet-headers is for flow-log, netflow"),
        ("netflow conn.log", "neither messages of NetFlow or IPFIX nor a capture"),
        ("zeek conn.log --epoch 2024-05-02", "3 records are left out: they begin before the epoch"),
        ("csv nfdump.csv", "logs with addresses are read as \"flow-log\""),
    ] {
        let (code, _, printed) = folder.import(arguments);
        assert_eq!((code, printed.contains(why)), (BAD_INPUT, true), "{arguments}: {printed}");
    }
}

#[test]
fn failures_become_events() {
    let folder = Folder::new("failures", &[]);
    let matrix = "Nodes 16\nConnections 1\nFailures 2\n0->5 start 0 size 1000\n\
        failure switch_type AGG switch_id 3 link_id 1\nfailure switch_type AGG switch_id 6 link_id 0\n";
    folder.write("x.cm", matrix);
    let (code, _, printed) = folder.import("htsim-cm x.cm -o part.toml");
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("fat-tree with k = 4, from the number of nodes"), "{printed}");
    let scenario = folder.loads(&folder.read("part.toml"), "kind = \"fat-tree\"\nk = 4");
    assert_eq!(scenario.event.len(), 2);
    let fragment = folder.read("part.toml");
    assert!(fragment.contains("link = \"agg1.1-core3\""), "{fragment}");
    assert!(fragment.contains("link = \"agg3.0-core0\""), "{fragment}");
    for (change, arguments, why) in [
        (("", ""), "htsim-cm x.cm", "name a file for the rest with -o"),
        (("link_id 1", "link_id 2"), "htsim-cm x.cm -o n.toml", "line 5: switch_id 3, link_id 2"),
        (("Nodes 16", "Nodes 20"), "htsim-cm x.cm -o n.toml", "with --fat-tree K"),
    ] {
        folder.write("x.cm", &matrix.replacen(change.0, change.1, 1));
        let (code, _, printed) = folder.import(arguments);
        assert_eq!((code, printed.contains(why)), (BAD_INPUT, true), "{printed}");
    }
    folder.write("x.cm", &matrix.replacen("Nodes 16", "Nodes 20", 1));
    assert_eq!(folder.import("htsim-cm x.cm -o k.toml --fat-tree 6").0, 0);
}

#[test]
fn what_cannot_be_used_is_refused_with_its_line() {
    let folder = Folder::new("refused", &[]);
    folder
        .write("short.txt", "3\n0 1 3 100 5 1.0\n")
        .write("bad.csv", "src,dst,bytes,start_s\n0,1,5,0\n0,1,five,0\n")
        .write("bad.cm", "Nodes 4\nConnections 1\n0->1 begin 0 size 1\n")
        .write("bad.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\n")
        .write("sizes.txt", "0 0\n10 50\n")
        .write("topology.txt", "3 1 2\n1\n")
        .write("one.txt", "1\n0 1 3 100 5 1.0\n")
        .write("bad.pcap", "this is not a capture");
    for (arguments, why) in [
        ("hpcc-flows short.txt", "short.txt: line 2: 3 flows announced, 1 found"),
        ("csv bad.csv -o part.toml", "bad.csv: line 3: bytes `five`"),
        ("htsim-cm bad.cm", "bad.cm: line 3: `begin` is not known here"),
        ("goal bad.goal", "bad.goal: line 3: rank 1 has no receive for this message"),
        ("sizes sizes.txt", "sizes.txt: line 2: the last cumulative value is 50"),
        ("pcap bad.pcap", "bad.pcap: packet or block 1: neither pcap nor pcapng"),
        ("pcap none.pcap", "none.pcap: No such file"),
        ("csv bad.csv --eager 5KB", "--eager is for goal: it does not apply to csv"),
        ("csv bad.csv -o bad.csv", "give the fragment a name that ends with .toml"),
        ("hpcc-flows one.txt --topology topology.txt", "name the file for the trace with -o"),
        ("hpcc-flows one.txt --topology topology.txt -o p.toml", "line 2: node 1 is a switch"),
        ("nothing x", "htsim-cm"),
    ] {
        let (code, _, printed) = folder.import(arguments);
        assert_eq!((code, printed.contains(why)), (BAD_INPUT, true), "{arguments}: {printed}");
    }
    let written = ["part.toml", "part.csv", "part.csv.part", "p.toml", "p.csv"];
    assert!(written.iter().all(|name| !folder.0.join(name).exists()), "something is left");
}
