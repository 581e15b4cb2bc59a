//! The goodput of a TCP connection over the kernel's bridge.

use slotline_emulate::bridge::{Bridge, BridgeOptions};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The addresses of the hosts.
pub(crate) const ADDRESSES: [Ipv4Addr; 2] =
    [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];
const PORT: u16 = 7_000;

/// The goodput of a TCP connection between two hosts during `span`, in Mbit/s.
pub(crate) fn goodput(mtu: u32, span: Duration) -> Result<f64, Box<dyn Error + Send + Sync>> {
    let bridge = Bridge::new(
        &ADDRESSES,
        &BridgeOptions { mtu, limit: None, families: Default::default(), one_by_one: true },
    )?;
    transfer(&bridge, span)
}

/// The goodput of a TCP connection from the first to the second host of a bridge during `span`, in Mbit/s.
pub(crate) fn transfer(
    bridge: &Bridge,
    span: Duration,
) -> Result<f64, Box<dyn Error + Send + Sync>> {
    for host in 0..ADDRESSES.len() {
        // The congestion control of emulated hosts.
        bridge
            .inside(host, || std::fs::write("/proc/sys/net/ipv4/tcp_congestion_control", "reno"))?;
    }
    let listener = bridge.inside(1, || TcpListener::bind((ADDRESSES[1], PORT)))?;
    let out = bridge.inside(0, || TcpStream::connect((ADDRESSES[1], PORT)))?;
    let (arriving, _) = listener.accept()?;
    Ok(carried(out, arriving, span)?)
}

fn carried(mut out: TcpStream, mut arriving: TcpStream, span: Duration) -> io::Result<f64> {
    std::thread::scope(|scope| {
        let began = Instant::now();
        scope.spawn(move || {
            let block = vec![0; 1 << 17];
            while began.elapsed() < span && out.write_all(&block).is_ok() {}
        });
        let (mut block, mut bytes) = (vec![0; 1 << 17], 0);
        loop {
            match arriving.read(&mut block)? {
                0 => return Ok(bytes as f64 * 8e-6 / began.elapsed().as_secs_f64()),
                read => bytes += read,
            }
        }
    })
}
