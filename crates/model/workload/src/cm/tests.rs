//! Tests of the connection matrix.

use super::*;
use proptest::prelude::*;

const PERM: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../data/traces/perm128.cm"));
const TRIGGERED: &str = "\
Nodes 4
Connections 3
Triggers 2
Failures 1
0->1 id 1 start 0 size 1000 send_done_trigger 1
1->2 id 2 trigger 1 size 2000 recv_done_trigger 2 prio 7
2->3 id 3 trigger 2 size 3000
trigger id 1 oneshot
trigger id 2 barrier count 1
failure switch_type AGG switch_id 3 link_id 1
";

fn flow(line: usize, src: u32, dst: u32, bytes: u64, begin: Begin) -> CmFlow {
    CmFlow { line, src, dst, bytes, begin, send_done: None, recv_done: None, prio: None }
}

#[test]
fn a_matrix_is_read_as_written() {
    let text = "Nodes 4\nConnections 2\n\n3->0 id 1 start 7 size 10\n# c\n 1->2 start 0 size 5\r\n";
    let matrix = parse(text, TimeUnit::Us).unwrap();
    assert_eq!(matrix.nodes, 4);
    let at = |us| Begin::At(Time::us(us));
    assert_eq!(matrix.flows, [flow(4, 3, 0, 10, at(7)), flow(6, 1, 2, 5, at(0))]);
    let start = |text: &str, unit| parse(text, unit).unwrap().flows[0].begin;
    assert_eq!(start(text, TimeUnit::Ps), Begin::At(Time::ps(7)));
    let half = text.replace("start 7", "start 0.5");
    assert_eq!(start(&half, TimeUnit::Us), Begin::At(Time::ns(500)));
    assert_eq!(parse(PERM, TimeUnit::Ps).unwrap().flows.len(), 128);
}

#[test]
fn triggers_and_failures_are_read_as_written() {
    let matrix = parse(TRIGGERED, TimeUnit::Ps).unwrap();
    let zero = Begin::At(Time::ZERO);
    assert_eq!(
        matrix.flows,
        [
            CmFlow { send_done: Some(1), ..flow(5, 0, 1, 1000, zero) },
            CmFlow { recv_done: Some(2), prio: Some(7), ..flow(6, 1, 2, 2000, Begin::On(1)) },
            flow(7, 2, 3, 3000, Begin::On(2)),
        ]
    );
    let shots: Vec<Shots> = matrix.triggers.values().map(|trigger| trigger.shots).collect();
    assert_eq!(shots, [Shots::Oneshot, Shots::Barrier(1)]);
    assert_eq!(matrix.failures, [Failure { line: 10, switch: 3, link: 1 }]);
}

#[test]
fn a_matrix_is_written_as_it_was_read() {
    for text in [PERM, TRIGGERED] {
        let matrix = parse(text, TimeUnit::Ps).unwrap();
        let again = parse(&matrix.without_failures(), TimeUnit::Ps).unwrap();
        let flows = |matrix: &Matrix| -> Vec<CmFlow> {
            matrix.flows.iter().map(|flow| CmFlow { line: 0, ..*flow }).collect()
        };
        assert_eq!(flows(&again), flows(&matrix));
        assert_eq!(again.triggers.len(), matrix.triggers.len());
        assert_eq!(again.failures, []);
    }
}

