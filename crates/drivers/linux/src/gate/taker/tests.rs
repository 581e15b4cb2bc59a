use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const REDIRECTED: u32 = 7;
const PASSED: u32 = NEXT as u32;

fn network() -> Vec<String> {
    ["10.78.0.0/20", "10.99.0.7/32", "fd78:1::/40"].map(str::to_owned).to_vec()
}

/// A taker and its program in this kernel; `None` if this user may not load programs.
fn loaded() -> Option<(Taker, Program)> {
    let Ok(mut taker) = Taker::new() else {
        println!("skipped: BPF needs root");
        return None;
    };
    taker.exempt_below(0);
    taker.tell().unwrap();
    let program = taker.program(&network(), &[22, 7_077], 1).unwrap();
    Some((taker, program))
}

fn run(program: &Program, frame: &[u8]) -> u32 {
    program.test(frame, &mut [0; 192]).unwrap()
}

/// A frame with this header, followed by the ports.
fn frame(kind: u16, header: &[u8], ports: [u16; 2], length: usize) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend(kind.to_be_bytes());
    frame.extend(header);
    frame.extend(ports.map(u16::to_be_bytes).as_flattened());
    frame.resize(length.max(frame.len()), 0);
    frame
}

fn ipv4(to: Ipv4Addr, protocol: u8, words: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut header = vec![0; usize::from(words) * 4];
    (header[0], header[9]) = (0x40 | words, protocol);
    header[16..20].copy_from_slice(&to.octets());
    frame(IPV4, &header, ports, 100)
}

fn ipv6(to: Ipv6Addr, protocol: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut header = vec![0; 40];
    (header[0], header[6]) = (0x60, protocol);
    header[24..].copy_from_slice(&to.octets());
    frame(IPV6, &header, ports, 120)
}

const FAR: Ipv4Addr = Ipv4Addr::new(10, 78, 15, 2);
const FAR6: Ipv6Addr = Ipv6Addr::new(0xfd78, 1, 0x00ff, 0, 0, 0, 0, 2);

#[test]
fn packets_of_the_network_are_taken() {
    let Some((_, program)) = loaded() else { return };
    let four = |to, protocol, ports| run(&program, &ipv4(to, protocol, 5, ports));
    assert_eq!(four(FAR, 6, [40_000, 80]), REDIRECTED);
    assert_eq!(four(Ipv4Addr::new(10, 99, 0, 7), 1, [0, 0]), REDIRECTED);
    for other in [Ipv4Addr::new(10, 78, 16, 2), Ipv4Addr::new(10, 99, 0, 6)] {
        assert_eq!(four(other, 6, [40_000, 80]), PASSED);
    }
    for ports in [[22, 40_000], [40_000, 22], [7_077, 7_077]] {
        assert_eq!(four(FAR, 17, ports), PASSED, "exempt");
        assert_eq!(four(FAR, 1, ports), REDIRECTED, "no ports");
        assert_eq!(run(&program, &ipv4(FAR, 6, 7, ports)), PASSED, "behind options");
    }
    let six = |to, protocol, ports| run(&program, &ipv6(to, protocol, ports));
    assert_eq!(six(FAR6, 6, [40_000, 80]), REDIRECTED);
    assert_eq!(six(FAR6, 17, [22, 80]), PASSED);
    assert_eq!(six(Ipv6Addr::new(0xfd78, 1, 0x0100, 0, 0, 0, 0, 2), 6, [1, 2]), PASSED);
    assert_eq!(six(FAR6, 58, [128 << 8, 0]), REDIRECTED, "an echo");
    assert_eq!(six(FAR6, 58, [135 << 8, 0]), PASSED, "a search for a neighbour");
    let arp = frame(0x0806, &[0; 28], [0, 0], 60);
    assert_eq!(run(&program, &arp), PASSED);
    let mut group = ipv4(FAR, 17, 5, [1, 2]);
    group[0] = 0xff;
    assert_eq!(run(&program, &group), PASSED);
    let mut fragment = ipv4(FAR, 17, 5, [22, 22]);
    fragment[21] = 9;
    assert_eq!(run(&program, &fragment), REDIRECTED, "it has no ports");
}

