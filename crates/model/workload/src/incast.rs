//! Many to one, in barrier-synchronised blocks.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{ConnHandle, Hosts, Role, Start, When};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;

options! {
    /// A client fetches blocks that are spread over many servers. It requests the next block when it has
    /// received all of the last one. Phanishayee et al., "Measurement and Analysis of TCP Throughput Collapse"
    /// (FAST 2008). Without `request` there is one block, and all senders start at `start`.
    Incast {
        /// The client.
        receiver: u32 = 0,
        /// The servers.
        senders: Hosts = Hosts::All,
        /// Bytes of a block.
        block: Bytes = Bytes(1_000_000),
        /// Whether each sender has an equal part of the block, or sends all of it.
        split: bool = true,
        /// Number of blocks, fetched one after another.
        blocks: u32 = 1,
        /// Bytes of the request to each sender for each block. Default: no requests. The senders then start by
        /// themselves, and `blocks` must be 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        request: Option<Bytes> = None,
        /// Time between the end of a block and the request for the next.
        pause: Time = Time::ZERO,
        /// Longest time until a server answers (or, without `request`, starts). The time is drawn for each server
        /// and block, uniformly from zero to this.
        jitter: Time = Time::ZERO,
        /// When the first block starts.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// One sender, its connection to the receiver, and its part of a block.
struct Server {
    host: HostId,
    back: ConnHandle,
    part: Bytes,
}

impl Incast {
    fn servers(&self, job: &mut Job, client: HostId) -> Result<Vec<Server>, SpecError> {
        let hosts = job.hosts("senders", &self.senders, &[client])?;
        let n = hosts.len() as u64;
        if self.split && self.block.0 < n {
            let message =
                format!("{} cannot be split over {n} senders: 1 byte each is needed", self.block);
            return Err(SpecError::new("block", message));
        }
        let part = |at: u64| self.block.0 / n + u64::from(at < self.block.0 % n);
        let mut servers = Vec::with_capacity(hosts.len());
        for (at, &host) in hosts.iter().enumerate() {
            let part = if self.split { Bytes(part(at as u64)) } else { self.block };
            servers.push(Server { host, back: job.tcp(host, client, self.class)?, part });
        }
        Ok(servers)
    }

    /// The delay of a server before it answers.
    fn wait(&self, job: &mut Job) -> Time {
        Time::ps(job.rng.below(self.jitter.as_ps()))
    }

    /// Adds flows that all servers start by themselves.
    fn push(&self, job: &mut Job, servers: &[Server]) -> Result<(), SpecError> {
        let exchange = job.out.exchange();
        servers.iter().try_for_each(|server| {
            let start = Start::At(self.start.after(self.wait(job)));
            job.send_as(Role::Answer(exchange), server.back, server.part, start, None)
        })
    }

    /// Adds the client's requests for each block.
    fn fetch(
        &self,
        job: &mut Job,
        client: HostId,
        servers: &[Server],
        request: Bytes,
    ) -> Result<(), SpecError> {
        let ask = |server: &Server| job.tcp(client, server.host, self.class);
        let asks: Vec<ConnHandle> = servers.iter().map(ask).collect::<Result<_, _>>()?;
        let mut start = Start::At(self.start);
        for block in 1..=self.blocks {
            let last = block == self.blocks;
            let all_here = (!last).then(|| job.out.trigger(client, servers.len() as u32));
            let exchange = job.out.exchange();
            for (server, &ask) in servers.iter().zip(&asks) {
                let asked = job.out.trigger(server.host, 1);
                let heard = Some((asked, When::Received));
                job.send_as(Role::Request(exchange), ask, request, start, heard)?;
                let answer = Start::After { trigger: asked, delay: self.wait(job) };
                let then = all_here.map(|trigger| (trigger, When::Received));
                job.send_as(Role::Answer(exchange), server.back, server.part, answer, then)?;
            }
            let next = |trigger| Start::After { trigger, delay: self.pause };
            start = all_here.map_or(start, next);
        }
        Ok(())
    }
}

impl Generate for Incast {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let client = job.host("receiver", self.receiver)?;
        let servers = self.servers(job, client)?;
        job.out.check_room("blocks", servers.len() as u64 * 2 * u64::from(self.blocks))?;
        match self.request {
            Some(request) => self.fetch(job, client, &servers, request),
            None if self.blocks == 1 => self.push(job, &servers),
            None => {
                let blocks = self.blocks;
                let message = format!("`request` is needed for {blocks} blocks: it starts a block");
                Err(SpecError::new("request", message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::testing::{fabric, made, refusal};
    use super::*;

    fn incast(senders: u32, blocks: u32, request: Option<Bytes>) -> Incast {
        let senders = Hosts::Count(senders);
        Incast { receiver: 2, senders, blocks, request, block: Bytes(10), ..Incast::default() }
    }

    #[test]
    fn the_open_form_starts_all_at_once() {
        let traffic = made(&WorkloadSpec::Incast(incast(4, 1, None)), &fabric());
        let sent: Vec<_> =
            traffic.conns.iter().zip(&traffic.flows).map(|(c, f)| (c.src.0, f.bytes)).collect();
        assert_eq!(sent, [(0, 3), (1, 3), (3, 2), (4, 2)]);
        assert!(traffic.conns.iter().all(|conn| conn.dst.0 == 2));
        assert!(
            traffic
                .flows
                .iter()
                .all(|flow| flow.start == Start::At(Time::ZERO) && flow.then.is_none())
        );
        let whole = WorkloadSpec::Incast(Incast { split: false, ..incast(4, 1, None) });
        assert!(made(&whole, &fabric()).flows.iter().all(|flow| flow.bytes == 10));
    }

    #[test]
    fn blocks_are_synchronised_by_barriers() {
        let pause = Time::us(5);
        let spec = Incast { pause, ..incast(4, 3, Some(Bytes(64))) };
        let traffic = made(&WorkloadSpec::Incast(spec), &fabric());
        assert_eq!((traffic.conns.len(), traffic.flows.len()), (8, 24));
        let barriers: Vec<usize> =
            (0..traffic.triggers.len()).filter(|&t| traffic.triggers[t].count == 4).collect();
        assert_eq!(barriers.len(), 2);
        for barrier in barriers {
            assert_eq!(traffic.triggers[barrier].host.0, 2);
            let fed =
                traffic.flows.iter().filter(|f| f.then == Some((barrier as u32, When::Received)));
            assert_eq!(fed.map(|f| f.bytes).sum::<u64>(), 10);
            let start = Start::After { trigger: barrier as u32, delay: pause };
            let asked = traffic.flows.iter().filter(|f| f.start == start && f.bytes == 64);
            assert_eq!(asked.count(), 4);
        }
    }

    #[test]
    fn answers_are_spread_over_the_jitter() {
        let delays = |jitter| -> Vec<Time> {
            let spec = Incast { jitter, ..incast(10, 100, Some(Bytes(64))) };
            let traffic = made(&WorkloadSpec::Incast(spec), &fabric());
            let answers = traffic.flows.iter().filter(|flow| flow.bytes != 64);
            let delay = |flow: &super::super::Flow| match flow.start {
                Start::After { delay, .. } => delay,
                Start::At(_) => panic!("an answer without a request"),
            };
            answers.map(delay).collect()
        };
        assert!(delays(Time::ZERO).iter().all(|&delay| delay == Time::ZERO));
        let drawn = delays(Time::us(100));
        assert_eq!(drawn.len(), 1_000);
        assert!(drawn.iter().all(|&delay| delay < Time::us(100)));
        let mean = drawn.iter().map(|delay| delay.as_ns()).sum::<u64>() / 1_000;
        assert!((45_000..55_000).contains(&mean), "{mean} ns");
    }

    #[test]
    fn a_block_is_one_exchange() {
        let traffic = made(&WorkloadSpec::Incast(incast(4, 3, Some(Bytes(64)))), &fabric());
        for block in 0..3 {
            let bytes = |role| {
                let of = traffic.flows.iter().filter(|f| f.role == role);
                of.map(|f| f.bytes).collect::<Vec<_>>()
            };
            assert_eq!(bytes(Role::Request(block)), [64; 4]);
            assert_eq!(bytes(Role::Answer(block)), [3, 3, 2, 2]);
        }
        assert!(traffic.flows.iter().all(|f| f.role != Role::Alone));
    }

    #[test]
    fn servers_answer_at_different_times_within_the_jitter() {
        let jitter = Time::us(10);
        let (open, closed) = (incast(40, 1, None), incast(40, 50, Some(Bytes(64))));
        for base in [Incast { block: Bytes(40), ..open }, Incast { block: Bytes(40), ..closed }] {
            let traffic = made(&WorkloadSpec::Incast(Incast { jitter, ..base }), &fabric());
            let answers = traffic.flows.iter().filter(|f| matches!(f.role, Role::Answer(_)));
            let waits: Vec<Time> = answers
                .map(|flow| match flow.start {
                    Start::At(at) => at,
                    Start::After { delay, .. } => delay,
                })
                .collect();
            let mean = waits.iter().map(|w| w.as_ps()).sum::<u64>() / waits.len() as u64;
            assert!(waits.iter().all(|&wait| wait < jitter));
            assert!(mean.abs_diff(jitter.as_ps() / 2) < jitter.as_ps() / 10, "{mean}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let no = |spec| refusal(&WorkloadSpec::Incast(spec), &fabric());
        assert!(no(incast(4, 2, None)).contains("2 blocks"));
        assert!(no(incast(11, 1, None)).contains("11 senders"));
        assert!(no(incast(64, 1, None)).contains("63 to choose from"));
        assert!(no(Incast { receiver: 64, ..incast(4, 1, None) }).contains("0 to 63"));
        assert!(no(incast(4, u32::MAX, Some(Bytes(1)))).contains("at most"));
    }
}
