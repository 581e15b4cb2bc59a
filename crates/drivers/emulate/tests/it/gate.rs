//! The gate of a daemon between two hosts at the kernel's bridge. Where this user may not make hosts, the tests say so.

use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};
use slotline_emulate::bridge::{Bridge, BridgeOptions};
use slotline_emulate::namespace;
use slotline_linux::command::{command, output};
use slotline_linux::gate::{self, Gate, Held, Joined, Kind, Origin, Room};
use slotline_linux::hold::{Leave, Ticket};
use slotline_linux::wait;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
const MTU: u32 = 1_500;
const QUEUE: u16 = 40;
/// Room for eight segments with framing.
const ROOM: u64 = 8 * 1_538;
/// IP packets that are shorter are not held.
const SHORT: u32 = 70;
const BYTES: usize = 20_000_000;

/// Runs `work` with two hosts, in network namespaces that end with it.
fn with_hosts(work: impl FnOnce(&Bridge) -> io::Result<()> + Send) {
    let space = match namespace::empty("test") {
        Ok(space) => space,
        Err(error) => return println!("skipped: {error}"),
    };
    let options =
        BridgeOptions { mtu: MTU, limit: None, families: Default::default(), one_by_one: false };
    let all = || {
        let bridge = Bridge::new(&ADDRESSES, &options).map_err(io::Error::other)?;
        work(&bridge)
    };
    namespace::inside(space.as_fd(), all).unwrap();
}

fn held() -> Held {
    Held {
        origin: Origin::Applications,
        network: vec!["10.78.0.0/24".into()],
        hosts: vec![ADDRESSES[1].into()],
        exempt_ports: vec![],
        queue: QUEUE,
        joined: Joined::Within(Room { bytes: ROOM, framing: 38 }),
        timed: false,
    }
}

/// The limits of the sender's interface: bytes and segments that are joined.
fn limits() -> io::Result<[u32; 2]> {
    let shown = output("ip", &["-details", "-oneline", "link", "show", "veth0"], "");
    let shown = shown.map_err(io::Error::other)?;
    Ok(["gso_max_size", "gso_max_segs"].map(|key| {
        let mut words = shown.split_whitespace().skip_while(|word| *word != key);
        words.nth(1).unwrap().parse().unwrap()
    }))
}

/// Opens the gate, runs `work`, and returns the lengths of the packets that were held meanwhile. Each is released at once.
fn lengths(bridge: &Bridge, kind: Kind, work: impl FnOnce() + Send) -> io::Result<Vec<u32>> {
    let (ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let keeper = scope.spawn(|| bridge.inside(0, || keep(kind, &ready, &stop)));
        while !ready.load(Ordering::Acquire) && !keeper.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        work();
        stop.store(true, Ordering::Release);
        keeper.join().unwrap()
    })
}

fn keep(kind: Kind, ready: &AtomicBool, stop: &AtomicBool) -> io::Result<Vec<u32>> {
    let mut gate = gate::open(kind, &held())?;
    gate.exempt_below(90)?;
    gate.exempt_below(SHORT)?;
    assert_eq!(gate.segments().unwrap().most, 8);
    assert_eq!(limits()?[1], 8);
    ready.store(true, Ordering::Release);
    let (mut head, mut lengths) = (Vec::new(), Vec::new());
    let list = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&list, &gate, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    while !stop.load(Ordering::Acquire) {
        gate.fill()?;
        while let Some(packet) = gate.next(&mut head) {
            lengths.push(u32::from(u16::from_be_bytes([head[2], head[3]])));
            head.clear();
            gate.release(packet, Leave::Now);
        }
        gate.flush()?;
        wait::sleep(&list, Duration::from_millis(5))?;
    }
    Ok(lengths)
}

/// Sends and receives `BYTES` over a connection, whose bytes must arrive in order.
fn transfer(sender: &TcpStream, receiver: &TcpStream) {
    let block: Vec<u8> = (0..100_003u32).map(|n| n as u8).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut sender, mut left) = (sender, BYTES);
            while left > 0 {
                let part = left.min(block.len());
                sender.write_all(&block[..part]).unwrap();
                left -= part;
            }
        });
        let (mut receiver, mut read) = (receiver, 0);
        let mut room = vec![0; 1 << 17];
        while read < BYTES {
            let length = receiver.read(&mut room).unwrap();
            let same = |(at, byte): (usize, &u8)| *byte == block[(read + at) % block.len()];
            assert!(length > 0 && room[..length].iter().enumerate().all(same));
            read += length;
        }
    });
}

