//! `slotline import`.

use crate::out;
use anyhow::Result;
use clap::Args;
use slotline_net::time::Time;
use slotline_net::topology::GraphSpec;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::cm::TimeUnit;
use slotline_net::workload::moment::Moment;
use slotline_scenario::import::{self, Importer, Options};
use std::path::PathBuf;
use std::process::ExitCode;

/// Convert a file of another program into a part of a scenario.
#[derive(Args)]
pub struct ImportOptions {
    /// Kind of the file; an unknown name prints the list of kinds.
    #[arg(value_parser = Importer::named)]
    pub kind: Importer,
    /// The file.
    pub file: PathBuf,
    /// Write the fragment to this file and the traffic to a file beside it, instead of printing the fragment.
    #[arg(long, short, value_name = "TOML")]
    pub out: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
    /// htsim-cm: unit of `start`, ps or us [default: ps].
    #[arg(long, value_parser = time_unit)]
    pub time_unit: Option<TimeUnit>,
    /// htsim-cm, hpcc-flows: convert priorities to classes.
    #[arg(long)]
    pub priorities: bool,
    /// htsim-cm: the failures refer to a fat-tree with this k.
    #[arg(long, value_name = "K", value_parser = tree)]
    pub fat_tree: Option<u32>,
    /// hpcc-flows, hpcc-fct: the topology file that defines which nodes are hosts.
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// goal: senders do not wait for messages up to this size, for example "65535B".
    #[arg(long, value_name = "SIZE")]
    pub eager: Option<Bytes>,
    /// pcap: a longer silence ends a flow, for example "1s".
    #[arg(long, value_name = "TIME")]
    pub idle_gap: Option<Time>,
    /// pcap, flow-log, zeek, netflow: a file of lines `address host` or `prefix host`.
    #[arg(long, value_name = "FILE")]
    pub addresses: Option<PathBuf>,
    /// flow-log, zeek, netflow: the moment that is time zero, as a date with time or in seconds since 1970 [default: the
    /// start of the first flow].
    #[arg(long, value_name = "MOMENT")]
    pub epoch: Option<Moment>,
    /// flow-log: the name of a column, for example "bytes=TotBytes"; can be given several times.
    #[arg(long = "column", value_name = "KEY=NAME", value_parser = column)]
    pub columns: Vec<(String, String)>,
    /// flow-log, netflow: bytes of headers that are subtracted from the size for each packet, for example "40B".
    #[arg(long, value_name = "SIZE")]
    pub packet_headers: Option<Bytes>,
    /// circuits: factor by which times in the file are longer than in the network [default: 1].
    #[arg(long, value_name = "N")]
    pub dilation: Option<u64>,
    /// Networks: rate of links that have none in the file, for example "10Gbps".
    #[arg(long)]
    pub rate: Option<Rate>,
    /// Networks: propagation delay of links that have none in the file, for example "1us".
    #[arg(long)]
    pub delay: Option<Time>,
    /// Networks: rate of hosts' links that have none in the file [default: --rate].
    #[arg(long, value_name = "RATE")]
    pub host_rate: Option<Rate>,
    /// Networks: propagation delay of hosts' links that have none in the file [default: --delay].
    #[arg(long, value_name = "DELAY")]
    pub host_delay: Option<Time>,
    /// Networks without hosts: number of hosts to attach to every switch.
    #[arg(long, value_name = "N")]
    pub attach_hosts: Option<u32>,
    /// Networks: the attribute with the names of nodes [default: their ids].
    #[arg(long, value_name = "ATTRIBUTE")]
    pub names: Option<String>,
    /// Networks: the name of a node that is a host, where * is for any characters; can be given several times.
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// Networks: a kind of node that is a host; can be given several times.
    #[arg(long = "host-kind", value_name = "KIND")]
    pub host_kinds: Vec<String>,
    /// containerlab: states of the switches' ports, as `bridge -j link` or `show spanning-tree` prints them; links that the
    /// spanning tree blocks are left out.
    #[arg(long, value_name = "FILE")]
    pub spanning_tree: Option<PathBuf>,
}

impl ImportOptions {
    fn fabric(&self) -> GraphSpec {
        GraphSpec {
            rate: self.rate,
            delay: self.delay,
            host_rate: self.host_rate,
            host_delay: self.host_delay,
            attach_hosts: self.attach_hosts,
            names: self.names.clone(),
            hosts: self.hosts.clone(),
            host_kinds: (!self.host_kinds.is_empty()).then(|| self.host_kinds.clone()),
            ..GraphSpec::default()
        }
    }
}

pub fn import(options: &ImportOptions) -> Result<ExitCode> {
    let imported = import::import(
        options.kind,
        &options.file,
        &Options {
            out: options.out.clone(),
            force: options.force,
            time_unit: options.time_unit,
            priorities: options.priorities,
            fat_tree: options.fat_tree,
            topology: options.topology.clone(),
            eager: options.eager,
            idle_gap: options.idle_gap,
            addresses: options.addresses.clone(),
            epoch: options.epoch,
            columns: import::log_columns(&options.columns).map_err(anyhow::Error::msg)?,
            packet_headers: options.packet_headers,
            dilation: options.dilation,
            spanning_tree: options.spanning_tree.clone(),
            fabric: options.fabric(),
        },
    )?;
    imported.notes.iter().for_each(|note| out::warn(format_args!("note: {note}")));
    if imported.written.is_empty() {
        out::print_bytes(imported.fragment.to_string().as_bytes());
    }
    imported.written.iter().for_each(|path| out::say(&format!("wrote {}", path.display())));
    Ok(ExitCode::SUCCESS)
}

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    match text {
        "ps" => Ok(TimeUnit::Ps),
        "us" => Ok(TimeUnit::Us),
        _ => Err("expected ps or us".into()),
    }
}

fn column(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(key, name)| (key.to_string(), name.to_string()));
    pair.ok_or_else(|| "expected for example bytes=TotBytes".into())
}

fn tree(text: &str) -> Result<u32, String> {
    let k = text.parse().ok().filter(|k: &u32| (2..=64).contains(k) && k.is_multiple_of(2));
    k.ok_or_else(|| "expected an even number from 2 to 64".into())
}
