//! Tests of logs. Messages are built here, field by field, from the RFCs.

use super::*;
use crate::pcap::AddressMap;
use proptest::prelude::*;
use slotline_net::workload::log_columns::LogColumns;
use slotline_net::workload::moment::MomentUnit;

const MS: i128 = 1_000_000_000;
const SECOND: i128 = 1_000 * MS;

fn table() -> LogKind {
    LogKind::Table(Columns::default())
}

fn read(
    kind: &LogKind,
    bytes: &[u8],
    piece: usize,
) -> Result<(Vec<LogRecord>, Unread), FormatError> {
    let (mut reader, mut records) = (LogReader::new(kind), Vec::new());
    let mut each = |record: &LogRecord| {
        records.push(*record);
        Ok(())
    };
    bytes.chunks(piece.max(1)).try_for_each(|piece| reader.push(piece, &mut each))?;
    let unread = reader.finish(&mut each)?;
    Ok((records, unread))
}

fn records(kind: &LogKind, bytes: &[u8]) -> Vec<LogRecord> {
    read(kind, bytes, 1_000).unwrap_or_else(|error| panic!("{error}")).0
}

fn refusal(kind: &LogKind, bytes: &[u8]) -> String {
    read(kind, bytes, 1_000).expect_err("refused").to_string()
}

/// Source, destination, protocol, start in milliseconds since 1970, bytes there and back.
type Short = (String, String, Option<u8>, i128, u64, Option<u64>);

fn short(record: &LogRecord) -> Short {
    let LogRecord { src, dst, protocol, start_ps, there, back } = record;
    let back = back.map(|sent| sent.bytes);
    (src.to_string(), dst.to_string(), *protocol, start_ps / MS, there.bytes, back)
}

fn row(
    (src, dst): (&str, &str),
    protocol: Option<u8>,
    start_ms: i128,
    bytes: u64,
    back: Option<u64>,
) -> Short {
    (src.into(), dst.into(), protocol, start_ms, bytes, back)
}

#[test]
fn tables_of_known_tools_are_read() {
    let ends = ("10.0.0.1", "10.0.0.2");
    let expected = |protocol, back| row(ends, protocol, 1_714_566_600_250, 1_500, back);
    for (text, wanted) in [
        // nfdump
        (
            "ts,te,td,sa,da,sp,dp,pr,ipkt,ibyt,opkt,obyt\n\
             2024-05-01 12:30:00.250,2024-05-01 12:31:00,60.0,10.0.0.1,10.0.0.2,5,6,TCP,1,1500,2,80\n\
             Summary\nflows,bytes\n1,1500\n",
            expected(Some(6), Some(80)),
        ),
        // Logs of a cloud: fields are separated by blanks.
        (
            "version srcaddr dstaddr protocol packets bytes start_ms\n\
             2 10.0.0.1 10.0.0.2 17 1 1500 1714566600250\n2 - - - - - 1714566600250\n",
            expected(Some(17), None),
        ),
        // With a byte order mark, quotation marks, bars and lines as Windows ends them.
        (
            "\u{feff}\"sIP\"|dIP|bytes|Start Time\r\n\
             10.0.0.1 | 10.0.0.2 | 1500.0|\"2024-05-01T14:30:00.25+02:00\"\r\n# end\r\n\r\n",
            expected(None, None),
        ),
        ("src;dst;size;ts\n10.0.0.1;::ffff:10.0.0.2;1500;1714566600.25", expected(None, None)),
    ] {
        for piece in [1, 7, 1_000] {
            let found = read(&table(), text.as_bytes(), piece).unwrap().0;
            assert_eq!(
                found.iter().map(short).collect::<Vec<_>>(),
                std::slice::from_ref(&wanted),
                "{text}"
            );
        }
    }
}

#[test]
fn columns_can_be_named() {
    let text = "From,To,TotBytes,SrcBytes,Begin\n10.0.0.1,10.0.0.2,9,7,1500\n";
    let name = |name: &str| Some(name.to_string());
    let given = LogColumns {
        src: name("From"),
        dst: name("To"),
        bytes: name("TotBytes"),
        start_unit: Some(MomentUnit::Ms),
        ..LogColumns::default()
    };
    let kind = LogKind::Table(Columns::new(given));
    let expected = row(("10.0.0.1", "10.0.0.2"), None, 1_500, 9, None);
    assert_eq!(records(&kind, text.as_bytes()).iter().map(short).collect::<Vec<_>>(), [expected]);
}

