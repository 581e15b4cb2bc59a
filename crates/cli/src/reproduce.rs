//! `slotline reproduce`.

use crate::arguments::{ReproduceEngine, ReproduceOptions};
use crate::out::say;
use crate::progress;
use crate::run::{INTERRUPTED, NOT_VALID, saver, to_do};
use anyhow::{Context, Result, bail};
use slotline_lab::output::Place;
use slotline_lab::output::format::emulated as emulation_line;
use slotline_lab::record::RunRecord;
use slotline_lab::run::Done;
use slotline_reproduce::{
    Emulated, Experiment, Findings, Measured, PAPERS, Paper, Point, Sizes, Stored, StoredTable,
    Study, Work, with_stored_tables,
};
use slotline_scenario::{EmulateSpec, Loaded, SwitchesSpec};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

pub fn reproduce(options: &ReproduceOptions) -> Result<ExitCode> {
    if options.list {
        PAPERS.iter().for_each(|paper| say(&listed(paper)));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = chosen(options)?;
    if let Some(pages) = options.pages.as_deref().filter(|_| options.stored) {
        chosen.into_iter().try_for_each(|experiment| write_stored(pages, experiment))?;
        write_stored_tables(pages)?;
        return Ok(ExitCode::SUCCESS);
    }
    refuse_without_effect(options)?;
    #[cfg(target_os = "linux")]
    if emulates(options)
        && let Some(code) = crate::emulate::isolated_process()?
    {
        return Ok(code);
    }
    // The first process in a namespace ignores signals without a handler. Complete runs are stored.
    #[cfg(target_os = "linux")]
    if emulates(options) {
        progress::on_interrupt(|| std::process::exit(INTERRUPTED.into()))?;
    }
    let valid = chosen.into_iter().map(|experiment| one(experiment, options));
    let valid = valid.collect::<Result<Vec<bool>>>()?;
    let accepted = options.accept_late || valid.into_iter().all(|valid| valid);
    Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::from(NOT_VALID) })
}

/// Whether real hosts are requested.
fn emulates(options: &ReproduceOptions) -> bool {
    options.engine == ReproduceEngine::Emulate
}

/// The options of the emulation.
fn emulation(options: &ReproduceOptions) -> EmulateSpec {
    let spec = EmulateSpec::default();
    EmulateSpec {
        dilation: options.dilation.unwrap_or(spec.dilation),
        switches: switches(options),
        ..spec
    }
}

/// What joins real hosts.
#[cfg(target_os = "linux")]
fn switches(options: &ReproduceOptions) -> SwitchesSpec {
    options.switches.map_or_else(SwitchesSpec::default, crate::emulate::Switches::spec)
}

#[cfg(not(target_os = "linux"))]
fn switches(_options: &ReproduceOptions) -> SwitchesSpec {
    SwitchesSpec::default()
}

