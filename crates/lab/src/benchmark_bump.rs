//! What a bump costs: minimum-size frames through classify, estimate and a discipline, with 1,024 virtual
//! queues. CPU time of a thread, so that what else the machine does counts little.

use crate::benchmark::Row;
use crate::usage;
use slotline_bump::object::{SECTION, wrap};
use slotline_bump::{ByDestination, EbpfDiscipline, Levels, Own, Pipeline, Shared, ebpf};
use slotline_net::aqm::bank::Entry;
use slotline_net::aqm::spec::RedSpec;
use slotline_net::aqm::{Discipline, Red, Threshold, VirtualQueue};
use slotline_net::rng::{Stream, mix32};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

/// Virtual queues.
const QUEUES: u32 = 1_024;
/// Of each queue's link.
const RATE: Rate = Rate(1_000_000_000);
/// Room of each queue.
const CAPACITY: Bytes = Bytes(150_000);
/// Frames in memory, which pass again and again.
const FRAMES: usize = 4_096;
/// Bytes of a frame without check sequence.
const LENGTH: usize = 60;
/// From one frame to the next: 28 million a second.
const GAP: Time = Time::ps(35_700);

/// One case of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// The threshold of DCTCP.
    Dctcp,
    /// Random early detection.
    Red,
    /// The threshold as an eBPF program.
    Ebpf,
    /// The threshold with a table that pipelines on so many threads share.
    SharedTable(u32),
}

/// The cases of `slotline bench bump`.
pub fn cases() -> [Case; 6] {
    use Case::*;
    [Dctcp, Red, Ebpf, SharedTable(1), SharedTable(2), SharedTable(4)]
}

/// Frames of 64 bytes with their check sequence to random destinations: half of them go to eight, whose
/// queues fill up.
fn frames(salt: u32) -> Vec<[u8; LENGTH]> {
    let frame = |n: u32| {
        let draw = mix32(n ^ mix32(salt));
        let host = if draw.is_multiple_of(2) { draw / 2 % 8 } else { draw / 2 % QUEUES };
        let mut frame = [0u8; LENGTH];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00]);
        frame[14..24].copy_from_slice(&[0x45, 2, 0, 46, 0, 0, 0, 0, 64, 6]);
        frame[30..34].copy_from_slice(&(0x0a00_0000 + host).to_be_bytes());
        frame
    };
    (0..FRAMES as u32).map(frame).collect()
}

fn queue() -> VirtualQueue {
    VirtualQueue::new(RATE.pace(), CAPACITY)
}

fn pipeline<D: Discipline, L: Levels>(
    levels: L,
    mut discipline: impl FnMut(u32) -> D,
) -> Pipeline<ByDestination, D, L> {
    let entries = (0..QUEUES).map(|at| Entry::new(queue(), discipline(at))).collect();
    let mut classifier = ByDestination::new(QUEUES, (32, 128));
    for host in 0..QUEUES {
        classifier.queue_of(std::net::Ipv4Addr::from(0x0a00_0000 + host).into());
    }
    Pipeline::new(classifier, entries, levels, slotline_bump::pipeline::FRAMING)
}

/// Seconds of CPU time for one frame, the best of five parts; and the share of frames that are marked.
fn measure<D: Discipline, L: Levels>(
    pipeline: &mut Pipeline<ByDestination, D, L>,
    rounds: u32,
    salt: u32,
) -> (f64, f64) {
    let mut frames = frames(salt);
    let mut now = Time::ZERO;
    let mut part = |rounds: u32| {
        let began = usage::thread_cpu_s();
        for _ in 0..rounds {
            for frame in &mut frames {
                now += GAP;
                // What was marked is capable again, so that each time is like the first.
                frame[15] = 2;
                pipeline.pass(frame, LENGTH as u32, now);
            }
        }
        (usage::thread_cpu_s() - began) / (f64::from(rounds) * FRAMES as f64)
    };
    part(rounds.div_ceil(5));
    let best = (0..5).map(|_| part(rounds)).fold(f64::INFINITY, f64::min);
    let (marks, packets) = pipeline
        .counts()
        .fold((0, 0), |(marks, all), counts| (marks + counts.marks, all + counts.packets));
    (best, marks as f64 / packets.max(1) as f64)
}

