//! Sequences of short flows, each on a connection of its own.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{Hosts, Role, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

options! {
    /// Each sender has several sequences of flows to one receiver. Receivers are assigned to senders in turn. In a
    /// sequence, each flow follows the previous one on a new connection: it begins with the initial window, and
    /// ends before congestion control reacts. Rajanna et al., "XCo" (2010), section 2.3.
    ShortFlows {
        /// Hosts that send.
        senders: Hosts = Hosts::Count(1),
        /// Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        receivers: Hosts = Hosts::Count(1),
        /// Bytes of each flow.
        size: Bytes = Bytes(30_000),
        /// Number of parallel sequences of each sender.
        sequences: u32 = 1,
        /// Largest number of flows of each sequence. Default: four times its share of what the sender's link
        /// carries until the run ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        flows: Option<u32> = None,
        /// Whether a message of one byte goes to the receiver and back before each flow, as to establish a
        /// connection.
        handshake: bool = true,
        /// Time between a flow and the next of its sequence.
        think: Time = Time::ZERO,
        /// When sequences start.
        start: Time = Time::ZERO,
        /// Delay of the start of each sequence, drawn uniformly from zero to this time.
        spread: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// How much more than an equal share a sequence may get before it runs out of flows.
const SPARE: u64 = 4;
/// Bytes of a message that establishes a connection.
const HELLO: Bytes = Bytes(1);

impl ShortFlows {
    /// The number of flows of each sequence of a sender.
    fn each(&self, job: &Job, src: HostId) -> Result<u64, SpecError> {
        if let Some(flows) = self.flows {
            return Ok(flows.into());
        }
        let span = job.end(self.start, None)?.since(self.start);
        let all = job.place(src).rate.inverse_rate().bytes_in(span) / self.size.0.max(1) + 1;
        let share = (all * SPARE).div_ceil(u64::from(self.sequences.max(1)));
        Ok(share.min(all))
    }

    fn sequence(
        &self,
        job: &mut Job,
        src: HostId,
        dst: HostId,
        flows: u64,
    ) -> Result<(), SpecError> {
        let hello = match self.handshake {
            true => Some((job.tcp(src, dst, self.class)?, job.tcp(dst, src, self.class)?)),
            false => None,
        };
        let late = Time::ps(job.rng.below(self.spread.as_ps()));
        let mut start = Start::At(self.start.after(late));
        for left in (0..flows).rev() {
            if let Some((there, back)) = hello {
                let (asked, answered) = (job.out.trigger(dst, 1), job.out.trigger(src, 1));
                let [asks, answers] = [asked, answered].map(|t| Some((t, When::Received)));
                job.send_as(Role::Signal, there, HELLO, start, asks)?;
                let at_once = |trigger| Start::After { trigger, delay: Time::ZERO };
                job.send_as(Role::Signal, back, HELLO, at_once(asked), answers)?;
                start = at_once(answered);
            }
            let next = (left > 0).then(|| job.out.trigger(src, 1));
            let conn = job.tcp(src, dst, self.class)?;
            job.send(conn, self.size, start, next.map(|trigger| (trigger, When::Acked)))?;
            start = next.map_or(start, |trigger| Start::After { trigger, delay: self.think });
        }
        Ok(())
    }
}

impl Generate for ShortFlows {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let (senders, receivers) = job.disjoint(&self.senders, &self.receivers)?;
        let each: Result<Vec<u64>, SpecError> =
            senders.iter().map(|&src| self.each(job, src)).collect();
        let (each, messages) = (each?, if self.handshake { 3 } else { 1 });
        let of_sender =
            |flows: &u64| flows.saturating_mul(self.sequences.into()).saturating_mul(messages);
        let all = each.iter().map(of_sender).fold(0, u64::saturating_add);
        job.out.check_room("sequences", all)?;
        let pairs = senders.iter().zip(receivers.iter().cycle());
        for ((&src, &dst), flows) in pairs.zip(each) {
            let flows = job.out.thinned(flows, all);
            for sequence in 0..self.sequences {
                job.begin_part(u64::from(sequence) << 32 | u64::from(src.0));
                self.sequence(job, src, dst, flows)?;
            }
        }
        job.out.end_thinned();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{endless, fabric, made, refusal};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;

    fn traffic(spec: ShortFlows) -> Traffic {
        made(&WorkloadSpec::ShortFlows(spec), &fabric())
    }
    fn data(traffic: &Traffic) -> Vec<&super::super::Flow> {
        traffic.flows.iter().filter(|flow| flow.bytes == 30_000).collect()
    }

    #[test]
    fn every_flow_has_a_connection_of_its_own() {
        let spec = ShortFlows { sequences: 5, flows: Some(7), ..ShortFlows::default() };
        let made = traffic(spec.clone());
        assert_eq!(data(&made).len(), 35);
        assert!(data(&made).iter().all(|flow| made.conns[flow.conn.at()].count == 1));
        // Two connections of each sequence for handshakes.
        assert_eq!((made.conns.len(), made.flows.len()), (35 + 10, 3 * 35));
        let bare = traffic(ShortFlows { handshake: false, ..spec });
        assert_eq!((bare.conns.len(), bare.flows.len()), (35, 35));
        let first = bare.flows.iter().filter(|flow| matches!(flow.start, Start::At(_)));
        assert_eq!(first.count(), 5, "as many at a time as there are sequences");
    }

    #[test]
    fn without_a_count_the_link_is_the_bound() {
        // 1.25 GB in a second: 41,667 flows of 30 KB.
        for (sequences, each) in [(1, 41_667), (4, 41_667), (100, 1_667)] {
            let spec = ShortFlows { sequences, handshake: false, ..ShortFlows::default() };
            assert_eq!(data(&traffic(spec)).len(), sequences as usize * each);
        }
        let open = WorkloadSpec::ShortFlows(ShortFlows::default());
        assert!(endless(&open).unwrap_err().to_string().contains("no end time"));
        let many = ShortFlows { size: Bytes(1), sequences: 9, ..ShortFlows::default() };
        assert!(refusal(&WorkloadSpec::ShortFlows(many), &fabric()).contains("at most"));
    }

    #[test]
    fn thinking_delays_the_next() {
        let spec = ShortFlows { flows: Some(3), think: Time::us(9), ..ShortFlows::default() };
        let made = traffic(spec);
        let waits = |f: &&super::super::Flow| matches!(f.start, Start::After { delay, .. } if delay == Time::us(9));
        assert_eq!(made.flows.iter().filter(waits).count(), 2);
    }
}
