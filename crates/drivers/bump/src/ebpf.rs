//! Disciplines that are eBPF programs. `bpf/slotline_bump.h` declares the interface in C.

use crate::guard::Guarded;
use crate::link::{Linked, LoadError, link};
use crate::maps::Store;
use crate::memory::{Frame, Memory, PACKET};
use crate::object::SECTION;
use crate::vm::{Machine, Program, Trap};
use slotline_net::aqm::{
    self, Arrival, Discipline, Failure, Feedback, Guest, ObjectSpec, QueueParams, Verdict,
};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, InverseRate, Rate};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The size of the context in bytes.
const CONTEXT: usize = 192;
/// The offset of the state of the program in the context. The state persists between packets.
const STATE: usize = 64;

/// The return values of the program.
mod answer {
    pub const PASS: u64 = 0;
    pub const MARK: u64 = 1;
    pub const DROP: u64 = 2;
    /// The low six bits contain the quantised feedback.
    pub const NOTIFY: u64 = 0x100;
}

/// The discipline of an object file, for all virtual queues of a bump: the program, and the maps and variables
/// that the queues share, as all packets of a network card share them in Linux. Clones share them, too.
#[derive(Clone, Debug)]
pub struct Loaded {
    program: Arc<Program>,
    store: Option<Arc<Mutex<Store>>>,
    /// The maps and variables before the first packet.
    fresh: Arc<Store>,
    maps: Vec<(String, usize)>,
    file: Arc<[u8]>,
    instructions: u32,
}

impl Loaded {
    /// The entries of the map `name`, sorted by key; `None` if the program uses no map of this name.
    pub fn map(&self, name: &str) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let (_, number) = self.maps.iter().find(|(known, _)| known == name)?;
        Some(lock(self.store.as_ref()?).entries(*number))
    }

    /// The names of the maps.
    pub fn maps(&self) -> impl Iterator<Item = &str> {
        self.maps.iter().map(|(name, _)| name.as_str())
    }

    /// Sets the limit of instructions for one packet. The default is 10,000.
    pub fn limited(self, instructions: u32) -> Loaded {
        Loaded { instructions, ..self }
    }
}

impl aqm::Program for Loaded {
    fn source(&self) -> &[u8] {
        &self.file
    }

    fn unshared(&self) -> Arc<dyn aqm::Program> {
        let store = self.store.is_some().then(|| Arc::new(Mutex::new((*self.fresh).clone())));
        Arc::new(Loaded { store, ..self.clone() })
    }

    fn discipline(&self, queue: QueueParams) -> Box<dyn Guest> {
        let QueueParams { pace, capacity, rng, .. } = queue;
        Box::new(EbpfDiscipline::new(self.clone(), pace.rate(), capacity, rng))
    }
}

/// Locks the store. A panic of another thread leaves valid bytes, so a poisoned lock is accepted.
fn lock(store: &Mutex<Store>) -> MutexGuard<'_, Store> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads the discipline of an object file.
///
/// # Errors
/// [`LoadError`]: the object file or the program is not valid.
pub fn load(file: &[u8]) -> Result<Loaded, LoadError> {
    let Linked { program, store, maps } = link(file, SECTION)?;
    let fresh = Arc::new(store);
    let store = (!fresh.is_empty()).then(|| Arc::new(Mutex::new((*fresh).clone())));
    let (program, file) = (Arc::new(program), file.into());
    Ok(Loaded { program, store, fresh, maps, file, instructions: ObjectSpec::INSTRUCTIONS })
}

/// The discipline of one queue. After its program was stopped, the packets of the queue pass.
#[derive(Clone, Debug)]
pub struct EbpfDiscipline {
    loaded: Loaded,
    context: [u8; CONTEXT],
    rng: Stream,
    trap: Option<Trapped>,
}

/// A stopped program: when and why, and the number of packets since.
#[derive(Clone, Copy, Debug)]
struct Trapped {
    at: Time,
    trap: Trap,
    unjudged: u64,
}

impl EbpfDiscipline {
    /// A queue that drains at `rate` and holds `capacity`; its state is all zeros.
    pub fn new(loaded: Loaded, rate: Rate, capacity: Bytes, rng: Stream) -> EbpfDiscipline {
        let mut context = [0; CONTEXT];
        context[16..24].copy_from_slice(&capacity.0.to_le_bytes());
        context[24..32].copy_from_slice(&rate.0.to_le_bytes());
        context[48..56].copy_from_slice(&PACKET.to_le_bytes());
        EbpfDiscipline { loaded, context, rng, trap: None }
    }

    /// The reason why the program was stopped, if it was.
    pub fn trap(&self) -> Option<Trap> {
        self.trap.map(|trapped| trapped.trap)
    }

