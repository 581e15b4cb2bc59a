//! One test for each target. `SLOTLINE_FUZZ_SECONDS`, `SLOTLINE_FUZZ_SEED` and `SLOTLINE_FUZZ_INPUT` set the duration,
//! the seed, or a single input to try again.

use slotline_fuzz::{Settings, TARGETS, fuzz};
use std::path::Path;

fn drive(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target of that name");
    let settings = Settings::from_environment(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let tried = settings.and_then(|settings| fuzz(target, &settings));
    let tried = tried.unwrap_or_else(|why| panic!("{why}"));
    println!("{name}: {tried} inputs");
}

macro_rules! a_test_for_each {
    ($($name:ident),*) => {
        $(#[test] fn $name() { drive(stringify!($name)) })*

        #[test]
        fn every_target_has_a_test() {
            assert_eq!(TARGETS.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

a_test_for_each!(
    scenarios,
    scenario_texts,
    sweeps,
    imports,
    spanning_trees,
    traces,
    captures,
    frames,
    objects,
    instructions,
    results,
    parts,
    wire,
    sessions,
    networks,
    daemons,
    daemon_files
);
