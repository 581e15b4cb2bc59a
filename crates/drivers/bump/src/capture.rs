//! Replay of a capture through a bump. The output contains the forwarded packets, each with the estimate of
//! its queue.

use crate::classify::ByDestination;
use crate::levels::Own;
use crate::notice::notice;
use crate::pipeline::{Action, Malformed, Others, Passed, Pipeline};
use slotline_formats::FormatError;
use slotline_formats::pcap::{CapturedFrame, for_each_packet};
use slotline_formats::pcapng_writer::{Interface, PcapngWriter};
use slotline_net::aqm::bank::Entry;
use slotline_net::aqm::{Counts, Discipline, VirtualQueue};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_net::wire::mac_control::Mac;
use std::io::Write;
use std::net::IpAddr;

/// The configuration of the bump.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// The rate at which virtual queues drain.
    pub rate: Rate,
    /// The capacity of a virtual queue.
    pub capacity: Bytes,
    /// The highest number of virtual queues. Packets for further networks pass.
    pub queues: u32,
    /// The length of the prefix that identifies a network, in bits, for IPv4 and IPv6. Each network has a
    /// queue.
    pub prefix: (u8, u8),
    /// The number of bytes that the link adds to a captured packet.
    pub framing: u32,
    /// The treatment of malformed packets.
    pub malformed: Malformed,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            rate: Rate(1_000_000_000),
            capacity: Bytes(150_000),
            queues: 1_024,
            prefix: (32, 128),
            framing: crate::pipeline::FRAMING,
            malformed: Malformed::Pass,
        }
    }
}

/// The result of a replay.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// Packets read.
    pub packets: u64,
    /// Notices to senders. The output contains them.
    pub notices: u64,
    /// Counts of packets without a queue.
    pub others: Others,
    /// Packets whose time is earlier than that of a packet before them. They count as of the later time.
    pub late: u64,
    /// For each virtual queue: its network, its counts, and the largest level before a packet, in bytes.
    pub queues: Vec<(IpAddr, Counts, u64)>,
}

