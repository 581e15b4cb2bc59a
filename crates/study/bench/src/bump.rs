//! The cost of a bump: minimum-size frames pass through classification, estimate and a discipline, with 1,024 virtual
//! queues. CPU time of a thread is measured, so that other load of the machine has little effect. For several threads
//! that share a table, the number of frames per time is measured, too.

use crate::Row;
use slotline_bump::object::{SECTION, wrap};
use slotline_bump::pipeline::FRAMING;
use slotline_bump::{ByDestination, EbpfDiscipline, Levels, Own, Pipeline, Shared, ebpf};
use slotline_lab::usage;
use slotline_net::aqm::bank::{Counts, Entry};
use slotline_net::aqm::spec::RedSpec;
use slotline_net::aqm::{Discipline, Red, Threshold, VirtualQueue};
use slotline_net::rng::{Stream, mix32};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use std::sync::Barrier;
use std::time::Instant;

/// The number of virtual queues.
const QUEUES: u32 = 1_024;
/// The rate of each queue's link.
const RATE: Rate = Rate(1_000_000_000);
/// The capacity of each queue.
const CAPACITY: Bytes = Bytes(150_000);
/// The number of frames in memory, which pass again and again.
const FRAMES: usize = 4_096;
/// Bytes of a frame without check sequence.
const LENGTH: usize = 60;
/// The time between frames: 28 million frames per second.
const GAP: Time = Time::ps(35_700);

/// The largest amount of a shared queue that a pipeline may leave unpublished: three packets of 1,500 bytes on the
/// wire. NetBump's distributed estimates have this error or less for 90 % of the time (5.5.2).
pub const SLACK: Bytes = Bytes(4_614);
/// The number of measurements of pipelines on several threads. Each is so short that some of them are undisturbed.
const PARTS: u32 = 40;

/// One case of the benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// The threshold of DCTCP.
    Dctcp,
    /// Random early detection.
    Red,
    /// The threshold as an eBPF program.
    Ebpf,
    /// The threshold with a table that this number of threads share, with [`SLACK`].
    SharedTable(u32),
    /// The same with a slack of zero.
    ExactTable(u32),
}

/// The cases of `slotline bench bump`.
pub fn cases() -> Vec<Case> {
    use Case::*;
    let alone = [Dctcp, Red, Ebpf];
    let shared = [SharedTable(1), SharedTable(2), SharedTable(4), ExactTable(1), ExactTable(2)];
    [&alone[..], &shared].concat()
}

/// The destination of the `n`th frame. Half of the frames go to eight hosts, whose queues fill up.
fn host(n: u32, salt: u32) -> u32 {
    let draw = mix32(n ^ mix32(salt));
    if draw.is_multiple_of(2) { draw / 2 % 8 } else { draw / 2 % QUEUES }
}

/// Frames of 64 bytes with their check sequence to random destinations.
fn frames(salt: u32) -> Vec<[u8; LENGTH]> {
    let frame = |n: u32| {
        let host = host(n, salt);
        let mut frame = [0u8; LENGTH];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00]);
        frame[14..24].copy_from_slice(&[0x45, 2, 0, 46, 0, 0, 0, 0, 64, 6]);
        frame[30..34].copy_from_slice(&(0x0a00_0000 + host).to_be_bytes());
        frame
    };
    (0..FRAMES as u32).map(frame).collect()
}

fn queue() -> VirtualQueue {
    VirtualQueue::new(RATE.inverse_rate(), CAPACITY)
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
    Pipeline::new(classifier, entries, levels, FRAMING)
}

/// A pipeline and the frames that pass it.
struct Load<D, L> {
    pipeline: Pipeline<ByDestination, D, L>,
    frames: Vec<[u8; LENGTH]>,
}

/// The time at which a number of frames passed, and the CPU time of that.
#[derive(Clone, Copy)]
struct Span {
    began: Instant,
    ended: Instant,
    cpu_s: f64,
}

impl<D: Discipline, L: Levels> Load<D, L> {
    fn new(pipeline: Pipeline<ByDestination, D, L>, salt: u32) -> Load<D, L> {
        Load { pipeline, frames: frames(salt) }
    }

    /// Passes all frames `rounds` times, in the `nth` span of that length.
    fn pass(&mut self, rounds: u32, nth: u32) -> Span {
        let frames = u64::from(rounds) * FRAMES as u64;
        let mut now = Time::ps(GAP.as_ps() * frames * u64::from(nth));
        let (began, cpu_s) = (Instant::now(), usage::thread_cpu_s());
        for _ in 0..rounds {
            for frame in &mut self.frames {
                now += GAP;
                // A marked frame becomes ECN-capable again, so that all passes are alike.
                frame[15] = 2;
                self.pipeline.pass(frame, LENGTH as u32, now);
            }
        }
        Span { cpu_s: usage::thread_cpu_s() - cpu_s, began, ended: Instant::now() }
    }

