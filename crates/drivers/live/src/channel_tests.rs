use super::*;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::HostId;
use std::net::{Ipv4Addr, UdpSocket};

const NOW: Local = Local(1_000);

fn key(number: u8) -> KeyPair {
    KeyPair::from_private([number + 1; 32])
}
/// Two daemons that know each other, and the address of the second.
fn pair() -> (Channel, Channel, SocketAddr) {
    let free = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let (one, two) = (free(), free());
    let peer =
        |number: u8, address| Peer { number: number.into(), address, key: key(number).public() };
    let first = Channel::open(one, key(0), &[peer(1, two)], NOW).unwrap();
    let second = Channel::open(two, key(1), &[peer(0, one)], NOW).unwrap();
    (first, second, two)
}
/// Lets both daemons do what is due until the second one has received a message.
fn heard(first: &mut Channel, second: &mut Channel, now: Local) -> Option<(u32, Vec<u8>)> {
    for _ in 0..50 {
        assert_eq!(first.receive(now).unwrap(), None);
        first.attend(now);
        if let Some((from, Message::Control(_, payload))) = second.receive(NOW).unwrap() {
            return Some((from, payload.to_vec()));
        }
        second.attend(NOW);
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
fn message(payload: &[u8]) -> Message<'_> {
    let dst = HostId(1);
    Message::Control(Packet { dst, len: 84, kind: Kind::Control, ..Packet::default() }, payload)
}

#[test]
fn a_message_comes_with_the_number_of_who_sent_it() {
    let (mut first, mut second, _) = pair();
    assert!(first.send(1, &message(b"demand"), NOW));
    assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"demand".to_vec())));
    assert_eq!((second.present(SILENCE, NOW), second.refused()), (0, 0));
    assert!(!first.send(7, &message(b""), NOW), "nobody has this number");
}

#[test]
fn what_is_not_from_a_peer_is_refused_and_harms_nothing() {
    let (mut first, mut second, address) = pair();
    let rogue = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut forged = Vec::new();
    message(b"forged").emit(&mut forged);
    rogue.send_to(&forged, address).unwrap();
    rogue.send_to(&[], address).unwrap();
    // It knows the address and the public key of the second one, but the second one does not know its key.
    let peer = Peer { number: 1, address, key: key(1).public() };
    let mut stranger =
        Channel::open((Ipv4Addr::LOCALHOST, 0).into(), key(9), &[peer], NOW).unwrap();
    stranger.send(1, &message(b"forged"), NOW);
    stranger.attend(NOW);
    assert_eq!(second.receive(NOW).unwrap(), None);
    first.send(1, &message(b"true"), NOW);
    assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"true".to_vec())));
    assert!(second.refused() >= 3, "{}", second.refused());
}

#[test]
fn keys_change_while_messages_go_on() {
    let (mut first, mut second, address) = pair();
    let pass = |first: &mut Channel, second: &mut Channel, text: &[u8]| {
        assert!(first.send(1, &message(text), NOW));
        assert_eq!(heard(first, second, NOW), Some((0, text.to_vec())));
    };
    pass(&mut first, &mut second, b"old");
    let new = key(11);
    let from = second.known(0).unwrap().address;
    let renewed = Peer { number: 0, address: from, key: new.public() };
    second.renew(&key(1), &[renewed], NOW).unwrap();
    pass(&mut first, &mut second, b"both");
    let peer = [Peer { number: 1, address, key: key(1).public() }];
    first.renew(&new, &peer, NOW).unwrap();
    first.endpoint.renew(1, first.time(NOW)).unwrap();
    pass(&mut first, &mut second, b"new");
    assert!(first.renew(&key(1), &peer, NOW).is_err(), "the key of the other one");
}

#[test]
fn peers_join_and_leave() {
    let (mut first, mut second, address) = pair();
    let from = second.known(0).unwrap().address;
    second.renew(&key(1), &[], NOW).unwrap();
    assert!(first.send(1, &message(b"stranger"), NOW));
    assert_eq!(heard(&mut first, &mut second, NOW), None);
    let number = 70_000;
    second.renew(&key(1), &[Peer { number, address: from, key: key(0).public() }], NOW).unwrap();
    first.renew(&key(0), &[], NOW).unwrap();
    first.renew(&key(0), &[Peer { number: 1, address, key: key(1).public() }], NOW).unwrap();
    assert!(first.send(1, &message(b"member"), NOW));
    assert_eq!(heard(&mut first, &mut second, NOW), Some((number, b"member".to_vec())));
}

#[test]
fn machines_get_other_numbers() {
    let (mut first, mut second, address) = pair();
    assert!(first.send(1, &message(b"old"), NOW));
    assert!(heard(&mut first, &mut second, NOW).is_some());
    let from = second.known(0).unwrap().address;
    // A machine that is new has the number that the first one had.
    let peers = [(0, 7, address), (5, 0, from)];
    let peers = peers.map(|(number, of, address)| Peer { number, address, key: key(of).public() });
    second.renew(&key(1), &peers, NOW).unwrap();
    assert!(second.send(5, &message(b"new"), NOW));
    assert_eq!(heard(&mut second, &mut first, NOW), Some((1, b"new".to_vec())));
    assert!(first.send(1, &message(b"answer"), NOW));
    assert_eq!(heard(&mut first, &mut second, NOW), Some((5, b"answer".to_vec())));
}

