//! Emitted messages are parsed, other bytes are refused, and fields are where the table says.

use super::*;
use proptest::prelude::*;

fn host() -> impl Strategy<Value = HostId> {
    any::<u32>().prop_map(HostId)
}

fn part() -> impl Strategy<Value = Fragment> {
    (1..=u16::MAX).prop_flat_map(|parts| (0..parts).prop_map(move |part| Fragment { part, parts }))
}

fn demand() -> impl Strategy<Value = Demand> {
    let waiting = prop::collection::vec((host(), any::<u64>()), 0..=MAX_DEMANDS);
    let place = (any::<u32>(), part(), any::<u32>(), any::<u16>());
    (place, any::<bool>(), any::<u64>(), waiting).prop_map(
        |((report, part, round, slot), whole, free, waiting)| Demand {
            report,
            part,
            round,
            slot,
            whole,
            free,
            waiting,
        },
    )
}

fn class() -> impl Strategy<Value = Class> {
    let rate = prop::option::of((1..u64::MAX).prop_map(Rate));
    (0..2_048u16, any::<u16>(), host(), rate, any::<u64>())
        .prop_map(|(class, from, dst, rate, bytes)| Class { class, from, dst, rate, bytes })
}

fn open() -> impl Strategy<Value = Open> {
    (any::<u16>(), host(), 0..2_048u16).prop_map(|(slot, host, class)| Open { slot, host, class })
}

fn timing() -> impl Strategy<Value = Timing> {
    let time = || any::<u32>().prop_map(|ns| Time::ns(ns.into()));
    (any::<u16>(), any::<u16>(), time(), time(), time())
        .prop_map(|(next, slots, begins, slot, guard)| Timing { next, slots, begins, slot, guard })
}

fn body() -> impl Strategy<Value = Body> {
    let classes = (any::<u32>(), part(), timing(), prop::collection::vec(class(), 0..=MAX_CLASSES));
    let slots = (any::<u32>(), part(), prop::collection::vec(open(), 0..=MAX_SLOTS));
    let edge = prop_oneof![Just(Edge::Begins), Just(Edge::Ends)];
    let trigger = (any::<u32>(), any::<u16>(), edge);
    prop_oneof![
        Just(Body::Hello),
        Just(Body::Leave),
        demand().prop_map(Body::Demand),
        any::<u32>().prop_map(Body::Reported),
        classes.prop_map(|(round, part, timing, classes)| {
            Body::Classes { round, part, timing, classes }
        }),
        any::<u32>().prop_map(Body::Ready),
        slots.prop_map(|(round, part, open)| Body::Slots { round, part, open }),
        trigger.prop_map(|(round, slot, edge)| Body::Trigger { round, slot, edge }),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(host in host(), seq: u32, heard: u32, body in body(), padding in 0usize..64) {
        let message = Message { host, seq, heard, body };
        let mut bytes = message.emit();
        prop_assert!(bytes.len() <= 1_500);
        for cut in 0..bytes.len() {
            prop_assert!(Message::parse(&bytes[..cut]).is_err());
        }
        bytes.extend(vec![0; padding]);
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
    }

    /// A parsed message is emitted as the same bytes.
    #[test]
    fn what_parses_is_emitted_again(
        mut bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 16..80),
        head: bool, kind in 0u8..10
    ) {
        if head {
            let length = bytes.len() as u8;
            bytes[..4].copy_from_slice(&[VERSION, kind, 0, length]);
        }
        if let Ok(message) = Message::parse(&bytes) {
            let again = message.emit();
            prop_assert_eq!(&again, &bytes[..again.len()]);
        }
    }
}

#[test]
fn bytes_are_where_the_table_says() {
    let waiting = vec![(HostId(5), 1_000_000)];
    let part = Fragment { part: 1, parts: 2 };
    let (report, round, slot, whole, free) = (7, 258, 3, true, 65_536);
    let body = Body::Demand(Demand { report, part, round, slot, whole, free, waiting });
    let message = Message { host: HostId(3), seq: 258, heard: 259, body };
    let expected = [
        1, 3, 0, 54, 0, 0, 0, 3, 0, 0, 1, 2, 0, 0, 1, 3, // header
        0, 0, 0, 7, 0, 1, 0, 2, 0, 0, 1, 2, 0, 3, 1, 0, // report, part, round, slot, whole
        0, 0, 0, 0, 0, 1, 0, 0, // free
        0, 1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0x0f, 0x42, 0x40,
    ];
    assert_eq!(message.emit(), expected);
    let classes = vec![Class { class: 2_047, from: 6, dst: HostId(1), rate: None, bytes: 9 }];
    let (begins, slot, guard) = (Time::ns(9), Time::us(300), Time::us(15));
    let timing = Timing { next: 2, slots: 31, begins, slot, guard };
    let body = Body::Classes { round: 1, part: Fragment::ALONE, timing, classes };
    let bytes = Message { host: HostId(0), seq: 1, heard: 0, body }.emit();
    let expected = [
        0, 0, 0, 1, 0, 0, 0, 1, // round, part, parts
        0, 2, 0, 31, 0, 0, 0, 9, 0, 4, 0x93, 0xe0, 0, 0, 0x3a, 0x98, // timing
        0, 1, // count
        0x07, 0xff, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
    ];
    assert_eq!(bytes[16..], expected);
}

#[test]
fn what_has_no_meaning_is_refused() {
    let field = |field, value| Err(ParseError::Field { field, value });
    let refused = |body: Body, at: usize, octet: u8| {
        let mut bytes = Message { host: HostId(1), seq: 1, heard: 1, body }.emit();
        bytes[at] = octet;
        Message::parse(&bytes)
    };
    let trigger = || Body::Trigger { round: 1, slot: 0, edge: Edge::Begins };
    assert_eq!(refused(trigger(), 22, 3), field("edge", 3));
    assert_eq!(refused(trigger(), 0, 2), field("version", 2));
    assert_eq!(refused(trigger(), 1, 9), field("type", 9));
    let slots = || Body::Slots { round: 1, part: Fragment::ALONE, open: vec![] };
    assert_eq!(refused(slots(), 21, 1), field("part", 1));
}