#[test]
fn tables_that_are_not_understood_name_the_line() {
    for (text, why) in [
        ("", "line 1: the file is empty"),
        (
            "a,b\n",
            "line 1: no column is known as `start`: the header has a, b; name it, for example columns = { start",
        ),
        ("src,dst,bytes,size,ts\n", "line 1: `bytes` and `size` can both be the column `bytes`"),
        ("src,dst,bytes,ts\n10.0.0.1,b,1,0\n", "line 2: `b` is not an IPv4 or IPv6 address"),
        ("src,dst,bytes,ts\n\n10.0.0.1,10.0.0.2,1\n", "line 3: 3 fields: the header has 4"),
        ("src,dst,bytes,ts\n10.0.0.1,10.0.0.2,1.5,0\n", "line 2: `1.5`: expected a whole number"),
        ("src,dst,bytes,ts\n10.0.0.1,10.0.0.2,1.2 M,0\n", "expected a whole number"),
        ("src,dst,bytes,ts\n10.0.0.1,10.0.0.2,1,1714566600250\n", "a number of s since 1970"),
        ("src,dst,bytes,ts\n\"10.0.0.1,10.0.0.2,1,1\n", "a quotation mark is not closed"),
        ("\u{1f}\u{8b}\u{8}\n", "no column is known"),
    ] {
        let error = refusal(&table(), text.as_bytes());
        assert!(error.contains(why), "{text}: {error}");
    }
    let error = refusal(&table(), b"src,dst,bytes,ts\n\xff\xfe\n");
    assert!(error.contains("line 2: this is no text in UTF-8"), "{error}");
    let error = refusal(&table(), &[b'x'; 70_000]);
    assert!(error.contains("line 1: longer than 65536 bytes"), "{error}");
    let kind = LogKind::Table(Columns::new(LogColumns {
        bytes: Some("x".into()),
        ..LogColumns::default()
    }));
    let error = refusal(&kind, b"src,dst,bytes,ts\n");
    assert!(
        error.contains("there is no column `x`: the header has src, dst, bytes, ts"),
        "{error}"
    );
}

const ZEEK: &str = "#separator \\x09\n#unset_field\t-\n#path\tconn\n\
    #fields\tts\tuid\tid.orig_h\tid.resp_h\tproto\torig_bytes\tresp_bytes\n\
    #types\ttime\tstring\taddr\taddr\tenum\tcount\tcount\n\
    1521911721.255387\tC8\t10.0.0.1\tfe80::1\ttcp\t97\t19\n\
    1521911720.000000\tC9\t10.0.0.3\t10.0.0.1\ticmp\t-\t-\n#close\t2018\n";
const JSON: &str = "{\"ts\":1521911721.255387,\"id.orig_h\":\"10.0.0.1\",\"id.resp_h\":\"fe80::1\",\
    \"proto\":\"tcp\",\"orig_bytes\":97,\"resp_bytes\":19}\n\
    {\"ts\":\"2018-03-24T17:15:20Z\",\"id\":{\"orig_h\":\"10.0.0.3\",\"resp_h\":\"10.0.0.1\"},\
    \"proto\":\"icmp\",\"service\":null,\"missed\":{\"a\":[1]}}\n";

