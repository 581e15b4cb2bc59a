//! What is emitted is parsed, what is not a message is refused, and the vectors in the tree hold.

use super::*;
use proptest::prelude::*;
use std::ops::Range;

const KEY: Key = Key([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

fn totals(nodes: Range<u32>) -> impl Strategy<Value = Vec<Total>> {
    let total = (nodes, any::<u64>()).prop_map(|(dst, slots)| Total { dst, slots });
    prop::collection::vec(total, 0..20)
}

fn record(nodes: Range<u32>) -> impl Strategy<Value = Record> {
    let grant = (nodes.clone(), any::<u32>(), any::<u16>());
    let grant = grant.prop_map(|(dst, path, offset)| Grant { dst, path, offset });
    let grants = (0..=u64::MAX - 65_535, prop::collection::vec(grant, 0..20));
    prop_oneof![
        totals(nodes.clone()).prop_map(Record::Demand),
        grants.prop_map(|(base, grants)| Record::Grants { base, grants }),
        totals(nodes).prop_map(Record::Report),
        Just(Record::Alive),
    ]
}

/// Records that may stand in a message with a number.
pub(crate) fn records(nodes: Range<u32>) -> impl Strategy<Value = Vec<Record>> {
    prop::collection::vec(record(nodes), 0..4)
}

fn message() -> impl Strategy<Value = Message> {
    let header = (any::<[u32; 2]>(), 1..=u64::MAX, 1..=u64::MAX, 1..=u64::MAX, any::<[u64; 2]>());
    let records = prop_oneof![9 => records(0..u32::MAX), 1 => Just(vec![Record::Reset])];
    (header, records).prop_map(|((nodes, from, to, number, acks), records)| {
        let number = if records == [Record::Reset] { 0 } else { number };
        let acks = Acks { highest: acks[0], before: acks[1] };
        Message { source: nodes[0], destination: nodes[1], from, to, number, acks, records }
    })
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(message in message(), padding in 0usize..64) {
        let mut bytes = message.emit(&KEY).unwrap();
        for cut in 0..bytes.len() {
            prop_assert!(Message::parse(&bytes[..cut], &KEY).is_err());
        }
        bytes.extend(vec![0; padding]);
        prop_assert_eq!(Message::parse(&bytes, &KEY), Ok(message));
    }

    #[test]
    fn a_flipped_bit_or_another_key_is_refused(message in message(), bit: usize, key: [u8; 16]) {
        let mut bytes = message.emit(&KEY).unwrap();
        prop_assert_eq!(Message::parse(&bytes, &Key(key)), Err(Invalid::Forged));
        let bit = bit % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Message::parse(&bytes, &KEY).is_err());
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Message::parse(&bytes, &KEY).is_err());
    }

    /// Mutated and signed again: what is behind the code's check is fuzzed, too.
    #[test]
    fn no_signed_bytes_make_the_parser_panic(
        message in message(), changes in prop::collection::vec(any::<(usize, u8)>(), 1..6), cut: usize
    ) {
        let mut bytes = message.emit(&KEY).unwrap();
        bytes.truncate(bytes.len() - CODE);
        bytes.truncate(bytes.len() - cut % (bytes.len() - HEADER + 1));
        for (at, byte) in changes {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let length = (bytes.len() + CODE) as u16;
        bytes[..4].copy_from_slice(&[VERSION, 0, (length >> 8) as u8, length as u8]);
        bytes.extend(siphash(&KEY, &bytes).to_be_bytes());
        match Message::parse(&bytes, &KEY) {
            Ok(message) => prop_assert_eq!(message.emit(&KEY).unwrap(), bytes),
            Err(Invalid::Malformed(_)) => {}
            Err(Invalid::Forged) => prop_assert!(false, "signed with the key"),
        }
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

#[test]
fn a_message_that_is_too_long_is_not_emitted() {
    let demand = Record::Demand(vec![Total { dst: 0, slots: 0 }; 6_000]);
    let acks = Acks::default();
    let records = vec![demand];
    let message = Message { source: 0, destination: 1, from: 1, to: 1, number: 1, acks, records };
    assert_eq!(message.emit(&KEY), Err(TooLong(HEADER + RECORD + 6_000 * TOTAL + CODE)));
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

fn up(to: u64, number: u64, acks: Acks, records: Vec<Record>) -> Message {
    Message { source: 7, destination: 1_000, from: ENDPOINT, to, number, acks, records }
}

fn down(number: u64, acks: Acks, records: Vec<Record>) -> Message {
    let (from, to) = (ARBITER, ENDPOINT);
    Message { source: 1_000, destination: 7, from, to, number, acks, records }
}

/// What the accepted vectors mean.
fn meanings() -> Vec<(&'static str, Message)> {
    let acks = |highest, before| Acks { highest, before };
    let total = |dst, slots| Total { dst, slots };
    let grant = |path, offset| Grant { dst: 8, path, offset };
    let demand = Record::Demand(vec![total(8, 3), total(0xffff_fffe, 70_000)]);
    let grants = vec![grant(0, 0), grant(100_000, 65_535)];
    let grants = Record::Grants { base: 5_000_000_000, grants };
    let last = Record::Grants { base: 5_000_065_540, grants: vec![grant(3, 0)] };
    let report = Record::Report(vec![total(8, 3)]);
    vec![
        ("reset", up(0, 0, acks(0, 0), vec![Record::Reset])),
        ("reset-answer", down(0, acks(0, 0), vec![Record::Reset])),
        ("demand", up(ARBITER, 1, acks(0, 0), vec![demand])),
        ("grants", down(1, acks(1, 0), vec![grants])),
        ("grants-and-report", down(2, acks(5, 0b1110), vec![last, report])),
        ("alive", up(ARBITER, 6, acks(2, 1), vec![Record::Alive])),
        ("acknowledgement", down(3, acks(66, u64::MAX), vec![])),
    ]
}

#[test]
fn the_vectors_in_the_tree_hold() {
    let blocks: Vec<&str> = VECTORS.split("\n\n").skip(1).collect();
    assert_eq!(blocks.len(), 21);
    let mut meanings = meanings().into_iter();
    for block in blocks {
        let (name, bytes) = (value(block, "name"), bytes(value(block, "hex")));
        let parsed = Message::parse(&bytes, &KEY);
        match value(block, "result") {
            "accepted" => {
                let (expected, message) = meanings.next().expect("a meaning for each");
                assert_eq!((name, parsed), (expected, Ok(message.clone())));
                assert_eq!(message.emit(&KEY), Ok(bytes), "{name}");
            }
            "forged" => assert_eq!(parsed, Err(Invalid::Forged), "{name}"),
            "malformed" => assert!(matches!(parsed, Err(Invalid::Malformed(_))), "{name}"),
            other => panic!("{name}: {other}"),
        }
    }
    assert!(meanings.next().is_none());
}