    /// The share of frames that were marked.
    fn marked(&self) -> f64 {
        let sum = |(marks, all), counts: Counts| (marks + counts.marks, all + counts.packets);
        let (marks, packets) = self.pipeline.counts().fold((0, 0), sum);
        marks as f64 / packets.max(1) as f64
    }
}

/// Seconds of CPU time per frame, the best of five parts, and the share of marked frames.
fn measure<D: Discipline, L: Levels>(
    pipeline: Pipeline<ByDestination, D, L>,
    rounds: u32,
) -> Measured {
    let mut load = Load::new(pipeline, 1);
    load.pass(rounds.div_ceil(5), 0);
    let best = (1..=5).map(|nth| load.pass(rounds, nth).cpu_s).fold(f64::INFINITY, f64::min);
    let per_frame = best / (f64::from(rounds) * FRAMES as f64);
    Measured { cpu_s: per_frame, frames_per_s: 1.0 / per_frame, marked: load.marked(), times: None }
}

/// Frames in a batch of [`delays`].
pub const BATCH: usize = 32;

/// Seconds of wall-clock time per frame in each batch, with the threshold of DCTCP.
pub fn delays(batches: usize) -> Vec<f64> {
    let mut pipeline = pipeline(Own::new(QUEUES as usize), |_| threshold());
    let mut frames = frames(1);
    let mut now = Time::ZERO;
    let mut one = |at: usize| {
        let began = Instant::now();
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
    Threshold::new(Bytes(30_000), RATE.inverse_rate())
}

fn red(at: u32) -> Red {
    let spec = RedSpec { min: Bytes(30_000), max: Bytes(90_000), ecn: true, ..RedSpec::default() };
    Red::new(spec, RATE.inverse_rate(), 1_538, Stream::named(1, "bench.red", at.into()))
}

/// The result of a case.
struct Measured {
    /// CPU time per frame of the slowest thread.
    cpu_s: f64,
    /// Frames per second of all threads.
    frames_per_s: f64,
    /// The share of frames that were marked.
    marked: f64,
    /// The frame rate of all threads divided by that of one thread that has the table for itself.
    times: Option<f64>,
}

impl Case {
    /// Passes 4,096 frames `rounds` times, in each of five parts.
    pub fn run(self, rounds: u32) -> Vec<Row> {
        let queues = QUEUES as usize;
        let own = || Own::new(queues);
        let (measured, threads) = match self {
            Case::Dctcp => (measure(pipeline(own(), |_| threshold()), rounds), 1),
            Case::Red => (measure(pipeline(own(), red), rounds), 1),
            Case::Ebpf => {
                let object = wrap(&ebpf::threshold(30_000), SECTION);
                let program = ebpf::load(&object).expect("the example program is sound");
                let discipline = |at: u32| {
                    let rng = Stream::named(1, "bench.ebpf", at.into());
                    EbpfDiscipline::new(program.clone(), RATE, CAPACITY, rng)
                };
                (measure(pipeline(own(), discipline), rounds), 1)
            }
            Case::SharedTable(threads) => (side_by_side(threads, SLACK, rounds), threads),
            Case::ExactTable(threads) => (side_by_side(threads, Bytes(0), rounds), threads),
        };
        self.rows(&measured, threads)
    }

    fn rows(self, measured: &Measured, threads: u32) -> Vec<Row> {
        let row = |name: &str, value: f64, unit: &str| Row {
            name: format!("bump/{name}"),
            scenario: format!("{QUEUES} queues, 64-byte frames"),
            scheme: self.name().into(),
            threads,
            value,
            unit: unit.into(),
        };
        let mut rows = vec![
            row("per_packet", measured.cpu_s * 1e9, "ns"),
            row("rate", measured.frames_per_s / 1e6, "million/s"),
            row("marked", measured.marked * 100.0, "%"),
        ];
        rows.extend(measured.times.map(|times| row("times_one", times, "times")));
        if let Case::SharedTable(threads @ 2..) = self {
            let (mean, most) = error(threads, 100);
            rows.extend([row("error_mean", mean, "B"), row("error_most", most as f64, "B")]);
        }
        rows
    }

    /// The name of the case in results.
    pub fn name(self) -> &'static str {
        match self {
            Case::Dctcp => "dctcp",
            Case::Red => "red",
            Case::Ebpf => "ebpf",
            Case::SharedTable(_) => "dctcp, shared table",
            Case::ExactTable(_) => "dctcp, exact table",
        }
    }
}

