//! `slotline design`: the parts and the cost of a network for a number of hosts.

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use slotline_design::amount::Ratio;
use slotline_design::compare::{Comparison, Shape};
use slotline_design::parts::{Parts, SHIPPED};
use slotline_design::{Wish, drawing, files};
use slotline_net::units::Rate;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct DesignOptions {
    #[command(subcommand)]
    shape: Designed,
}

/// The networks that can be designed.
#[derive(Subcommand)]
enum Designed {
    /// A fat-tree, compared with hierarchical trees and a leaf-spine for the same hosts.
    FatTree(FatTreeOptions),
    /// A hierarchical tree: edge switches with faster uplinks, and two levels of switches above them.
    Tree(RatioOptions),
    /// A leaf-spine.
    LeafSpine(RatioOptions),
    /// Print a table of parts. A copy of it can be edited and passed to --parts.
    Parts {
        /// The table.
        #[arg(long, value_name = "NAME", default_value = "today")]
        year: String,
    },
}

/// Options of every kind of network.
#[derive(Args)]
struct CommonOptions {
    /// Hosts.
    #[arg(long)]
    hosts: u64,
    /// Rate of a host's port, for example 10Gbps.
    #[arg(long)]
    nic: Rate,
    /// Table of parts: 2008, 2012 or today [default: the first of 2012, 2008, today that has switches for
    /// the hosts' ports].
    #[arg(long, value_name = "NAME", conflicts_with = "parts")]
    year: Option<String>,
    /// File with a table of parts; `slotline design parts` prints one to start from.
    #[arg(long, value_name = "FILE")]
    parts: Option<PathBuf>,
    /// Write the bill of materials to this CSV file, which must not exist.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Draw racks, pods and bundles of cables to this SVG file, which must not exist.
    #[arg(long, value_name = "FILE")]
    drawing: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct FatTreeOptions {
    #[command(flatten)]
    common: CommonOptions,
    /// Ports per switch: an even number. More ports than needed leave room for more pods [default: the smallest number
    /// that suffices].
    #[arg(long)]
    k: Option<u64>,
    /// Build the switches of a pod as one unit, without cables between them.
    #[arg(long)]
    pod_switch: bool,
}

#[derive(Args)]
struct RatioOptions {
    #[command(flatten)]
    common: CommonOptions,
    /// Largest oversubscription: the hosts' total rate over the rate that the network carries.
    #[arg(long, value_name = "RATIO", default_value = "1:1")]
    oversubscription: Ratio,
}

pub fn design(options: &DesignOptions) -> Result<ExitCode> {
    match &options.shape {
        Designed::FatTree(options) => {
            let wish = Wish {
                k: options.k,
                pod_switch: options.pod_switch,
                ..options.common.wish(Ratio::FULL)
            };
            one(Shape::FatTree, wish, &options.common)
        }
        Designed::Tree(options) => {
            one(Shape::Tree, options.common.wish(options.oversubscription), &options.common)
        }
        Designed::LeafSpine(options) => {
            one(Shape::LeafSpine, options.common.wish(options.oversubscription), &options.common)
        }
        Designed::Parts { year } => Ok(crate::print_text(shipped(year)?)),
    }
}

impl CommonOptions {
    fn wish(&self, oversubscription: Ratio) -> Wish {
        let CommonOptions { hosts, nic, .. } = *self;
        Wish { hosts, nic, oversubscription, k: None, pod_switch: false }
    }
    fn table(&self) -> Result<Parts> {
        match (&self.parts, &self.year) {
            (Some(file), _) => Ok(Parts::load(file)?),
            (None, Some(year)) => shipped(year).map(|_| Parts::shipped(year).expect("it is there")),
            (None, None) => Ok(Parts::for_rate(self.nic)),
        }
    }
}

/// The text of the table of parts `name`.
fn shipped(name: &str) -> Result<&'static str> {
    match SHIPPED.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok(text),
        None => {
            let names: Vec<&str> = SHIPPED.iter().map(|(known, _)| *known).collect();
            bail!(
                "no table of parts `{name}`: there are {}; --parts reads a table from a file",
                names.join(", ")
            )
        }
    }
}

fn one(shape: Shape, wish: Wish, common: &CommonOptions) -> Result<ExitCode> {
    let comparison = Comparison::of(shape, wish, common.table()?)?;
    let (design, bill) = &comparison.main;
    if let Some(file) = &common.csv {
        write(file, &files::csv(bill, &comparison.parts))?;
    }
    if let Some(file) = &common.drawing {
        write(file, &drawing::svg(design))?;
    }
    Ok(match common.json {
        true => crate::print_text(&serde_json::to_string_pretty(&files::json(&comparison))?),
        false => crate::print_text(&comparison.text()),
    })
}

/// Writes a new file.
fn write(path: &Path, text: &str) -> Result<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
