//! Small datagrams that are returned, as `ping` sends them.

use super::job::{Job, after};
use super::options::options;
use super::spec::Generate;
use super::{Carrier, ConnHandle, Hosts, Role, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

options! {
    /// Each client sends a datagram to its server every `every`, whether or not earlier ones were answered. The
    /// server returns each at once. Servers are assigned to clients in turn. The time of an exchange is the
    /// round trip. A lost datagram stays unanswered.
    Probe {
        /// Hosts that send probes.
        clients: Hosts = Hosts::Count(1),
        /// Hosts that answer. Unless they are listed, they are taken from the hosts that send no probes.
        servers: Hosts = Hosts::Count(1),
        /// Payload of a datagram in both directions, at most 1,400 bytes.
        size: Bytes = Bytes(64),
        /// Time from one probe to the next.
        every: Time = Time::ms(10),
        /// Longest delay of a probe, drawn for each, so that probes do not synchronise with other periodic
        /// events.
        jitter: Time = Time::ZERO,
        /// Largest number of probes of each client. Default: as many as begin before `until`.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u32> = None,
        /// When probes end. Default: the end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time> = None,
        /// When the first probe is sent.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// The largest payload. It fits into one packet of the smallest usual MTU.
const MOST: u64 = 1_400;

impl Probe {
    fn check(&self) -> Result<(), SpecError> {
        if !(1..=MOST).contains(&self.size.0) {
            let message = format!("`size` = {}: a probe carries 1B to {MOST}B", self.size);
            return Err(SpecError::new("size", message));
        }
        if self.every == Time::ZERO {
            return Err(SpecError::new("every", "`every` is 0: probes need time between them"));
        }
        Ok(())
    }

    /// The number of probes that each client sends.
    fn probes(&self, job: &Job) -> Result<u64, SpecError> {
        let most = self.count.map_or(u64::MAX, u64::from);
        if self.count.is_some() && self.until.is_none() && job.setting.horizon == Time::MAX {
            return Ok(most);
        }
        let span = job.end(self.start, self.until)?.since(self.start);
        Ok(most.min(span.as_ps().div_ceil(self.every.as_ps())))
    }

    fn datagram(&self, job: &mut Job, src: HostId, dst: HostId) -> Result<ConnHandle, SpecError> {
        let rate = job.place(src).rate;
        let message = self.size.0 as u32;
        let (on, off) = (Time::ZERO, Time::ZERO);
        let carrier = Carrier::Udp { rate, message, on, off, poisson: false };
        job.out.connect(src, dst, carrier, self.class)
    }

    fn probe(
        &self,
        job: &mut Job,
        client: HostId,
        server: HostId,
        at: Time,
    ) -> Result<(), SpecError> {
        let (there, back) =
            (self.datagram(job, client, server)?, self.datagram(job, server, client)?);
        let (asked, exchange) = (job.out.trigger(server, 1), job.out.exchange());
        let at = at.after(Time::ps(job.rng.below(self.jitter.as_ps())));
        let heard = Some((asked, When::Received));
        job.send_as(Role::Request(exchange), there, self.size, Start::At(at), heard)?;
        job.send_as(Role::Answer(exchange), back, self.size, after(asked), None)
    }
}

impl Generate for Probe {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        self.check()?;
        let (clients, servers) = job.disjoint(&self.clients, &self.servers)?;
        let probes = self.probes(job)?;
        job.out.check_room("every", probes.saturating_mul(2 * clients.len() as u64))?;
        for (&client, &server) in clients.iter().zip(servers.iter().cycle()) {
            job.begin_part(client.0.into());
            for n in 0..probes {
                self.probe(job, client, server, self.start.after(self.every.times(n)))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{endless, fabric, made, refusal};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;

    fn spec() -> Probe {
        Probe { until: Some(Time::ms(45)), ..Probe::default() }
    }
    fn starts(traffic: &Traffic) -> Vec<Time> {
        let at = |start| if let Start::At(time) = start { Some(time) } else { None };
        traffic.flows.iter().filter_map(|flow| at(flow.start)).collect()
    }

    #[test]
    fn probes_leave_at_their_times_and_come_back() {
        let traffic =
            made(&WorkloadSpec::Probe(Probe { clients: Hosts::Count(2), ..spec() }), &fabric());
        assert_eq!(starts(&traffic)[..5], [0, 10, 20, 30, 40].map(Time::ms));
        assert_eq!((traffic.conns.len(), traffic.flows.len()), (20, 20));
        for exchange in 0..10 {
            let both: Vec<Role> = traffic.flows.iter().map(|f| f.role).collect();
            assert!(
                both.contains(&Role::Request(exchange)) && both.contains(&Role::Answer(exchange))
            );
        }
        // A lost probe does not stop later ones, because only answers wait for a trigger.
        let waits = |f: &&super::super::Flow| matches!(f.start, Start::After { .. });
        assert!(traffic.flows.iter().filter(waits).all(|f| matches!(f.role, Role::Answer(_))));
    }

    #[test]
    fn jitter_makes_them_late_but_not_more() {
        let spec = Probe { jitter: Time::ms(2), until: Some(Time::ms(500)), ..spec() };
        let starts = starts(&made(&WorkloadSpec::Probe(spec), &fabric()));
        let late: Vec<Time> = (0..50).map(|n| starts[n].since(Time::ms(10 * n as u64))).collect();
        assert!(late.iter().all(|late| *late < Time::ms(2)));
        assert!(
            late.iter().any(|late| *late > Time::ms(1)) && late.iter().any(|l| *l < Time::ms(1))
        );
    }

    #[test]
    fn a_count_ends_them_too() {
        let few = WorkloadSpec::Probe(Probe { count: Some(3), ..Probe::default() });
        assert_eq!(endless(&few).unwrap().flows.len(), 6);
        assert_eq!(
            made(&WorkloadSpec::Probe(Probe { count: Some(3), ..spec() }), &fabric()).flows.len(),
            6
        );
        let open = WorkloadSpec::Probe(Probe::default());
        assert!(endless(&open).unwrap_err().to_string().contains("no end time"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let no = |spec| refusal(&WorkloadSpec::Probe(spec), &fabric());
        assert!(no(Probe { size: Bytes(9_000), ..spec() }).contains("1B to 1400B"));
        assert!(no(Probe { every: Time::ZERO, ..spec() }).contains("time between"));
        assert!(no(Probe { every: Time::ps(1), ..spec() }).contains("at most"));
    }
}
