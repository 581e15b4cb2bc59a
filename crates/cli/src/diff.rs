//! `slotline diff`.

use crate::out;
use crate::run::width;
use anyhow::{Context, Result};
use clap::Args;
use slotline_lab::diff::{self, Diff, Outcome, Question};
use slotline_lab::output::read;
use slotline_scenario::metric::Metric;
use slotline_scenario::renamed::metric_name;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what changed from one result to another. Exit codes: 0, no regression; 1, a regression beyond the
/// tolerance; 2, they cannot be compared.
#[derive(Args)]
pub struct DiffOptions {
    /// Folder of the old result.
    pub old: PathBuf,
    /// Folder of the new result.
    pub new: PathBuf,
    /// Largest change for the worse that is not a regression, for example 5% or 0.05.
    #[arg(long, value_name = "PART", default_value = "5%", value_parser = tolerance)]
    pub tolerance: f64,
    /// Compare only this metric; can be given several times [default: the scenario's metrics, or the usual ones].
    #[arg(long = "metric", value_name = "METRIC", value_parser = metric)]
    pub metrics: Vec<Metric>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

pub fn diff(options: &DiffOptions) -> Result<ExitCode> {
    let (old, new) = (read::open(&options.old)?, read::open(&options.new)?);
    let question = Question { tolerance: options.tolerance, metrics: options.metrics.clone() };
    let found = Diff::of(&old, &new, question).with_context(|| {
        format!("cannot compare `{}` with `{}`", options.new.display(), options.old.display())
    })?;
    let output = if options.json { diff::json(&found) } else { diff::text(&found, width()) };
    out::print(&output);
    Ok(match found.outcome() {
        Outcome::Fine => ExitCode::SUCCESS,
        Outcome::Regression => ExitCode::from(1),
        Outcome::Gap => ExitCode::from(2),
    })
}

fn tolerance(text: &str) -> Result<f64, String> {
    let part = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    let right = || "write a fraction of the old value, such as 5% or 0.05".to_string();
    let part = part.map_err(|_| right())?;
    // `5` is more likely to mean 5 % than a factor of five.
    let sense = (0.0..=10.0).contains(&part) && (part < 1.0 || text.ends_with('%'));
    if sense { Ok(part) } else { Err(right()) }
}

fn metric(text: &str) -> Result<Metric, String> {
    let name = metric_name(text);
    let found = Metric::ALL.into_iter().find(|metric| metric.key() == name);
    found.ok_or_else(|| format!("there are: {}", Metric::ALL.map(Metric::key).join(", ")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn tolerances_have_a_sense() {
        let read = |text| super::tolerance(text).ok();
        assert_eq!(
            (read("5%"), read("0.05"), read("0"), read("150 %")),
            (Some(0.05), Some(0.05), Some(0.0), Some(1.5))
        );
        for wrong in ["5", "-1%", "nan", "", "%", "inf%", "5 percent"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