    fn run(&mut self, arrival: &Arrival, frame: &[u8]) -> Result<u64, Trap> {
        let now_ns = arrival.now.as_ns();
        let idle = arrival.backlog.idle_since.map_or(0, |since| arrival.now.since(since).as_ns());
        let context = &mut self.context;
        context[0..8].copy_from_slice(&now_ns.to_le_bytes());
        context[8..16].copy_from_slice(&arrival.bytes().to_le_bytes());
        context[32..36].copy_from_slice(&arrival.len.to_le_bytes());
        context[36..40].copy_from_slice(&u32::from(arrival.ect).to_le_bytes());
        context[40..48].copy_from_slice(&idle.to_le_bytes());
        context[56..64].copy_from_slice(&(PACKET + frame.len() as u64).to_le_bytes());
        let (mut none, mut held) = (Store::default(), self.loaded.store.as_deref().map(lock));
        let store = held.as_deref_mut().unwrap_or(&mut none);
        let memory = Memory { context, writable: STATE, frame: Frame::Read(frame), store };
        let mut machine = Machine { memory, now_ns, fuel: self.loaded.instructions };
        let rng = &mut self.rng;
        self.loaded.program.run(&mut machine, &mut || rng.bits() as u32)
    }
}

impl Discipline for EbpfDiscipline {
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        self.arrive_with(arrival, &[])
    }

    fn arrive_with(&mut self, arrival: &Arrival, frame: &[u8]) -> Verdict {
        if let Some(trapped) = &mut self.trap {
            trapped.unjudged += 1;
            return Verdict::Pass;
        }
        match self.run(arrival, frame) {
            Ok(answer::MARK) if arrival.ect => Verdict::Mark,
            // A packet that cannot be marked is dropped instead (RFC 3168).
            Ok(answer::MARK | answer::DROP) => Verdict::Drop,
            Ok(answer) if answer & !0x3f == answer::NOTIFY && answer & 0x3f > 0 => {
                Verdict::Notify(Feedback {
                    quantised: (answer & 0x3f) as u8,
                    ..Feedback::default()
                })
            }
            Ok(answer::PASS) => Verdict::Pass,
            // An unknown return value means that the packet passes.
            Ok(_) => Verdict::Pass,
            Err(trap) => {
                self.trap = Some(Trapped { at: arrival.now, trap, unjudged: 1 });
                Verdict::Pass
            }
        }
    }

    fn set_pace(&mut self, pace: InverseRate) {
        self.context[24..32].copy_from_slice(&pace.rate().0.to_le_bytes());
    }

    fn failure(&self) -> Option<Failure> {
        let Trapped { at, trap, unjudged } = self.trap?;
        Some(Failure { at, why: trap.to_string(), unjudged })
    }
}

/// The discipline of a file with a guard against panics.
pub type GuardedEbpf = Guarded<EbpfDiscipline>;

