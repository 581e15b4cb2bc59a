//! The flows of hosts that each send to one other at a time: one after another, or as they arrive.

use super::super::job::{Job, after};
use super::super::{ConnHandle, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// The options that all patterns have.
pub(super) struct Rounds {
    pub(super) size: Bytes,
    pub(super) exponential: bool,
    pub(super) repeats: u32,
    pub(super) duration: Option<Time>,
    pub(super) load: Option<f64>,
    pub(super) start: Time,
    pub(super) class: u8,
}

impl Rounds {
    /// The number of flows that `host` sends.
    fn count(&self, job: &Job, host: HostId) -> Result<u64, SpecError> {
        let Some(duration) = self.duration else {
            return Ok(self.repeats.into());
        };
        if self.repeats != 1 {
            return Err(SpecError::new(
                "duration",
                "`duration` and `repeats` exclude each other: give one",
            ));
        }
        let span = duration.min(job.setting.horizon.since(self.start));
        let room = job.place(host).rate.inverse_rate().bytes_in(span);
        Ok(room.div_ceil(self.size.0.max(1)).max(1))
    }
}

impl Rounds {
    /// The bytes of the next flow.
    fn draw(&self, rng: &mut Stream) -> Bytes {
        match self.exponential {
            true => Bytes((rng.exponential(self.size.0 as f64) as u64).max(1)),
            false => self.size,
        }
    }
    /// The mean time between arrivals of flows at `host` and the time during which they arrive, in picoseconds.
    fn process(&self, job: &Job, load: f64, host: HostId) -> Result<(f64, f64), SpecError> {
        if !(load > 0.0 && load <= 1.0) {
            let message = format!(
                "`load` = {load}: expected a share of the link's rate, above 0 and at most 1"
            );
            return Err(SpecError::new("load", message));
        }
        let Some(duration) = self.duration else {
            let message = "`load` needs `duration`: flows arrive during that time";
            return Err(SpecError::new("load", message));
        };
        let gap = 8e12 * self.size.0.max(1) as f64 / (load * job.place(host).rate.0.max(1) as f64);
        let span = duration.min(job.setting.horizon.since(self.start)).as_ps() as f64;
        Ok((gap, span))
    }
    /// The times of at most the first `most` arrivals.
    fn arrivals(&self, job: &mut Job, (gap, span): (f64, f64), most: u64) -> Vec<Time> {
        let mut at = job.rng.exponential(gap);
        let mut times = Vec::new();
        while at < span && (times.len() as u64) < most {
            times.push(self.start.after(Time::ps(at as u64)));
            at += job.rng.exponential(gap);
        }
        times
    }
}

/// One host's flows, one after another.
struct Chain {
    host: HostId,
    left: u64,
    next: Start,
    conns: BTreeMap<HostId, ConnHandle>,
}

impl Chain {
    /// Adds the next flow.
    fn step(&mut self, job: &mut Job, dst: HostId, rounds: &Rounds) -> Result<(), SpecError> {
        if self.left == 0 {
            return Ok(());
        }
        self.left -= 1;
        let conn = match self.conns.get(&dst) {
            Some(conn) => *conn,
            None => job.tcp(self.host, dst, rounds.class)?,
        };
        self.conns.insert(dst, conn);
        let then = (self.left > 0).then(|| job.out.trigger(self.host, 1));
        let size = rounds.draw(&mut job.rng);
        job.send(conn, size, self.next, then.map(|t| (t, When::Acked)))?;
        self.next = then.map_or(self.next, after);
        Ok(())
    }
}

/// `draw` gives one destination for each of `hosts`. It is called again for each round if `redraw`.
pub(super) fn generate(
    job: &mut Job,
    hosts: &[HostId],
    rounds: Rounds,
    redraw: bool,
    mut draw: impl FnMut(&mut Stream) -> Vec<HostId>,
) -> Result<(), SpecError> {
    if let Some(load) = rounds.load {
        return open_loop(job, hosts, (&rounds, load), redraw, draw);
    }
    let counts: Result<Vec<u64>, _> = hosts.iter().map(|&host| rounds.count(job, host)).collect();
    let counts = counts?;
    job.out.check_room("repeats", counts.iter().copied().fold(0, u64::saturating_add))?;
    let chain = |(&host, &left)| Chain {
        host,
        left,
        next: Start::At(rounds.start),
        conns: BTreeMap::new(),
    };
    let mut chains: Vec<Chain> = hosts.iter().zip(&counts).map(chain).collect();
    let mut to = draw(&mut job.rng);
    for round in 0..counts.iter().copied().max().unwrap_or(0) {
        if redraw && round > 0 {
            to = draw(&mut job.rng);
        }
        for (chain, &dst) in chains.iter_mut().zip(&to) {
            chain.step(job, dst, &rounds)?;
        }
    }
    Ok(())
}

/// Adds flows that arrive whether or not others are done. In a sample, each host has only its first flows.
fn open_loop(
    job: &mut Job,
    hosts: &[HostId],
    (rounds, load): (&Rounds, f64),
    redraw: bool,
    mut draw: impl FnMut(&mut Stream) -> Vec<HostId>,
) -> Result<(), SpecError> {
    let processes: Result<Vec<(f64, f64)>, _> =
        hosts.iter().map(|&host| rounds.process(job, load, host)).collect();
    let processes = processes?;
    let expected = |(gap, span): (f64, f64)| (span / gap) as u64;
    let all = processes.iter().copied().map(expected).fold(0, u64::saturating_add);
    job.out.check_room("load", all)?;
    let is_sample = job.out.thinned(all, all) < all;
    let mut arrivals = Vec::new();
    for process in processes {
        let most = job.out.thinned(expected(process), all);
        arrivals.push(rounds.arrivals(job, process, if is_sample { most } else { u64::MAX }));
    }
    let made = arrivals.iter().map(|times| times.len() as u64).sum();
    job.out.check_room("load", made)?;
    let mut to = draw(&mut job.rng);
    for round in 0..arrivals.iter().map(Vec::len).max().unwrap_or(0) {
        if redraw && round > 0 {
            to = draw(&mut job.rng);
        }
        for ((&host, times), &dst) in hosts.iter().zip(&arrivals).zip(&to) {
            let Some(&at) = times.get(round) else { continue };
            let conn = job.tcp(host, dst, rounds.class)?;
            let size = rounds.draw(&mut job.rng);
            job.send(conn, size, Start::At(at), None)?;
        }
    }
    if is_sample {
        job.out.end_thinned();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::WorkloadSpec;
    use super::super::super::testing::{fabric, made, refusal};
    use super::super::tests::{close, destinations};
    use super::super::{RandomBijective, Stride};
    use super::*;
    use slotline_base::units::Rate;

    #[test]
    fn repeats_are_a_chain_on_one_connection() {
        let spec = Stride { repeats: 3, ..Stride::default() };
        let traffic = made(&WorkloadSpec::Stride(spec), &fabric());
        assert_eq!(
            (traffic.conns.len(), traffic.flows.len(), traffic.triggers.len()),
            (64, 192, 128)
        );
        for conn in &traffic.conns {
            let flows = &traffic.flows[conn.first.at()..][..3];
            assert_eq!(flows[0].start, Start::At(Time::ZERO));
            assert_eq!(flows[1].start, after(flows[0].then.unwrap().0));
            assert_eq!(flows[2].start, after(flows[1].then.unwrap().0));
            assert_eq!(flows[2].then, None);
        }
    }

    #[test]
    fn a_duration_is_filled_at_line_rate() {
        let mut shape = fabric();
        shape.hosts[1].rate = Rate(40_000_000_000);
        let duration = Some(Time::ms(1));
        let spec = Stride { size: Bytes(100_000), duration, ..Stride::default() };
        let traffic = made(&WorkloadSpec::Stride(spec.clone()), &shape);
        // 10 Gbit/s carry 1.25 MB in a millisecond, 40 Gbit/s carry 5 MB.
        assert_eq!((traffic.conns[0].count, traffic.conns[1].count), (13, 50));
        let both = WorkloadSpec::Stride(Stride { repeats: 2, ..spec });
        assert!(refusal(&both, &shape).contains("exclude each other"));
    }

    #[test]
    fn open_loops_offer_their_load() {
        let spec = RandomBijective {
            size: Bytes(100_000),
            exponential: true,
            load: Some(0.5),
            duration: Some(Time::ms(20)),
            redraw: false,
            ..RandomBijective::default()
        };
        let traffic = made(&WorkloadSpec::RandomBijective(spec.clone()), &fabric());
        // 64 hosts of 10 Gbit/s at half of their rate: 0.8 GB in 20 ms.
        let n = traffic.flows.len() as f64;
        assert!((n - 8_000.0).abs() < 4.0 * 8_000f64.sqrt(), "{n}");
        let bytes: Vec<f64> = traffic.flows.iter().map(|flow| flow.bytes as f64).collect();
        let mean = bytes.iter().sum::<f64>() / n;
        assert!((mean - 1e5).abs() < 4.0 * 1e5 / n.sqrt(), "{mean}");
        let small = bytes.iter().filter(|bytes| **bytes < 1e5 * 2f64.ln()).count();
        assert!(close(small, bytes.len(), 0.5), "the median of an exponential distribution");
        assert_eq!(traffic.conns.len(), traffic.flows.len());
        let pairs: std::collections::BTreeSet<_> = destinations(&traffic).into_iter().collect();
        assert_eq!(pairs.len(), 64, "a host's flows go to one other");
        let late = |start| !matches!(start, Start::At(at) if at < Time::ms(20));
        assert!(!traffic.flows.iter().any(|flow| late(flow.start)));
        for (wrong, key) in [
            (RandomBijective { load: Some(0.0), ..spec.clone() }, "`load` = 0"),
            (RandomBijective { duration: None, ..spec }, "`load` needs `duration`"),
        ] {
            let why = refusal(&WorkloadSpec::RandomBijective(wrong), &fabric());
            assert!(why.contains(key), "{why}");
        }
    }
}