/// The reason why a capture cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The input is damaged or not Ethernet.
    #[error(transparent)]
    Input(#[from] FormatError),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

/// Replays the Ethernet packets of `input` (pcap or pcapng) through a bump. `discipline` makes the discipline
/// of each queue by its number. `output` gets a pcapng of the forwarded packets, with the estimate as the
/// comment of each packet. `table` gets a CSV with one line for each packet of the input.
///
/// # Errors
/// [`CaptureError`] if the input is not valid or the output cannot be written.
pub fn through<D: Discipline + Clone, W: Write, T: Write>(
    setup: &Setup,
    input: &[u8],
    discipline: impl FnMut(u32) -> D,
    output: W,
    table: T,
) -> Result<(Report, Vec<D>), CaptureError> {
    let mut run = Run::begin(setup, discipline, output, table)?;
    let mut failure = None;
    let read = for_each_packet(input, |packet| {
        if packet.link != 1 {
            return Err(format!(
                "a packet of link type {}: a bump takes Ethernet (1)",
                packet.link
            ));
        }
        run.packet(packet).map_err(|error| {
            let why = error.to_string();
            failure = Some(error);
            why
        })
    });
    match (read, failure) {
        (_, Some(error)) => Err(error.into()),
        (Err(error), None) => Err(error.into()),
        (Ok(()), None) => run.finish(),
    }
}

struct Run<D, W: Write, T> {
    pipeline: Pipeline<ByDestination, D, Own>,
    writer: PcapngWriter<W>,
    table: T,
    report: Report,
    peaks: Vec<u64>,
    begin_ps: Option<i128>,
    now: Time,
    /// The bytes of the current frame.
    bytes: Vec<u8>,
}

impl<D: Discipline + Clone, W: Write, T: Write> Run<D, W, T> {
    fn begin(
        setup: &Setup,
        mut discipline: impl FnMut(u32) -> D,
        output: W,
        mut table: T,
    ) -> std::io::Result<Run<D, W, T>> {
        let queue = VirtualQueue::new(setup.rate.inverse_rate(), setup.capacity);
        let entries = (0..setup.queues).map(|at| Entry::new(queue, discipline(at))).collect();
        let classifier = ByDestination::new(setup.queues, setup.prefix);
        let levels = Own::new(setup.queues as usize);
        let pipeline = Pipeline::new(classifier, entries, levels, setup.framing);
        let interface = Interface { name: "bump".into(), rate_bps: setup.rate.0 };
        writeln!(table, "packet,time_ns,length,queue,network,found_bytes,action")?;
        Ok(Run {
            pipeline: pipeline.malformed(setup.malformed),
            writer: PcapngWriter::new(output, &[interface], u32::MAX)?,
            table,
            report: Report::default(),
            peaks: vec![0; setup.queues as usize],
            begin_ps: None,
            now: Time::ZERO,
            bytes: Vec::new(),
        })
    }

    fn packet(&mut self, packet: &CapturedFrame<'_>) -> std::io::Result<()> {
        let begin = *self.begin_ps.get_or_insert(packet.time_ps);
        let since = u64::try_from(packet.time_ps - begin).unwrap_or(0);
        self.report.late += u64::from(Time::ps(since) < self.now);
        self.now = self.now.max(Time::ps(since));
        self.bytes.clear();
        self.bytes.extend_from_slice(packet.data);
        let passed = self.pipeline.pass(&mut self.bytes, packet.length, self.now);
        let found = passed.queue.map(|queue| self.pipeline.bytes_of(queue, passed.found));
        if let (Some(queue), Some(found)) = (passed.queue, found) {
            let peak = &mut self.peaks[queue as usize];
            *peak = found.max(*peak);
        }
        self.report.packets += 1;
        self.line(packet, passed, found)?;
        let t_ns = u64::try_from(packet.time_ps / 1_000).unwrap_or(0);
        self.output(t_ns, packet.length, passed, found)
    }

    fn line(
        &mut self,
        packet: &CapturedFrame<'_>,
        passed: Passed,
        found: Option<u64>,
    ) -> std::io::Result<()> {
        let (number, t_ns) = (self.report.packets, packet.time_ps / 1_000);
        write!(self.table, "{number},{t_ns},{},", packet.length)?;
        if let (Some(queue), Some(found)) = (passed.queue, found) {
            let network = self.pipeline.classifier().networks()[queue as usize];
            write!(self.table, "{queue},{network},{found},")?;
        } else {
            write!(self.table, ",,,")?;
        }
        writeln!(self.table, "{}", name_of(passed.action))
    }

    fn output(
        &mut self,
        t_ns: u64,
        length: u32,
        passed: Passed,
        found: Option<u64>,
    ) -> std::io::Result<()> {
        if !passed.action.forwards() {
            return Ok(());
        }
        let comment = match (passed.queue, found) {
            (Some(queue), Some(found)) => {
                format!("queue {queue}: {found} bytes, {}", name_of(passed.action))
            }
            _ => String::new(),
        };
        self.writer.cut_packet(0, t_ns, &self.bytes, length, &comment)?;
        let (Action::Notify(what), Some(queue)) = (passed.action, passed.queue) else {
            return Ok(());
        };
        let own = Mac([0x02, 0x02, 0, 0, 0, 0]);
        if let Some(frame) = notice(&self.bytes, queue.into(), own, what) {
            self.report.notices += 1;
            let comment = format!("queue {queue}: notice to the sender");
            self.writer.cut_packet(0, t_ns, &frame, frame.len() as u32, &comment)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(Report, Vec<D>), CaptureError> {
        self.writer.finish()?;
        self.table.flush()?;
        let networks = self.pipeline.classifier().networks().iter().copied();
        let counts = self.pipeline.counts().zip(self.peaks);
        self.report.queues =
            networks.zip(counts).map(|(network, (counts, peak))| (network, counts, peak)).collect();
        self.report.others = self.pipeline.others();
        let disciplines = self.pipeline.disciplines().take(self.report.queues.len()).cloned();
        Ok((self.report, disciplines.collect()))
    }
}

/// The name of an action in tables.
fn name_of(action: Action) -> &'static str {
    match action {
        Action::Forward => "pass",
        Action::Mark => "mark",
        Action::Notify(_) => "notify",
        Action::Drop => "drop",
        Action::Full => "full",
        Action::Malformed => "malformed",
        Action::Processed => "processed",
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