#[test]
fn messages_go_on_when_an_endpoints_time_is_over() {
    let (mut first, mut second, _) = pair();
    assert!(first.send(1, &message(b"one"), NOW));
    assert!(heard(&mut first, &mut second, NOW).is_some());
    // Beyond the picoseconds of 64 bits, which are over after 213 days.
    let later = NOW.after(LONGEST * 3 / 2);
    second.attend(later);
    first.attend(later);
    assert!(first.send(1, &message(b"two"), later));
    let found = (0..50).find_map(|_| {
        first.receive(later).unwrap();
        first.attend(later);
        std::thread::sleep(Duration::from_millis(1));
        let found = second.receive(later).unwrap().map(|(from, _)| from);
        second.attend(later);
        found
    });
    assert_eq!(found, Some(0));
}

#[test]
fn a_peer_is_heard_within_its_quota() {
    let (mut first, mut second, _) = pair();
    second.limit(Quotas { each: 1_000, tenants: Vec::new() });
    assert!(first.send(1, &message(b"hello"), NOW));
    assert!(heard(&mut first, &mut second, NOW).is_some());
    let mut count = |second: &mut Channel, now: Local| {
        for _ in 0..150 {
            assert!(first.send(1, &message(b"more"), now));
        }
        first.attend(now);
        let mut heard = 0;
        for _ in 0..20 {
            while second.receive(now).unwrap().is_some() {
                heard += 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        (heard, second.over_quota())
    };
    // A tenth of a second ahead: 100 messages and the one that is beyond it, less the first one of all.
    assert_eq!(count(&mut second, NOW), (100, 50));
    assert_eq!(count(&mut second, NOW.after(Duration::from_millis(20))), (20, 180));
    assert_eq!(count(&mut second, NOW.after(Duration::from_secs(1))), (101, 229));
    // The quota of a tenant counts besides.
    second.limit(Quotas { each: 1_000, tenants: vec![(vec![0], 100)] });
    assert_eq!(count(&mut second, NOW.after(Duration::from_secs(9))), (11, 368));
}

#[test]
fn a_flood_does_not_keep_a_daemon_from_its_work() {
    let (mut first, mut second, address) = pair();
    let rogue = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    for _ in 0..2 * BURST {
        rogue.send_to(b"noise", address).unwrap();
    }
    assert_eq!(second.receive(NOW).unwrap(), None);
    assert_eq!(second.refused(), BURST as u64, "it returns, although more datagrams wait");
    assert!(first.send(1, &message(b"true"), NOW));
    assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"true".to_vec())));
}

#[test]
fn a_peer_that_begins_anew_is_heard_again() {
    let (mut first, mut second, address) = pair();
    first.send(1, &message(b"one"), NOW);
    assert!(heard(&mut first, &mut second, NOW).is_some());
    let peer = Peer { number: 0, address: second.known(0).unwrap().address, key: key(0).public() };
    drop(second);
    let mut second = Channel::open(address, key(1), &[peer], NOW).unwrap();
    let later = NOW.after(SILENCE * 2);
    first.expect(1, later);
    let again = |_| {
        first.send(1, &message(b"two"), later);
        heard(&mut first, &mut second, later)
    };
    let found = (0..10).find_map(again).map(|(_, payload)| payload);
    assert_eq!(found.as_deref(), Some(&b"two"[..]));
}

/// Many machines begin at once: a message that arrives after their handshakes is received before any is answered.
#[test]
fn messages_do_not_wait_behind_handshakes() {
    const CROWD: u8 = 40;
    let free = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let (one, two) = (free(), free());
    let peer =
        |number: u8, address| Peer { number: number.into(), address, key: key(number).public() };
    let mut crowd: Vec<Channel> = (2..2 + CROWD)
        .map(|n| Channel::open(free(), key(n), &[peer(1, two)], NOW).unwrap())
        .collect();
    let known: Vec<Peer> =
        [peer(0, one)].into_iter().chain((2..2 + CROWD).map(|n| peer(n, one))).collect();
    let mut first = Channel::open(one, key(0), &[peer(1, two)], NOW).unwrap();
    let mut second = Channel::open(two, key(1), &known, NOW).unwrap();
    first.send(1, &message(b"hello"), NOW);
    assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"hello".to_vec())));
    for machine in &mut crowd {
        machine.send(1, &message(b"me too"), NOW);
        machine.attend(NOW);
    }
    first.send(1, &message(b"beat"), NOW);
    first.attend(NOW);
    std::thread::sleep(Duration::from_millis(20));
    let mut next = || match second.receive(NOW).unwrap() {
        Some((from, Message::Control(_, payload))) => Some((from, payload.to_vec())),
        _ => None,
    };
    // After the last datagram of a batch nothing is returned once.
    assert_eq!((0..2).find_map(|_| next()), Some((0, b"beat".to_vec())));
    // One handshake is answered at a time, and there is more to do until all are.
    let rounds = (0..u32::from(CROWD) * 2).take_while(|_| second.attend(NOW).is_zero()).count();
    assert_eq!(rounds, usize::from(CROWD) - 1);
    for machine in &mut crowd {
        assert_eq!(machine.receive(NOW).unwrap(), None);
        machine.attend(NOW);
    }
    let mut heard = 0;
    for _ in 0..200 {
        while second.receive(NOW).unwrap().is_some() {
            heard += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(heard, u32::from(CROWD));
}