#[test]
fn networks_may_have_one_family_and_any_length() {
    let Some((taker, _)) = loaded() else { return };
    let four = ipv4(FAR, 6, 5, [1, 2]);
    let six = ipv6(FAR6, 6, [1, 2]);
    for (prefix, expected) in [
        ("10.78.0.0/16", [REDIRECTED, PASSED]),
        ("0.0.0.0/0", [REDIRECTED, PASSED]),
        ("fd78::/16", [PASSED, REDIRECTED]),
        ("::/0", [PASSED, REDIRECTED]),
    ] {
        let program = taker.program(&[prefix.to_owned()], &[], 1).unwrap();
        assert_eq!([&four, &six].map(|frame| run(&program, frame)), expected, "{prefix}");
    }
    let wrong = taker.program(&["10.78.0.0".to_owned()], &[], 1).unwrap_err().to_string();
    assert!(wrong.contains("`10.78.0.0` is no prefix"), "{wrong}");
}

#[test]
fn packets_of_the_process_pass_without_their_mark() {
    let Some((_, program)) = loaded() else { return };
    for (mark, expected) in [(RELEASED, (PASSED, 0)), (7, (REDIRECTED, 7))] {
        let mut context = [0; 192];
        context[8..12].copy_from_slice(&mark.to_ne_bytes());
        let result = program.test(&ipv4(FAR, 6, 5, [1, 2]), &mut context).unwrap();
        let left = u32::from_ne_bytes(*context[8..].first_chunk().unwrap());
        assert_eq!((result, left), expected);
    }
}

#[test]
fn packets_pass_once_the_process_is_silent() {
    let Some((mut taker, program)) = loaded() else { return };
    let taken = || run(&program, &ipv4(FAR, 6, 5, [1, 2]));
    assert_eq!((taken(), taker.passed().unwrap()), (REDIRECTED, 0));
    std::thread::sleep(TRUST);
    assert_eq!((taken(), taker.passed().unwrap()), (PASSED, 1));
    taker.tell().unwrap();
    assert_eq!(taken(), REDIRECTED);
    taker.pass(true);
    taker.tell().unwrap();
    assert_eq!((taken(), taker.passed().unwrap()), (PASSED, 2));
}

#[test]
fn short_packets_pass() {
    let Some((mut taker, program)) = loaded() else { return };
    // The frame has 100 bytes.
    for (bytes, expected) in [(86, REDIRECTED), (87, PASSED)] {
        taker.exempt_below(bytes);
        taker.tell().unwrap();
        assert_eq!(run(&program, &ipv4(FAR, 6, 5, [1, 2])), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The program and [`set_of`] agree: a packet is refused if and only if its own set has no room.
    #[test]
    fn a_set_without_room_is_refused(
        ports: [u16; 2], host in 1u8..250, protocol in prop::sample::select(vec![1u8, 6, 17]), words in 5u8..9, six: bool,
    ) {
        let Some((mut taker, program)) = loaded() else { return Ok(()) };
        prop_assume!(!ports.iter().any(|port| [22, 7_077].contains(port)));
        let frame = match six {
            true => ipv6(Ipv6Addr::from_bits(FAR6.to_bits() + u128::from(host)), protocol, ports),
            false => ipv4(Ipv4Addr::new(10, 78, 3, host), protocol, words, ports),
        };
        let set = set_of(&frame[ETHERNET..]);
        (0..SETS).for_each(|other| taker.mark_full(other, other != set));
        taker.tell().unwrap();
        prop_assert_eq!(run(&program, &frame), REDIRECTED);
        (0..SETS).for_each(|other| taker.mark_full(other, other == set));
        taker.tell().unwrap();
        prop_assert_eq!(run(&program, &frame), REFUSED as u32);
    }

    #[test]
    fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        prop_assert!(set_of(&bytes) < SETS);
    }
}