#[test]
fn joined_segments_fit_into_their_room() {
    for kind in [Kind::Queue, Kind::Packet] {
        with_hosts(|bridge| joined(bridge, kind));
    }
}

fn joined(bridge: &Bridge, kind: Kind) -> io::Result<()> {
    let before = bridge.inside(0, limits)?;
    let listener = bridge.inside(1, || TcpListener::bind((ADDRESSES[1], 7_000)))?;
    // One connection exists before the gate, with segments joined up to the interface's own limit.
    let old = bridge.inside(0, || TcpStream::connect((ADDRESSES[1], 7_000)))?;
    let (old_end, _) = listener.accept()?;
    transfer(&old, &old_end);
    let (mut count, mut joined) = (0, 0);
    let lengths = lengths(bridge, kind, || {
        transfer(&old, &old_end);
        let new = bridge.inside(0, || TcpStream::connect((ADDRESSES[1], 7_000))).unwrap();
        let (end, _) = listener.accept().unwrap();
        transfer(&new, &end);
    })?;
    for length in lengths.into_iter().filter(|length| *length > 1_000) {
        assert!(length <= 8 * 1_460 + 40, "{length}");
        count += 1;
        joined += usize::from(length > MTU);
    }
    assert!(joined * 2 > count, "{joined} of {count} packets are joined");
    assert!(count > 2 * BYTES / (8 * 1_460), "both connections passed the gate: {count}");
    assert_eq!(bridge.inside(0, limits)?, before, "the interface has its own limits again");
    Ok(())
}

#[test]
fn datagrams_pass_and_limits_of_a_killed_program_end() {
    with_hosts(|bridge| {
        bridge.inside(0, || {
            let rules = "*mangle\n:SLOTLINE-40 - [0:0]\n-A POSTROUTING -j SLOTLINE-40\nCOMMIT\n";
            command("iptables-legacy-restore", &["--noflush"], rules).map_err(io::Error::other)?;
            let left = ["link", "set", "veth0", "gso_max_segs", "3"];
            command("ip", &left, "").map_err(io::Error::other)
        })?;
        let receiver = bridge.inside(1, || UdpSocket::bind((ADDRESSES[1], 7_001)))?;
        receiver.set_read_timeout(Some(Duration::from_secs(5)))?;
        let sender = bridge.inside(0, || UdpSocket::bind((ADDRESSES[0], 7_001)))?;
        let mut room = vec![0; 40_000];
        let lengths = lengths(bridge, Kind::Queue, || {
            for bytes in [30_000, SHORT as usize - 29, SHORT as usize - 28] {
                sender.send_to(&vec![7; bytes], (ADDRESSES[1], 7_001)).unwrap();
                assert_eq!(receiver.recv(&mut room).unwrap(), bytes);
            }
        })?;
        // The kernel makes fragments of the first one after the gate. The second one is shorter than the limit.
        assert_eq!(lengths, [30_028, SHORT]);
        assert_eq!(bridge.inside(0, limits)?[1], 65_535, "the kernel's own limit");
        Ok(())
    });
}

/// The number of packets that the gate holds, which it releases. All that were sent have come once none comes for a while.
fn count_held(gate: &mut dyn Gate) -> io::Result<usize> {
    let mut count = 0;
    loop {
        let packets = take(gate)?;
        count += packets.len();
        let is_last = packets.is_empty();
        packets.into_iter().for_each(|packet| gate.release(packet, Leave::Now));
        gate.flush()?;
        if is_last {
            return Ok(count);
        }
    }
}

/// What comes to the gate within some milliseconds.
fn take(gate: &mut dyn Gate) -> io::Result<Vec<Ticket>> {
    let (mut head, mut packets) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        gate.fill()?;
        while let Some(packet) = gate.next(&mut head) {
            packets.push(packet);
        }
        gate.flush()?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(packets)
}

#[test]
fn an_open_gate_passes_packets_and_counts_them() {
    for kind in [Kind::Queue, Kind::Packet] {
        with_hosts(|bridge| opened(bridge, kind));
    }
}

