use super::*;
use crate::record::NEVER;

fn stored(change: impl Fn(&mut RunSet)) -> Stored {
    let mut set = RunSet::example(3);
    // Another test covers the unfinished flow.
    for run in &mut set.runs {
        run.flows.retain(|flow| flow.finished());
    }
    change(&mut set);
    Stored { id: "incast-0".into(), version: "0.1.0".into(), set }
}

fn diff(new: &Stored, tolerance: f64, metrics: &[Metric]) -> Result<Diff, DiffError> {
    let question = Question { tolerance, metrics: metrics.to_vec() };
    Diff::of(&stored(|_| ()), new, question)
}

/// Flows of `scheme` take `percent` longer.
fn slower(scheme: &'static str, percent: u64) -> impl Fn(&mut RunSet) {
    move |set| {
        for run in set.runs.iter_mut().filter(|run| run.scheme == scheme) {
            run.engine.digest += 1;
            run.flows.iter_mut().for_each(|f| f.finish_ps += f.finish_ps / 100 * percent);
        }
    }
}

#[test]
fn equal_results_are_called_identical() {
    let same = diff(&stored(|_| ()), 0.05, &[]).unwrap();
    assert!(same.identical && same.differences.is_empty());
    assert_eq!(same.outcome(), Outcome::Fine);
    let shown = text(&same, 100);
    assert!(
        shown.contains("Identical results") && shown.contains("scenarios are the same"),
        "{shown}"
    );
    assert!(shown.ends_with("No regression beyond 5 %.\n"), "{shown}");
}

#[test]
fn a_regression_is_named_and_one_within_the_tolerance_is_not() {
    let new = stored(slower("dctcp", 10));
    let found = diff(&new, 0.05, &[]).unwrap();
    assert_eq!(found.outcome(), Outcome::Regression);
    assert!(found.regressions().contains(&("dctcp", Metric::FctMean)));
    assert!(found.regressions().iter().all(|(scheme, _)| *scheme == "dctcp"));
    assert!(!found.identical && found.schemes[0].identical && !found.schemes[1].identical);
    let shown = text(&found, 100);
    assert!(shown.contains("dctcp, paired by seed, 3 seeds:"), "{shown}");
    assert!(shown.contains("worse: 10.0 % higher  REGRESSION"), "{shown}");
    let within = diff(&new, 0.15, &[]).unwrap();
    assert_eq!(within.outcome(), Outcome::Fine);
    assert!(text(&within, 100).contains("worse: 10.0 % higher\n"), "{}", text(&within, 100));
    let other = diff(&new, 0.05, &[Metric::Drops]).unwrap();
    assert_eq!((other.outcome(), other.schemes[1].changes.len()), (Outcome::Fine, 1));
    let json: serde_json::Value = serde_json::from_str(&json(&found)).unwrap();
    assert_eq!(json["outcome"], "regression");
    let fct = &json["schemes"]["dctcp"]["metrics"]["fct-mean"];
    assert_eq!((&fct["regression"], &fct["unit"]), (&true.into(), &"s".into()));
    assert!(fct["change"]["ratio_low"].as_f64().unwrap() > 1.09, "{fct}");
}

#[test]
fn other_seeds_are_not_paired() {
    let new = stored(|set| {
        slower("tcp", 50)(set);
        set.seeds.iter_mut().for_each(|seed| *seed += 10);
        set.runs.iter_mut().for_each(|run| run.seed += 10);
    });
    let found = diff(&new, 0.05, &[]).unwrap();
    assert!(found.schemes.iter().all(|s| s.pairing == Pairing::Independent && !s.identical));
    assert!(found.regressions().contains(&("tcp", Metric::FctMean)));
    assert!(text(&found, 100).contains("tcp, other seeds (3 and 3), not paired:"));
}

#[test]
fn flows_that_do_not_finish_any_more_are_a_regression() {
    let new = stored(|set| {
        let run = set.runs.iter_mut().find(|run| run.scheme == "dctcp").unwrap();
        run.flows[0].finish_ps = NEVER;
    });
    // Another metric was requested, which has improved.
    let found = diff(&new, 0.5, &[Metric::Drops]).unwrap();
    assert_eq!(found.regressions(), [("dctcp", Metric::Unfinished)]);
    assert!(text(&found, 80).contains("REGRESSION"));
}

#[test]
fn a_single_seed_may_be_chance() {
    let one = |change: &dyn Fn(&mut RunSet)| {
        stored(|set| {
            set.runs.retain(|run| run.seed == 1);
            set.seeds = vec![1];
            change(set);
        })
    };
    let question = Question { tolerance: 0.05, metrics: vec![] };
    let found = Diff::of(&one(&|_| ()), &one(&slower("tcp", 10)), question).unwrap();
    assert_eq!(found.outcome(), Outcome::Regression);
    let shown = text(&found, 100);
    assert!(shown.contains("tcp, one seed, so differences may be chance:"), "{shown}");
    assert!(shown.contains("10.0 % higher  REGRESSION"), "{shown}");
}

#[test]
fn what_has_no_counterpart_cannot_be_compared() {
    let gone = diff(&stored(|set| set.schemes[1] = "dctcp2".into()), 0.05, &[]).unwrap_err();
    assert!(gone.to_string().contains("no scheme `dctcp`: it has tcp, dctcp2"), "{gone}");
    let empty = diff(&stored(|set| set.runs.retain(|run| run.scheme != "tcp")), 0.05, &[]);
    assert_eq!(empty, Err(DiffError::NoRun { side: "new", scheme: "tcp".into() }));
    let window = diff(&stored(|set| set.window.from_ps = 1_000_000), 0.05, &[]).unwrap_err();
    assert!(window.to_string().contains("the new one from 1 µs on"), "{window}");
    let no_ideal = stored(|set| {
        set.runs.iter_mut().flat_map(|run| &mut run.flows).for_each(|flow| flow.ideal_ps = 0);
    });
    let gap = diff(&no_ideal, 0.05, &[]).unwrap();
    assert_eq!(
        (gap.outcome(), &gap.schemes[0].gaps[..]),
        (Outcome::Gap, &[Metric::SlowdownMean, Metric::SlowdownP99][..])
    );
    assert!(text(&gap, 100).contains("Slowdown 99th: not measured on both sides"));
    let asked = diff(&stored(|_| ()), 0.05, &[Metric::GoodputUdp]).unwrap();
    assert_eq!(asked.outcome(), Outcome::Gap);
    let added = diff(&stored(|set| set.schemes.push("more".into())), 0.05, &[]).unwrap();
    assert!(added.added == ["more"] && added.outcome() == Outcome::Fine && !added.identical);
}

#[test]
fn scenarios_are_distinguished() {
    let new = stored(|set| set.scenario = set.scenario.replace("Incast of 8", "Incast of 9"));
    let shown = text(&diff(&new, 0.05, &[]).unwrap(), 100);
    assert!(
        shown.contains("The scenarios differ:\n  name: \"Incast of 8\" → \"Incast of 9\""),
        "{shown}"
    );
}

#[test]
fn narrow_screens_are_respected() {
    let new = stored(slower("dctcp", 10));
    let shown = text(&diff(&new, 0.05, &[]).unwrap(), 60);
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
}
