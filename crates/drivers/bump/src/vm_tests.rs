//! Programs written as bytes, and random ones.

use super::*;
use crate::maps::{MapKind, MapSpec, Store};
use crate::memory::{Frame, PACKET, handle_of};
use proptest::prelude::*;

/// One instruction: operation, registers, offset, immediate.
fn op(code: u8, dst: u8, src: u8, off: i16, imm: i32) -> [u8; 8] {
    let ([low, high], [a, b, c, d]) = (off.to_le_bytes(), imm.to_le_bytes());
    [code, src << 4 | dst, low, high, a, b, c, d]
}

const RETURN: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

fn program(ops: &[[u8; 8]]) -> Program {
    Program::new(ops.as_flattened()).unwrap_or_else(|why| panic!("{why}"))
}

fn run_with(ops: &[[u8; 8]], context: &mut [u8], fuel: u32) -> Result<u64, Trap> {
    let (mut packet, mut store) = ([0xaa; 64], Store::default());
    let frame = Frame::Write(&mut packet);
    let memory = Memory { context, writable: 8, frame, store: &mut store };
    let mut machine = Machine { memory, now_ns: 77, fuel };
    program(ops).run(&mut machine, &mut || 0x1234_5678)
}

fn run(ops: &[[u8; 8]]) -> Result<u64, Trap> {
    run_with(ops, &mut [7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], 1_000)
}

/// `r0 = dst OP src` for a code with the register bit.
fn compute(code: u8, dst: i64, src: i64) -> u64 {
    let wide = |reg: u8, value: i64| {
        [op(0x18, reg, 0, 0, value as i32), op(0, 0, 0, 0, (value >> 32) as i32)]
    };
    let mut ops = wide(0, dst).to_vec();
    ops.extend(wide(2, src));
    ops.extend([op(code, 0, 2, 0, 0), RETURN]);
    run(&ops).unwrap()
}

