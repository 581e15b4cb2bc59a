//! Imports traces with one flow in each line.

use super::hpcc;
use super::job::{Job, Summary, header};
use super::lines::each;
use super::{Imported, Importer, Reader};
use slotline_net::workload::csv::write;
use slotline_net::workload::rows::{RowFormat, Rows};

pub(super) const HPCC_FLOWS: Importer = Importer {
    name: "hpcc-flows",
    about: "flow file of the HPCC simulator",
    options: &["--priorities", "--topology"],
    read: Reader::File(|job| import(job, RowFormat::HpccFlows)),
};
pub(super) const HPCC_FCT: Importer = Importer {
    name: "hpcc-fct",
    about: "completion times of the HPCC simulator, as a trace",
    options: &["--topology"],
    read: Reader::File(|job| import(job, RowFormat::HpccFct)),
};
pub(super) const CSV: Importer = Importer {
    name: "csv",
    about: "trace: src,dst,bytes,start_s[,class]",
    options: &[],
    read: Reader::File(|job| import(job, RowFormat::Csv)),
};

/// One flow per line: read and written line by line.
fn import(job: &Job<'_>, format: RowFormat) -> Result<Imported, String> {
    let nodes = job.options.topology.as_deref().map(hpcc::hosts).transpose()?;
    if nodes.is_some() && job.options.out.is_none() {
        return Err("--topology renumbers hosts: name the file for the trace with -o".into());
    }
    let mut out = job.beside("csv")?;
    let (mut rows, mut seen) = (Rows::new(format, job.options.priorities), Summary::default());
    let mut buffer = Vec::new();
    let lines = each(job.file, |_, line| {
        let Some(mut entry) = rows.line(line)? else { return Ok(()) };
        if let Some(nodes) = &nodes {
            entry.src = nodes.host(entry.src)?;
            entry.dst = nodes.host(entry.dst)?;
        }
        seen.add(&entry);
        let Some(out) = &mut out else { return Ok(()) };
        buffer.clear();
        if seen.flows == 1 {
            buffer.extend(header(rows.classed()).bytes());
        }
        write(&entry, rows.classed(), &mut buffer);
        out.write(&buffer)
    })?;
    rows.end().map_err(|why| job.wrong(format!("line {}: {why}", lines.max(1))))?;
    let written = job.written(out, seen.flows)?;
    let mut keys = job.format_unless(&written, job.name);
    if job.options.priorities && written.is_none() {
        keys.push(("priorities", "true".into()));
    }
    let fragment = job.fragment(&seen.in_words(), written.as_ref(), &keys);
    let notes = rows.notes().iter().map(|note| job.wrong(note)).collect();
    Ok(Imported { fragment, notes, written: written.into_iter().collect() })
}
