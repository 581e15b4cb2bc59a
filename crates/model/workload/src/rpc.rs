//! Requests and responses between clients and servers.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{ConnHandle, Hosts, Role, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

options! {
    /// Clients send requests to servers drawn at random and get responses. In a closed loop, the next request
    /// follows the last response. In an open loop (`interval`), requests arrive as a Poisson process.
    RequestResponse {
        /// Hosts that send requests.
        clients: Hosts = Hosts::All,
        /// Hosts that answer. A host sends no request to itself.
        servers: Hosts = Hosts::All,
        /// Bytes of a request.
        request: Bytes = Bytes(1_000),
        /// Bytes of a response.
        response: Bytes = Bytes(100_000),
        /// Time that a server takes to answer.
        service: Time = Time::ZERO,
        /// Closed loop: number of outstanding requests of each client, each on connections of its own.
        outstanding: u32 = 1,
        /// Closed loop: time between a response and the next request.
        think: Time = Time::ZERO,
        /// Open loop: mean time between two requests of a client.
        #[serde(skip_serializing_if = "Option::is_none")]
        interval: Option<Time> = None,
        /// Largest number of requests of each client. Default: as many as arrive before `until` (open loop), or as
        /// many as its link could carry responses for (closed loop).
        #[serde(skip_serializing_if = "Option::is_none")]
        requests: Option<u32> = None,
        /// When requests end. Default: the end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time> = None,
        /// When requests begin.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// Connections of one client (or one of its outstanding requests) to its servers and back.
struct Client<'a> {
    spec: &'a RequestResponse,
    host: HostId,
    servers: &'a [HostId],
    conns: BTreeMap<HostId, (ConnHandle, ConnHandle)>,
}

impl Client<'_> {
    fn draw(&self, job: &mut Job) -> HostId {
        match self.servers.iter().position(|&server| server == self.host) {
            None => self.servers[job.rng.below(self.servers.len() as u64) as usize],
            Some(own) => {
                let drawn = job.rng.below(self.servers.len() as u64 - 1) as usize;
                self.servers[drawn + usize::from(drawn >= own)]
            }
        }
    }

    fn conns(
        &mut self,
        job: &mut Job,
        server: HostId,
    ) -> Result<(ConnHandle, ConnHandle), SpecError> {
        if let Some(pair) = self.conns.get(&server) {
            return Ok(*pair);
        }
        let class = self.spec.class;
        let pair = (job.tcp(self.host, server, class)?, job.tcp(server, self.host, class)?);
        self.conns.insert(server, pair);
        Ok(pair)
    }

    /// Adds one request and its response.
    fn ask(&mut self, job: &mut Job, start: Start, then: Option<u32>) -> Result<(), SpecError> {
        let server = self.draw(job);
        let (there, back) = self.conns(job, server)?;
        let (asked, exchange) = (job.out.trigger(server, 1), job.out.exchange());
        let heard = Some((asked, When::Received));
        job.send_as(Role::Request(exchange), there, self.spec.request, start, heard)?;
        let answer = Start::After { trigger: asked, delay: self.spec.service };
        let then = then.map(|trigger| (trigger, When::Received));
        job.send_as(Role::Answer(exchange), back, self.spec.response, answer, then)
    }

    fn closed(&mut self, job: &mut Job, requests: u64) -> Result<(), SpecError> {
        let mut start = Start::At(self.spec.start);
        for left in (0..requests).rev() {
            let then = (left > 0).then(|| job.out.trigger(self.host, 1));
            self.ask(job, start, then)?;
            start = then.map_or(start, |trigger| Start::After { trigger, delay: self.spec.think });
        }
        Ok(())
    }

    fn open(&mut self, job: &mut Job, mean: Time, end: Time, most: u64) -> Result<(), SpecError> {
        let mut at = self.spec.start.as_ps() as f64;
        for _ in 0..most {
            at += job.rng.exponential(mean.as_ps() as f64);
            if at >= end.as_ps() as f64 {
                break;
            }
            self.ask(job, Start::At(Time::ps(at as u64)), None)?;
        }
        Ok(())
    }
}

impl RequestResponse {
    /// The largest number of requests that `host` sends until `end`.
    fn most(&self, job: &Job, host: HostId, end: Time) -> u64 {
        let span = end.since(self.start);
        let possible = match self.interval {
            Some(_) => u64::MAX,
            None => job
                .place(host)
                .rate
                .inverse_rate()
                .bytes_in(span)
                .div_ceil(self.response.0.max(1))
                .max(1),
        };
        self.requests.map_or(possible, u64::from)
    }

    /// The approximate number of flows of `host`.
    fn expected(&self, job: &Job, host: HostId, end: Time) -> u64 {
        let arrivals = |mean: Time| end.since(self.start).as_ps() / mean.as_ps().max(1);
        self.interval.map_or(u64::MAX, arrivals).min(self.most(job, host, end)).saturating_mul(2)
    }

    fn client(
        &self,
        job: &mut Job,
        host: HostId,
        servers: &[HostId],
        end: Time,
    ) -> Result<(), SpecError> {
        let most = self.most(job, host, end);
        let client = || Client { spec: self, host, servers, conns: BTreeMap::new() };
        if let Some(mean) = self.interval {
            job.begin_part(host.0.into());
            return client().open(job, mean, end, most);
        }
        let slots = u64::from(self.outstanding);
        (0..slots).try_for_each(|slot| {
            job.begin_part(slot << 32 | u64::from(host.0));
            client().closed(job, most / slots + u64::from(slot < most % slots))
        })
    }

