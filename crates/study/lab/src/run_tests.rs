//! A run that fails is named, and does not affect the others. Flows are followed alike in one pass and in two.

use super::*;
use slotline_scenario::Scenario;

/// Some seeds have no flow: half a flow is expected in a run.
const SPARSE: &str = "name = \"sparse\"\nend = { at = \"1ms\", when = \"time\" }\nrepeat = 20\n\
    fabric = { kind = \"star\", hosts = 4 }\n\
    [[workload]]\nkind = \"poisson\"\nsizes = \"1MB\"\nload = 0.4\n\
    [[scheme]]\nname = \"tcp\"\n[[scheme]]\nname = \"cubic\"\ntransport = \"cubic\"\n";

fn sparse() -> Loaded {
    Scenario::parse("sparse.toml".as_ref(), SPARSE.into()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_seed_without_flows_concerns_no_other() {
    let loaded = sparse();
    let jobs = Jobs::of(&loaded);
    let saved = Mutex::new(0);
    let done = jobs.run_saving(&loaded, 2, |_| *saved.lock().expect("no panic") += 1);
    assert_eq!(done.records.len() + done.failed.len(), 40);
    assert!(!done.failed.is_empty() && done.records.len() > 20, "{:?}", done.failed);
    let failed: Vec<u64> =
        done.failed.iter().filter(|f| f.scheme == "tcp").map(|f| f.seed).collect();
    assert_eq!(failed.len() * 2, done.failed.len(), "both schemes have the same traffic");
    let text = done.failed[0].to_string();
    assert!(text.contains("`tcp` with seed") && text.contains("no flow"), "{text}");
    // The rest is the same as without the failed runs.
    let mut one = sparse();
    one.reseed(Some(done.records[3].seed as u32), Some(1)).expect("a scenario");
    let alone = Jobs::of_scheme(&one, Some(1)).run(&one, 1).expect("a run");
    let same = done
        .records
        .iter()
        .find(|run| (&run.scheme, run.seed) == (&alone[0].scheme, alone[0].seed));
    assert_eq!(same.map(|run| run.engine.digest), Some(alone[0].engine.digest));
}

#[test]
fn a_panic_ends_one_run() {
    let loaded = sparse();
    let job = &Jobs::of(&loaded).0[0];
    let broken = Job {
        scheme: 7,
        watch: Watch::default(),
        foreseen: AtomicBool::default(),
        again: AtomicBool::default(),
        flows: AtomicU64::default(),
        done: AtomicBool::default(),
        ..*job
    };
    let message = catch_unwind(AssertUnwindSafe(|| one(&loaded, &broken, 1, true)))
        .expect_err("there is no scheme of that number");
    assert!(message_of(message.as_ref()).contains("7"), "the index is named");
}

/// Follows a run with what its first pass recorded, and with a second pass. Returns whether the first was enough.
fn followed_in_both_ways(fabric: &str, by: u32, scheme: &str, threads: usize) -> bool {
    let workload = format!("[[workload]]\nkind = \"stride\"\nby = {by}\nsize = \"5MB\"");
    let fabric = format!("{fabric}, rate = \"10Gbps\", delay = \"1us\"");
    workload_in_both_ways(&fabric, &workload, scheme, threads)
}

fn workload_in_both_ways(fabric: &str, workload: &str, scheme: &str, threads: usize) -> bool {
    let text = format!(
        "name = \"both\"\nend = {{ at = \"1s\" }}\nfabric = {{ {fabric} }}\n\
         {workload}\n[[scheme]]\nname = \"it\"\n{scheme}\n"
    );
    let loaded = Scenario::parse("both.toml".as_ref(), text).unwrap_or_else(|e| panic!("{e}"));
    let job = &Jobs::of(&loaded).0[0];
    let First { scene, mut record, recorded } = first(&loaded, job, threads).expect("a run");
    let mut again = record.clone();
    follow(&mut record, &loaded, job, threads, &scene, recorded).expect("a run");
    let enough = !job.again.load(Ordering::Relaxed);
    follow(&mut again, &loaded, job, threads, &scene, Recorded::default()).expect("a run");
    assert!(job.again.load(Ordering::Relaxed) && !record.why.is_empty(), "{fabric}");
    assert_eq!(record, again, "{fabric}");
    enough
}

#[test]
fn a_second_pass_finds_what_the_first_one_has_recorded() {
    let (star, tree) = ("kind = \"star\", hosts = 64", "kind = \"fat-tree\", k = 4");
    let dctcp = "transport = \"dctcp\"\nqueue = { kind = \"ecn\", threshold = \"30KB\" }";
    let priorities = "queue = { kind = \"drop-tail\", limit = \"100KB\", priorities = true }";
    assert!(followed_in_both_ways(tree, 5, dctcp, 1), "all flows were recorded");
    assert!(followed_in_both_ways(tree, 5, priorities, 2), "all flows were recorded");
    // Whether these were foreseen depends on which of equal flows is the slowest.
    followed_in_both_ways(star, 1, dctcp, 1);
    followed_in_both_ways(star, 7, priorities, 2);
    let scheduled = "control = { kind = \"xco\", slice = \"100us\" }";
    // Under a scheduler no forecast says which these are.
    followed_in_both_ways(star, 1, scheduled, 1);
}

#[test]
fn flows_that_are_too_large_to_be_followed_need_no_second_pass() {
    let large =
        "[[workload]]\nkind = \"bulk\"\nsenders = \"0-1\"\nreceivers = \"2-3\"\nsize = \"40MB\"";
    let small = "[[workload]]\nkind = \"shuffle\"\nsize = \"20KB\"";
    let scheme = "transport = \"cubic\"";
    let workload = format!("{large}\n{small}");
    assert!(workload_in_both_ways("kind = \"star\", hosts = 4", &workload, scheme, 1));
}

/// Flows of many sizes that begin at different times, and do not all fit.
#[test]
fn the_slowest_flows_are_found_while_a_run_goes_on() {
    let fabric = "kind = \"fat-tree\", k = 4, rate = \"10Gbps\", delay = \"1us\"";
    let workload =
        "[[workload]]\nkind = \"poisson\"\nload = 0.6\nsizes = \"websearch\"\nuntil = \"20ms\"";
    let dctcp = "transport = \"dctcp\"\nqueue = { kind = \"ecn\", threshold = \"30KB\" }";
    let scheduled = "control = { kind = \"xco\", slice = \"100us\" }";
    assert!(workload_in_both_ways(fabric, workload, dctcp, 1));
    assert!(workload_in_both_ways(fabric, workload, dctcp, 2));
    assert!(workload_in_both_ways(fabric, workload, scheduled, 1), "whoever decides about rates");
    let several = format!("{workload}\npersistent = true");
    assert!(!workload_in_both_ways(fabric, &several, dctcp, 1), "connections have several flows");
}

#[test]
fn of_the_largest_flows_those_that_are_behind_are_recorded() {
    let fabric = "kind = \"hybrid\", racks = 4, hosts-per-rack = 2, packet = { rate = \"10Gbps\" }, \
                  circuits = { rate = \"40Gbps\", reconfiguration = \"20us\" }";
    let workload = "[[workload]]\nkind = \"stride\"\nby = 3\nsize = \"10MB\"\n\
                    [[workload]]\nkind = \"shuffle\"\nsize = \"20KB\"";
    let scheme = "transport = \"cubic\"\ncontrol = \"circuits\"\nvoq = { packets = 64 }";
    // Whether the slowest were foreseen depends on which of equal flows these are.
    workload_in_both_ways(fabric, workload, scheme, 1);
}
