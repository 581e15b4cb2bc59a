//! Files written to a distributed file system: blocks, each replicated in a pipeline of hosts.

use super::job::{Job, after};
use super::options::options;
use super::spec::Generate;
use super::{Hosts, Role, Start, When};
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

/// The place of the second replica of a block. The first is at the writer, and a third in the second's rack.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// In a rack drawn for each block.
    #[default]
    Hdfs,
    /// In the rack `shift` places further on. One circuit can carry all data that a rack writes.
    Rehdfs,
}

/// The unit of one exchange, whose time is a write time.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A block, from its first byte to the last byte of its last replica.
    #[default]
    Block,
    /// A file with all its blocks.
    File,
}

options! {
    /// Each file is written block after block. The first replica of a block is at the writer. The writer sends
    /// the block to a second host, in another rack, and that host forwards it to a third. A block is written
    /// when the writer knows that all have it. Disks take no time.
    Hdfs {
        /// Hosts of the file system, which are also the writers. A rack is an edge switch.
        hosts: Hosts = Hosts::All,
        /// Number of files. They are assigned to racks in turn, and to the hosts of each rack in turn.
        #[schemars(range(min = 1))]
        files: u32 = 64,
        /// Bytes of a file.
        size: Bytes = Bytes(400 << 20),
        /// Bytes of a block; the last of a file may be shorter.
        block: Bytes = Bytes(128 << 20),
        /// Copies of each block.
        #[schemars(range(min = 2, max = 3))]
        replicas: u32 = 2,
        /// With three replicas: size of the pieces in which a host forwards a block.
        packet: Bytes = Bytes(64 << 10),
        /// Placement of replicas.
        placement: Placement = Placement::Hdfs,
        /// `rehdfs`: distance from a writer's rack to the rack of its blocks. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        shift: Option<u32> = None,
        /// `rehdfs`: interval at which the distance grows by one, so that racks do not depend on each other for long. A
        /// file keeps the distance that holds when its writer starts. Default: it stays the same.
        ///
        /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section 6.1.
        #[serde(skip_serializing_if = "Option::is_none")]
        shift_every: Option<Time> = None,
        /// Unit for which the metrics of exchanges (`qct-mean`, `qct-p99`) are measured.
        unit: Unit = Unit::Block,
        /// When writers start.
        start: Time = Time::ZERO,
        /// Delay of each writer after `start`, drawn uniformly from zero to this time. A cluster does not start all
        /// tasks of a job at once.
        spread: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

/// The bytes of the message that reports the arrival of a block at all later hosts of the pipeline.
const ACKNOWLEDGEMENT: Bytes = Bytes(64);

impl Hdfs {
    fn check(&self) -> Result<(), SpecError> {
        let wrong = |key: &str, why: String| Err(SpecError::new(key, why));
        if !(2..=3).contains(&self.replicas) {
            return wrong("replicas", format!("`replicas` = {}: 2 or 3", self.replicas));
        }
        for (key, value) in [("size", self.size), ("block", self.block), ("packet", self.packet)] {
            if value.0 == 0 {
                return wrong(key, format!("`{key}` = 0B: at least 1 byte is needed"));
            }
        }
        let given = [("shift", self.shift.is_some()), ("shift-every", self.shift_every.is_some())];
        if let Some((key, _)) = given.into_iter().find(|(_, given)| *given)
            && self.placement == Placement::Hdfs
        {
            return wrong(key, format!("`{key}` is for placement = \"rehdfs\""));
        }
        if self.shift_every == Some(Time::ZERO) {
            return wrong("shift-every", "`shift-every` = 0s must be above zero".into());
        }
        Ok(())
    }

    /// The distance to the rack of the blocks of a file whose writer starts at `begin`.
    fn shift(&self, racks: usize, begin: Time) -> Result<usize, SpecError> {
        let shift = self.shift.unwrap_or(1) as usize % racks;
        if shift == 0 {
            let why = format!("`shift` leads back to the writer's rack: there are {racks} racks");
            return Err(SpecError::new("shift", why));
        }
        let steps = self.shift_every.map_or(0, |every| begin.as_ps() / every.as_ps());
        // Distances are 1 to `racks - 1`.
        Ok((shift - 1 + (steps % (racks as u64 - 1)) as usize) % (racks - 1) + 1)
    }

    /// Bytes of the blocks of a file.
    fn blocks(&self) -> impl Iterator<Item = Bytes> + use<> {
        let (size, block) = (self.size.0, self.block.0);
        (0..size.div_ceil(block)).map(move |at| Bytes(block.min(size - at * block)))
    }

    /// The start time of the next writer.
    fn begin(&self, job: &mut Job) -> Time {
        match self.spread.as_ps() {
            0 => self.start,
            spread => self.start.after(Time::ps(job.rng.below(spread))),
        }
    }

    /// The number of flows of all files.
    fn count(&self) -> u64 {
        let per_block = |block: Bytes| match self.replicas {
            2 => 1,
            _ => 2 * block.0.div_ceil(self.packet.0) + 1,
        };
        u64::from(self.files).saturating_mul(self.blocks().map(per_block).sum())
    }
}

/// The hosts that take part, rack by rack.
struct Cluster {
    racks: Vec<Vec<HostId>>,
}

impl Cluster {
    fn new(job: &Job, spec: &Hdfs) -> Result<Cluster, SpecError> {
        let mut racks: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
        for host in job.peers("hosts", &spec.hosts)? {
            racks.entry(job.place(host).edge).or_default().push(host);
        }
        let racks: Vec<Vec<HostId>> = racks.into_values().collect();
        let least = spec.replicas as usize - 1;
        if racks.len() < 2 || racks.iter().any(|rack| rack.len() < least) {
            let why = format!(
                "{} replicas need two racks or more, of at least {least} hosts each: these hosts are \
                 in {} racks, the smallest with {}",
                spec.replicas,
                racks.len(),
                racks.iter().map(Vec::len).min().unwrap_or(0)
            );
            return Err(SpecError::new("hosts", why));
        }
        Ok(Cluster { racks })
    }

    /// The rack of file `file` and the host that writes it.
    fn writer(&self, file: usize) -> (usize, HostId) {
        let (rack, turn) = (file % self.racks.len(), file / self.racks.len());
        (rack, self.racks[rack][turn % self.racks[rack].len()])
    }

    /// The hosts of the second and perhaps a third replica of a block that rack `from` writes; its file begins at
    /// `begin`.
    fn replicas(
        &self,
        job: &mut Job,
        spec: &Hdfs,
        (from, begin): (usize, Time),
    ) -> Result<Vec<HostId>, SpecError> {
        let racks = self.racks.len();
        let rack = match spec.placement {
            Placement::Rehdfs => (from + spec.shift(racks, begin)?) % racks,
            Placement::Hdfs => (from + 1 + job.rng.below(racks as u64 - 1) as usize) % racks,
        };
        let mut hosts = self.racks[rack].clone();
        let draw = |_| hosts.remove(job.rng.below(hosts.len() as u64) as usize);
        Ok((1..spec.replicas).map(draw).collect())
    }
}

/// A block in transit.
struct Pipeline<'a> {
    spec: &'a Hdfs,
    role: Role,
    writer: HostId,
    bytes: Bytes,
    start: Start,
    /// The trigger that the written block counts towards.
    then: Option<u32>,
}

impl Pipeline<'_> {
    /// Sends the block to one more host, in one piece.
    fn direct(&self, job: &mut Job, to: HostId) -> Result<(), SpecError> {
        let conn = job.tcp(self.writer, to, self.spec.class)?;
        let then = self.then.map(|trigger| (trigger, When::Acked));
        job.send_as(self.role, conn, self.bytes, self.start, then)
    }

    /// Sends the block to `middle`, which forwards every piece to `last` when it has arrived. `middle` notifies the
    /// writer when `last` has all pieces.
    fn relayed(&self, job: &mut Job, middle: HostId, last: HostId) -> Result<(), SpecError> {
        let class = self.spec.class;
        let there = job.tcp(self.writer, middle, class)?;
        let on = job.tcp(middle, last, class)?;
        let back = job.tcp(middle, self.writer, class)?;
        let (block, packet) = (self.bytes.0, self.spec.packet.0);
        let pieces = block.div_ceil(packet);
        let all = job.out.trigger(middle, pieces as u32);
        for at in 0..pieces {
            let bytes = Bytes(packet.min(block - at * packet));
            let here = job.out.trigger(middle, 1);
            job.send_as(self.role, there, bytes, self.start, Some((here, When::Received)))?;
            job.send_as(self.role, on, bytes, after(here), Some((all, When::Acked)))?;
        }
        let then = self.then.map(|trigger| (trigger, When::Received));
        job.send_as(Role::Signal, back, ACKNOWLEDGEMENT, after(all), then)
    }
}

