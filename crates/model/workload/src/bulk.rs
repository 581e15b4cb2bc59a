//! Long TCP flows.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{Hosts, Start};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

options! {
    /// Each sender has long flows to one receiver. Receivers are assigned to senders in turn.
    Bulk {
        /// Hosts that send.
        senders: Hosts = Hosts::Count(1),
        /// Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        receivers: Hosts = Hosts::Count(1),
        /// Bytes of each flow. Default: more than can be sent before the run ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<Bytes> = None,
        /// Parallel connections from each sender.
        connections: u32 = 1,
        /// When the flows start.
        start: Time = Time::ZERO,
        /// Delay of the start of each flow, drawn uniformly from zero to this time.
        spread: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl Bulk {
    /// Bytes of a flow from `src`.
    fn bytes(&self, job: &Job, src: HostId) -> Result<Bytes, SpecError> {
        if let Some(size) = self.size {
            return Ok(size);
        }
        if job.setting.horizon == Time::MAX {
            return Err(SpecError::new("size", "`size` is needed where the run has no end time"));
        }
        let span = job.end(self.start, None)?.since(self.start);
        Ok(Bytes(job.place(src).rate.inverse_rate().bytes_in(span).saturating_add(1)))
    }
}

impl Generate for Bulk {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let (senders, receivers) = job.disjoint(&self.senders, &self.receivers)?;
        job.out.check_room("connections", senders.len() as u64 * u64::from(self.connections))?;
        for (&src, &dst) in senders.iter().zip(receivers.iter().cycle()) {
            let bytes = self.bytes(job, src)?;
            for _ in 0..self.connections {
                let conn = job.tcp(src, dst, self.class)?;
                let late = Time::ps(job.rng.below(self.spread.as_ps()));
                job.send(conn, bytes, Start::At(self.start.after(late)), None)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::testing::{HORIZON, endless, fabric, made, refusal};
    use super::*;

    #[test]
    fn unlimited_flows_outlast_the_run() {
        let spec = WorkloadSpec::Bulk(Bulk {
            senders: Hosts::Count(2),
            connections: 3,
            ..Bulk::default()
        });
        let traffic = made(&spec, &fabric());
        assert_eq!(traffic.conns.len(), 6);
        assert!(traffic.conns.iter().all(|conn| conn.dst.0 == 2));
        let line = fabric().hosts[0].rate;
        assert!(traffic.flows.iter().all(|flow| line.time_for(Bytes(flow.bytes)) > HORIZON));
        assert!(endless(&spec).unwrap_err().to_string().contains("no end time"));
        let sized = WorkloadSpec::Bulk(Bulk { size: Some(Bytes(7)), ..Bulk::default() });
        assert_eq!(endless(&sized).unwrap().flows[0].bytes, 7);
    }

    #[test]
    fn starts_are_spread() {
        let starts = |spread| -> Vec<Start> {
            let spec = WorkloadSpec::Bulk(Bulk {
                senders: Hosts::Count(20),
                start: Time::us(5),
                spread,
                ..Bulk::default()
            });
            made(&spec, &fabric()).flows.iter().map(|f| f.start).collect()
        };
        let at = |us| Start::At(Time::us(us));
        assert!(starts(Time::ZERO).iter().all(|&start| start == at(5)));
        let drawn = starts(Time::us(10));
        let inside =
            |start: &Start| matches!(*start, Start::At(t) if t >= Time::us(5) && t < Time::us(15));
        assert!(drawn.iter().all(inside));
        assert!(drawn.iter().any(|start| *start != drawn[0]));
    }

    #[test]
    fn roles_may_meet_only_where_listed() {
        let roles = |senders: &str, receivers: &str| {
            let (senders, receivers) = (senders.parse().unwrap(), receivers.parse().unwrap());
            WorkloadSpec::Bulk(Bulk { senders, receivers, ..Bulk::default() })
        };
        let back_and_forth = made(&roles("0,1", "1,0"), &fabric());
        assert_eq!(back_and_forth.conns.len(), 2);
        assert!(refusal(&roles("0,1", "0,1"), &fabric()).contains("itself"));
    }
}
