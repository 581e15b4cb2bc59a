//! Object files that LLVM has made: one that is here with its source, and the examples in C where there is
//! a compiler for them.

use slotline_bump::{EbpfDiscipline, ebpf};
use slotline_net::aqm::{Discipline, Threshold, Verdict, VirtualQueue};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use std::path::Path;
use std::process::Command;

const GBPS: Rate = Rate(1_000_000_000);

/// The program of an example; `None`, with a word about it, where there is no clang.
fn compiled(name: &str) -> Option<EbpfDiscipline> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf").join(format!("{name}.c"));
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.o"));
    let done = Command::new("clang")
        .args(["-O2", "-Wall", "-Werror", "-target", "bpf", "-c", "-o"])
        .arg(&object)
        .arg(&source)
        .output();
    let Ok(done) = done else {
        eprintln!("skipped: {name}.c needs clang, which is not there");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let program = ebpf::load(&std::fs::read(object).unwrap()).unwrap_or_else(|why| panic!("{why}"));
    Some(EbpfDiscipline::new(program, GBPS, Bytes(150_000), Stream::named(1, "test", 0)))
}

/// `bpf/dctcp.o`, which llvm-mc 14 made of `bpf/dctcp.s`.
#[test]
fn an_object_file_of_llvm_is_read_and_does_what_it_says() {
    let object = include_bytes!("../bpf/dctcp.o");
    let program = ebpf::load(object).unwrap_or_else(|why| panic!("{why}"));
    marks_as_in_rust(EbpfDiscipline::new(
        program,
        GBPS,
        Bytes(150_000),
        Stream::named(1, "test", 0),
    ));
}

#[test]
fn dctcp_in_c_marks_what_dctcp_in_rust_marks() {
    compiled("dctcp").into_iter().for_each(marks_as_in_rust);
}

fn marks_as_in_rust(mut program: EbpfDiscipline) {
    let mut native = Threshold::new(Bytes(30_000), GBPS.pace());
    let mut queue = VirtualQueue::new(GBPS.pace(), Bytes(150_000));
    for n in 0..10_000u64 {
        let now = Time::us(n / 80 * 900 + n % 80);
        let arrival = queue.arrival(1500, n % 3 != 0, now);
        let edge = arrival.bytes() == 30_000;
        assert!(
            edge || program.arrive(&arrival) == Discipline::arrive(&mut native, &arrival),
            "{n}"
        );
        queue.add(1500, now);
    }
    assert_eq!(program.trap(), None);
}

/// At a steady 60 KB the chance is half of 0.1.
#[test]
fn red_in_c_marks_with_the_chance_of_the_closed_form() {
    let Some(mut program) = compiled("red") else { return };
    let mut queue = VirtualQueue::new(GBPS.pace(), Bytes(150_000));
    queue.add(60_000, Time::ZERO);
    let arrival = queue.arrival(1500, true, Time::ZERO);
    for _ in 0..10_000 {
        program.arrive(&arrival);
    }
    let marks = (0..100_000).filter(|_| program.arrive(&arrival) == Verdict::Mark).count();
    assert!((4_700..5_300).contains(&marks), "{marks}");
}