impl Generate for Hdfs {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        self.check()?;
        let cluster = Cluster::new(job, self)?;
        job.out.check_room("files", self.count())?;
        for file in 0..self.files as usize {
            let (rack, writer) = cluster.writer(file);
            let begin = self.begin(job);
            let mut start = Start::At(begin);
            let mut exchange = job.out.exchange();
            let blocks: Vec<Bytes> = self.blocks().collect();
            for (at, &bytes) in blocks.iter().enumerate() {
                if at > 0 && self.unit == Unit::Block {
                    exchange = job.out.exchange();
                }
                let replicas = cluster.replicas(job, self, (rack, begin))?;
                let then = (at + 1 < blocks.len()).then(|| job.out.trigger(writer, 1));
                let role = Role::Answer(exchange);
                let pipeline = Pipeline { spec: self, role, writer, bytes, start, then };
                match replicas[..] {
                    [middle, last] => pipeline.relayed(job, middle, last)?,
                    _ => pipeline.direct(job, replicas[0])?,
                }
                start = then.map_or(start, after);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{fabric, made, refusal};
    use super::super::{Conn, Traffic, WorkloadSpec, rehearsal};
    use super::*;
    use proptest::prelude::*;

    fn hdfs(text: &str) -> WorkloadSpec {
        WorkloadSpec::Hdfs(toml::from_str(text).expect(text))
    }

    /// Four hosts to a rack in [`fabric`].
    fn rack(host: HostId) -> u32 {
        host.0 / 4
    }

    fn data(traffic: &Traffic) -> impl Iterator<Item = &Conn> {
        traffic.conns.iter().filter(|conn| conn.count > 0)
    }

    #[test]
    fn dfsio_writes_as_much_as_it_says() {
        let traffic = made(&hdfs(""), &fabric());
        let total: u64 = traffic.flows.iter().map(|flow| flow.bytes).sum();
        assert_eq!(total, 64 * 400 * 1_048_576, "25 GiB between racks");
        assert_eq!(traffic.flows.len(), 64 * 4);
        let mut sizes: Vec<u64> = traffic.flows.iter().map(|flow| flow.bytes >> 20).collect();
        sizes.sort_unstable();
        assert_eq!((sizes[63], sizes[64], sizes[255]), (16, 128, 128));
        let mut writers: Vec<u32> = data(&traffic).map(|conn| conn.src.0).collect();
        writers.dedup();
        assert_eq!(writers, (0..64).collect::<Vec<_>>(), "16 racks, four hosts each");
    }

    /// A message takes 1 ms. The next block of a file starts when the writer knows that the last one is written:
    /// 2 ms later, or with three replicas after two hops and two acknowledgements.
    #[test]
    fn blocks_follow_each_other() {
        let small = "files = 1\nsize = '2500B'\nblock = '1KB'\npacket = '400B'";
        let starts = |text: &str| {
            let traffic = made(&hdfs(&format!("{small}\n{text}")), &fabric());
            let mut starts = rehearsal::starts(&traffic, Time::ms(1));
            starts.sort_unstable();
            starts.into_iter().map(|at| at.unwrap().as_ps() / 1_000_000_000).collect::<Vec<_>>()
        };
        assert_eq!(starts(""), [0, 2, 4]);
        // Pieces of 400, 400 and 200 B leave at 0 ms, are forwarded at 1 ms and acknowledged at 3 ms. The writer
        // is notified at 4 ms.
        let block = [0, 0, 0, 1, 1, 1, 3];
        let expected: Vec<u64> = [0, 4].iter().flat_map(|at| block.map(|time| time + at)).collect();
        let last = [8, 8, 9, 9, 11];
        assert_eq!(starts("replicas = 3"), [&expected[..], &last].concat());
    }

    #[test]
    fn rehdfs_sends_all_of_a_rack_to_one_other() {
        let traffic = made(&hdfs("placement = 'rehdfs'\nshift = 3"), &fabric());
        assert!(data(&traffic).all(|conn| rack(conn.dst) == (rack(conn.src) + 3) % 16));
        let random = made(&hdfs(""), &fabric());
        let mut racks: Vec<u32> =
            data(&random).filter(|conn| rack(conn.src) == 0).map(|conn| rack(conn.dst)).collect();
        racks.sort_unstable();
        racks.dedup();
        assert!(racks.len() > 5, "{racks:?}");
    }

    /// 16 racks: the distances are 3, 4, …, 15, 1, 2, 3, …
    #[test]
    fn the_distance_of_rehdfs_changes_with_time() {
        let text =
            "placement = 'rehdfs'\nshift = 3\nstart = '1s'\nspread = '20ms'\nshift-every = '1ms'";
        let traffic = made(&hdfs(text), &fabric());
        let mut seen = Vec::new();
        for conn in data(&traffic) {
            let Start::At(begin) = traffic.flows[conn.first.at()].start else { continue };
            let step = begin.as_ps() / Time::ms(1).as_ps();
            let distance = 1 + (2 + step % 15) % 15;
            assert_eq!(u64::from((16 + rack(conn.dst) - rack(conn.src)) % 16), distance, "{begin}");
            seen.push(distance);
        }
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 10, "{seen:?}");
    }

    #[test]
    fn writers_begin_within_the_spread() {
        let begun = |text: &str| {
            let traffic = made(&hdfs(text), &fabric());
            let starts = traffic.flows.iter().filter_map(|flow| match flow.start {
                Start::At(at) => Some(at),
                Start::After { .. } => None,
            });
            starts.collect::<Vec<_>>()
        };
        assert_eq!(begun("start = '1s'"), [Time::s(1); 64]);
        let spread = begun("start = '1s'\nspread = '10ms'");
        let (early, late) = (spread.iter().min().unwrap(), spread.iter().max().unwrap());
        assert!(*early >= Time::s(1) && *late < Time::ms(1010), "{early} {late}");
        assert!(late.since(*early) > Time::ms(7), "64 draws reach far: {early} {late}");
    }

    #[test]
    fn exchanges_are_blocks_or_files() {
        for (unit, exchanges) in [("block", 64 * 4), ("file", 64)] {
            let traffic = made(&hdfs(&format!("unit = '{unit}'")), &fabric());
            let mut seen: Vec<_> = traffic.flows.iter().map(|flow| flow.role.exchange()).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen, (0..exchanges).map(Some).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (text, why) in [
            ("shift = 2", "placement = \"rehdfs\""),
            ("shift-every = '1s'", "placement = \"rehdfs\""),
            ("placement = 'rehdfs'\nshift-every = '0s'", "above zero"),
            ("placement = 'rehdfs'\nshift = 16", "back to the writer's rack"),
            ("hosts = '0-3'", "in 1 racks"),
            ("hosts = '0-4'\nreplicas = 3", "the smallest with 1"),
            ("replicas = 4", "2 or 3"),
            ("block = '0B'", "at least 1 byte"),
            ("replicas = 3\npacket = '1B'", "at most"),
        ] {
            let error = refusal(&hdfs(text), &fabric());
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        /// Every byte of every file leaves its writer once, and with three replicas it leaves the second
        /// host once; replicas are in one other rack, on different hosts.
        #[test]
        fn every_block_is_where_it_should_be(
            files in 1u32..20,
            size in 1u64..5_000,
            block in 1u64..3_000,
            packet in 100u64..1_000,
            replicas in 2u32..4,
            rehdfs: bool,
        ) {
            let placement = if rehdfs { Placement::Rehdfs } else { Placement::Hdfs };
            let [size, block, packet] = [size, block, packet].map(Bytes);
            let spec = Hdfs { files, size, block, packet, replicas, placement, ..Hdfs::default() };
            let traffic = made(&WorkloadSpec::Hdfs(spec), &fabric());
            let (mut out, mut on) = (0, 0);
            for flow in traffic.flows.iter().filter(|flow| flow.role != Role::Signal) {
                let conn = traffic.conns[flow.conn.at()];
                let within = rack(conn.src) == rack(conn.dst);
                *if within { &mut on } else { &mut out } += flow.bytes;
            }
            let total = u64::from(files) * size.0;
            prop_assert_eq!((out, on), (total, if replicas == 3 { total } else { 0 }));
        }
    }
}
