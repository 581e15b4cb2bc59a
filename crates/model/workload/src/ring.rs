//! Rings, as in ring all-reduce.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{Hosts, Start, When};
use slotline_base::error::SpecError;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

options! {
    /// Every host sends to the next in a ring, step after step. A host begins a step when it has received all
    /// data of the previous one. An all-reduce of n hosts over D bytes is 2(n - 1) steps of D / n.
    Ring {
        /// Hosts in ring order.
        hosts: Hosts = Hosts::All,
        /// Bytes that each host sends in a step.
        size: Bytes = Bytes(1_000_000),
        /// Number of steps.
        repeats: u32 = 1,
        /// Time for which a host computes between receiving a step and sending the next.
        pause: Time = Time::ZERO,
        /// When the first step starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl Generate for Ring {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let hosts = job.peers("hosts", &self.hosts)?;
        let n = hosts.len();
        job.out.check_room("repeats", n as u64 * u64::from(self.repeats))?;
        let mut conns = Vec::with_capacity(n);
        for at in 0..n {
            conns.push(job.tcp(hosts[at], hosts[(at + 1) % n], self.class)?);
        }
        let mut starts = vec![Start::At(self.start); n];
        for step in 1..=self.repeats {
            let last = step == self.repeats;
            let received: Vec<Option<u32>> =
                hosts.iter().map(|&host| (!last).then(|| job.out.trigger(host, 1))).collect();
            for at in 0..n {
                let then = received[(at + 1) % n].map(|trigger| (trigger, When::Received));
                job.send(conns[at], self.size, starts[at], then)?;
            }
            for (start, trigger) in starts.iter_mut().zip(received) {
                *start =
                    trigger.map_or(*start, |trigger| Start::After { trigger, delay: self.pause });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::job::after;
    use super::super::testing::{fabric, made, refusal};
    use super::*;

    #[test]
    fn a_step_follows_the_predecessors() {
        let spec = Ring { hosts: "4,0,9".parse().unwrap(), repeats: 3, ..Ring::default() };
        let traffic = made(&WorkloadSpec::Ring(spec), &fabric());
        let ends: Vec<_> = traffic.conns.iter().map(|c| (c.src.0, c.dst.0)).collect();
        assert_eq!(ends, [(0, 9), (4, 0), (9, 4)]);
        let flows = |conn: usize| &traffic.flows[conn * 3..conn * 3 + 3];
        for (own, predecessor) in [(0, 1), (1, 2), (2, 0)] {
            assert_eq!(flows(own)[0].start, Start::At(Time::ZERO));
            for step in 1..3 {
                let (trigger, when) =
                    flows(predecessor)[step - 1].then.expect("feeds the successor");
                assert_eq!((flows(own)[step].start, when), (after(trigger), When::Received));
            }
            assert_eq!(flows(own)[2].then, None);
        }
        let alone = WorkloadSpec::Ring(Ring { hosts: "3".parse().unwrap(), ..Ring::default() });
        assert!(refusal(&alone, &fabric()).contains("at least 2"));
    }
}