/// The mean and the largest difference, in bytes, between the estimates of several pipelines and the real queues.
/// Pipelines take turns to let their frames pass.
fn error(threads: u32, rounds: u32) -> (f64, u64) {
    let (queue, len) = (queue(), LENGTH as u32 + FRAMING);
    let mut levels = Shared::among(threads as usize, QUEUES as usize, SLACK);
    // Frames that have passed are in the queue, whatever its capacity.
    let endless = VirtualQueue::new(RATE.inverse_rate(), Bytes(u32::MAX.into()));
    let mut real = vec![endless; QUEUES as usize];
    let (mut sum, mut most) = (0, 0);
    let packets = rounds * FRAMES as u32 * threads;
    for n in 0..packets {
        let (thread, nth) = (n % threads, n / threads);
        let now = Time::ps(GAP.as_ps() * u64::from(n) / u64::from(threads));
        let at = host(nth % FRAMES as u32, thread + 1) as usize;
        let own = &mut levels[thread as usize];
        let estimate = RATE.inverse_rate().bytes_in(own.level(at, &queue, now).since(now));
        let off = estimate.abs_diff(real[at].bytes(now));
        (sum, most) = (sum + off, off.max(most));
        if own.fill(at, &queue, len, now) {
            real[at].add(len, now);
        }
    }
    (sum as f64 / f64::from(packets.max(1)), most)
}

/// For each turn, the span in which the first pipeline ran alone, and the span in which all ran together.
type Turns = Vec<(Option<Span>, Span)>;

/// Pipelines on their own threads and processors share one table, repeatedly; in between, the first one runs alone. The
/// measured time is from the earliest start to the latest end, in the best turn. If a thread has to wait for its
/// processor, this time is longer, so threads that do not really run in parallel do not look fast.
fn side_by_side(threads: u32, slack: Bytes, rounds: u32) -> Measured {
    let barrier = Barrier::new(threads as usize);
    let rounds = (rounds * 5).div_ceil(PARTS);
    let one = |thread: u32, levels: Shared| {
        usage::stay_on(thread as usize);
        let mut load = Load::new(pipeline(levels, |_| threshold()), thread + 1);
        let mut turn = |nth: u32| {
            let alone = (thread == 0).then(|| load.pass(rounds, 2 * nth));
            barrier.wait();
            let all = load.pass(rounds, 2 * nth + 1);
            barrier.wait();
            (alone, all)
        };
        let turns: Turns = (0..=PARTS).map(&mut turn).collect();
        (turns, load.marked())
    };
    let done: Vec<(Turns, f64)> = std::thread::scope(|scope| {
        let spawn = |(thread, levels)| {
            let one = &one;
            scope.spawn(move || one(thread, levels))
        };
        let levels = Shared::among(threads as usize, QUEUES as usize, slack);
        let running: Vec<_> = (0..threads).zip(levels).map(spawn).collect();
        running.into_iter().map(|thread| thread.join().expect("frames pass")).collect()
    });
    combined(&done, f64::from(rounds) * FRAMES as f64)
}

/// The best turn of pipelines that each passed `frames` frames in a turn. The first turn fills caches and does not
/// count.
fn combined(done: &[(Turns, f64)], frames: f64) -> Measured {
    let threads = done.len() as f64;
    let wall = |began: Instant, ended: Instant| ended.duration_since(began).as_secs_f64();
    let alone = done.iter().flat_map(|(turns, _)| turns.iter().skip(1)).filter_map(|turn| turn.0);
    let alone = alone.map(|span| wall(span.began, span.ended)).fold(f64::INFINITY, f64::min);
    let all = |turn: usize| {
        let spans = done.iter().filter_map(|(turns, _)| turns.get(turn)).map(|turn| turn.1);
        let began = spans.clone().map(|span| span.began).min();
        let ended = spans.clone().map(|span| span.ended).max();
        let cpu_s = spans.map(|span| span.cpu_s).fold(0.0, f64::max);
        (began.zip(ended).map_or(f64::NAN, |(began, ended)| wall(began, ended)), cpu_s)
    };
    let turns = (1..=PARTS as usize).map(all);
    let best = turns.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::NAN, f64::NAN));
    Measured {
        cpu_s: best.1 / frames,
        frames_per_s: threads * frames / best.0,
        marked: done.iter().map(|(_, marked)| marked).sum::<f64>() / threads,
        times: (done.len() > 1).then_some(threads * alone / best.0),
    }
}

/// The number of times that 4,096 frames pass in each of five parts.
const ROUNDS: u32 = 500;

/// Measures all cases.
pub fn rows() -> Vec<Row> {
    cases().iter().flat_map(|case| case.run(ROUNDS)).collect()
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
            if let Case::SharedTable(threads @ 2..) = case {
                let most = f64::from(threads) * SLACK.0 as f64;
                assert!(rows[4].value > 0.0 && rows[5].value <= most + 1.0, "{case:?}");
            }
        }
    }
}