/// Seconds of wall-clock time for a frame, as it is in so many batches of 32, with the threshold of DCTCP.
pub fn delays(batches: usize) -> Vec<f64> {
    const BATCH: usize = 32;
    let mut pipeline = pipeline(Own::new(QUEUES as usize), |_| threshold());
    let mut frames = frames(1);
    let mut now = Time::ZERO;
    let mut one = |at: usize| {
        let began = std::time::Instant::now();
        for n in 0..BATCH {
            now += GAP;
            let frame = &mut frames[(at * BATCH + n) % FRAMES];
            frame[15] = 2;
            pipeline.pass(frame, LENGTH as u32, now);
        }
        began.elapsed().as_secs_f64() / BATCH as f64
    };
    // The first batches fill the caches.
    (0..batches + FRAMES / BATCH).map(&mut one).skip(FRAMES / BATCH).collect()
}

fn threshold() -> Threshold {
    Threshold::new(Bytes(30_000), RATE.pace())
}

fn red(at: u32) -> Red {
    let spec = RedSpec { min: Bytes(30_000), max: Bytes(90_000), ecn: true, ..RedSpec::default() };
    Red::new(spec, RATE.pace(), 1_538, Stream::named(1, "bench.red", at.into()))
}

impl Case {
    /// Passes so many times 4,096 frames, five times.
    pub fn run(self, rounds: u32) -> Vec<Row> {
        let queues = QUEUES as usize;
        let ((seconds, marked), threads) = match self {
            Case::Dctcp => {
                (measure(&mut pipeline(Own::new(queues), |_| threshold()), rounds, 1), 1)
            }
            Case::Red => (measure(&mut pipeline(Own::new(queues), red), rounds, 1), 1),
            Case::Ebpf => {
                let object = wrap(&ebpf::threshold(30_000), SECTION);
                let program = ebpf::load(&object).expect("the example program is sound");
                let discipline = |at: u32| {
                    let rng = Stream::named(1, "bench.ebpf", at.into());
                    EbpfDiscipline::new(program.clone(), RATE, CAPACITY, rng)
                };
                (measure(&mut pipeline(Own::new(queues), discipline), rounds, 1), 1)
            }
            Case::SharedTable(threads) => (side_by_side(threads, rounds), threads),
        };
        let row = |name: &str, value: f64, unit: &str| Row {
            name: format!("bump/{name}"),
            scenario: format!("{QUEUES} queues, 64-byte frames"),
            scheme: self.name().into(),
            threads,
            value,
            unit: unit.into(),
        };
        vec![
            row("per_packet", seconds * 1e9, "ns"),
            row("rate", f64::from(threads) / seconds / 1e6, "million/s"),
            row("marked", marked * 100.0, "%"),
        ]
    }

    /// As results have it.
    pub fn name(self) -> &'static str {
        match self {
            Case::Dctcp => "dctcp",
            Case::Red => "red",
            Case::Ebpf => "ebpf",
            Case::SharedTable(_) => "dctcp, shared table",
        }
    }
}

/// Pipelines on threads of their own that share one table. The CPU time of the slowest counts.
fn side_by_side(threads: u32, rounds: u32) -> (f64, f64) {
    let shared = Shared::new(QUEUES as usize);
    let one = |salt: u32| {
        let levels = shared.clone();
        move || measure(&mut pipeline(levels, |_| threshold()), rounds, salt)
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (1..=threads).map(|salt| scope.spawn(one(salt))).collect();
        let done = running.into_iter().map(|thread| thread.join().unwrap_or((f64::NAN, 0.0)));
        done.fold((0.0, 0.0), |(slowest, marked), (seconds, share)| {
            (seconds.max(slowest), marked + share / f64::from(threads))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_cost_and_marks_some() {
        for case in cases() {
            let rows = case.run(2);
            assert!(rows[0].value > 0.0, "{case:?}");
            assert!(rows[2].value >= 0.0 && rows[2].value < 100.0, "{case:?}");
        }
    }
}
