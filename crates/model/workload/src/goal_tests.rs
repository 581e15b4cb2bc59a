//! Tests of GOAL: programs as read, and their traffic in a network in which every message takes 10 us one
//! way.

use super::goal::{Act, Need, Op, Program, parse};
use super::testing::{fabric, made_with, refusal_with};
use super::trace::Trace;
use super::{Traffic, WorkloadSpec, rehearsal};
use proptest::prelude::*;
use slotline_base::time::Time;
use slotline_base::units::Bytes;
use std::collections::BTreeMap;

const PING: &str = "\
num_ranks 3
/* two
   lines */
rank 0 {
a: calc 1000 cpu 1 // work
l2: send 8b to 1 tag 5 cpu 0 nic 0
l2 requires a
recv 16b from 2
}
rank 2 {
l2 irequires l1
l1: recv 8b from 1 tag 5
l2: send 0b to 0
}
rank 1 { // relay
recv: recv 8b from 0 tag 5
fwd: send 8b to 2 tag 5
fwd requires recv
}
";

#[test]
fn a_program_is_read_as_written() {
    let program = parse(PING).unwrap();
    let op = |line, rank, act| Op { line, rank, act };
    let send = |bytes, to, tag| Act::Send { bytes, to, tag };
    let recv = |bytes, from, tag| Act::Recv { bytes, from, tag };
    let ops = vec![
        op(5, 0, Act::Calc { ns: 1000, cpu: 1 }),
        op(6, 0, send(8, 1, 5)),
        op(8, 0, recv(16, 2, 0)),
        op(12, 2, recv(8, 1, 5)),
        op(13, 2, send(0, 0, 0)),
        op(16, 1, recv(8, 0, 5)),
        op(17, 1, send(8, 2, 5)),
    ];
    let need = |op, on, begun| Need { op, on, begun };
    let needs = vec![need(1, 0, false), need(4, 3, true), need(6, 5, false)];
    let messages = vec![(1, 5), (4, 2), (6, 3)];
    assert_eq!(program, Program { ranks: 3, ops, needs, messages });
}