    fn check(&self, clients: &[HostId], servers: &[HostId]) -> Result<(), SpecError> {
        if self.outstanding == 0 {
            return Err(SpecError::new("outstanding", "`outstanding` = 0: at least 1 is needed"));
        }
        if self.interval.is_some() && (self.outstanding, self.think) != (1, Time::ZERO) {
            let message =
                "`interval` makes an open loop: `outstanding` and `think` belong to a closed one";
            return Err(SpecError::new("interval", message));
        }
        if servers.len() == 1 && clients.contains(&servers[0]) {
            let message = format!(
                "host {} is the only server and a client: it cannot ask itself",
                servers[0].0
            );
            return Err(SpecError::new("servers", message));
        }
        Ok(())
    }
}

impl Generate for RequestResponse {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let clients = job.hosts("clients", &self.clients, &[])?;
        let servers = job.hosts("servers", &self.servers, &[])?;
        self.check(&clients, &servers)?;
        let end = match self.requests {
            Some(_) => self.until.unwrap_or(Time::MAX).min(job.setting.horizon),
            None => job.end(self.start, self.until)?,
        };
        let expected = clients.iter().map(|&host| self.expected(job, host, end));
        job.out.check_room("requests", expected.fold(0, u64::saturating_add))?;
        clients.iter().try_for_each(|&host| self.client(job, host, &servers, end))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made, refusal};
    use super::super::{Traffic, WorkloadSpec};
    use super::*;

    fn spec() -> RequestResponse {
        let (clients, servers) = (Hosts::Count(4), "2-9".parse().unwrap());
        RequestResponse { clients, servers, requests: Some(10), ..RequestResponse::default() }
    }
    fn traffic(spec: RequestResponse) -> Traffic {
        made(&WorkloadSpec::RequestResponse(spec), &fabric())
    }
    fn timed(traffic: &Traffic) -> Vec<Time> {
        let at = |start| {
            if let Start::At(time) = start { Some(time) } else { None }
        };
        traffic.flows.iter().filter_map(|flow| at(flow.start)).collect()
    }

    #[test]
    fn a_closed_loop_has_so_many_outstanding() {
        let traffic = traffic(RequestResponse { outstanding: 3, think: Time::us(2), ..spec() });
        assert_eq!(traffic.flows.len(), 4 * 10 * 2);
        assert_eq!(timed(&traffic), [Time::ZERO; 4 * 3]);
        // Every request but the last of each chain is followed by another, after thinking.
        let next = Time::us(2);
        let followed = |f: &&super::super::Flow| matches!(f.start, Start::After { delay, .. } if delay == next);
        assert_eq!(traffic.flows.iter().filter(followed).count(), 4 * (10 - 3));
    }

    #[test]
    fn servers_are_drawn_evenly_and_never_the_client() {
        let traffic =
            traffic(RequestResponse { requests: Some(1_000), service: Time::us(7), ..spec() });
        for (server, clients) in [(2, 3), (5, 4)] {
            let asks = traffic
                .conns
                .iter()
                .filter(|c| c.dst.0 == server && c.src.0 < 4 && c.src.0 != server);
            let from_clients: Vec<_> =
                asks.filter(|c| traffic.flows[c.first.at()].bytes == 1_000).collect();
            assert_eq!(from_clients.len(), clients);
            assert!(from_clients.iter().all(|c| (90..=190).contains(&c.count)));
        }
        let answers = traffic.flows.iter().filter(|f| f.bytes == 100_000);
        assert!(
            answers
                .clone()
                .all(|f| matches!(f.start, Start::After { delay, .. } if delay == Time::us(7)))
        );
        assert_eq!(answers.count(), 4_000);
    }

    #[test]
    fn an_open_loop_is_poisson() {
        let (interval, until) = (Some(Time::us(1)), Some(Time::ms(10)));
        let traffic = traffic(RequestResponse { interval, until, requests: None, ..spec() });
        let n = timed(&traffic).len() as f64;
        assert!((n / 40_000.0 - 1.0).abs() < 0.02, "{n} requests");
        assert!(timed(&traffic).iter().all(|&time| time < Time::ms(10)));
    }

    #[test]
    fn without_a_count_the_link_is_the_bound() {
        let traffic =
            traffic(RequestResponse { requests: None, until: Some(Time::ms(1)), ..spec() });
        // 1.25 MB in a millisecond: 13 responses of 100 KB.
        assert_eq!(traffic.flows.len(), 4 * 13 * 2);
    }

    #[test]
    fn contradictions_are_refused() {
        let no = |spec| refusal(&WorkloadSpec::RequestResponse(spec), &fabric());
        assert!(no(RequestResponse { outstanding: 0, ..spec() }).contains("at least 1"));
        assert!(
            no(RequestResponse { interval: Some(Time::us(1)), think: Time::us(1), ..spec() })
                .contains("open loop")
        );
        let alone = RequestResponse { servers: "1".parse().unwrap(), ..spec() };
        assert!(no(alone).contains("cannot ask itself"));
        let flood = RequestResponse {
            interval: Some(Time::ZERO),
            requests: None,
            until: Some(Time::s(1)),
            ..spec()
        };
        assert!(no(flood).contains("at most"));
    }
}
