//! `slotline reproduce`.

use crate::arguments::ReproduceOptions;
use crate::out::say;
use crate::progress;
use crate::run::{saver, to_do};
use anyhow::{Result, bail};
use slotline_lab::output::Place;
use slotline_lab::record::RunRecord;
use slotline_lab::run::Done;
use slotline_reproduce::{Experiment, Findings, Measured, PAPERS, Paper, Study, Work};
use slotline_scenario::Loaded;
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Mutex;

pub fn reproduce(options: &ReproduceOptions) -> Result<ExitCode> {
    if options.list {
        PAPERS.iter().for_each(|paper| say(&listed(paper)));
        return Ok(ExitCode::SUCCESS);
    }
    chosen(options)?.into_iter().try_for_each(|experiment| one(experiment, options))?;
    Ok(ExitCode::SUCCESS)
}

/// A paper with its experiments.
fn listed(paper: &Paper) -> String {
    let lines = paper.experiments.iter().map(|experiment| line(experiment) + "\n");
    format!("{}\n{}", paper.title, lines.collect::<String>())
}

fn line(experiment: &Experiment) -> String {
    format!("{:<8}{}", experiment.id, experiment.about)
}

/// The requested experiments. An unknown name is refused before anything runs.
fn chosen(options: &ReproduceOptions) -> Result<Vec<&'static Experiment>> {
    match options.paper.as_deref() {
        None => options.id.iter().map(|id| known(id)).collect(),
        Some("all") => Ok(slotline_reproduce::experiments().collect()),
        Some(key) => match PAPERS.iter().find(|paper| paper.key == key) {
            Some(paper) => Ok(paper.experiments.iter().collect()),
            None => {
                let keys: Vec<&str> = PAPERS.iter().map(|paper| paper.key).collect();
                bail!("no paper `{key}`: there are {}, all", keys.join(", "))
            }
        },
    }
}

fn known(id: &str) -> Result<&'static Experiment> {
    if let Some(experiment) = slotline_reproduce::find(id) {
        return Ok(experiment);
    }
    let ids: Vec<&str> =
        slotline_reproduce::experiments().map(|experiment| experiment.id).collect();
    bail!("no experiment `{id}`: there are {}", ids.join(", "))
}

/// Runs an experiment, prints the comparison and writes the page.
fn one(experiment: &'static Experiment, options: &ReproduceOptions) -> Result<()> {
    let threads = options.common.threads();
    let (mut findings, places) = match &experiment.work {
        Work::Computed { find, .. } => (find(threads), vec![]),
        Work::Runs(study) => measured(study, options)?,
    };
    let folder = slotline_reproduce::write(&options.out, experiment, &mut findings)?;
    // Only now nothing is lost with the single runs.
    drop(places);
    print(experiment, &findings, options);
    if !options.common.json && !options.markdown {
        say(&format!("Page: {}\n", folder.join("report.html").display()));
    }
    Ok(())
}

fn print(experiment: &Experiment, findings: &Findings, options: &ReproduceOptions) {
    let rows = &findings.rows;
    if options.common.json {
        rows.iter().for_each(|row| say(&row.json(experiment.id)));
    } else if options.markdown {
        say(&format!("## {}: {}\n", experiment.id, experiment.about));
        say(&slotline_reproduce::markdown(rows));
    } else {
        let file = experiment.study().map_or(String::new(), |study| format!("{}\n", study.file));
        say(&format!("{}\n{file}", line(experiment)));
        say(&slotline_reproduce::table(rows));
    }
}

/// All points of a study, and the places that keep their runs in case this is killed.
fn measured(study: &Study, options: &ReproduceOptions) -> Result<(Findings, Vec<Place>)> {
    let (mut done, mut texts, mut places) = (Vec::<Measured>::new(), vec![], vec![]);
    for point in study.points()? {
        let (loaded, text) = (&point.loaded, point.loaded.resolved());
        // Axes of different figures may have a point in common.
        let same = texts.iter().position(|other| *other == text);
        let runs = match same {
            Some(at) => done[at].runs.clone(),
            None => {
                let place = Place::claim(&options.out, &loaded.scenario.name, &text, false)?;
                let runs = runs(loaded, &place, options.common.threads())?;
                places.push(place);
                runs
            }
        };
        done.push(point.with(runs));
        texts.push(text);
    }
    Ok((study.findings(&done), places))
}

/// All runs of a scenario. Each is saved in `place` as soon as it is done.
fn runs(loaded: &Loaded, place: &Place, threads: usize) -> Result<Vec<RunRecord>> {
    let (jobs, mut records) = to_do(loaded, place);
    let end = loaded.scenario.end.at.map(|at| at.as_ps());
    let (save, saved) = (saver(loaded, place), Mutex::new(BTreeSet::new()));
    let name = |run: &RunRecord| (run.scheme.clone(), run.seed);
    let noted = |run: &mut RunRecord| {
        save(run);
        saved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name(run));
    };
    let Done { records: mut fresh, failed } =
        progress::watched(&jobs, end, || jobs.run_saving(loaded, threads, noted));
    let saved = saved.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // The last run of a scenario is not saved on its own, because the result usually follows at once.
    fresh.iter_mut().filter(|run| !saved.contains(&name(run))).for_each(&save);
    records.append(&mut fresh);
    match failed.into_iter().next() {
        Some(failure) => Err(failure.into()),
        None => Ok(records),
    }
}
