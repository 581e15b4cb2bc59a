//! Imports a schedule in the GOAL language.

use super::job::{Job, filled};
use super::{Imported, Importer, Reader};
use slotline_net::units::Bytes;
use slotline_net::workload::goal;

pub(super) const IMPORTER: Importer = Importer {
    name: "goal",
    about: "schedule in the GOAL language, as text",
    options: &["--eager"],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let text = job.text()?;
    let program = goal::parse(&text).map_err(|e| job.wrong(e))?;
    if program.messages.is_empty() {
        return Err(job.wrong("the program sends no messages"));
    }
    let out = job.beside("goal")?;
    let written = out.map(|out| filled(out, text.as_bytes())).transpose()?;
    let about = format!(
        "{} operations, {} messages; needs {} hosts",
        program.ops.len(),
        program.messages.len(),
        program.ranks
    );
    let mut keys = job.format_unless(&written, "goal");
    keys.extend(job.options.eager.map(|Bytes(size)| ("eager", format!("\"{size}B\""))));
    let fragment = job.fragment(&about, written.as_ref(), &keys);
    Ok(Imported { fragment, notes: vec![], written: written.into_iter().collect() })
}