proptest! {
    /// Arithmetic as RFC 9669 defines it.
    #[test]
    fn arithmetic(a: i64, b: i64) {
        let (x, y) = (a as u64, b as u64);
        prop_assert_eq!(compute(0x0f, a, b), x.wrapping_add(y));
        prop_assert_eq!(compute(0x1f, a, b), x.wrapping_sub(y));
        prop_assert_eq!(compute(0x2f, a, b), x.wrapping_mul(y));
        prop_assert_eq!(compute(0x3f, a, b), x.checked_div(y).unwrap_or(0));
        prop_assert_eq!(compute(0x9f, a, b), x.checked_rem(y).unwrap_or(x));
        prop_assert_eq!(compute(0x6f, a, b), x << (y % 64));
        prop_assert_eq!(compute(0xcf, a, b), (a >> (y % 64)) as u64);
        let (x, y) = (x as u32, y as u32);
        prop_assert_eq!(compute(0x0c, a, b), u64::from(x.wrapping_add(y)));
        prop_assert_eq!(compute(0x3c, a, b), u64::from(x.checked_div(y).unwrap_or(0)));
        prop_assert_eq!(compute(0xcc, a, b), u64::from(((x as i32) >> (y % 32)) as u32));
        prop_assert_eq!(compute(0xac, a, b), u64::from(x ^ y));
    }

    /// Comparisons: r0 = 1 where the jump is taken.
    #[test]
    fn jumps(a: i32, b: i32) {
        let jump = |code: u8| {
            run(&[
                op(0xb7, 1, 0, 0, a),
                op(code, 1, 0, 2, b),
                op(0xb7, 0, 0, 0, 0),
                RETURN,
                op(0xb7, 0, 0, 0, 1),
                RETURN,
            ]).map(|r0| r0 == 1)
        };
        let (x, y) = (i64::from(a) as u64, i64::from(b) as u64);
        prop_assert_eq!(jump(0x15), Ok(a == b));
        prop_assert_eq!(jump(0x25), Ok(x > y));
        prop_assert_eq!(jump(0xb5), Ok(x <= y));
        prop_assert_eq!(jump(0x65), Ok(a > b));
        prop_assert_eq!(jump(0xd5), Ok(a <= b));
        prop_assert_eq!(jump(0x26), Ok((a as u32) > b as u32));
        prop_assert_eq!(jump(0xc6), Ok(a < b));
        prop_assert_eq!(jump(0x45), Ok(x & y != 0));
    }

    /// Every accepted program ends and accesses its own memory only.
    #[test]
    fn random_programs_stay_in_their_memory(
        ops in prop::collection::vec((any::<u8>(), 0u8..11, 0u8..11, -8i16..8, any::<i32>()), 1..40),
        kinds in prop::collection::vec(0usize..18, 40),
    ) {
        // Mostly operations that exist.
        let codes =
            [0x0f, 0xb7, 0x61, 0x7b, 0x05, 0x1d, 0x85, 0x6f, 0x18, 0xdc, 0x3f, 0xdb, 0x91, 0xbf, 0x06, 0xd7];
        let mut bytes: Vec<u8> = Vec::new();
        for ((code, dst, src, off, imm), kind) in ops.into_iter().zip(kinds) {
            let code = codes.get(kind).copied().unwrap_or(code);
            // Calls of helpers and of the program's own functions, atomic operations, and addresses that exist.
            let imm = match code {
                0x85 if src & 1 == 1 => imm % 8,
                0x85 => imm.rem_euclid(9),
                0xdb => [0, 1, 0x41, 0xe1, 0xf1][(imm & 3) as usize],
                0xb7 | 0x18 if imm & 1 == 1 => ((imm >> 1 & 3) << 24) + (imm >> 3 & 31),
                0xb7 | 0x18 if imm & 2 == 2 => handle_of(0) as i32,
                _ => imm,
            };
            let (src, off) = match code {
                0x85 => (src & 1, 0),
                0x0f | 0xb7 | 0x6f | 0x3f | 0xbf => (src, [0, 0, 1, 8][(imm & 3) as usize]),
                0x18 => (0, off),
                _ => (src, off),
            };
            bytes.extend(op(code, dst, src, off, imm));
        }
        bytes.extend(RETURN);
        if let Ok(program) = Program::new(&bytes) {
            let (mut context, packet, mut store) = ([1u8; 32], [2u8; 20], Store::default());
            let map = MapSpec { kind: MapKind::Hash, key: 4, value: 8, entries: 3 };
            store.add_map(map);
            let frame = Frame::Read(&packet);
            let memory = Memory { context: &mut context, writable: 16, frame, store: &mut store };
            let mut machine = Machine { memory, now_ns: 1, fuel: 500 };
            let _ = program.run(&mut machine, &mut || 3);
            prop_assert_eq!(&context[..16], &[1u8; 16]);
            prop_assert!(store.entries(0).len() <= 3);
        }
    }

    #[test]
    fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Program::new(&bytes);
    }
}

