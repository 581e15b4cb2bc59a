//! Tests of captures: files that real tools wrote, parsed in pieces of every size.

use super::*;
use proptest::prelude::*;

macro_rules! data {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/captures/", $name))
    };
}
const CLASSIC: &[u8] = data!("mix.pcap");
const NANOSECONDS: &[u8] = data!("mix-nanoseconds.pcap");
const NEWER: &[u8] = data!("mix.pcapng");

fn read(bytes: &[u8], options: Options, piece: usize) -> Result<Extract, FormatError> {
    let mut capture = Capture::new(options);
    bytes.chunks(piece).try_for_each(|piece| capture.push(piece))?;
    capture.finish()
}

fn plain(bytes: &[u8]) -> Result<Extract, FormatError> {
    read(bytes, Options::default(), 1000)
}

fn rows(extract: &Extract) -> Vec<(u32, u32, u64, u64, bool)> {
    let us = |ps: u64| ps / 1_000_000;
    extract.flows.iter().map(|f| (f.src, f.dst, f.bytes, us(f.start_ps), f.udp)).collect()
}

#[test]
fn flows_are_found() {
    let expected = [
        (0, 1, 150, 0, false),
        (1, 0, 2_000, 10, false),
        (2, 3, 321, 116, true),
        (4, 0, 2_000, 1_000_119, true),
    ];
    for bytes in [CLASSIC, NANOSECONDS, NEWER] {
        let extract = plain(bytes).unwrap();
        assert_eq!(rows(&extract), expected);
        assert_eq!(extract.left, Left { other: 2, ..Left::default() });
        let hosts: Vec<String> = extract.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(hosts, ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2", "10.0.0.3"]);
        let notes = extract.notes().join("\n");
        for note in ["2 packets are in no flow: neither", "2 flows were UDP", "host 4 is 10.0.0.3"]
        {
            assert!(notes.contains(note), "{notes}");
        }
    }
}

#[test]
fn silence_ends_a_flow() {
    let gap = |ps| Options { idle_gap_ps: Some(ps), ..Options::default() };
    let split = rows(&read(CLASSIC, gap(500_000_000_000), 1000).unwrap());
    assert_eq!(split.len(), 5);
    assert_eq!((split[0].2, split[3]), (100, (0, 1, 50, 1_000_118, false)));
    assert_eq!(rows(&read(CLASSIC, gap(2_000_000_000_000), 1000).unwrap()).len(), 4);
}

#[test]
fn addresses_name_hosts() {
    let map = "# a comment\n10.0.0.1 7\n10.0.0.2 3\n\n2001:db8::1 0\n2001:db8::2 0\n10.0.0.3 -\n";
    let addresses = Some(AddressMap::parse(map).unwrap());
    let extract = read(CLASSIC, Options { addresses, ..Options::default() }, 1000).unwrap();
    assert_eq!(rows(&extract), [(7, 3, 150, 0, false), (3, 7, 2_000, 10, false)]);
    assert_eq!(extract.left, Left { other: 2, unwanted: 1, own: 1, ..Left::default() });
    let addresses = Some(AddressMap::parse("10.0.0.1 0").unwrap());
    let error = read(CLASSIC, Options { addresses, ..Options::default() }, 1000).unwrap_err();
    assert_eq!((error.line, error.message.contains("10.0.0.2 is not in the file")), (4, true));
    for (text, line, why) in [
        ("10.0.0.1\n", 1, "expected `address host`"),
        ("\n10.0.0 1\n", 2, "`10.0.0` is not an IPv4"),
        ("::1 x\n", 1, "host `x`"),
        ("::1 1\n::1 2\n", 2, "given twice"),
    ] {
        let error = AddressMap::parse(text).unwrap_err();
        assert_eq!((error.line, error.message.contains(why)), (line, true), "{error}");
    }
}

/// `bytes`, a classic capture, in the other byte order.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let reverse = |out: &mut [u8], at: usize, length: usize| out[at..at + length].reverse();
    for (at, length) in [(0, 4), (4, 2), (6, 2), (8, 4), (12, 4), (16, 4), (20, 4)] {
        reverse(&mut out, at, length);
    }
    let mut at = 24;
    while at < bytes.len() {
        let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        (0..4).for_each(|word| reverse(&mut out, at + 4 * word, 4));
        at += 16 + captured;
    }
    out
}

#[test]
fn byte_order_does_not_matter() {
    for bytes in [CLASSIC, NANOSECONDS] {
        assert_eq!(plain(&swapped(bytes)), plain(bytes));
    }
}

/// A block of pcapng in big-endian order.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = (body.len() as u32 + 12).to_be_bytes();
    [&kind.to_be_bytes()[..], &length, &body, &length].concat()
}

const SECTION: &[u8] =
    &[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];

