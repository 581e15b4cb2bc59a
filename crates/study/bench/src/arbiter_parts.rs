//! The cases of `slotline bench arbiter`: the arbiter's parts, on one core, then its schedule, on one core and on two.

use crate::table::{Choice, Outcome, Separate};
use crate::{Row, arbiter, arbiter_quality, fcp, pipeline};
use std::path::Path;

/// The benchmark for the command line. `quality` measures all schedules; each other case is one of a part.
pub(crate) const SEPARATE: Separate = Separate {
    cases: names,
    run: run_named,
    compared: None,
    has_large: false,
    takes_threads: false,
};

type Measure = Box<dyn Fn() -> Vec<Row>>;

/// Each case with its name.
fn cases() -> Vec<(String, Measure)> {
    let quality = ("quality".into(), Box::new(arbiter_quality::rows) as Measure);
    arbiter::cases()
        .into_iter()
        .map(|case| (case.name(), Box::new(move || case.run(arbiter::USUAL)) as Measure))
        .chain([quality])
        .chain(schedule_cases())
        .collect()
}

/// The cases of messages and of the schedule.
fn schedule_cases() -> impl Iterator<Item = (String, Measure)> {
    let fcp = fcp::cases().into_iter();
    let fcp = fcp.map(|case| (case.name(), Box::new(move || case.run(fcp::USUAL)) as Measure));
    let pipeline = pipeline::cases().into_iter();
    fcp.chain(pipeline.map(|case| (case.name(), Box::new(move || case.measure()) as Measure)))
}

fn names(_choice: &Choice<'_>) -> Vec<String> {
    cases().into_iter().map(|(name, _)| name).collect()
}

fn run_named(case: &str, _scenarios: &Path) -> Outcome {
    let (_, measure) = cases().into_iter().find(|(name, _)| name == case).ok_or_else(|| {
        let names: Vec<String> = cases().into_iter().map(|(name, _)| name).collect();
        format!("there is no case `{case}`: {}", names.join(", "))
    })?;
    Ok(measure())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_case_has_a_name_of_its_own() {
        let names: Vec<String> = cases().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        let error = run_named("256", Path::new("")).unwrap_err().to_string();
        assert!(error.contains("no case `256`: 256:0.5:1, 256:0.9:1"), "{error}");
    }
}
