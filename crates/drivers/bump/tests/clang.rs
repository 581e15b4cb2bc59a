//! Object files of LLVM: some with their sources in this repository, and the examples in C if there is a
//! compiler. The tests report what they skip.

use proptest::prelude::*;
use slotline_bump::link::{Linked, link};
use slotline_bump::memory::{Frame, Memory};
use slotline_bump::vm::Machine;
use slotline_bump::{ByDestination, EbpfDiscipline, Loaded, Own, Pipeline, ebpf};
use slotline_net::aqm::bank::Entry;
use slotline_net::aqm::{Discipline, Threshold, Verdict, VirtualQueue};
use slotline_net::rng::Stream;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const GBPS: Rate = Rate(1_000_000_000);
const CAPACITY: Bytes = Bytes(150_000);

fn stream() -> Stream {
    Stream::named(1, "test", 0)
}

/// The object file of an example; `None`, with a message, if there is no clang.
fn object(name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf").join(format!("{name}.c"));
    compiled(&source, name)
}

fn compiled(source: &Path, name: &str) -> Option<PathBuf> {
    // A file for each test: they run side by side.
    let test = std::thread::current().name().unwrap_or_default().replace(':', "_");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{test}.o"));
    let done = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-c", "-o"])
        .arg(&object)
        .arg(source)
        .output();
    let Ok(done) = done else {
        eprintln!("skipped: {name}.c needs clang, which is not installed");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(object)
}

fn load(name: &str) -> Option<Loaded> {
    let file = std::fs::read(object(name)?).unwrap();
    Some(ebpf::load(&file).unwrap_or_else(|why| panic!("{why}")))
}

fn discipline(loaded: Loaded) -> EbpfDiscipline {
    EbpfDiscipline::new(loaded, GBPS, CAPACITY, stream())
}

/// `bpf/dctcp.o`, which llvm-mc 14 made of `bpf/dctcp.s`.
#[test]
fn an_object_file_of_llvm_runs() {
    let object = include_bytes!("../bpf/dctcp.o");
    let loaded = ebpf::load(object).unwrap_or_else(|why| panic!("{why}"));
    marks_as_in_rust(discipline(loaded));
}

/// Each aligned word of an object file in turn has the largest value, for example the address of a variable.
#[test]
fn a_word_of_an_object_file_can_have_any_value() {
    let compiled = ["red", "stuck"].into_iter().filter_map(object);
    let compiled = compiled.map(|path| std::fs::read(path).unwrap());
    for good in compiled.chain([include_bytes!("../bpf/heavy.o").to_vec()]) {
        let damaged = (0..good.len() / 8).map(|word| {
            let mut bytes = good.clone();
            bytes[8 * word..][..8].fill(0xff);
            ebpf::load(&bytes).is_err()
        });
        assert!(damaged.filter(|refused| *refused).count() > 10);
    }
}

#[test]
fn dctcp_in_c_marks_what_dctcp_in_rust_marks() {
    load("dctcp").into_iter().map(discipline).for_each(marks_as_in_rust);
}

fn marks_as_in_rust(mut program: EbpfDiscipline) {
    let mut native = Threshold::new(Bytes(30_000), GBPS.inverse_rate());
    let mut queue = VirtualQueue::new(GBPS.inverse_rate(), CAPACITY);
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

/// The same in Rust, word by word, with the same draws: packet by packet.
#[test]
fn red_in_c_does_what_the_same_does_in_rust() {
    let Some(mut program) = load("red").map(discipline) else { return };
    let (mut queue, mut rng, mut average) =
        (VirtualQueue::new(GBPS.inverse_rate(), CAPACITY), stream(), 0u64);
    let mut marks = 0;
    for n in 0..20_000u64 {
        let now = Time::us(n * 13 - n / 2_000 * 2_000 + n % 7);
        let arrival = queue.arrival(1_500, n % 5 != 0, now);
        average = average - (average >> 9) + (arrival.bytes() << 10 >> 9);
        let bytes = average >> 10;
        let want = match bytes {
            0..30_000 => Verdict::Pass,
            90_000.. => Verdict::Drop,
            _ if u64::from(rng.bits() as u32) >= 429_496_729 * (bytes - 30_000) / 60_000 => {
                Verdict::Pass
            }
            _ if arrival.ect => Verdict::Mark,
            _ => Verdict::Drop,
        };
        assert_eq!(program.arrive(&arrival), want, "{n}");
        marks += u32::from(want == Verdict::Mark);
        if want != Verdict::Drop {
            queue.add(1_500, now);
        }
    }
    assert!(marks > 20 && program.trap().is_none(), "{marks}");
}

/// At a steady 60 KB the chance is half of 0.1.
#[test]
fn red_in_c_marks_with_the_chance_of_the_closed_form() {
    let Some(mut program) = load("red").map(discipline) else { return };
    let mut queue = VirtualQueue::new(GBPS.inverse_rate(), CAPACITY);
    queue.add(60_000, Time::ZERO);
    let arrival = queue.arrival(1500, true, Time::ZERO);
    for _ in 0..10_000 {
        program.arrive(&arrival);
    }
    let marks = (0..100_000).filter(|_| program.arrive(&arrival) == Verdict::Mark).count();
    assert!((4_700..5_300).contains(&marks), "{marks}");
}

/// A frame of `len` bytes from 10.0.0.`from` to 10.0.1.`to`, UDP, with a right checksum.
fn frame(from: u8, to: u8, ecn: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x08, 0x00];
    let total = (len as u16 - 14).to_be_bytes();
    let mut ip = vec![0x45, ecn, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0];
    ip.extend([10, 0, 0, from, 10, 0, 1, to]);
    let words = ip.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.resize(len, 7);
    frame
}

/// Maps, variables, functions and the packet's bytes: `heavy.c`, against the same in Rust.
fn marks_the_heavy(loaded: Loaded) {
    // Two queues of one bump: they share the maps.
    let mut queues = [discipline(loaded.clone()), discipline(loaded.clone())];
    let queue = VirtualQueue::new(GBPS.inverse_rate(), CAPACITY);
    let (mut by_source, mut total, mut others) = (BTreeMap::<[u8; 4], u64>::new(), 0u64, 0u64);
    let mut rng = stream();
    for n in 0..3_000u64 {
        let from = if rng.below(2) == 0 { 9 } else { rng.below(200) as u8 };
        let len = 60 + rng.below(1_400) as u32;
        let mut bytes = frame(from, (n % 2) as u8, 2, len as usize);
        if n % 50 == 0 {
            bytes[13] = 6;
        }
        let arrival = queue.arrival(len + 24, true, Time::us(n));
        let got = queues[(n % 2) as usize].arrive_with(&arrival, &bytes);
        let want = if n % 50 == 0 {
            others += u64::from(arrival.len);
            Verdict::Pass
        } else {
            let own = by_source.entry([10, 0, 0, from]).or_default();
            *own += u64::from(arrival.len);
            total += u64::from(arrival.len);
            let heavy = n + 2 > 10 && *own > 20_000 && *own * 4 > total;
            if heavy { Verdict::Mark } else { Verdict::Pass }
        };
        assert_eq!(got, want, "{n} {:?}", queues[(n % 2) as usize].trap());
    }
    let word = |value: u64| value.to_le_bytes().to_vec();
    let want: Vec<_> = by_source.iter().map(|(key, bytes)| (key.to_vec(), word(*bytes))).collect();
    assert_eq!(loaded.map("bytes_by_source"), Some(want));
    let totals: Vec<_> =
        loaded.map("totals").unwrap().into_iter().map(|(_, value)| value).collect();
    assert_eq!(totals, [word(total), word(others)]);
    assert_eq!(loaded.maps().count(), 2);
}

#[test]
fn a_discipline_with_maps_and_the_packets_bytes_does_what_the_same_does_in_rust() {
    load("heavy").into_iter().for_each(marks_the_heavy);
}

/// `bpf/heavy.o`: `clang -O2 -g -target bpf -fdebug-compilation-dir=. -c heavy.c -o heavy.o && llvm-strip -g heavy.o`,
/// of LLVM 14.
const HEAVY: &[u8] = include_bytes!("../bpf/heavy.o");

#[test]
fn an_object_file_with_maps_is_read_where_there_is_no_compiler() {
    marks_the_heavy(ebpf::load(HEAVY).unwrap_or_else(|why| panic!("{why}")));
}

/// Runs the program of the kernel in Slotline's machine. Returns whether it forwards the packet.
fn kernel(linked: &mut Linked, tc: bool, bytes: &mut [u8], now_ns: u64, rng: &mut Stream) -> bool {
    let (begin, end) = (3u32 << 24, (3u32 << 24) + bytes.len() as u32);
    let mut context = if tc { vec![0; 84] } else { vec![0; 8] };
    if tc {
        context[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    }
    let at = context.len() - 8;
    context[at..at + 4].copy_from_slice(&begin.to_le_bytes());
    context[at + 4..].copy_from_slice(&end.to_le_bytes());
    let writable = context.len();
    let (frame, store) = (Frame::Write(bytes), &mut linked.store);
    let memory = Memory { context: &mut context, writable, frame, store };
    let mut machine = Machine { memory, now_ns, fuel: 10_000 };
    let answer = linked.program.run(&mut machine, &mut || rng.bits() as u32);
    match (answer, tc) {
        (Ok(2), false) | (Ok(0), true) => true,
        (Ok(1), false) | (Ok(2), true) => false,
        other => panic!("{other:?}"),
    }
}

/// The program around a discipline, section `xdp` or `tc` of the same object file, against the pipeline in Rust: the
/// forwarded packets, and every byte of them.
fn as_the_pipeline(name: &str, tc: bool, hosts: u64) {
    let Some(path) = object(name) else { return };
    let file = std::fs::read(path).unwrap();
    let section = if tc { "tc" } else { "xdp" };
    let mut linked = link(&file, section).unwrap_or_else(|why| panic!("{why}"));
    let loaded = ebpf::load(&file).unwrap();
    let queue = VirtualQueue::new(GBPS.inverse_rate(), CAPACITY);
    let entry = || Entry::new(queue, discipline(loaded.clone()));
    let entries: Vec<_> = (0..hosts).map(|_| entry()).collect();
    let classify = ByDestination::new(hosts as u32, (32, 128));
    let mut pipeline = Pipeline::new(classify, entries, Own::new(hosts as usize), 24);
    let (mut traffic, mut rng, mut now) = (Stream::named(2, "test", 0), stream(), 0);
    let (mut forwarded, mut changed) = (0, 0);
    for n in 0..6_000u64 {
        now += if n % 2_000 == 0 { 9_000_000 } else { traffic.below(9_000 / hosts) };
        let (to, ecn) = (traffic.below(hosts) as u8, traffic.below(4) as u8);
        let mut want = frame(1, to, ecn, 60 + traffic.below(1_440) as usize);
        match n % 40 {
            0 => want[13] = 6,
            1 => want[14] = 0x44,
            2 => want.truncate(30),
            3 => drop(want.splice(12..12, [0x81, 0, 0, 7])),
            _ => {}
        }
        let before = want.clone();
        let mut got = want.clone();
        let len = want.len() as u32;
        let passes = pipeline.pass(&mut want, len, Time::ns(now)).action.forwards();
        assert_eq!(kernel(&mut linked, tc, &mut got, now, &mut rng), passes, "{n}");
        assert!(!passes || got == want, "{n}: {got:?} {want:?}");
        forwarded += u32::from(passes);
        changed += u32::from(passes && got != before);
    }
    assert!(forwarded > 3_000 && forwarded < 6_000 && changed > 100, "{forwarded} {changed}");
}

#[test]
fn xdp_and_tc_around_dctcp_do_what_the_pipeline_does() {
    as_the_pipeline("dctcp", false, 3);
    as_the_pipeline("dctcp", true, 3);
}

#[test]
fn xdp_and_tc_around_red_do_what_the_pipeline_does() {
    // One queue, so that all draws come from one stream.
    as_the_pipeline("red", false, 1);
    as_the_pipeline("red", true, 1);
}

/// Attaches the program to a virtual Ethernet pair in a network namespace of its own.
fn in_a_namespace(object: &Path, attach: &str) -> Result<(), String> {
    let script = format!(
        "ip link add s0 type veth peer name s1 && ip link set s0 up && ip link set s1 up || exit 7\n{attach}"
    );
    let done = Command::new("unshare")
        .args(["-n", "sh", "-c", &script, "sh"])
        .arg(object)
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(said) }
}

const ATTACH: [(&str, &str); 2] = [
    ("xdp", "ip link set dev s1 xdp obj \"$1\" sec xdp"),
    ("tc", "tc qdisc add dev s1 clsact && tc filter add dev s1 ingress bpf da obj \"$1\" sec tc"),
];

/// The verifier of the kernel accepts the object files, in XDP and in tc, if this machine allows loading them.
#[test]
fn the_kernel_takes_the_same_object_files() {
    let nothing = "__attribute__((section(\"xdp\"), used)) int all(void *c) { return 2; }\n\
                   __attribute__((section(\"tc\"), used)) int any(void *c) { return 0; }\n";
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nothing.c");
    std::fs::write(&source, nothing).unwrap();
    let Some(nothing) = compiled(&source, "nothing") else { return };
    for (how, attach) in ATTACH {
        if let Err(why) = in_a_namespace(&nothing, attach) {
            eprintln!(
                "skipped: {how} in this kernel, which takes no program at all: {}",
                why.trim()
            );
            continue;
        }
        for name in ["dctcp", "red"] {
            let Some(object) = object(name) else { return };
            let taken = in_a_namespace(&object, attach);
            assert_eq!(taken, Ok(()), "{name} in {how}");
        }
    }
}

/// Unsupported contents of an object file are reported.
#[test]
fn unsupported_contents_are_reported() {
    let table = [
        ("extern int far(int); SLOTLINE_DISCIPLINE int f(struct slotline_bump *b) { return far(1); }", "refers to"),
        ("struct { __uint(type, 27); __uint(max_entries, 4); __type(key, int); __type(value, int); } m SEC(\".maps\");
          SLOTLINE_DISCIPLINE int f(struct slotline_bump *b) { int k = 0; return slotline_map_lookup(&m, &k) != 0; }",
         "maps of type 27"),
        ("struct { int type, key, value, entries, flags; } m SEC(\"maps\") = { 2, 4, 4, 4, 0 };
          SLOTLINE_DISCIPLINE int f(struct slotline_bump *b) { int k = 0; return slotline_map_lookup(&m, &k) != 0; }",
         "a map in the legacy format"),
    ];
    for (at, (text, why)) in table.into_iter().enumerate() {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/slotline_bump.h");
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrong{at}.c"));
        std::fs::write(&source, format!("#include \"{}\"\n{text}\n", include.display())).unwrap();
        let Some(object) = compiled(&source, &format!("wrong{at}")) else { return };
        let error = ebpf::load(&std::fs::read(object).unwrap()).map(drop).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

proptest! {
    /// A damaged object file is refused, or its program runs within its bounds.
    #[test]
    fn damage_causes_no_panic(
        changes in prop::collection::vec((0usize..HEAVY.len(), any::<u8>()), 1..6), cut in 0usize..40
    ) {
        let mut file = HEAVY.to_vec();
        changes.into_iter().for_each(|(at, value)| file[at] = value);
        file.truncate(HEAVY.len() - cut.saturating_sub(30) * 100);
        if let Ok(loaded) = ebpf::load(&file) {
            let mut one = discipline(loaded);
            let queue = VirtualQueue::new(GBPS.inverse_rate(), CAPACITY);
            for n in 0..4u64 {
                let arrival = queue.arrival(100, true, Time::us(n));
                one.arrive_with(&arrival, &frame(n as u8, 1, 2, 100));
            }
        }
    }
}
