//! Tests that emitted messages are parsed, that other bytes are refused, and that the vectors in the tree hold.

use super::*;
use proptest::prelude::*;
use std::ops::Range;

const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

/// A record that owns its entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Owned {
    Reset,
    Demand(Vec<Total>),
    Grants(u64, Vec<Grant>),
    Report(Vec<Total>),
    Alive,
}

impl Owned {
    fn of(record: &Record) -> Owned {
        match record {
            Record::Reset => Owned::Reset,
            Record::Demand(totals) => Owned::Demand(totals.iter().collect()),
            Record::Grants(grants) => Owned::Grants(grants.base, grants.iter().collect()),
            Record::Report(totals) => Owned::Report(totals.iter().collect()),
            Record::Alive => Owned::Alive,
        }
    }
    /// Writes the record. Returns false if there is no room.
    fn write(&self, writer: &mut Writer) -> bool {
        match self {
            Owned::Reset => {
                writer.reset();
                true
            }
            Owned::Alive => writer.alive(),
            Owned::Demand(totals) => writer.demand() && totals.iter().all(|&t| writer.total(t)),
            Owned::Report(totals) => writer.report() && totals.iter().all(|&t| writer.total(t)),
            Owned::Grants(base, grants) => {
                writer.grants(*base, grants.iter().copied()) == grants.len()
            }
        }
    }
}

/// Writes a message. Returns `None` if not all records fit.
pub(crate) fn emit(key: &Key, header: &Header, records: &[Owned]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, header);
    let fits = records.iter().all(|record| record.write(&mut writer));
    writer.finish(key);
    fits.then_some(out)
}

type Parsed = (Header, Vec<Owned>);

fn parse(bytes: &[u8], key: &Key) -> Result<Parsed, Invalid> {
    let message = Message::parse(bytes, key)?;
    Ok((message.header, message.records().map(|record| Owned::of(&record)).collect()))
}

fn totals(nodes: Range<u32>) -> impl Strategy<Value = Vec<Total>> {
    let total = (nodes, any::<u32>()).prop_map(|(dst, slots)| Total { dst, slots });
    prop::collection::vec(total, 1..20)
}

fn record(nodes: Range<u32>) -> impl Strategy<Value = Owned> {
    let grant = (nodes.clone(), any::<u16>(), 1..=u64::MAX);
    let grant = grant.prop_map(|(dst, path, slots)| Grant { dst, path, slots });
    let grants = (0..=u64::MAX - 63, prop::collection::vec(grant, 1..20));
    prop_oneof![
        totals(nodes.clone()).prop_map(Owned::Demand),
        grants.prop_map(|(base, grants)| Owned::Grants(base, grants)),
        totals(nodes).prop_map(Owned::Report),
        Just(Owned::Alive),
    ]
}

/// Records that may stand in a message with a number.
pub(crate) fn owned(nodes: Range<u32>) -> impl Strategy<Value = Vec<Owned>> {
    prop::collection::vec(record(nodes), 0..4)
}

fn message() -> impl Strategy<Value = Parsed> {
    let header = (any::<[u32; 2]>(), 1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX, any::<[u64; 2]>());
    let records = prop_oneof![9 => owned(0..u32::MAX), 1 => Just(vec![Owned::Reset])];
    (header, records).prop_map(|((nodes, from, to, number, acks), records)| {
        let number = if records == [Owned::Reset] { 0 } else { number };
        let acks = Acks { highest: acks[0], before: acks[1] };
        (Header { source: nodes[0], destination: nodes[1], from, to, number, acks }, records)
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message(), padding in 0usize..64) {
        let mut bytes = emit(&KEY, &message.0, &message.1).unwrap();
        for cut in 0..bytes.len() {
            prop_assert!(Message::parse(&bytes[..cut], &KEY).is_err());
        }
        bytes.extend(vec![0; padding]);
        prop_assert_eq!(parse(&bytes, &KEY), Ok(message));
    }

    #[test]
    fn a_flipped_bit_or_another_key_is_refused(message in message(), bit: usize, key: [u8; 16]) {
        let mut bytes = emit(&KEY, &message.0, &message.1).unwrap();
        prop_assert_eq!(parse(&bytes, &Key(key)), Err(Invalid::Forged));
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Message::parse(&bytes, &KEY).is_err());
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Message::parse(&bytes, &KEY).is_err());
    }

    /// Messages are changed and signed again, so that the checks after that of the authentication code are fuzzed.
    #[test]
    fn no_signed_bytes_make_the_parser_panic(
        message in message(), changes in prop::collection::vec(any::<(usize, u8)>(), 1..6), cut: usize
    ) {
        let mut bytes = emit(&KEY, &message.0, &message.1).unwrap();
        bytes.truncate(bytes.len() - CODE);
        bytes.truncate(bytes.len() - cut % (bytes.len() - HEADER + 1));
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let length = (bytes.len() + CODE) as u16;
        bytes[..4].copy_from_slice(&[VERSION, 0, (length >> 8) as u8, length as u8]);
        bytes.extend(siphash(&KEY, &bytes).to_be_bytes());
        match parse(&bytes, &KEY) {
            Ok((header, records)) => prop_assert_eq!(emit(&KEY, &header, &records).unwrap(), bytes),
            Err(Invalid::Malformed(_)) => {}
            Err(Invalid::Forged) => prop_assert!(false, "signed with the key"),
        }
    }

    /// Entries that do not fit are refused, and the others form a valid message.
    #[test]
    fn a_writer_keeps_to_the_longest_message(counts in prop::collection::vec(1usize..200, 1..9)) {
        let header = up(ARBITER, 1, Acks::default(), vec![]).0;
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &header);
        let mut expected = Vec::new();
        for (at, count) in counts.into_iter().enumerate() {
            let base = at as u64;
            let grants = vec![Grant { dst: 1, path: 2, slots: 3 }; count];
            let written = writer.grants(base, grants.iter().copied());
            prop_assert!(written == count || writer.room() < RECORD + 8 + GRANT);
            if written > 0 {
                expected.push(Owned::Grants(base, grants[..written].into()));
            }
        }
        writer.finish(&KEY);
        prop_assert!(out.len() <= LONGEST);
        prop_assert_eq!(parse(&out, &KEY), Ok((header, expected)));
    }

    #[test]
    fn acknowledgements_are_those_of_a_set(
        numbers in prop::collection::vec(prop_oneof![1u64..150, Just(u64::MAX)], 0..80)
    ) {
        let mut acks = Acks::default();
        let mut set = std::collections::BTreeSet::new();
        for number in numbers {
            let highest = set.last().copied().unwrap_or(0u64);
            let new = number >= highest.saturating_sub(64) && !set.contains(&number);
            prop_assert_eq!(acks.note(number), new);
            if new {
                set.insert(number);
            }
            let oldest = set.last().map_or(0, |highest| highest.saturating_sub(64));
            for number in 0..150 {
                let known = number >= oldest && set.contains(&number);
                prop_assert_eq!(acks.has(number), known, "{} of {:?}", number, acks);
            }
        }
    }
}