#[test]
fn logs_of_zeek_are_read_in_both_forms() {
    let expected = [
        row(("10.0.0.1", "fe80::1"), Some(6), 1_521_911_721_255, 97, Some(19)),
        row(("10.0.0.3", "10.0.0.1"), Some(255), 1_521_911_720_000, 0, Some(0)),
    ];
    let spaced = ZEEK.replace("\\x09", "\\x7c").replace('\t', "|");
    for text in [ZEEK, JSON, &spaced] {
        assert_eq!(
            records(&LogKind::Zeek, text.as_bytes()).iter().map(short).collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn logs_of_zeek_that_are_not_understood_name_the_line() {
    for (from, to, why) in [
        ("#path\tconn", "#path\tdns", "line 3: this is Zeek's `dns.log`"),
        ("\tid.orig_h", "\tsrc", "line 4: `#fields` has no `id.orig_h`"),
        ("\tC8", "", "line 6: 6 fields: `#fields` names 7"),
        ("#fields", "#names", "line 6: a record before the line `#fields`"),
        ("fe80::1", "host", "line 6: `host` is not an IPv4 or IPv6 address"),
        ("\\x09", "\\xff", "line 1: separator"),
    ] {
        let error = refusal(&LogKind::Zeek, ZEEK.replace(from, to).as_bytes());
        assert!(error.contains(why), "{to}: {error}");
    }
    let error = refusal(&LogKind::Zeek, JSON.replace("}\n{", "}\n{,").as_bytes());
    assert!(error.contains("line 2: this is not a record in JSON"), "{error}");
}

/// Bytes of numbers.
fn wire(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A message of NetFlow 5 with two records. It was sent 10 s after the exporter started, at second 1000 of 1970.
fn v5() -> Vec<u8> {
    let header = [
        &[0, 5, 0, 2][..],
        &10_000u32.to_be_bytes(),
        &1_000u32.to_be_bytes(),
        &500_000_000u32.to_be_bytes(),
        &[0; 6],
        &[0x40, 64],
    ];
    let record = |last: u8, first_ms: u32, bytes: u32, protocol: u8| {
        let numbers = [3u32, bytes, first_ms, first_ms + 1].map(u32::to_be_bytes).concat();
        wire(&[
            &[10, 0, 0, 1],
            &[10, 0, 0, last],
            &[0; 8],
            &numbers,
            &[0, 80, 1, 1, 0, 0, protocol],
            &[0; 9],
        ])
    };
    wire(&[&wire(&header), &record(2, 4_000, 1_500, 6), &record(3, 9_999, 40, 17)])
}

/// The records of [`v5`].
fn of_v5() -> [Short; 2] {
    [
        row(("10.0.0.1", "10.0.0.2"), Some(6), 994_500, 1_500, None),
        row(("10.0.0.1", "10.0.0.3"), Some(17), 1_000_499, 40, None),
    ]
}

/// A set with its header, and padding to four bytes.
fn set(id: u16, content: &[u8]) -> Vec<u8> {
    let padding = content.len().next_multiple_of(4) - content.len();
    let length = (4 + content.len() + padding) as u16;
    wire(&[&id.to_be_bytes(), &length.to_be_bytes(), content, &[0; 3][..padding]])
}

fn template(id: u16, fields: &[(u16, u16)]) -> Vec<u8> {
    let fields =
        fields.iter().flat_map(|(id, length)| [id.to_be_bytes(), length.to_be_bytes()].concat());
    let fields: Vec<u8> = fields.collect();
    wire(&[&id.to_be_bytes(), &((fields.len() / 4) as u16).to_be_bytes(), &fields])
}

/// A message of NetFlow 9, sent 10 s after the exporter started, at second 1000 of 1970.
fn v9(sets: &[Vec<u8>]) -> Vec<u8> {
    let numbers = [10_000u32, 1_000, 7, 1].map(u32::to_be_bytes).concat();
    wire(&[&[0, 9, 0, 1], &numbers, &sets.concat()])
}

/// A message of IPFIX, sent at second 1000 of 1970.
fn ipfix(sets: &[Vec<u8>]) -> Vec<u8> {
    let content = sets.concat();
    let length = (16 + content.len()) as u16;
    let numbers = [1_000u32, 7, 1].map(u32::to_be_bytes).concat();
    wire(&[&[0, 10], &length.to_be_bytes(), &numbers, &content])
}

/// Source, destination, bytes, packets, protocol, first packet.
const PLAIN: [(u16, u16); 6] = [(8, 4), (12, 4), (1, 4), (2, 4), (4, 1), (22, 4)];

fn plain_record(bytes: u32, first_ms: u32) -> Vec<u8> {
    wire(&[
        &[10, 0, 0, 1],
        &[10, 0, 0, 2],
        &bytes.to_be_bytes(),
        &2u32.to_be_bytes(),
        &[6],
        &first_ms.to_be_bytes(),
    ])
}

#[test]
fn netflow_5_is_read() {
    let twice = wire(&[&v5(), &v5()]);
    for piece in [1, 23, 1_000] {
        let (found, unread) = read(&LogKind::NetFlow, &twice, piece).unwrap();
        let [a, b] = of_v5();
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), [a.clone(), b.clone(), a, b]);
        assert_eq!(found[0].there.packets, Some(3));
        assert_eq!(unread, Unread { sampled: 64, ..Unread::default() });
    }
}

#[test]
fn netflow_9_is_read_by_its_templates() {
    let data = |bytes, first| set(300, &plain_record(bytes, first));
    let early = v9(&[data(1, 0)]);
    let messages = wire(&[
        &early,
        &v9(&[set(0, &template(300, &PLAIN)), data(1_500, 4_000)]),
        // An option with the interval of sampling; its scope has the number of a field with another meaning.
        &v9(&[set(1, &wire(&[&[1, 45, 0, 4, 0, 4], &[0, 1, 0, 4], &[0, 34, 0, 4]]))]),
        &v9(&[set(301, &[0, 0, 0, 9, 0, 0, 0, 100]), data(77, 20_000)]),
        &v5(),
    ]);
    for piece in [1, 50, 1_000] {
        let (found, unread) = read(&LogKind::NetFlow, &messages, piece).unwrap();
        let ends = ("10.0.0.1", "10.0.0.2");
        let [a, b] = of_v5();
        let own = [
            row(ends, Some(6), 994_000, 1_500, None),
            row(ends, Some(6), 1_010_000, 77, None),
            a,
            b,
        ];
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), own);
        assert_eq!(unread, Unread { without_template: 1, sampled: 100, ..Unread::default() });
    }
}