fn opened(bridge: &Bridge, kind: Kind) -> io::Result<()> {
    let receiver = bridge.inside(1, || UdpSocket::bind((ADDRESSES[1], 7_001)))?;
    receiver.set_read_timeout(Some(Duration::from_secs(5)))?;
    let sent = bridge.inside(0, || {
        let sender = UdpSocket::bind((ADDRESSES[0], 7_001))?;
        let send =
            || (0..9).try_for_each(|n| sender.send_to(&[n; 90], (ADDRESSES[1], 7_001)).map(drop));
        let mut gate = gate::open(kind, &held())?;
        gate.exempt_below(SHORT)?;
        send()?;
        assert_eq!(count_held(&mut *gate)?, 9);
        for _ in 0..2 {
            gate.pass(true)?;
            send()?;
            assert_eq!((count_held(&mut *gate)?, gate.passed()?), (0, 9));
            gate.pass(false)?;
        }
        if !gate.open_until(1) {
            assert!(kind == Kind::Packet || !gate.lacks().is_empty());
            return Ok(3);
        }
        send()?;
        assert_eq!(count_held(&mut *gate)?, 9, "the time is over");
        let now = clock_gettime(ClockId::Monotonic);
        gate.open_until((now.tv_sec as u64 + 60) * 1_000_000_000);
        send()?;
        assert_eq!((count_held(&mut *gate)?, gate.passed()?), (0, 9));
        Ok(5)
    })?;
    let mut room = [0; 90];
    for n in 0..sent * 9 {
        assert_eq!((receiver.recv(&mut room)?, room[0]), (90, n % 9));
    }
    Ok(())
}

/// A program that hangs is one that calls nothing. Its packets then overtake those that it holds.
#[test]
fn packets_pass_a_packet_gate_that_hangs() {
    with_hosts(|bridge| {
        let receiver = bridge.inside(1, || UdpSocket::bind((ADDRESSES[1], 7_001)))?;
        receiver.set_read_timeout(Some(Duration::from_millis(30)))?;
        bridge.inside(0, || {
            let sender = UdpSocket::bind((ADDRESSES[0], 7_001))?;
            let mut gate = gate::open(Kind::Packet, &held())?;
            let (mut room, mut refused) = ([0; 2], 0);
            let arrives = |n: u8, room: &mut [u8]| {
                sender.send_to(&[n, 0], (ADDRESSES[1], 7_001))?;
                Ok::<_, io::Error>(receiver.recv(room).is_ok())
            };
            while !arrives(1, &mut room)? {
                refused += 1;
                assert!(refused < 5, "it passes after 80 ms");
            }
            assert!(refused > 0);
            let packets = take(&mut *gate)?;
            assert_eq!(packets.len(), refused);
            packets.into_iter().for_each(|packet| gate.release(packet, Leave::Now));
            gate.flush()?;
            for _ in 0..refused {
                assert_eq!((receiver.recv(&mut room)?, room[0]), (2, 1), "they were not lost");
            }
            assert!(!arrives(2, &mut room)?, "packets are held again");
            drop(gate);
            assert_eq!((receiver.recv(&mut room)?, room[0]), (2, 2), "it leaves in the end");
            assert!(arrives(3, &mut room)?);
            Ok(())
        })
    });
}

/// A connection, here one of datagrams, gets no more than its room, and others get theirs.
#[test]
fn a_connection_has_limited_room() {
    const LENGTH: usize = 1_400;
    with_hosts(|bridge| {
        let receivers = bridge.inside(1, || {
            Ok([UdpSocket::bind((ADDRESSES[1], 7_001))?, UdpSocket::bind((ADDRESSES[1], 7_003))?])
        })?;
        bridge.inside(0, || {
            let sender = UdpSocket::bind((ADDRESSES[0], 7_001))?;
            let mut gate = gate::open(Kind::Packet, &held())?;
            let (mut head, mut all) = (Vec::new(), Vec::new());
            let mut send = |gate: &mut dyn Gate, port: u16, count: usize, all: &mut Vec<Ticket>| {
                for n in 0..count {
                    sender.send_to(&[7; LENGTH], (ADDRESSES[1], port))?;
                    if n % 32 == 31 {
                        gate.fill()?;
                        while let Some(packet) = gate.next(&mut head) {
                            all.push(packet);
                        }
                        gate.flush()?;
                    }
                }
                all.extend(take(gate)?);
                Ok::<_, io::Error>(())
            };
            send(&mut *gate, 7_001, 4_000, &mut all)?;
            let held = all.len() * LENGTH;
            assert!((1 << 20..3 << 20).contains(&held), "{held}");
            send(&mut *gate, 7_001, 32, &mut all)?;
            assert_eq!(all.len() * LENGTH, held);
            send(&mut *gate, 7_003, 32, &mut all)?;
            assert_eq!(all.len() * LENGTH, held + 32 * LENGTH);
            all.drain(..).for_each(|packet| gate.discard(packet));
            gate.flush()?;
            send(&mut *gate, 7_001, 32, &mut all)?;
            assert_eq!((all.len(), gate.lost()), (32, 0));
            Ok(())
        })?;
        drop(receivers);
        Ok(())
    });
}
