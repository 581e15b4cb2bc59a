//! Live migration of a virtual machine: its memory is copied while it runs.

use super::job::{Job, after};
use super::options::options;
use super::spec::Generate;
use super::{Role, Start, When};
use slotline_base::error::SpecError;
use slotline_base::time::Time;
use slotline_base::units::{Bytes, Rate};

options! {
    /// The memory of a virtual machine is copied from one host to another over one connection, in rounds. The
    /// first round copies all of it. Each later round copies what was written meanwhile, until at most `small`
    /// is left or the rounds are used up. Then the machine stops, and the rest is copied. All rounds are one
    /// exchange, whose time is that of the migration. The time of the last round is the downtime.
    ///
    /// All traffic of a run is known before it starts. What is written in a round is therefore computed from
    /// `pace`, not from the time that the round takes. A machine that writes nothing is copied exactly once.
    Migration {
        /// The host that the machine leaves.
        from: u32 = 0,
        /// The host that the machine moves to.
        to: u32 = 1,
        /// The size of its memory.
        memory: Bytes = Bytes(256 << 20),
        /// Rate at which it writes to memory that has already been copied. Pages written twice count once.
        dirty_rate: Rate = Rate(0),
        /// Assumed rate of the rounds. Default: the rate of the slower link of the two hosts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pace: Option<Rate> = None,
        /// The machine stops when at most this is left. Xen: less than 50 pages of 4 KiB.
        small: Bytes = Bytes(50 * 4_096),
        /// The machine stops after this number of rounds in any case. Xen: 30.
        #[schemars(range(min = 1))]
        rounds: u32 = 30,
        /// When the migration starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// The size of a page, which is the smallest size of the last round.
const PAGE: u64 = 4_096;

impl Migration {
    /// Bytes of each round, the last with the machine stopped.
    fn sizes(&self, pace: Rate) -> Vec<u64> {
        let mut sizes = vec![self.memory.0];
        loop {
            let sent = sizes[sizes.len() - 1];
            let written = u128::from(sent) * u128::from(self.dirty_rate.0) / u128::from(pace.0);
            let left = (written as u64).min(self.memory.0);
            sizes.push(left.max(PAGE));
            if left <= self.small.0 || sizes.len() > self.rounds as usize {
                return sizes;
            }
        }
    }

    fn pace(&self, line: Rate) -> Result<Rate, SpecError> {
        match self.pace {
            Some(Rate(0)) => Err(SpecError::new("pace", "`pace` = 0bps: no round would ever end")),
            Some(pace) => Ok(pace),
            None => Ok(line),
        }
    }
}

impl Generate for Migration {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let (src, dst) = (job.host("from", self.from)?, job.host("to", self.to)?);
        if self.rounds == 0 {
            return Err(SpecError::new(
                "rounds",
                "`rounds` = 0: the memory is copied at least once",
            ));
        }
        let line = job.place(src).rate.min(job.place(dst).rate);
        let sizes = self.sizes(self.pace(line)?);
        job.out.check_room("rounds", sizes.len() as u64)?;
        let (conn, exchange) = (job.tcp(src, dst, self.class)?, job.out.exchange());
        let mut start = Start::At(self.start);
        for (at, &bytes) in sizes.iter().enumerate() {
            let next = (at + 1 < sizes.len()).then(|| job.out.trigger(src, 1));
            let then = next.map(|trigger| (trigger, When::Acked));
            job.send_as(Role::Answer(exchange), conn, Bytes(bytes), start, then)?;
            start = next.map_or(start, after);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::testing::{fabric, made, refusal};
    use super::*;

    fn sizes(spec: Migration) -> Vec<u64> {
        let traffic = made(&WorkloadSpec::Migration(spec), &fabric());
        assert_eq!(traffic.conns.len(), 1);
        traffic.flows.iter().map(|flow| flow.bytes).collect()
    }

    #[test]
    fn an_idle_machine_is_copied_once() {
        assert_eq!(sizes(Migration::default()), [256 << 20, 4_096]);
    }

    #[test]
    fn each_round_has_what_was_written_in_the_one_before() {
        // A quarter of the pace: each round is a quarter of the one before.
        let quarter = Migration { dirty_rate: Rate(2_500_000_000), ..Migration::default() };
        let rounds = sizes(quarter.clone());
        let quarters = |pair: &[u64]| pair[1] == pair[0] / 4;
        assert!(rounds.windows(2).all(quarters), "{rounds:?}");
        let last = rounds.len() - 1;
        assert!(rounds[last] <= 204_800 && rounds[last - 1] > 204_800, "{rounds:?}");
        let slow = Migration { pace: Some(Rate(5_000_000_000)), ..quarter };
        assert_eq!(sizes(slow)[..2], [256 << 20, 128 << 20]);
    }

    #[test]
    fn a_busy_machine_is_stopped_in_the_end() {
        let busy =
            Migration { dirty_rate: Rate(20_000_000_000), rounds: 4, ..Migration::default() };
        assert_eq!(sizes(busy), [256 << 20; 5]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let no = |spec| refusal(&WorkloadSpec::Migration(spec), &fabric());
        assert!(no(Migration { pace: Some(Rate(0)), ..Migration::default() }).contains("no round"));
        assert!(no(Migration { rounds: 0, ..Migration::default() }).contains("at least once"));
        assert!(no(Migration { to: 0, ..Migration::default() }).contains("itself"));
        assert!(no(Migration { memory: Bytes(0), ..Migration::default() }).contains("0 bytes"));
    }
}
