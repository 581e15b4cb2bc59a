//! Prints what securing datagrams costs: `cargo run --release -p slotline-envelope --example measure`.
//!
//! The time of one operation is the time of the fastest of several rounds, on one core.

use slotline_base::time::Time;
use slotline_envelope::{Endpoint, Event, KeyPair, PublicKey, Settings, Start};
use snow::resolvers::{BoxedCryptoResolver, RingResolver};
use snow::types::Cipher;
use std::error::Error;
use std::time::{Duration, Instant};

const ROUNDS: usize = 20;
const BATCH: usize = 1_000;
const SIZES: [usize; 4] = [64, 256, 1_024, 1_400];

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:>8} {:>8} {:>10} {:>10} {:>12} {:>12}",
        "peers", "bytes", "seal ns", "open ns", "snow seal", "snow open"
    );
    for peers in [1, 10_000] {
        for size in SIZES {
            let (seal, open) = datagrams(peers, size)?;
            let (snow_seal, snow_open) = snow_cipher(size)?;
            println!(
                "{peers:>8} {size:>8} {seal:>10.0} {open:>10.0} {snow_seal:>12.0} {snow_open:>12.0}"
            );
        }
    }
    handshakes()
}

fn end(
    own: &KeyPair,
    peers: impl IntoIterator<Item = (u32, PublicKey)>,
) -> Result<Endpoint, Box<dyn Error>> {
    let settings =
        Settings { initiations: 1 << 40, initiations_per_source: 1 << 40, ..Settings::default() };
    let start = Start { since_1970: Duration::from_secs(1), seed: 1 };
    Ok(Endpoint::new(own.clone(), peers, start, settings)?)
}

/// An end with many peers, such as an arbiter, and those peers.
fn network(peers: u32) -> Result<(Endpoint, Vec<Endpoint>), Box<dyn Error>> {
    let arbiter = KeyPair::generate()?;
    let keys: Vec<KeyPair> = (0..peers).map(|_| KeyPair::generate()).collect::<Result<_, _>>()?;
    let mut centre = end(&arbiter, (0..).zip(keys.iter().map(KeyPair::public)))?;
    let mut agents = Vec::new();
    for key in &keys {
        let mut agent = end(key, [(0, arbiter.public())])?;
        connect(&mut agent, &mut centre)?;
        agents.push(agent);
    }
    Ok((centre, agents))
}

fn connect(agent: &mut Endpoint, centre: &mut Endpoint) -> Result<(), Box<dyn Error>> {
    let mut out = Vec::new();
    agent.seal(0, b"hello", Time::ZERO, &mut out)?;
    let Event::Handshake { mut reply, .. } = centre.open(&mut out, 0, Time::ZERO)? else {
        return Err("an initiation was not answered".into());
    };
    agent.open(&mut reply, 0, Time::ZERO)?;
    out.clear();
    agent.poll(Time::ZERO, &mut out);
    centre.open(&mut out, 0, Time::ZERO)?;
    Ok(())
}

/// Nanoseconds to seal and to open a datagram at the end with many peers. All peers take turns.
fn datagrams(peers: u32, size: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let (mut centre, mut agents) = network(peers)?;
    let message = vec![7; size];
    let (mut seal, mut open) = (f64::MAX, f64::MAX);
    let (mut out, mut all) = (Vec::with_capacity(BATCH * (size + 32)), Vec::new());
    for round in 0..ROUNDS {
        let turn = |n| ((round * BATCH + n) * 7 % peers as usize) as u32;
        out.clear();
        let begin = Instant::now();
        for n in 0..BATCH {
            centre.seal(turn(n), &message, Time::ZERO, &mut out)?;
        }
        seal = seal.min(per_operation(begin));
        all.clear();
        for n in 0..BATCH {
            agents[turn(n) as usize].seal(0, &message, Time::ZERO, &mut all)?;
        }
        let begin = Instant::now();
        for datagram in all.chunks_mut(size + 32) {
            centre.open(datagram, 0, Time::ZERO)?;
        }
        open = open.min(per_operation(begin));
    }
    Ok((seal, open))
}

/// The same with the cipher that `snow`'s transports use, which copies the text.
fn snow_cipher(size: usize) -> Result<(f64, f64), Box<dyn Error>> {
    let resolver: BoxedCryptoResolver = Box::new(RingResolver);
    let mut cipher: Box<dyn Cipher> = resolver
        .resolve_cipher(&snow::params::CipherChoice::AESGCM)
        .ok_or("snow has no AES-GCM")?;
    cipher.set(&[1; 32]);
    let (message, mut text, mut back) = (vec![7; size], vec![0; size + 16], vec![0; size + 16]);
    let (mut seal, mut open) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        (0..BATCH).for_each(|_| _ = cipher.encrypt(5, &[], &message, &mut text));
        seal = seal.min(per_operation(begin));
        let begin = Instant::now();
        for _ in 0..BATCH {
            cipher.decrypt(5, &[], &text, &mut back)?;
        }
        open = open.min(per_operation(begin));
    }
    Ok((seal, open))
}

fn per_operation(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9 / BATCH as f64
}

/// The time of whole handshakes, and of an initiation that is dropped without being read.
fn handshakes() -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    network(1_000)?;
    println!(
        "a peer's key and handshake, both ends: {:.0} us",
        begin.elapsed().as_secs_f64() * 1e3
    );
    let own = KeyPair::generate()?;
    let start = Start { since_1970: Duration::from_secs(1), seed: 1 };
    let settings = Settings { initiations: 1, ..Settings::default() };
    let mut centre = Endpoint::new(own, [], start, settings)?;
    let mut initiation = vec![1; 112];
    initiation[3] = 0;
    let read = Instant::now();
    _ = centre.open(&mut initiation, 0, Time::ZERO);
    let read = read.elapsed();
    let begin = Instant::now();
    (0..BATCH as u64).for_each(|n| _ = centre.open(&mut initiation, n, Time::ZERO));
    println!(
        "an initiation of a stranger: {} us; beyond the rate: {:.0} ns",
        read.as_micros(),
        per_operation(begin)
    );
    Ok(())
}
