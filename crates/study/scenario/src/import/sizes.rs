//! Imports a distribution of flow sizes as a workload with these sizes.

use super::job::{Job, filled, quoted};
use super::{Imported, Importer, Reader};
use slotline_net::workload::Cdf;

pub(super) const IMPORTER: Importer = Importer {
    name: "sizes",
    about: "distribution of flow sizes: lines `size cumulative`",
    options: &[],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let text = job.text()?;
    let sizes = Cdf::parse(&text).map_err(|e| job.wrong(e))?;
    let out = job.beside("txt")?;
    let written = out.map(|out| filled(out, text.as_bytes())).transpose()?;
    let name = job.file.file_name().unwrap_or(job.file.as_os_str()).to_string_lossy();
    let fragment = format!(
        "# {name}, read as {}: mean {:.0} bytes\n[[workload]]\nkind = \"poisson\"\n\
         sizes = {}\nload = 0.3\n",
        job.name,
        sizes.mean(),
        quoted(&job.named(written.as_ref()))
    );
    let notes = vec![job.wrong(format!("read as {}", sizes.scale().in_words()))];
    Ok(Imported { fragment, notes, written: written.into_iter().collect() })
}
