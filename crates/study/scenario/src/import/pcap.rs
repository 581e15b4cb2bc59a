//! Imports a capture of packets as a trace of its flows.

use super::captures::{each_in_csv, extract};
use super::job::{Job, Summary, quoted};
use super::{Imported, Importer, Options, Reader};
use slotline_net::time::Time;
use slotline_net::workload::rows::Entry;

pub(super) const IMPORTER: Importer = Importer {
    name: "pcap",
    about: "capture of packets, pcap or pcapng",
    options: &["--idle-gap", "--addresses"],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let Options { idle_gap, addresses, .. } = job.options;
    let extract = extract(job.file, *idle_gap, addresses.as_deref())?;
    let mut seen = Summary::default();
    for flow in &extract.flows {
        let start = Time::ps(flow.start_ps);
        seen.add(&Entry { src: flow.src, dst: flow.dst, bytes: flow.bytes, start, class: None });
    }
    let out = job.beside("csv")?;
    let out = match out {
        Some(mut out) => each_in_csv(&extract, |line| out.write(line)).map(|()| Some(out))?,
        None => None,
    };
    let written = job.written(out, seen.flows)?;
    let mut keys = job.format_unless(&written, "pcap");
    if written.is_none() {
        keys.extend(idle_gap.map(|gap| ("idle-gap", format!("\"{gap}\""))));
        keys.extend(addresses.iter().map(|p| ("addresses", quoted(&p.to_string_lossy()))));
    }
    let fragment = job.fragment(&seen.in_words(), written.as_ref(), &keys);
    let notes = extract.notes().iter().map(|note| job.wrong(note)).collect();
    Ok(Imported { fragment, notes, written: written.into_iter().collect() })
}