#[test]
fn ipfix_is_read_with_fields_of_all_kinds() {
    let v6 = |last: u8| {
        let mut address = [0; 16];
        address[..2].copy_from_slice(&[0xfe, 0x80]);
        address[15] = last;
        address
    };
    // A field of an enterprise, one of variable length, bytes with fewer digits, bytes back (RFC 5103), a start in
    // nanoseconds as NTP has them: half a second after second 1000.
    let fields = wire(&[
        &[1, 0, 0, 7],
        &[0, 27, 0, 16],
        &[0, 28, 0, 16],
        &[0x80, 99, 0, 2, 0, 0, 0, 1],
        &[0, 82, 0xff, 0xff],
        &[0, 1, 0, 3],
        &[0x80, 1, 0, 2, 0, 0, 0x72, 0x79],
        &[0, 156, 0, 8],
    ]);
    let start = wire(&[&(2_208_988_800u32 + 1_000).to_be_bytes(), &0x8000_0000u32.to_be_bytes()]);
    let short_name =
        wire(&[&v6(1), &v6(2), &[9, 9], &[2, b'e', b't'], &[1, 0, 0], &[0, 7], &start]);
    let long_name =
        wire(&[&v6(2), &v6(1), &[9, 9], &[255, 0, 1, b'e'], &[0, 0, 5], &[0, 0], &start]);
    let message = ipfix(&[set(2, &fields), set(256, &wire(&[&short_name, &long_name]))]);
    let expected = [
        row(("fe80::1", "fe80::2"), None, 1_000_500, 65_536, Some(7)),
        row(("fe80::2", "fe80::1"), None, 1_000_500, 5, Some(0)),
    ];
    let found = records(&LogKind::NetFlow, &message);
    assert_eq!(found.iter().map(short).collect::<Vec<_>>(), expected);
}

#[test]
fn starts_are_read_in_every_form() {
    let start_of = |field: u16, value: &[u8], boot: Option<u64>| {
        let mut fields = PLAIN[..4].to_vec();
        fields.push((field, value.len() as u16));
        let record = wire(&[&plain_record(1, 0)[..16], value]);
        let options = wire(&[&[1, 45, 0, 1, 0, 1], &[0, 160, 0, 8]]);
        let mut sets = vec![set(2, &template(300, &fields)), set(3, &options)];
        sets.extend(boot.map(|ms| set(301, &ms.to_be_bytes())));
        sets.push(set(300, &record));
        records(&LogKind::NetFlow, &ipfix(&sets)).first().map(|record| record.start_ps)
    };
    assert_eq!(start_of(150, &7u32.to_be_bytes(), None), Some(7 * SECOND));
    assert_eq!(start_of(152, &7u64.to_be_bytes(), None), Some(7 * MS));
    assert_eq!(start_of(158, &250_000u32.to_be_bytes(), None), Some(1_000 * SECOND - 250 * MS));
    assert_eq!(start_of(22, &7u32.to_be_bytes(), Some(2_000)), Some(2_007 * MS));
    assert_eq!(start_of(22, &7u32.to_be_bytes(), None), None);
    assert_eq!(start_of(21, &7u32.to_be_bytes(), None), None);
}