/// A UDP datagram of `payload` bytes from 10.0.0.`src` to 10.0.0.`dst` without a link header.
fn datagram(src: u8, dst: u8, payload: u16) -> Vec<u8> {
    let total = (28 + payload).to_be_bytes();
    let mut bytes = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0];
    bytes.extend([10, 0, 0, src, 10, 0, 0, dst, 0, 1, 0, 2]);
    bytes.extend((8 + payload).to_be_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// An enhanced packet block of interface 0, or the older kind.
fn packet(kind: u32, time: u64, data: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(((time >> 32) as u32).to_be_bytes());
    body.extend((time as u32).to_be_bytes());
    body.extend((data.len() as u32).to_be_bytes());
    body.extend((data.len() as u32).to_be_bytes());
    body.extend(data);
    block(kind, &body)
}

#[test]
fn sections_interfaces_and_unknown_blocks_are_understood() {
    // Link type 101, ticks of 2 to the power of minus 10, and an hour more.
    let mut interface = vec![0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 14, 0, 8];
    interface.extend(3_600u64.to_be_bytes());
    interface.extend([0, 0, 0, 0]);
    let plain_interface = [0, 228, 0, 0, 0, 0, 0, 0];
    let file = [
        block(0x0a0d_0d0a, SECTION),
        block(1, &interface),
        block(4, &[0, 0, 0, 0]),
        packet(6, 1_024, &datagram(1, 2, 100)),
        block(0x0bad, &[1, 2, 3]),
        block(0xdead_beef, b"whatever this is"),
        packet(2, 1_024 + 512, &datagram(1, 2, 11)),
        block(5, &[0; 16]),
        // The next section has interfaces of its own.
        block(0x0a0d_0d0a, SECTION),
        block(1, &plain_interface),
        packet(6, 3_602_000_000, &datagram(2, 1, 7)),
    ]
    .concat();
    let extract = plain(&file).unwrap();
    assert_eq!(rows(&extract), [(0, 1, 111, 0, true), (1, 0, 7, 1_000_000, true)]);
}

/// A length that no packet has, with which later sums would overflow.
#[test]
fn a_packet_that_is_too_long_is_refused() {
    for (file, at) in [(CLASSIC, 24 + 12), (NANOSECONDS, 24 + 12)] {
        let mut bytes = file.to_vec();
        bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
        let error = plain(&bytes).unwrap_err();
        assert_eq!(error.line, 1);
        assert!(error.message.contains("4294967295 bytes on the wire"), "{error}");
        assert!(for_each_packet(&bytes, |_| Ok(())).is_err());
    }
}

#[test]
fn what_is_not_understood_is_refused() {
    let header = |link: u8| [&CLASSIC[..20], &[link, 0, 0, 0]].concat();
    let with_packet = |link| [&header(link), &CLASSIC[24..]].concat();
    let section = || block(0x0a0d_0d0a, SECTION);
    let interface = || block(1, &[0, 101, 0, 0, 0, 0, 0, 0]);
    for (file, line, why) in [
        (vec![], 1, "the file is empty"),
        (CLASSIC[..20].to_vec(), 1, "the file is empty or too short"),
        (
            b"Nodes 16\n".to_vec(),
            1,
            "neither pcap nor pcapng: the file begins with the bytes 4e 6f",
        ),
        (with_packet(105), 1, "link type 105 is not supported"),
        (CLASSIC[..CLASSIC.len() - 1].to_vec(), 13, "ends within this record"),
        (CLASSIC[..30].to_vec(), 1, "ends within this record"),
        ([&CLASSIC[..32], &[255; 8]].concat(), 1, "the file is damaged"),
        ([&CLASSIC[..28], &[255; 12]].concat(), 1, "the file is damaged"),
        ([section(), packet(6, 0, &[])].concat(), 2, "interface 0, which is not described"),
        ([section(), interface(), block(3, &[0; 8])].concat(), 3, "has no time"),
        ([section(), block(1, &[0])].concat(), 2, "too short"),
        ([section(), interface(), block(6, &[0; 8])].concat(), 3, "too short"),
        ([section(), vec![0, 0, 0, 6, 0, 0, 0, 13, 0, 0, 0, 0]].concat(), 2, "a block of 13 bytes"),
        ([section(), interface(), block(6, &[0; 16])].concat()[..60].to_vec(), 3, "ends within"),
    ] {
        let error = plain(&file).expect_err(why);
        assert_eq!((error.line, error.message.contains(why)), (line, true), "{why}: {error}");
    }
    let mut unequal = [section(), interface()].concat();
    *unequal.last_mut().unwrap() ^= 1;
    assert!(plain(&unequal).unwrap_err().message.contains("is not repeated at its end"));
}

proptest! {
    /// The sizes of the pieces of a file do not matter.
    #[test]
    fn pieces_do_not_matter(piece in 1usize..3_000, which in 0usize..3) {
        let bytes = [CLASSIC, NANOSECONDS, NEWER][which];
        prop_assert_eq!(read(bytes, Options::default(), piece), plain(bytes));
    }

    /// A capture with some changed bytes is refused, or has flows that can be sent.
    #[test]
    fn a_damaged_capture_is_refused_or_sound(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        which in 0usize..3,
    ) {
        let mut bytes = [CLASSIC, NANOSECONDS, NEWER][which].to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(extract) = plain(&bytes) {
            prop_assert!(extract.flows.iter().all(|flow| flow.bytes > 0 && flow.src != flow.dst));
            prop_assert!(extract.flows.is_sorted_by_key(|flow| flow.start_ps));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any::<Vec<u8>>(), which in 0usize..4) {
        let head: &[u8] = [&[], &CLASSIC[..24], &NANOSECONDS[..24], &NEWER[..28]][which];
        let _ = plain(&[head, &bytes].concat());
    }

    /// A truncated file is refused unless it ends between two records.
    #[test]
    fn a_truncated_capture_is_refused(length in 0usize..6_332) {
        for bytes in [CLASSIC, NEWER] {
            let whole = plain(bytes).unwrap();
            if let Ok(extract) = plain(&bytes[..length.min(bytes.len())]) {
                prop_assert!(extract.flows.len() <= whole.flows.len());
            }
        }
    }
}
