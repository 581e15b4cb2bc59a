//! The eBPF machine, and object files with programs.

use crate::corpus::objects;
use crate::mutate::mutated;
use crate::random::{Draw, stream_of};
use crate::scenarios::law;
use slotline_bump::ebpf::{EbpfDiscipline, load, threshold};
use slotline_bump::maps::{MapKind, MapSpec, Store};
use slotline_bump::memory::{Frame, Memory, address_of, handle_of};
use slotline_bump::object::{SECTION, wrap};
use slotline_bump::vm::{Machine, Program, Trap};
use slotline_net::aqm::{Discipline, VirtualQueue};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

/// Operations that exist.
const CODES: [u8; 28] = [
    0x07, 0x0f, 0x17, 0x1f, 0x2f, 0x37, 0x3f, 0x47, 0x57, 0x61, 0x62, 0x69, 0x6f, 0x71, 0x79, 0x7b,
    0x7f, 0x85, 0x91, 0x97, 0x9f, 0xb4, 0xb7, 0xbf, 0xcf, 0xd4, 0xdb, 0xdc,
];
const JUMPS: [u8; 10] = [0x05, 0x06, 0x15, 0x1d, 0x25, 0x2d, 0x55, 0x65, 0xa6, 0xd5];
const RETURN: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];
const FUEL: u32 = 3_000;
/// Bytes of the context that a program can only read.
const READ_ONLY: usize = 16;

/// A random program, or one that was mutated.
pub(crate) fn program(rng: &mut Stream) -> Vec<u8> {
    if rng.once_in(5) {
        let seed = threshold(rng.bits() as u32);
        return mutated(rng, &seed, &seed);
    }
    let count = 1 + rng.length(60);
    let mut code: Vec<u8> = (0..count).flat_map(|at| instruction(rng, at, count)).collect();
    code.extend(RETURN);
    if rng.once_in(10) { mutated(rng, &code, &RETURN) } else { code }
}

/// One operation, mostly one that exists.
fn instruction(rng: &mut Stream, at: usize, count: usize) -> Vec<u8> {
    let code = match rng.index(12) {
        0 => rng.bits() as u8,
        1 => 0x18,
        2 | 3 => *rng.pick(&JUMPS),
        _ => *rng.pick(&CODES),
    };
    let registers = (rng.index(11) as u8) << 4 | rng.index(10) as u8;
    let jump = rng.index(count + 1) as i16 - at as i16 - 1;
    let offset =
        if JUMPS.contains(&code) { jump } else { *rng.pick(&[0, 0, 1, 8, 16, 64, -8, -512, 511]) };
    let value = immediate(rng, code);
    let registers = match code {
        0x85 => registers & 0x10,
        0x18 => registers & 0x0f,
        _ => registers,
    };
    let half = |high: u8, value: i32| {
        let ([a, b], [c, d, e, f]) = (offset.to_le_bytes(), value.to_le_bytes());
        [high, registers, a, b, c, d, e, f]
    };
    match code {
        0x18 => {
            let [a, b, c, d] = ((value >> 32) as i32).to_le_bytes();
            [half(code, value as i32), [0, 0, 0, 0, a, b, c, d]].concat()
        }
        _ => half(code, value as i32).to_vec(),
    }
}

/// A value: the number of a helper, an atomic operation, a valid address, or any number.
fn immediate(rng: &mut Stream, code: u8) -> i64 {
    match code {
        0x85 => *rng.pick(&[1, 2, 3, 5, 7, 8, 8, -1, 4]),
        0xdb => *rng.pick(&[0, 1, 0x40, 0x41, 0x50, 0xa1, 0xe1, 0xf1]),
        0xd4 | 0xdc => *rng.pick(&[16, 32, 64]),
        0x18 => {
            let address = match rng.index(4) {
                0 => rng.below(4) << 24 | rng.below(40),
                1 => address_of(rng.index(4), rng.index(64)),
                2 => handle_of(rng.index(4)),
                _ => rng.bits(),
            };
            address as i64
        }
        _ => (rng.bits() as i64) >> rng.index(64),
    }
}

