//! Frames compared with octets that were written by hand from the standards, and with random octets.

use super::*;
use proptest::prelude::*;

const SOURCE: Mac = Mac([0x02, 0, 0, 0, 0, 9]);

fn quanta() -> impl Strategy<Value = Quanta> {
    any::<u16>().prop_map(Quanta)
}

fn extended() -> impl Strategy<Value = Extended> {
    let entries = prop::collection::btree_map(0..EXTENDED_CLASSES as u16, quanta(), 0..400);
    (prop::option::of(quanta()), entries).prop_map(|(others, entries)| Extended {
        others,
        entries: entries.into_iter().take(MAX_ENTRIES).collect(),
    })
}

fn pause() -> impl Strategy<Value = Pause> {
    let classes = (any::<u8>(), any::<[u16; 8]>())
        .prop_map(|(enabled, times)| Classes { enabled, times: times.map(Quanta) });
    prop_oneof![
        quanta().prop_map(Pause::All),
        classes.prop_map(Pause::Classes),
        extended().prop_map(Pause::Extended),
    ]
}

fn frame(pause: Pause) -> Frame {
    Frame { destination: Mac::CONTROL, source: SOURCE, pause }
}

/// Two addresses, the type, then these octets, and zeros up to 60.
fn octets(parameters: &[u8]) -> Vec<u8> {
    let mut out = vec![0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0, 0, 0, 0, 9, 0x88, 0x08];
    out.extend(parameters);
    out.resize(60, 0);
    out
}