#[test]
fn messages_that_are_not_understood_say_why() {
    let data = |bytes: &[u8]| refusal(&LogKind::NetFlow, bytes);
    for (bytes, why) in [
        (vec![], "empty or too short"),
        (vec![0, 7, 0, 1, 0], "version 7 is not read: expected NetFlow 5 or 9, or IPFIX (10)"),
        (vec![0x0c, 0xa5, 1, 0], "this is a file of nfcapd: `nfdump -r FILE -o csv`"),
        (vec![0xcf, 0x10, 1, 0], "this is a file of flow-tools"),
        (b"src,dst".to_vec(), "neither messages of NetFlow or IPFIX nor a capture"),
        (v5()[..100].to_vec(), "line 1: the file ends within this message, after 100 bytes"),
        (wire(&[&v5(), &[0, 8, 0, 0]]), "line 2: version 8 is not read"),
        (ipfix(&[set(2, &template(255, &PLAIN))]), "a template with the number 255"),
        (ipfix(&[set(2, &template(300, &[(8, 0)]))]), "template 300 has records of 0 bytes"),
        (ipfix(&[set(4, &[0; 4])]), "a set with the number 4"),
        (v9(&[vec![0, 0, 0, 3]]), "a set of 3 bytes"),
        (ipfix(&[set(2, &[1, 0, 0, 9, 0, 8, 0, 4])]), "announces 9 fields and has 1"),
        (wire(&[&[0, 10, 0, 8], &[0; 12]]), "a message of 8 bytes: its header has 16"),
    ] {
        let error = data(&bytes);
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn withdrawn_templates_are_unknown() {
    let withdrawn = template(300, &[]);
    let data = set(300, &plain_record(5, 0));
    let message = ipfix(&[set(2, &template(300, &PLAIN)), set(2, &withdrawn), data]);
    let (found, unread) = read(&LogKind::NetFlow, &message, 1_000).unwrap();
    assert_eq!((found.len(), unread.without_template), (0, 1));
}

/// A capture with each of `payloads` in a UDP datagram.
fn capture(payloads: &[&[u8]]) -> Vec<u8> {
    let mut file = wire(&[
        &0xa1b2_c3d4u32.to_le_bytes(),
        &[2, 0, 4, 0],
        &[0; 8],
        &[0, 0, 1, 0],
        &[1, 0, 0, 0],
    ]);
    for payload in payloads {
        let mut frame = Vec::new();
        etherparse::PacketBuilder::ethernet2([1; 6], [2; 6])
            .ipv4([192, 0, 2, 1], [192, 0, 2, 2], 64)
            .udp(5_000, 2_055)
            .write(&mut frame, payload)
            .unwrap();
        frame.resize(frame.len().max(60), 0);
        let length = (frame.len() as u32).to_le_bytes();
        file.extend(wire(&[&[0; 8], &length, &length, &frame]));
    }
    file
}

#[test]
fn messages_are_found_in_captures() {
    let file = capture(&[
        &v5(),
        b"GET / HTTP/1.1",
        &[0, 5, 0, 9, 1],
        &v9(&[set(0, &template(300, &PLAIN))]),
    ]);
    for piece in [1, 99, 10_000] {
        let (found, unread) = read(&LogKind::NetFlow, &file, piece).unwrap();
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), of_v5());
        assert_eq!(unread, Unread { other_packets: 2, sampled: 64, ..Unread::default() });
    }
    let error = refusal(&LogKind::NetFlow, &file[..file.len() - 1]);
    assert!(error.contains("line 4: the file ends within this record"), "{error}");
}

