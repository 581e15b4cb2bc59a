//! Bytes that cross the network are the bytes that were sent.

use crate::network::{hosts, joined};
use slotline_emulate::clock::Dilation;
use slotline_emulate::namespace::{GateKind, inside};
use slotline_net::time::Time;
use slotline_net::topology::StarSpec;
use slotline_net::units::Rate;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

const BYTES: usize = 50_000_000;
/// A datagram of several packets.
const LONG: usize = 20_000;
/// The longest wait for something that normally happens at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bytes that do not repeat within a packet.
fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|n| (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect()
}

/// Sends bytes over TCP in both directions at once, and returns what arrived.
fn over_tcp(spaces: &[BorrowedFd<'_>], sent: &[u8]) -> io::Result<[Vec<u8>; 2]> {
    let listener = inside(spaces[1], || TcpListener::bind("10.77.0.2:7000"))?;
    let a = inside(spaces[0], || TcpStream::connect("10.77.0.2:7000"))?;
    let (b, _) = listener.accept()?;
    for end in [&a, &b] {
        end.set_read_timeout(Some(PATIENCE))?;
    }
    let send = |mut to: TcpStream| to.write_all(sent);
    let receive = |mut from: TcpStream| {
        let mut received = vec![0; sent.len()];
        from.read_exact(&mut received).map(|()| received)
    };
    std::thread::scope(|scope| {
        let (from_a, from_b) = (a.try_clone()?, b.try_clone()?);
        scope.spawn(move || send(from_a));
        scope.spawn(move || send(from_b));
        let at_a = scope.spawn(move || receive(a));
        Ok([receive(b)?, at_a.join().unwrap()?])
    })
}

/// Sends a long datagram, and returns what arrived.
fn over_udp(spaces: &[BorrowedFd<'_>], sent: &[u8]) -> io::Result<Vec<u8>> {
    let receiver = inside(spaces[1], || UdpSocket::bind("10.77.0.2:7001"))?;
    receiver.set_read_timeout(Some(PATIENCE))?;
    inside(spaces[0], || UdpSocket::bind("10.77.0.1:7001")?.send_to(sent, "10.77.0.2:7001"))?;
    let mut received = vec![0; 2 * sent.len()];
    let length = receiver.recv(&mut received)?;
    received.truncate(length);
    Ok(received)
}

/// The number of packets in the queues of a host.
fn held(space: BorrowedFd<'_>) -> u64 {
    let file = "/proc/thread-self/net/netfilter/nfnetlink_queue";
    let table = inside(space, || std::fs::read_to_string(file)).unwrap_or_default();
    let third = |line: &str| line.split_whitespace().nth(2)?.parse::<u64>().ok();
    table.lines().filter_map(third).sum()
}

fn transfer(gate: GateKind) {
    let hosts = match hosts(2, gate) {
        Ok(hosts) => hosts,
        Err(why) => return println!("skipped: {why}"),
    };
    let star = StarSpec { delay: Time::us(1), rate: Rate(100_000_000_000), ..StarSpec::new(2) };
    let sent = pattern(BYTES);
    let (began, long) = (Instant::now(), &sent[..LONG]);
    let (_, ended) = joined(hosts, star, Dilation::NONE, |spaces| {
        assert!(over_udp(spaces, long).unwrap() == long, "a datagram changed on its way");
        let [a, b] = over_tcp(spaces, &sent).unwrap();
        assert!(a == sent && b == sent, "bytes changed on their way");
        let end = Instant::now() + PATIENCE;
        while spaces.iter().any(|space| held(*space) > 0) {
            assert!(Instant::now() < end, "packets stay in the kernel's queue");
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    println!("{gate:?}: {:?} after {:?}", ended.counts, began.elapsed());
}

#[test]
fn bytes_arrive_as_they_were_sent() {
    transfer(GateKind::Queue);
    transfer(GateKind::Interface);
    transfer(GateKind::Packet);
    transfer(GateKind::Xdp);
}