#[test]
fn errors_name_the_line() {
    for (from, to, why) in [
        ("num_ranks 3\n", "", "line 3: expected `num_ranks"),
        ("num_ranks 3", "num_ranks 2", "line 8: rank 2: there are ranks 0 to 1"),
        ("calc 1000", "calc -5", "line 5: calc `-5`: expected a whole number"),
        ("calc 1000 cpu 1", "calc 1000 cpu 300", "line 5: `cpu` is 300: expected 0 to 255"),
        ("calc 1000", "compute 1000", "line 5: `compute 1000 cpu 1`: expected `calc <ns>`"),
        ("send 8b to 1", "send 8 to 1", "line 6: size `8`: expected bytes, such as `8b`"),
        ("send 8b to 1 tag 5", "send 8b to 1 tag 6", "line 6: rank 1 has no receive"),
        ("send 8b to 1", "send 8b to 0", "line 6: a message from rank 0 to itself"),
        ("send 8b to 1", "send 9b to 1", "line 16: room for 8 bytes, but line 6 sends 9"),
        ("from 2", "from -1", "line 8: `from -1`: messages from any rank are not supported"),
        ("from 2", "from 2 tag -1", "line 8: `tag -1`: messages of any tag are not supported"),
        ("requires a", "requires b", "line 7: `b` is not a label"),
        ("l2 requires a", "l2 needs a", "line 7: `l2 needs a`"),
        ("l2: send 0b", "l1: send 0b", "line 13: label `l1` is given twice"),
        ("nic 0", "net 0", "line 6: `net` is not known here: expected tag, cpu, nic"),
        ("nic 0", "nic", "line 6: `nic` has no value"),
        ("rank 1 {", "rank 2 {", "line 15: rank 2 is already in line 10"),
        ("rank 1 {", "rank 1", "line 15: `rank 1`: expected `rank <number> {`"),
        ("fwd requires recv\n}", "fwd requires recv\n", "line 19: rank 1, line 15, has no end"),
        (
            "fwd requires recv\n",
            "fwd requires recv\nrecv requires fwd\n",
            "waits for itself, directly or through others",
        ),
        ("lines */", "lines", "line 2: this comment has no end"),
        ("recv 16b from 2\n", "recv 16b from 2\nrecv 1b from 2\n", "line 9: no rank sends this"),
        ("a: calc", "7a: calc", "line 5: `7a` is not a label"),
    ] {
        assert!(PING.contains(from), "{from}");
        let error = parse(&PING.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
}

fn spec(eager: u64) -> WorkloadSpec {
    let eager = Some(Bytes(eager));
    WorkloadSpec::Trace(Trace { file: "a.goal".into(), eager, ..Trace::default() })
}

const ONE_WAY: Time = Time::us(10);

/// The start of each message, in nanoseconds, by its bytes.
fn starts(traffic: &Traffic) -> BTreeMap<u64, u64> {
    let starts = rehearsal::starts(traffic, ONE_WAY);
    let row = |(flow, start): (&super::Flow, Option<Time>)| (flow.bytes, start.unwrap().as_ns());
    traffic.flows.iter().zip(starts).map(row).collect()
}

#[test]
fn messages_wait_for_what_they_require() {
    let text = PING.replace("8b to 2", "7b to 2");
    let traffic = made_with(&spec(0), &fabric(), &text);
    // Rank 0 computes for 1 us. Rank 2 sends as soon as its receive is posted, which is at once. It sends
    // 0 bytes as 1 byte.
    assert_eq!(starts(&traffic), BTreeMap::from([(1, 0), (8, 1_000), (7, 11_000)]));
}

#[test]
fn a_processor_does_one_thing_after_another() {
    let text = "num_ranks 2\nrank 0 {\na: calc 500\nb: calc 300\nc: calc 100 cpu 1\n\
                x: send 1b to 1\nx requires a\ny: send 2b to 1\ny requires b\n\
                z: send 3b to 1\nz requires c\nw: send 4b to 1\nw irequires b\n}\n\
                rank 1 {\nrecv 1b from 0\nrecv 2b from 0\nrecv 3b from 0\nrecv 4b from 0\n}\n";
    let traffic = made_with(&spec(0), &fabric(), text);
    assert_eq!(starts(&traffic), BTreeMap::from([(1, 500), (2, 800), (3, 100), (4, 500)]));
}

#[test]
fn small_messages_do_not_keep_their_sender() {
    let text = "num_ranks 2\nrank 0 {\na: send 1000b to 1\nb: send 1001b to 1\nb requires a\n\
                c: send 1002b to 1\nc requires b\n}\n\
                rank 1 {\nrecv 1000b from 0\nrecv 1001b from 0\nrecv 1002b from 0\n}\n";
    let at =
        |eager| starts(&made_with(&spec(eager), &fabric(), text)).into_values().collect::<Vec<_>>();
    assert_eq!(at(2_000), [0, 0, 0]);
    assert_eq!(at(1_000), [0, 0, 20_000]);
    assert_eq!(at(0), [0, 20_000, 40_000]);
}

#[test]
fn unusable_programs_say_why() {
    for (text, why) in [
        ("num_ranks 65\n", "a.goal: 65 ranks: the fabric has 64 hosts"),
        ("num_ranks 2\nrank 0 {\ncalc 5\n}\n", "a.goal: the program sends no messages"),
        ("num_ranks 2\nrank 0 {\ncalc\n}\n", "a.goal: line 3: `calc`"),
    ] {
        let error = refusal_with(&spec(0), &fabric(), text);
        assert!(error.contains(why), "{error}");
    }
}

/// The operations in the order in which they are drawn: a rank computes, or sends to another. The last two parts
/// say which earlier operations the two ranks wait for.
type Plan =
    Vec<(u32, u32, u64, Vec<(prop::sample::Index, bool)>, Vec<(prop::sample::Index, bool)>)>;

fn plans() -> impl Strategy<Value = Plan> {
    let needs = || prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 0..3);
    prop::collection::vec((0u32..4, 0u32..4, 1u64..1_000_000, needs(), needs()), 1..25)
}

/// The program in GOAL.
fn written(plan: &Plan) -> String {
    let mut ranks = vec![(Vec::new(), Vec::new()); 4];
    for (number, (src, dst, amount, needs, needs_there)) in plan.iter().enumerate() {
        let mut op = |rank: u32, text: String, needs: &[(prop::sample::Index, bool)]| {
            let (ops, lines): &mut (Vec<usize>, Vec<String>) = &mut ranks[rank as usize];
            lines.push(format!("l{number}: {text}"));
            for (on, begun) in needs.iter().filter(|_| !ops.is_empty()) {
                let word = if *begun { "irequires" } else { "requires" };
                lines.push(format!("l{number} {word} l{}", ops[on.index(ops.len())]));
            }
            ops.push(number);
        };
        if src == dst {
            op(*src, format!("calc {amount} cpu {}", amount % 2), needs);
        } else {
            op(*src, format!("send {}b to {dst} tag {number}", number + 1), needs);
            op(*dst, format!("recv {}b from {src} tag {number}", number + 1), needs_there);
        }
    }
    let rank = |(rank, (_, lines)): (usize, &(Vec<usize>, Vec<String>))| {
        format!("rank {rank} {{\n{}\n}}\n", lines.join("\n"))
    };
    let ranks: String = ranks.iter().enumerate().map(rank).collect();
    format!("num_ranks 4\n{ranks}")
}

/// The time at which each message is sent, computed from the program itself. It is `None` if two operations are
/// ready for a processor at the same time, because both orders are then right.
fn naive(program: &Program, eager: u64) -> Option<BTreeMap<u64, u64>> {
    let one_way = ONE_WAY.as_ns();
    let count = program.ops.len();
    let (mut ready, mut begun, mut done) =
        (vec![None; count], vec![None; count], vec![None; count]);
    let mut free = BTreeMap::new();
    let sent: BTreeMap<u32, u32> = program.messages.iter().map(|(s, r)| (*r, *s)).collect();
    loop {
        let before = (ready.clone(), begun.clone(), done.clone());
        for at in 0..count {
            let needs = program.needs.iter().filter(|need| need.op as usize == at);
            let times: Option<Vec<u64>> = needs
                .map(
                    |need| {
                        if need.begun { begun[need.on as usize] } else { done[need.on as usize] }
                    },
                )
                .collect();
            ready[at] = times.map(|times| times.into_iter().max().unwrap_or(0));
            let (Some(now), op) = (ready[at], &program.ops[at]) else { continue };
            match op.act {
                Act::Calc { .. } => {}
                Act::Send { bytes, .. } => {
                    begun[at] = Some(now);
                    done[at] = Some(if bytes <= eager { now } else { now + 2 * one_way });
                }
                Act::Recv { .. } => {
                    begun[at] = Some(now);
                    done[at] =
                        begun[sent[&(at as u32)] as usize].map(|sent| now.max(sent + one_way));
                }
            }
        }
        if before != (ready.clone(), begun.clone(), done.clone()) {
            continue;
        }
        // Only the next computation can make further operations ready.
        let cpu = |at: usize| match program.ops[at].act {
            Act::Calc { ns, cpu } => Some((program.ops[at].rank, cpu, ns)),
            _ => None,
        };
        let waiting = |at: &usize| ready[*at].is_some() && begun[*at].is_none();
        let Some(next) = (0..count).filter(waiting).min_by_key(|at| ready[*at]) else { break };
        let (rank, number, ns) = cpu(next)?;
        let rival = |at: usize| {
            at != next
                && ready[at] == ready[next]
                && cpu(at).is_some_and(|(r, n, _)| (r, n) == (rank, number))
        };
        if (0..count).any(rival) {
            return None;
        }
        let start = ready[next]?.max(*free.get(&(rank, number)).unwrap_or(&0));
        free.insert((rank, number), start + ns);
        (begun[next], done[next]) = (Some(start), Some(start + ns));
    }
    let message = |(send, _): &(u32, u32)| match program.ops[*send as usize].act {
        Act::Send { bytes, .. } => Some((bytes, begun[*send as usize]?)),
        _ => None,
    };
    program.messages.iter().map(message).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 10_000, ..ProptestConfig::default() })]

    /// Triggers and steps send the messages at the times that follow from the program.
    #[test]
    fn traffic_does_what_the_program_says(plan in plans(), eager in 0u64..20) {
        let text = written(&plan);
        let program = parse(&text).unwrap();
        prop_assume!(!program.messages.is_empty());
        let expected = naive(&program, eager);
        prop_assume!(expected.is_some());
        let traffic = made_with(&spec(eager), &fabric(), &text);
        prop_assert_eq!(starts(&traffic), expected.unwrap(), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(bytes in any::<Vec<u8>>()) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    /// A file with one changed byte is refused with a line of the file, or is a program with matching messages.
    #[test]
    fn a_damaged_file_is_refused_or_sound(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = PING.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        match parse(&String::from_utf8_lossy(&bytes)) {
            Err(error) => prop_assert!((1..=21).contains(&error.line), "{}", error),
            Ok(program) => {
                let ends = program.messages.len() * 2;
                let calcs = program.ops.iter().filter(|op| matches!(op.act, Act::Calc { .. })).count();
                prop_assert_eq!(ends + calcs, program.ops.len());
            }
        }
    }
}