fn flows(ends: Ends, found: &[LogRecord]) -> (Vec<(u32, u32, u64, i128)>, FlowLog) {
    let mut log = FlowLog::new(ends);
    let flows = found.iter().flat_map(|record| log.flows(record).unwrap().into_iter().flatten());
    let rows = flows.map(|flow| (flow.src, flow.dst, flow.bytes, flow.start_ps / MS)).collect();
    (rows, log)
}

#[test]
fn records_become_flows_between_hosts() {
    let (found, unread) = read(&LogKind::Zeek, ZEEK.as_bytes(), 1_000).unwrap();
    let (rows, log) = flows(Ends::default(), &found);
    let start = 1_521_911_721_255;
    assert_eq!(rows, [(0, 1, 97, start), (1, 0, 19, start)]);
    assert_eq!(log.epoch_ps() / MS, start);
    let notes = log.notes(&unread).join("\n");
    for note in [
        "1 records are left out: neither TCP nor UDP",
        "1 records have data in both directions",
        "2 hosts, numbered as they appear: host 0 is 10.0.0.1, host 1 is fe80::1",
    ] {
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn headers_and_early_records_are_left_out() {
    let found = records(&LogKind::NetFlow, &v5());
    let ends = Ends { headers: 40, epoch_ps: Some(995 * SECOND), ..Ends::default() };
    let (rows, log) = flows(Ends { headers: 40, ..Ends::default() }, &found);
    assert_eq!(rows, [(0, 1, 1_380, 994_500)]);
    assert!(
        log.notes(&Unread::default()).contains(&"1 records are left out: without data".to_string())
    );
    let (rows, log) = flows(ends, &found);
    let notes = log.notes(&Unread::default()).join("\n");
    assert!(
        rows.is_empty() && notes.contains("1 records are left out: they begin before the epoch"),
        "{notes}"
    );
}

#[test]
fn prefixes_assign_hosts() {
    let table = "# rack 1\n10.0.1.0/24 8+\n10.0.1.7 3\n10.0.0.0/8 -\n0.0.0.0/0 40\nfe80::/64 0+\n";
    let map = AddressMap::parse(table).unwrap();
    let host = |address: &str| map.host(address.parse().unwrap());
    for (address, expected) in [
        ("10.0.1.0", Some(8)),
        ("10.0.1.255", Some(263)),
        ("10.0.1.7", Some(3)),
        ("10.9.9.9", None),
        ("8.8.8.8", Some(40)),
        ("fe80::12", Some(18)),
    ] {
        assert_eq!(host(address), Ok(expected), "{address}");
    }
    assert!(host("fe80::1:0:0").unwrap_err().contains("prefix is too large"));
    assert!(host("fe81::1").unwrap_err().contains("is not in the file of addresses"));
    for (line, why) in [
        ("10.0.1.5/24 0", "the first address of this prefix is 10.0.1.0"),
        ("10.0.0.0/33 0", "expected a length of 0 to 32"),
        ("10.0.0.0/x 0", "expected a length of 0 to 32"),
        ("10.0.0.0/8 a", "expected its number, 8+ for hosts 8, 9, 10 and so on"),
        ("10.0.0.0/8 1\n10.0.0.0/8 2", "line 2: 10.0.0.0/8 is given twice"),
    ] {
        let error = AddressMap::parse(line).unwrap_err().to_string();
        assert!(error.contains(why), "{line}: {error}");
    }
}

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same(cut in 1usize..200, at in 0usize..400, byte in any::<u8>()) {
        let all = wire(&[
            &v5(), &v9(&[set(0, &template(300, &PLAIN)), set(300, &plain_record(9, 1))]),
            &ipfix(&[set(2, &template(300, &PLAIN[..5]))]),
        ]);
        let inputs = [
            (LogKind::NetFlow, all), (LogKind::Zeek, ZEEK.into()), (LogKind::Zeek, JSON.into()),
            (LogKind::NetFlow, capture(&[&v5(), b"x"])), (table(), b"src,dst,bytes,ts\n::1,::2,3,4\n".to_vec()),
        ];
        for (kind, mut bytes) in inputs {
            let length = bytes.len();
            bytes[at % length] = byte;
            let whole = read(&kind, &bytes, usize::MAX);
            let pieces = read(&kind, &bytes, cut);
            match (whole, pieces) {
                (Err(a), Err(b)) => prop_assert_eq!(a.line, b.line),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