const VECTORS: &str = include_str!("vectors.txt");
const ENDPOINT: u64 = 0x1111_1111_1111_1111;
const ARBITER: u64 = 0x2222_2222_2222_2222;

/// `KEY: VALUE` of a block.
fn value<'a>(block: &'a str, key: &str) -> &'a str {
    let found = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    found.unwrap_or_else(|| panic!("no {key} in {block}"))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn up(to: u64, number: u64, acks: Acks, records: Vec<Owned>) -> Parsed {
    (Header { source: 7, destination: 1_000, from: ENDPOINT, to, number, acks }, records)
}

fn down(number: u64, acks: Acks, records: Vec<Owned>) -> Parsed {
    let (from, to) = (ARBITER, ENDPOINT);
    (Header { source: 1_000, destination: 7, from, to, number, acks }, records)
}

/// The contents of the accepted vectors.
fn meanings() -> Vec<(&'static str, Parsed)> {
    let acks = |highest, before| Acks { highest, before };
    let total = |dst, slots| Total { dst, slots };
    let grant = |dst, path, slots| Grant { dst, path, slots };
    let demand = Owned::Demand(vec![total(8, 3), total(0xffff_fffe, 70_000)]);
    let grants = vec![grant(8, 0, 0b11), grant(0xffff_fffe, 65_535, 1 << 63)];
    let grants = Owned::Grants(5_000_000_000, grants);
    let last = Owned::Grants(5_000_000_064, vec![grant(8, 3, 1)]);
    let report = Owned::Report(vec![total(8, 3)]);
    vec![
        ("reset", up(0, 0, acks(0, 0), vec![Owned::Reset])),
        ("reset-answer", down(0, acks(0, 0), vec![Owned::Reset])),
        ("demand", up(ARBITER, 1, acks(0, 0), vec![demand])),
        ("grants", down(1, acks(1, 0), vec![grants])),
        ("grants-and-report", down(2, acks(5, 0b1110), vec![last, report])),
        ("alive", up(ARBITER, 6, acks(2, 1), vec![Owned::Alive])),
        ("acknowledgement", down(3, acks(66, u64::MAX), vec![])),
    ]
}

#[test]
fn the_vectors_in_the_tree_hold() {
    let blocks: Vec<&str> = VECTORS.split("\n\n").skip(1).collect();
    assert_eq!(blocks.len(), 25);
    let mut meanings = meanings().into_iter();
    for block in blocks {
        let (name, bytes) = (value(block, "name"), bytes(value(block, "hex")));
        let parsed = parse(&bytes, &KEY);
        match value(block, "result") {
            "accepted" => {
                let (expected, message) = meanings.next().expect("a meaning for each");
                assert_eq!((name, parsed), (expected, Ok(message.clone())));
                assert_eq!(emit(&KEY, &message.0, &message.1), Some(bytes), "{name}");
            }
            "forged" => assert_eq!(parsed, Err(Invalid::Forged), "{name}"),
            "malformed" => assert!(matches!(parsed, Err(Invalid::Malformed(_))), "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
    assert!(meanings.next().is_none());
}

/// The examples in the specification are among the vectors, byte by byte.
#[test]
fn the_examples_of_the_specification_are_vectors() {
    let text = include_str!("../../../../../../docs/protocol/fcp.md");
    let blocks = text.split("```text\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    let words = blocks.map(|(block, _)| block.lines().map(|line| line.split("  ").next().unwrap()));
    let examples = words.map(Iterator::collect::<String>);
    let examples: Vec<String> = examples.filter(|hex| hex.starts_with("0100")).collect();
    assert_eq!(examples.len(), 3);
    for hex in examples {
        assert!(VECTORS.lines().any(|line| line.strip_prefix("hex: ") == Some(&hex)), "{hex}");
    }
}
