//! `slotline collect`.

use super::arguments::CollectOptions;
use super::{INCOMPLETE, show};
use anyhow::Result;
use slotline_lab::sweep::part::{Sweep, find, join, json_shown};
use slotline_lab::sweep::{PointRecord, State};
use std::process::ExitCode;

pub fn collect(options: &CollectOptions) -> Result<ExitCode> {
    let mut parts = vec![];
    for folder in &options.folders {
        parts.extend(find(folder)?);
    }
    let sweep = join(&parts)?;
    let root = options.out.as_ref().unwrap_or(&parts[0].0);
    let folder = slotline_report::sweep::write(root, &sweep)?;
    show(&sweep, &folder, options.json);
    if !sweep.duplicates.is_empty() {
        let n = sweep.duplicates.len();
        crate::out::warn(format_args!(
            "{n} points were done in several folders, with equal results"
        ));
    }
    let missing = sweep.points.iter().filter(|point| point.state != State::Done);
    missing.clone().for_each(|point| crate::out::warn(format_args!("{}", lacking(&sweep, point))));
    Ok(ExitCode::from(if missing.count() == 0 { 0 } else { INCOMPLETE }))
}

fn lacking(sweep: &Sweep, point: &PointRecord) -> String {
    let pairs = sweep.parameters.iter().zip(&point.settings);
    let settings: Vec<String> = pairs
        .filter_map(|(parameter, value)| {
            Some(format!("{} = {}", parameter.label, json_shown(value.as_ref()?)))
        })
        .collect();
    let settings = settings.join(", ");
    match &point.message {
        Some(why) => format!("point {} failed ({settings}): {}", point.point, why.trim()),
        None => format!("point {} is missing ({settings})", point.point),
    }
}