#[test]
fn octets_are_where_the_standards_say() {
    let pause = frame(Pause::All(Quanta(0x1234)));
    assert_eq!(pause.emit(), octets(&[0x00, 0x01, 0x12, 0x34]));
    let mut classes = Classes { enabled: 0b1000_0001, ..Classes::default() };
    (classes.times[0], classes.times[7]) = (Quanta(0x0102), Quanta(0xffff));
    let expected = [0x01, 0x01, 0x00, 0x81, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    assert_eq!(frame(Pause::Classes(classes)).emit(), octets(&expected));
    let extended = Extended::all_but(&[5, 0x7ff], Quanta::MAX);
    let expected =
        [0xff, 0xfe, 0x02, 0x53, 0x4c, 1, 1, 0, 0xff, 0xff, 0, 2, 0, 5, 0, 0, 0x07, 0xff, 0, 0];
    assert_eq!(frame(Pause::Extended(extended)).emit(), octets(&expected));
}

/// The usual check value of CRC-32, and the remainder of a whole frame.
#[test]
fn the_check_sequence_is_that_of_ethernet() {
    assert_eq!(check_sequence(b"123456789"), 0xcbf4_3926);
    let checked = frame(Pause::All(Quanta::MAX)).emit_checked();
    assert_eq!(checked.len(), 64);
    assert_eq!(!check_sequence(&checked), 0xdebb_20e3);
}

#[test]
fn quanta_are_512_bit_times() {
    let (g10, g1) = (Rate(10_000_000_000), Rate(1_000_000_000));
    assert_eq!(Quanta(1).time(g10), Time::ps(51_200));
    assert_eq!(Quanta::MAX.time(g10), Time::ps(3_355_392_000));
    assert_eq!(Quanta::at_least(Time::ps(51_201), g10), Some(Quanta(2)));
    assert_eq!(Quanta::at_least(Time::ps(3_355_392_001), g10), None);
    assert_eq!(Quanta::up_to(Time::ms(4), g10), Quanta::MAX);
    assert_eq!(Quanta::at_least(Time::ms(4), g1), Some(Quanta(7_813)));
    assert_eq!(Quanta::at_least(Time::MAX, Rate(u64::MAX)), None);
}

#[test]
fn what_no_standard_allows_is_refused() {
    let wrong = |at: usize, octet: u8| {
        let mut octets = frame(Pause::Classes(Classes::all_but(1, Quanta(7)))).emit();
        octets[at] = octet;
        Frame::parse(&octets)
    };
    let field = |field, value| Err(ParseError::Field { field, value });
    assert_eq!(wrong(13, 0x09), field("ethertype", 0x8809));
    assert_eq!(wrong(15, 0x02), field("opcode", 0x0102));
    assert_eq!(wrong(16, 1), field("reserved", 1));
    assert_eq!(wrong(59, 1), field("padding", 1));
    let twice = Extended { others: None, entries: vec![(3, Quanta(1)), (3, Quanta(1))] };
    assert_eq!(Frame::parse(&frame(Pause::Extended(twice)).emit()), field("class", 3));
    let large = Extended { others: None, entries: vec![(2_048, Quanta(1))] };
    assert_eq!(Frame::parse(&frame(Pause::Extended(large)).emit()), field("class", 2_048));
    let mut checked = frame(Pause::All(Quanta(1))).emit_checked();
    checked[17] ^= 1;
    assert!(matches!(
        Frame::parse_checked(&checked),
        Err(ParseError::Field { field: "check sequence", .. })
    ));
}

#[test]
fn only_the_open_classes_go_on() {
    let classes = Classes::all_but(0b100, Quanta(9));
    let times: Vec<_> = (0..9).map(|class| classes.time(class.min(7))).collect();
    assert_eq!(times[2], Some(Quanta::NONE));
    assert!([0, 1, 3, 4, 5, 6, 7].iter().all(|&class| times[class] == Some(Quanta(9))));
    assert_eq!(Classes { enabled: 1, ..classes }.time(1), None);
    let extended = Extended::all_but(&[4, 9], Quanta(9));
    assert_eq!([3, 4, 9].map(|class| extended.time(class).unwrap().0), [9, 0, 0]);
    assert_eq!(Extended { others: None, ..extended }.time(3), None);
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(destination: [u8; 6], source: [u8; 6], pause in pause()) {
        let frame = Frame { destination: Mac(destination), source: Mac(source), pause };
        let octets = frame.emit();
        prop_assert!((60..=1_514).contains(&octets.len()));
        prop_assert_eq!(usize::from(frame.wire_len()), octets.len() + 24);
        for cut in 0..octets.len() {
            prop_assert!(Frame::parse(&octets[..cut]).is_err());
        }
        prop_assert!(Frame::parse(&[&octets[..], &[0]].concat()).is_err());
        prop_assert_eq!(Frame::parse_checked(&frame.emit_checked()), Ok(frame.clone()));
        prop_assert_eq!(Frame::parse(&octets), Ok(frame));
    }

    /// If octets are accepted, the frame contains all of their information.
    #[test]
    fn what_parses_is_emitted_again(
        mut parameters in prop::collection::vec(prop_oneof![Just(0u8), Just(1), any::<u8>()], 0..60),
        opcode in prop_oneof![Just(0x0001u16), Just(0x0101), Just(0xfffe), any::<u16>()],
        head: bool, length in 0usize..80
    ) {
        if head {
            let known = [0x02, 0x53, 0x4c, 1];
            parameters.splice(0..0, known);
        }
        let mut bytes = octets(&[&opcode.to_be_bytes()[..], &parameters].concat());
        bytes.truncate(bytes.len().min(length.max(58)));
        if let Ok(frame) = Frame::parse(&bytes) {
            prop_assert_eq!(frame.emit(), bytes);
        }
    }

    #[test]
    fn no_octets_make_the_parser_panic(octets in prop::collection::vec(any::<u8>(), 0..100)) {
        prop_assert!(Frame::parse(&octets).is_err() || octets[12..14] == [0x88, 0x08]);
        prop_assert!(Frame::parse_checked(&octets).is_err());
    }

    /// A pause of at least some time is not shorter, and not a quantum longer.
    #[test]
    fn a_pause_is_the_shortest_that_will_do(ns in 0u64..100_000_000, rate in 1_000_000u64..800_000_000_000) {
        let (time, rate) = (Time::ns(ns), Rate(rate));
        match Quanta::at_least(time, rate) {
            Some(Quanta(0)) => prop_assert_eq!(time, Time::ZERO),
            Some(quanta) => {
                prop_assert!(quanta.time(rate) >= time);
                prop_assert!(Quanta(quanta.0 - 1).time(rate) < time + Time::ps(1));
            }
            None => prop_assert!(Quanta::MAX.time(rate) < time + Time::ps(1)),
        }
    }
}