#[test]
fn errors_name_the_line() {
    let flow = |line: &str| format!("Nodes 4\nConnections 1\n{line}\n");
    for (text, line, why) in [
        (String::new(), 1, "expected `Nodes <number>`"),
        ("Nodes 4\n".into(), 1, "expected `Connections <number>`"),
        ("Nodes 4\nNodes 5\n".into(), 2, "is already in line 1"),
        (
            "Nodes 4\nConnections 2\n0->1 start 0 size 1\n".into(),
            3,
            "2 connections announced, 1 found",
        ),
        (
            "Nodes 4\nConnections 0\n0->1 start 0 size 1\n".into(),
            3,
            "0 connections announced, 1 found",
        ),
        ("Nodes x\n".into(), 1, "`x`"),
        ("Nodes 4\nConnections 0\nTriggers 1\n".into(), 3, "1 triggers announced, 0 found"),
        ("Nodes 4\nConnections 0\nFailures 1\n".into(), 3, "1 failures announced, 0 found"),
        (flow("0->1 start 0 size 1 send_done_trigger 1"), 3, "trigger 1 is not in the file"),
        (flow("0->1 start 0 size 1\ntrigger id 1 oneshot"), 4, "0 triggers announced, 1 found"),
        (flow("0->1 start 0 size 1\ntrigger id 0 oneshot"), 4, "ids count from 1"),
        (flow("0->1 start 0 size 1\ntrigger id 1"), 4, "is one of `oneshot`"),
        (flow("0->1 start 0 size 1\ntrigger id 1 twice"), 4, "`twice` is not known here"),
        (flow("0->1 start 0 size 1\ntrigger id 1 barrier"), 4, "needs a `count`"),
        (
            flow("0->1 start 0 size 1\ntrigger id 1 oneshot count 3"),
            4,
            "`count` is for a `barrier`",
        ),
        (flow("0->1 start 0 size 1\ntrigger oneshot"), 4, "needs its `id`"),
        (flow("failure switch_type TOR switch_id 1 link_id 0"), 3, "AGG switches only"),
        (flow("failure switch_type AGG switch_id 1"), 3, "`link_id` is missing"),
        (flow("0->1 trigger 1 start 0 size 5"), 3, "a flow has one of them"),
        (flow("0->1 start 0 size 1 addon"), 3, "`addon` is not known here"),
        (flow("0->1 start 0 size 1 prio"), 3, "`prio` has no value"),
        (flow("0->1 id 0 start 0 size 1"), 3, "ids count from 1"),
        (flow("0->1 start 0"), 3, "`size` is missing"),
        (flow("0->1 start 0 size 0"), 3, "above 0"),
        (flow("0->1 size 5"), 3, "neither `start` nor `trigger`"),
        (flow("0->1 start 0 start 0 size 1"), 3, "twice"),
        (flow("0->1 start -1 size 1"), 3, "`-1`"),
        (flow("0->4 start 0 size 1"), 3, "announces 4 nodes"),
        (flow("2->2 start 0 size 1"), 3, "itself"),
        (flow("0=>1 start 0 size 1"), 3, "expected a line `src->dst"),
    ] {
        let error = parse(&text, TimeUnit::Ps).expect_err(&text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.message.contains(why), "{text:?}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(bytes in any::<Vec<u8>>()) {
        let _ = parse(&String::from_utf8_lossy(&bytes), TimeUnit::Us);
    }

    /// A file cut after any whole line but the last is refused.
    #[test]
    fn a_truncated_file_is_refused(lines in 0usize..130) {
        for text in [PERM, TRIGGERED] {
            let cut: String = text.split_inclusive('\n').take(lines).collect();
            prop_assert!(cut == text || parse(&cut, TimeUnit::Ps).is_err());
        }
    }

    /// A file with one changed byte is refused with a line of the file, or has as many flows as before,
    /// between existing hosts and with existing triggers.
    #[test]
    fn a_damaged_file_is_refused_or_sound(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), triggered in any::<bool>(),
    ) {
        let text = if triggered { TRIGGERED } else { PERM };
        let mut bytes = text.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        match parse(&String::from_utf8_lossy(&bytes), TimeUnit::Us) {
            Ok(matrix) => {
                let known = |id: Option<u32>| id.is_none_or(|id| matrix.triggers.contains_key(&id));
                for flow in &matrix.flows {
                    prop_assert!(flow.src < matrix.nodes && flow.dst < matrix.nodes);
                    prop_assert!(flow.src != flow.dst && flow.bytes > 0);
                    prop_assert!(known(flow.send_done) && known(flow.recv_done));
                }
            }
            Err(error) => prop_assert!((1..=131).contains(&error.line), "{}", error),
        }
    }
}
