//! Imports the neighbours of machines by LLDP as a network.

use super::fabric::{self, FabricFormat};
use super::job::Job;
use super::{Imported, Importer, Reader};
use slotline_formats::lldp;

pub(super) const IMPORTER: Importer = Importer {
    name: "lldp",
    about: "neighbours of machines by LLDP, as lldpcli -f json prints them",
    options: &["--rate", "--delay", "--host-rate", "--host-delay", "--attach-hosts", "--host"],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let text = job.text()?;
    let name = job.file.display().to_string();
    let machines = lldp::machines(&text)
        .map_err(|error| format!("{name}:{}: {}", error.line, error.message))?;
    let (network, notes) = lldp::node_link(&machines);
    let fragment = fabric::import(FabricFormat::NodeLink, &network, &name, &job.options.fabric)
        .map_err(|error| error.to_string())?;
    Ok(Imported { fragment, notes, written: Vec::new() })
}
