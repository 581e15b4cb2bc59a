//! All-to-all shuffle.

use super::job::{Job, after};
use super::options::options;
use super::spec::Generate;
use super::{ConnHandle, Hosts, Start, When};
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

/// The order in which a host sends to its destinations.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// To all at once.
    Simultaneous,
    /// To `concurrency` of them at a time, in random order.
    #[default]
    Sequential,
    /// To `concurrency` of them at a time: first to the next host, then to the one after that, and so on. As long
    /// as hosts are in step, no host has two senders.
    Neighbours,
}

options! {
    /// Every host sends to every other.
    Shuffle {
        /// Hosts that take part.
        hosts: Hosts = Hosts::All,
        /// Bytes from each host to each other host.
        size: Bytes = Bytes(1_000_000),
        /// All at once, or some at a time.
        order: Order = Order::Sequential,
        /// Unless simultaneous: number of flows of one host at a time. Its destinations are divided among this many
        /// chains. In each chain, a flow starts when the previous one is acknowledged.
        concurrency: u32 = 1,
        /// Number of shuffles. A host starts the next one when its own flows are acknowledged.
        repeats: u32 = 1,
        /// When the first flows start.
        start: Time = Time::ZERO,
        /// Each of the first flows starts at a random time during this after `start`.
        spread: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl Shuffle {
    fn lanes(&self, others: usize) -> Result<usize, SpecError> {
        match (self.order, self.concurrency) {
            (Order::Simultaneous, _) => Ok(others),
            (Order::Sequential | Order::Neighbours, 0) => {
                Err(SpecError::new("concurrency", "`concurrency` = 0: at least 1 is needed"))
            }
            (Order::Sequential | Order::Neighbours, n) => Ok(others.min(n as usize)),
        }
    }

    /// When one of a host's first flows starts.
    fn first(&self, job: &mut Job) -> Start {
        let later = match self.spread.as_ps() {
            0 => 0,
            spread => job.rng.below(spread),
        };
        Start::At(self.start.after(Time::ps(later)))
    }

    /// Adds one host's flows of one round. `then` counts the lanes that are complete.
    fn round(
        &self,
        job: &mut Job,
        host: HostId,
        lanes: &[Vec<ConnHandle>],
        starts: &[Start],
        then: Option<u32>,
    ) -> Result<(), SpecError> {
        for (lane, &start) in lanes.iter().zip(starts) {
            let mut start = start;
            for (at, &conn) in lane.iter().enumerate() {
                let last = at + 1 == lane.len();
                let then = if last { then } else { Some(job.out.trigger(host, 1)) };
                job.send(conn, self.size, start, then.map(|trigger| (trigger, When::Acked)))?;
                start = then.map_or(start, after);
            }
        }
        Ok(())
    }
}

impl Generate for Shuffle {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hosts = job.peers("hosts", &self.hosts)?;
        let others = hosts.len() - 1;
        let lanes = self.lanes(others)?;
        let pairs = (hosts.len() * others) as u64;
        job.out.check_room("hosts", pairs.saturating_mul(self.repeats.into()))?;
        for (at, &host) in hosts.iter().enumerate() {
            let (before, behind) = (&hosts[..at], &hosts[at + 1..]);
            let mut to;
            if self.order == Order::Neighbours {
                to = [behind, before].concat();
            } else {
                to = [before, behind].concat();
                job.rng.shuffle(&mut to);
            }
            let mut dealt = vec![Vec::new(); lanes];
            for (at, &dst) in to.iter().enumerate() {
                dealt[at % lanes].push(job.tcp(host, dst, self.class)?);
            }
            let mut starts: Vec<Start> = dealt.iter().map(|_| self.first(job)).collect();
            for round in 1..=self.repeats {
                let then = (round < self.repeats).then(|| job.out.trigger(host, lanes as u32));
                self.round(job, host, &dealt, &starts, then)?;
                then.iter().for_each(|&then| starts.fill(after(then)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::testing::{fabric, made, refusal};
    use super::*;

    fn shuffle(order: Order, concurrency: u32, repeats: u32) -> WorkloadSpec {
        let hosts = "0-8".parse().unwrap();
        WorkloadSpec::Shuffle(Shuffle { hosts, order, concurrency, repeats, ..Shuffle::default() })
    }

    #[test]
    fn every_pair_once_per_round() {
        for (order, concurrency) in
            [(Order::Simultaneous, 1), (Order::Sequential, 1), (Order::Neighbours, 3)]
        {
            let traffic = made(&shuffle(order, concurrency, 2), &fabric());
            let mut pairs: Vec<_> = traffic.conns.iter().map(|c| (c.src.0, c.dst.0)).collect();
            pairs.sort_unstable();
            let all = (0..9).flat_map(|a| (0..9).filter(move |b| *b != a).map(move |b| (a, b)));
            assert_eq!(pairs, all.collect::<Vec<_>>());
            assert!(traffic.conns.iter().all(|conn| conn.count == 2));
        }
    }

    /// In each step every host has one sender.
    #[test]
    fn neighbours_take_turns() {
        let traffic = made(&shuffle(Order::Neighbours, 1, 1), &fabric());
        for step in 0..8 {
            let of = |host: usize| traffic.conns[host * 8 + step];
            let to: Vec<u32> = (0..9).map(|host| of(host).dst.0).collect();
            assert_eq!(to, (0..9u32).map(|host| (host + step as u32 + 1) % 9).collect::<Vec<_>>());
        }
        let first =
            |host: u32| traffic.flows.iter().find(|f| traffic.conns[f.conn.at()].src.0 == host);
        assert!((0..9).all(|host| matches!(first(host).map(|f| f.start), Some(Start::At(_)))));
    }

    #[test]
    fn as_many_start_at_once_as_the_option_allows() {
        for (order, concurrency, expected) in [
            (Order::Simultaneous, 1, 8),
            (Order::Sequential, 1, 1),
            (Order::Sequential, 3, 3),
            (Order::Sequential, 99, 8),
        ] {
            let traffic = made(&shuffle(order, concurrency, 1), &fabric());
            let first = |host| {
                let timed = traffic.flows.iter().filter(|f| matches!(f.start, Start::At(_)));
                timed.filter(|f| traffic.conns[f.conn.at()].src.0 == host).count()
            };
            assert!((0..9).all(|host| first(host) == expected), "{order:?} {concurrency}");
        }
        assert!(refusal(&shuffle(Order::Sequential, 0, 1), &fabric()).contains("at least 1"));
    }

    #[test]
    fn first_flows_are_spread_and_the_others_follow() {
        let spread = Time::ms(10);
        let spec = |spread| Shuffle { order: Order::Simultaneous, spread, ..Shuffle::default() };
        let traffic = made(&WorkloadSpec::Shuffle(spec(spread)), &fabric());
        let starts = traffic.flows.iter().filter_map(|flow| match flow.start {
            Start::At(at) => Some(at.as_ps() as f64 / spread.as_ps() as f64),
            _ => None,
        });
        let starts: Vec<f64> = starts.collect();
        assert_eq!(starts.len(), 64 * 63);
        let mean = starts.iter().sum::<f64>() / starts.len() as f64;
        assert!((mean - 0.5).abs() < 0.02 && starts.iter().all(|at| *at < 1.0), "{mean}");
        let again = made(&WorkloadSpec::Shuffle(Shuffle { repeats: 2, ..spec(spread) }), &fabric());
        let timed = again.flows.iter().filter(|flow| matches!(flow.start, Start::At(_)));
        assert_eq!(timed.count(), 64 * 63, "the second round follows the first one");
        let at_once = made(&WorkloadSpec::Shuffle(spec(Time::ZERO)), &fabric());
        assert!(at_once.flows.iter().all(|flow| flow.start == Start::At(Time::ZERO)));
    }

    #[test]
    fn the_next_round_waits_for_all_lanes() {
        let traffic = made(&shuffle(Order::Sequential, 3, 2), &fabric());
        let barriers: Vec<_> = traffic.triggers.iter().filter(|t| t.count == 3).collect();
        assert_eq!(barriers.len(), 9);
        // Eight flows in three lanes: five hand-overs per round and host, and the barrier.
        assert_eq!(traffic.triggers.len(), 9 * (5 * 2 + 1));
    }
}
