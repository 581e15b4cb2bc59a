//! Imports a connection matrix of htsim. Its failures become events.

use super::job::{Job, filled, header};
use super::{Imported, Importer, Reader};
use slotline_net::workload::cm::{self, Begin, Matrix, TimeUnit};
use slotline_net::workload::csv::write;
use slotline_net::workload::rows::Entry;
use std::fmt::Write as _;
use std::path::PathBuf;

pub(super) const IMPORTER: Importer = Importer {
    name: "htsim-cm",
    about: "connection matrix of htsim",
    options: &["--time-unit", "--priorities", "--fat-tree"],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let unit = job.options.time_unit.unwrap_or_default();
    let matrix = cm::parse(&job.text()?, unit).map_err(|e| job.wrong(e))?;
    let events = failures(&matrix, job.options.fat_tree).map_err(|why| job.wrong(why))?;
    if !matrix.failures.is_empty() && job.options.out.is_none() {
        return Err(job.wrong(
            "it has failures, which become `event` tables: name a file for the rest with -o",
        ));
    }
    let written = written(job, &matrix)?;
    let mut keys = job.format_unless(&written, "cm");
    let as_matrix = !matrix.triggers.is_empty();
    if written.is_none() {
        keys.extend((unit == TimeUnit::Us).then(|| ("time-unit", "\"us\"".into())));
    } else if as_matrix {
        keys.push(("time-unit", "\"ps\"".into()));
    }
    if job.options.priorities && (written.is_none() || as_matrix) {
        keys.push(("priorities", "true".into()));
    }
    let about = format!(
        "{} flows, {} triggers, {} failures; needs {} hosts",
        matrix.flows.len(),
        matrix.triggers.len(),
        matrix.failures.len(),
        matrix.nodes
    );
    let fragment = job.fragment(&about, written.as_ref(), &keys) + &events;
    let mut notes = vec![];
    if job.options.time_unit.is_none() {
        notes
            .push(job.wrong("`start` is read as picoseconds; use --time-unit us for microseconds"));
    }
    if !job.options.priorities && matrix.flows.iter().any(|flow| flow.prio.is_some()) {
        notes.push(job.wrong("`prio` is not used; --priorities converts it to classes"));
    }
    if !matrix.failures.is_empty() && job.options.fat_tree.is_none() {
        let k = tree_of(matrix.nodes).unwrap_or_default();
        notes.push(
            job.wrong(format!("failures assume a fat-tree with k = {k}, from the number of nodes")),
        );
    }
    Ok(Imported { fragment, notes, written: written.into_iter().collect() })
}

/// Writes a matrix as a trace. A matrix with triggers is written as a matrix without failures.
fn written(job: &Job<'_>, matrix: &Matrix) -> Result<Option<PathBuf>, String> {
    if !matrix.triggers.is_empty() {
        let out = job.beside("cm")?;
        return out.map(|out| filled(out, matrix.without_failures().as_bytes())).transpose();
    }
    let classes = matrix.classes().map_err(|e| job.wrong(e));
    let classes = if job.options.priorities { classes? } else { Default::default() };
    let classed = job.options.priorities;
    let mut buffer = header(classed).into_bytes();
    for flow in &matrix.flows {
        let start = match flow.begin {
            Begin::At(start) => start,
            Begin::On(_) => continue,
        };
        let class = flow.prio.and_then(|prio| classes.get(&prio).copied());
        let entry = Entry { src: flow.src, dst: flow.dst, bytes: flow.bytes, start, class };
        write(&entry, classed, &mut buffer);
    }
    let out = match job.beside("csv")? {
        Some(mut out) => out.write(&buffer).map(|()| Some(out))?,
        None => None,
    };
    job.written(out, matrix.flows.len() as u64)
}

/// The `k` of the fat-tree with `nodes` hosts, as htsim selects it.
fn tree_of(nodes: u32) -> Option<u32> {
    (2..=64).step_by(2).find(|k: &u32| k.pow(3) / 4 == nodes)
}

/// Tables of events for the links that a matrix removes. In htsim these links are missing from the start.
fn failures(matrix: &Matrix, k: Option<u32>) -> Result<String, String> {
    if matrix.failures.is_empty() {
        return Ok(String::new());
    }
    let k = k.or(tree_of(matrix.nodes)).ok_or_else(|| {
        format!(
            "no fat-tree has {} hosts: name the fat-tree of the failures with --fat-tree K",
            matrix.nodes
        )
    })?;
    let half = k / 2;
    let mut out = String::new();
    for failure in &matrix.failures {
        let (switch, link) = (failure.switch, failure.link);
        if switch >= k * half || link >= half {
            return Err(format!(
                "line {}: switch_id {switch}, link_id {link}: a fat-tree with k = {k} has \
                 aggregation switches 0 to {} with uplinks 0 to {}",
                failure.line,
                (k * half).max(1) - 1,
                half.max(1) - 1
            ));
        }
        let (pod, place) = (switch / half, switch % half);
        let core = place * half + link;
        let _ = write!(
            out,
            "\n[[event]]\nat = \"0ps\"\nkind = \"link-down\"\nlink = \"agg{pod}.{place}-core{core}\"\n"
        );
    }
    Ok(out)
}