/// The threshold of DCTCP as instructions, for tests without a compiler: `bpf/dctcp.c`, assembled by hand. It
/// marks packets if the queue holds more than `bytes`.
pub fn threshold(bytes: u32) -> Vec<u8> {
    let [a, b, c, d] = bytes.to_le_bytes();
    [
        [0xb7, 0x00, 0, 0, 0, 0, 0, 0],  // r0 = 0
        [0x79, 0x12, 8, 0, 0, 0, 0, 0],  // r2 = queue_bytes
        [0xb7, 0x03, 0, 0, a, b, c, d],  // r3 = threshold
        [0xbd, 0x32, 1, 0, 0, 0, 0, 0],  // if r2 <= r3 goto out
        [0x61, 0x10, 36, 0, 0, 0, 0, 0], // r0 = ect: 1 is a mark
        [0x95, 0x00, 0, 0, 0, 0, 0, 0],  // out: return r0
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::wrap;
    use slotline_net::aqm::{Program, Threshold, VirtualQueue};

    const GBPS: Rate = Rate(1_000_000_000);

    fn discipline(code: &[u8]) -> EbpfDiscipline {
        let program = load(&wrap(code, SECTION)).unwrap_or_else(|why| panic!("{why}"));
        EbpfDiscipline::new(program, GBPS, Bytes(100_000), Stream::named(1, "test", 0))
    }

    /// The program against the same discipline in Rust, on bursts.
    #[test]
    fn the_threshold_marks_what_the_one_in_rust_marks() {
        let mut program = discipline(&threshold(30_000));
        let mut queue = VirtualQueue::new(GBPS.inverse_rate(), Bytes(100_000));
        let mut native = Threshold::new(Bytes(30_000), GBPS.inverse_rate());
        let mut marks = 0;
        for n in 0..5_000u64 {
            let now = Time::us(n / 60 * 720 + n % 60);
            let arrival = queue.arrival(1500, n % 3 != 0, now);
            let verdict = program.arrive(&arrival);
            // The program compares bytes, which are rounded down. At exactly the threshold the two may therefore
            // differ.
            let edge = arrival.bytes() == 30_000;
            assert!(edge || verdict == Discipline::arrive(&mut native, &arrival), "{n}");
            marks += u32::from(verdict == Verdict::Mark);
            queue.add(1500, now);
        }
        assert!(marks > 500 && program.trap().is_none(), "{marks}");
    }

    #[test]
    fn state_persists_and_belongs_to_one_queue() {
        // r2 = state[0] + 1; state[0] = r2; r0 = r2 > 3 ? 2 : 0
        let code = [
            [0x79, 0x12, 64, 0, 0, 0, 0, 0],
            [0x07, 0x02, 0, 0, 1, 0, 0, 0],
            [0x7b, 0x21, 64, 0, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 0, 0, 0, 0],
            [0xb5, 0x02, 1, 0, 3, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 2, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let mut first = discipline(&code);
        let mut second = first.clone();
        let queue = VirtualQueue::new(GBPS.inverse_rate(), Bytes(100_000));
        let arrival = queue.arrival(100, false, Time::us(1));
        let drops = |discipline: &mut EbpfDiscipline, count: usize| {
            (0..count).filter(|_| discipline.arrive(&arrival) == Verdict::Drop).count()
        };
        assert_eq!(drops(&mut first, 10), 7);
        assert_eq!(drops(&mut second, 4), 1);
    }

    /// An endless loop, an access out of bounds or a missing map stops the program, and packets pass from then on.
    #[test]
    fn an_invalid_operation_stops_a_program_permanently() {
        let queue = VirtualQueue::new(GBPS.inverse_rate(), Bytes(100_000));
        let arrival = queue.arrival(100, false, Time::us(1));
        let endless = [0x05, 0, 0xff, 0xff, 0, 0, 0, 0];
        let reads = [0x79, 0x10, 192, 0, 0, 0, 0, 0];
        let writes = [0x7b, 0x11, 8, 0, 0, 0, 0, 0];
        let maps = [0x85, 0, 0, 0, 1, 0, 0, 0];
        for first in [endless, reads, writes, maps] {
            let code = [first, [0x95, 0, 0, 0, 0, 0, 0, 0]].concat();
            let mut program = discipline(&code);
            assert_eq!(program.arrive(&arrival), Verdict::Pass);
            assert!(program.trap().is_some(), "{first:?}");
            assert_eq!(program.arrive(&arrival), Verdict::Pass);
            let failure = program.failure().unwrap();
            assert_eq!((failure.at, failure.unjudged), (Time::us(1), 2));
        }
    }

    /// r2 = 500; loop: r2 -= 1; if r2 != 0 goto loop; r0 = 2: 1,003 instructions with the end.
    #[test]
    fn the_limit_of_instructions_is_exact() {
        let code = [
            [0xb7, 0x02, 0, 0, 0xf4, 1, 0, 0],
            [0x17, 0x02, 0, 0, 1, 0, 0, 0],
            [0x55, 0x02, 0xfe, 0xff, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 2, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let file = load(&wrap(&code, SECTION)).unwrap();
        let arrival =
            VirtualQueue::new(GBPS.inverse_rate(), Bytes(9)).arrival(100, false, Time::us(1));
        for (instructions, verdict) in [(1_003, Verdict::Drop), (1_002, Verdict::Pass)] {
            let (pace, capacity, mtu) = (GBPS.inverse_rate(), Bytes(100_000), 1_500);
            let rng = Stream::named(1, "test", 0);
            let limited = file.clone().limited(instructions).unshared();
            let mut one = limited.discipline(QueueParams { pace, capacity, mtu, rng });
            assert_eq!(one.arrive(&arrival), verdict, "{instructions}");
            assert_eq!(one.failure().is_some(), verdict == Verdict::Pass);
        }
    }

    /// r0 = rate_bps == 3,000,000,000 ? 2 : 0 (a rate whose time per byte is no whole number).
    #[test]
    fn a_program_gets_a_changed_rate() {
        let code = [
            [0x79, 0x12, 24, 0, 0, 0, 0, 0],
            [0x18, 0x03, 0, 0, 0, 0x5e, 0xd0, 0xb2],
            [0, 0, 0, 0, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 0, 0, 0, 0],
            [0x5d, 0x32, 1, 0, 0, 0, 0, 0],
            [0xb7, 0x00, 0, 0, 2, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        let mut one = discipline(&code);
        let arrival =
            VirtualQueue::new(GBPS.inverse_rate(), Bytes(9)).arrival(100, false, Time::us(1));
        assert_eq!(one.arrive(&arrival), Verdict::Pass);
        one.set_pace(Rate(3_000_000_000).inverse_rate());
        assert_eq!(one.arrive(&arrival), Verdict::Drop);
    }
}