/// The state after a program has ended.
#[derive(PartialEq, Debug)]
struct Left {
    ended: Result<u64, Trap>,
    context: [u8; 64],
    constants: Vec<u8>,
    entries: usize,
}

fn run(program: &Program, fuel: u32) -> Left {
    let (mut context, packet, mut store) = ([7u8; 64], [0xaa; 60], Store::default());
    store.add_map(MapSpec { kind: MapKind::Hash, key: 4, value: 8, entries: 3 });
    store.add_map(MapSpec { kind: MapKind::Array, key: 4, value: 12, entries: 2 });
    let constants = store.add_variables(vec![0x55; 24], false);
    store.add_variables(vec![0; 24], true);
    let frame = Frame::Read(&packet);
    let memory = Memory { context: &mut context, writable: READ_ONLY, frame, store: &mut store };
    let mut machine = Machine { memory, now_ns: 5, fuel };
    let mut random = 0u32;
    let ended = program.run(&mut machine, &mut || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random
    });
    let entries = store.entries(0).len();
    let constants = store.bytes(constants, 0).unwrap_or_default().to_vec();
    Left { ended, context, constants, entries }
}

/// An accepted program ends within its limit, writes only to writable memory, and has the same result each time.
pub(crate) fn judge_program(input: &[u8]) -> Result<(), String> {
    let program = match Program::new(input) {
        Ok(program) => program,
        Err(why) => return law(!why.why.is_empty(), || "refused without a reason".into()),
    };
    let left = run(&program, FUEL);
    let kept = left.context[..READ_ONLY].iter().all(|byte| *byte == 7);
    law(kept, || "it has written to read-only memory".into())?;
    law(left.constants == [0x55; 24], || "it has written to constants".into())?;
    law(left.entries <= 3, || format!("a map of 3 entries has {}", left.entries))?;
    law(run(&program, FUEL) == left, || "its result differs the second time".into())?;
    match left.ended {
        Err(Trap::TooLong) => Ok(()),
        _ => {
            law(run(&program, 2 * FUEL) == left, || "its result differs with a higher limit".into())
        }
    }
}

/// A mutated object file.
pub(crate) fn object(rng: &mut Stream) -> Vec<u8> {
    if rng.once_in(6) {
        let code = program(rng);
        return mutated(rng, &wrap(&code, SECTION), &code);
    }
    let (seed, other) = (rng.pick(objects()), rng.pick(objects()));
    mutated(rng, &seed.bytes, &other.bytes)
}

/// An object file is refused with a reason, or its program handles every packet.
pub(crate) fn judge_object(input: &[u8]) -> Result<(), String> {
    let loaded = match load(input) {
        Ok(loaded) => loaded.limited(FUEL),
        Err(why) => return law(!why.to_string().is_empty(), || "refused without a reason".into()),
    };
    let names: Vec<String> = loaded.maps().map(str::to_string).collect();
    let (rate, capacity) = (Rate(1_000_000_000), Bytes(100_000));
    let mut discipline =
        EbpfDiscipline::new(loaded.clone(), rate, capacity, Stream::named(1, "fuzz.object", 0));
    let mut queue = VirtualQueue::new(rate.inverse_rate(), capacity);
    let mut rng = stream_of(input, "fuzz.frames");
    for at in 0..20 {
        let now = Time::us(at * 3);
        let arrival = queue.arrival(60 + rng.below(1_440) as u32, rng.once_in(2), now);
        let length = rng.length(100);
        discipline.arrive_with(&arrival, &rng.noise(length));
        queue.add(1_500, now);
    }
    let stopped = discipline.trap().is_some();
    law(stopped == discipline.failure().is_some(), || "a stopped program is not reported".into())?;
    law(names.iter().all(|name| loaded.map(name).is_some()), || "a map is missing".into())
}