/// Refuses options that would have no effect.
fn refuse_without_effect(options: &ReproduceOptions) -> Result<()> {
    let emulates = emulates(options);
    let modelled = switches(options) == SwitchesSpec::default();
    if !emulates && (options.dilation.is_some() || options.accept_late || !modelled) {
        bail!("--dilation, --switches and --accept-late are only valid with --engine emulate");
    }
    if emulates && options.markdown {
        bail!("--markdown has no column for real hosts: omit it, or use --json");
    }
    if !emulates && options.end.is_some() && options.pages.is_some() {
        bail!("--pages writes complete results: omit --end");
    }
    Ok(())
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
        None if options.id.is_empty() => Ok(slotline_reproduce::experiments().collect()),
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

/// Runs an experiment, prints the comparison and writes the page. Returns whether it is valid.
fn one(experiment: &'static Experiment, options: &ReproduceOptions) -> Result<bool> {
    let (mut findings, places) = match &experiment.work {
        Work::Computed { .. } if emulates(options) => {
            bail!("{}: it has no scenario, so there is nothing to emulate", experiment.id)
        }
        Work::Computed { find, .. } => (find(options.common.threads()), vec![]),
        Work::Runs(study) => measured(study, Sizes::of(experiment.id), options)?,
    };
    let folder = slotline_reproduce::write(&options.out, experiment, &mut findings)?;
    // Single runs are removed only after the result is stored.
    drop(places);
    print(experiment, &findings, options);
    let is_valid = findings.emulated.as_ref().is_none_or(|found| found.emulation.is_valid());
    options.pages.iter().try_for_each(|pages| match findings.emulated {
        Some(_) if !is_valid && !options.accept_late => Ok(()),
        Some(_) => write_emulated(pages, experiment, &findings, options),
        None => write_table(pages, experiment, &findings),
    })?;
    if !options.common.json && !options.markdown {
        say(&format!("Page: {}\n", folder.join("report.html").display()));
    }
    Ok(is_valid)
}

/// Stores the result of `experiment` below the folder `pages`, and writes its table into the page of its paper.
fn write_table(pages: &Path, experiment: &Experiment, findings: &Findings) -> Result<()> {
    if findings.rows.is_empty() {
        bail!("{}: nothing was measured, so there is nothing to store", experiment.id);
    }
    let stored = Stored::new(experiment, &findings.rows);
    let file = Stored::path(pages, experiment);
    let written = stored.write(pages, experiment);
    written.with_context(|| format!("cannot write {}", file.display()))?;
    write_stored(pages, experiment)
}

/// Writes the table of the stored result of `experiment` into the page of its paper in the folder `pages`.
fn write_stored(pages: &Path, experiment: &Experiment) -> Result<()> {
    let stored = Stored::read(pages, experiment)?;
    let path = pages.join(format!("{}.md", experiment.paper().key));
    let name = path.display();
    let page = std::fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
    let Some(page) = stored.in_page(&page, experiment) else {
        bail!("{name}: expected a heading `## {}: ...` with a table below it", experiment.id);
    };
    std::fs::write(&path, page).with_context(|| format!("cannot write {name}"))
}

/// Stores the values of real hosts below the folder `pages`, and writes their table into the page that announces it.
fn write_emulated(
    pages: &Path,
    experiment: &Experiment,
    findings: &Findings,
    options: &ReproduceOptions,
) -> Result<()> {
    let spec = emulation(options);
    let mut made = format!("slotline reproduce {} --engine emulate", experiment.id);
    made += &format!(" --dilation {}", spec.dilation);
    if spec.switches == SwitchesSpec::OpenVswitch {
        made += " --switches open-vswitch";
    }
    made += &options.end.map_or(String::new(), |end| format!(" --end {end}"));
    let table = StoredTable::emulated(experiment, findings, &made);
    let file = StoredTable::path(pages, &table.table);
    table.write(pages).with_context(|| format!("cannot write {}", file.display()))?;
    write_stored_tables(pages)
}

/// Writes all tables that the pages in the folder announce.
fn write_stored_tables(pages: &Path) -> Result<()> {
    let files =
        std::fs::read_dir(pages).with_context(|| format!("cannot read {}", pages.display()))?;
    for file in files {
        let path = file?.path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let written = with_stored_tables(&page, |name| StoredTable::read(pages, name))?;
        if written != page {
            std::fs::write(&path, written)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn print(experiment: &Experiment, findings: &Findings, options: &ReproduceOptions) {
    if options.common.json {
        findings.json(experiment.id).iter().for_each(|line| say(line));
    } else if options.markdown {
        say(&format!("## {}: {}\n", experiment.id, experiment.about));
        say(&slotline_reproduce::markdown(&findings.rows));
    } else {
        let file = experiment.study().map_or(String::new(), |study| format!("{}\n", study.file));
        say(&format!("{}\n{file}", line(experiment)));
        say(&slotline_reproduce::table(findings));
        findings.emulated.iter().for_each(|emulated| say(&emulation_line(&emulated.emulation)));
    }
}

/// Measures all points of a study. Returns the findings and the places that store the runs in case the process is
/// killed.
fn measured(
    study: &Study,
    sizes: Option<&Sizes>,
    options: &ReproduceOptions,
) -> Result<(Findings, Vec<Place>)> {
    let mut points = study.points_with(sizes.filter(|_| emulates(options)))?;
    points.iter_mut().for_each(|point| options.end.iter().for_each(|end| point.shorten(*end)));
    let (spec, emulates) = (emulation(options), emulates(options));
    if emulates {
        points.iter_mut().for_each(|point| point.keep_emulated(&spec));
    }
    // Points that cannot be emulated are refused before anything runs.
    let real = points.iter().filter(|_| emulates).map(|point| point.emulated(&spec));
    let real = real.collect::<Result<Vec<Point>, _>>()?;
    let (simulated, mut places) = all_of(&points, options, options.common.threads())?;
    let mut findings = study.findings(&simulated);
    if emulates {
        // Emulations at the same time would make each other late.
        let (real, more) = all_of(&real, options, 1)?;
        places.extend(more);
        findings.emulated = Some(Emulated::of(study, &real, &findings.rows));
    }
    Ok((findings, places))
}

/// Runs points, and stores their runs in places.
fn all_of(
    points: &[Point],
    options: &ReproduceOptions,
    threads: usize,
) -> Result<(Vec<Measured>, Vec<Place>)> {
    let (mut done, mut texts, mut places) = (Vec::<Measured>::new(), vec![], vec![]);
    for point in points {
        let (loaded, text) = (&point.loaded, point.loaded.resolved());
        // Axes of different figures may have common points.
        let same = texts.iter().position(|other| *other == text);
        let runs = match same {
            Some(at) => done[at].runs.clone(),
            None => {
                let place = Place::claim(&options.out, &loaded.scenario.name, &text, false)?;
                let runs = runs(loaded, &place, threads)?;
                places.push(place);
                runs
            }
        };
        done.push(point.with(runs));
        texts.push(text);
    }
    Ok((done, places))
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