#[test]
fn the_context_is_read_and_its_later_part_written() {
    let mut context = [9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let ops = [
        op(0x79, 0, 1, 0, 0),
        op(0x07, 0, 0, 0, 1),
        op(0x7b, 1, 0, 8, 0),
        op(0x63, 10, 0, -4, 0),
        op(0x61, 0, 10, -4, 0),
        RETURN,
    ];
    assert_eq!(run_with(&ops, &mut context, 100), Ok(10));
    assert_eq!(context[8..], 10u64.to_le_bytes());
    // The first eight bytes are for reading only.
    let trap = run(&[op(0x7b, 1, 0, 0, 0), RETURN]);
    assert_eq!(trap, Err(Trap::Memory { at: 0, address: CONTEXT, size: 8 }));
}

#[test]
fn bounds_hold_at_every_edge() {
    let load = |off: i16, code: u8| run(&[op(code, 0, 1, off, 0), RETURN]);
    assert_eq!(load(15, 0x71), Ok(8));
    assert_eq!(load(12, 0x61), Ok(0x0807_0605));
    for (off, code) in [(16, 0x71), (13, 0x61), (9, 0x79), (-1, 0x71), (i16::MAX, 0x71)] {
        assert!(matches!(load(off, code), Err(Trap::Memory { .. })), "{off}");
    }
    let stack = |off: i16| run(&[op(0x7a, 10, 0, off, -1), op(0x79, 0, 10, off, 0), RETURN]);
    assert_eq!((stack(-8), stack(-512)), (Ok(u64::MAX), Ok(u64::MAX)));
    assert!(stack(-7).is_err() && stack(-513).is_err() && stack(0).is_err());
    // A number that is no address.
    assert!(run(&[op(0xb7, 2, 0, 0, 64), op(0x71, 0, 2, 0, 0), RETURN]).is_err());
}

#[test]
fn an_endless_loop_is_stopped_and_a_bounded_one_is_not() {
    assert_eq!(run(&[op(0x05, 0, 0, -1, 0), RETURN]), Err(Trap::TooLong));
    let count = [op(0xb7, 0, 0, 0, 0), op(0x07, 0, 0, 0, 1), op(0xa5, 0, 0, -2, 100), RETURN];
    assert_eq!(run(&count), Ok(100));
}

/// The signed operations of RFC 9669, computed by hand.
#[test]
fn the_offset_selects_signed_operations() {
    let with = |code: u8, off: i16, a: i64, b: i64| {
        let wide = |reg: u8, value: i64| {
            [op(0x18, reg, 0, 0, value as i32), op(0, 0, 0, 0, (value >> 32) as i32)]
        };
        let mut ops = wide(0, a).to_vec();
        ops.extend(wide(2, b));
        ops.extend([op(code, 0, 2, off, 0), RETURN]);
        run(&ops).unwrap() as i64
    };
    assert_eq!((with(0x3f, 1, -13, 4), with(0x9f, 1, -13, 4)), (-3, -1));
    assert_eq!((with(0x3f, 1, i64::MIN, -1), with(0x9f, 1, i64::MIN, -1)), (i64::MIN, 0));
    assert_eq!((with(0x3f, 1, 5, 0), with(0x9f, 1, 5, 0)), (0, 5));
    assert_eq!((with(0x3c, 1, -13, 4), with(0x9c, 1, -13, 4)), (0xffff_fffd, 0xffff_ffff));
    assert_eq!((with(0xbf, 8, 0, 0x80), with(0xbf, 16, 0, 0x8000)), (-128, -32_768));
    assert_eq!((with(0xbf, 32, 0, 0x8000_0000), with(0xbc, 8, 0, 0xff)), (-(1 << 31), 0xffff_ffff));
    let swap = |bits: i32| {
        run(&[
            op(0x18, 0, 0, 0, 0x0403_0201),
            op(0, 0, 0, 0, 0x0807_0605),
            op(0xd7, 0, 0, 0, bits),
            RETURN,
        ])
    };
    assert_eq!([16, 32, 64].map(swap), [Ok(0x0102), Ok(0x0102_0304), Ok(0x0102_0304_0506_0708)]);
    // A load of one byte with its sign, and a jump (distance in the immediate) over a wrong result.
    let ops = [
        op(0x72, 10, 0, -1, 0xfe),
        op(0x91, 0, 10, -1, 0),
        op(0x06, 0, 0, 0, 1),
        op(0xb7, 0, 0, 0, 9),
        RETURN,
    ];
    assert_eq!(run(&ops), Ok(-2i64 as u64));
}

#[test]
fn atomic_operations_read_and_write() {
    // [r10 - 8] = 5; r2 = 3; the operation; r0 = [r10 - 8] * 16 + r2
    let with = |kind: i32, size: u8| {
        run(&[
            op(0x7a, 10, 0, -8, 5),
            op(0xb7, 2, 0, 0, 3),
            op(0xb7, 0, 0, 0, 5),
            op(0xc3 | size, 10, 2, -8, kind),
            op(0x79, 0, 10, -8, 0),
            op(0x67, 0, 0, 0, 4),
            op(0x0f, 0, 2, 0, 0),
            RETURN,
        ])
    };
    for size in [0x00, 0x18] {
        let got = [0x00, 0x01, 0x40, 0x51, 0xa1, 0xe1, 0xf1].map(|kind| with(kind, size));
        let expected = [0x83, 0x85, 0x73, 0x15, 0x65, 0x35, 0x33].map(Ok);
        assert_eq!(got, expected);
    }
    assert!(Program::new([op(0xdb, 1, 2, 0, 0x20), RETURN].as_flattened()).is_err());
    assert!(Program::new([op(0xc3 | 0x10, 1, 2, 0, 0), RETURN].as_flattened()).is_err());
}

/// f(n) = n + f(n - 1), with n in register 6 and on the stack of each call.
#[test]
fn functions_call_each_other_with_stacks_and_registers_of_their_own() {
    let sum = |n: i32| {
        run(&[
            op(0xb7, 1, 0, 0, n),
            op(0x85, 0, 1, 0, 1),
            RETURN,
            op(0xb7, 0, 0, 0, 0),
            op(0x15, 1, 0, 7, 0),
            op(0xbf, 6, 1, 0, 0),
            op(0x7b, 10, 6, -8, 0),
            op(0x07, 1, 0, 0, -1),
            op(0x85, 0, 1, 0, -6),
            op(0x0f, 0, 6, 0, 0),
            op(0x79, 2, 10, -8, 0),
            op(0x1d, 2, 6, 0, 0),
            RETURN,
        ])
    };
    assert_eq!(sum(0), Ok(0));
    assert_eq!(sum(6), Ok(21));
    assert_eq!(sum(7), Err(Trap::TooDeep { at: 8 }));
    // A function cannot access the stack of a function that it called.
    assert!(run(&[op(0x79, 0, 10, 0, 0), RETURN]).is_err());
}

/// A packet is readable up to its end and writable only if the caller allows it.
#[test]
fn the_packet_has_bounds() {
    let go = |ops: &[[u8; 8]], frame: Frame<'_>| {
        let (mut context, mut store) = ([0; 8], Store::default());
        let memory = Memory { context: &mut context, writable: 8, frame, store: &mut store };
        program(ops).run(&mut Machine { memory, now_ns: 0, fuel: 100 }, &mut || 0)
    };
    let bytes = [1u8, 2, 3, 4];
    let load =
        |off: i16, code: u8| [op(0xb7, 2, 0, 0, PACKET as i32), op(code, 0, 2, off, 0), RETURN];
    assert_eq!(go(&load(0, 0x61), Frame::Read(&bytes)), Ok(0x0403_0201));
    assert!(go(&load(1, 0x61), Frame::Read(&bytes)).is_err());
    assert!(go(&load(-1, 0x71), Frame::Read(&bytes)).is_err());
    assert!(go(&load(4, 0x71), Frame::Read(&bytes)).is_err());
    let write = [op(0xb7, 2, 0, 0, PACKET as i32), op(0x72, 2, 0, 3, 9), RETURN];
    assert!(go(&write, Frame::Read(&bytes)).is_err());
    let mut own = bytes;
    assert!(go(&write, Frame::Write(&mut own)).is_ok() && own == [1, 2, 3, 9]);
}

#[test]
fn helpers_have_the_numbers_of_linux() {
    assert_eq!(run(&[op(0x85, 0, 0, 0, 5), RETURN]), Ok(77));
    assert_eq!(run(&[op(0x85, 0, 0, 0, 7), RETURN]), Ok(0x1234_5678));
    assert_eq!(run(&[op(0x85, 0, 0, 0, 1), RETURN]), Err(Trap::NoMap { at: 0 }));
}

#[test]
fn refused_programs_are_reported() {
    let refused = |ops: &[[u8; 8]]| Program::new(ops.as_flattened()).map(drop).unwrap_err();
    let table: [(&[[u8; 8]], usize, &str); 10] = [
        (&[], 0, "whole instructions"),
        (&[op(0xb7, 0, 0, 0, 0)], 0, "does not end"),
        (&[op(0xb7, 10, 0, 0, 0), RETURN], 0, "register 10"),
        (&[op(0xbf, 0, 11, 0, 0), RETURN], 0, "registers 0 to 10, not 11"),
        (&[op(0x05, 0, 0, 1, 0), RETURN], 0, "jumps to 2"),
        (&[op(0x18, 1, 0, 0, 0), op(0, 0, 0, 0, 0), op(0x05, 0, 0, -2, 0)], 2, "jumps to 1"),
        (&[op(0x18, 1, 1, 0, 0), op(0, 0, 0, 0, 0), RETURN], 0, "a map"),
        (&[op(0xdb, 1, 0, 0, 2), RETURN], 0, "no operation 0xdb"),
        (&[RETURN, op(0x85, 0, 2, 0, 4), RETURN], 1, "no operation 0x85"),
        (&[RETURN, op(0x85, 0, 0, 0, 4), RETURN], 1, "it calls helper 4 of Linux, which is not"),
    ];
    for (ops, at, why) in table {
        let error = refused(ops);
        assert!(error.at == at && error.why.contains(why), "{error}");
    }
    assert!(Program::new(&[0x95, 0, 0]).is_err());
}
