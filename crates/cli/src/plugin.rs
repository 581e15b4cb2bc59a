//! `slotline new plugin`: a crate with parts of one's own.

use crate::out;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub struct PluginOptions {
    /// Name of the crate, and of the folder that is made for it: small letters, digits and hyphens.
    #[arg(default_value = "my-plugin")]
    name: String,
    /// The folder with Slotline's sources [default: SLOTLINE_HOME, or this folder or one above it].
    #[arg(long, value_name = "DIR")]
    slotline: Option<PathBuf>,
}

/// The files of the crate, with their templates.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("../templates/plugin/cargo.toml")),
    ("README.md", include_str!("../templates/plugin/readme.md")),
    ("scenario.toml", include_str!("../templates/plugin/scenario.toml")),
    ("src/lib.rs", include_str!("../templates/plugin/lib.rs")),
    ("src/main.rs", include_str!("../templates/plugin/main.rs")),
    ("src/turns.rs", include_str!("../templates/plugin/turns.rs")),
    ("tests/parts.rs", include_str!("../templates/plugin/parts.rs")),
];

/// Files of Slotline that the crate gets a copy of: versions of libraries, and how they are built.
const LOCK: &str = "Cargo.lock";
const MANIFEST: &str = "Cargo.toml";

pub fn plugin(options: &PluginOptions) -> Result<ExitCode> {
    let name = &options.name;
    check_name(name)?;
    let sources = sources(options.slotline.as_deref())?;
    let manifest = read(&sources.join(MANIFEST))?;
    let values = [
        ("@NAME@", name.clone()),
        ("@CRATE@", name.replace('-', "_")),
        ("@SLOTLINE@", sources.display().to_string()),
        ("@PROFILES@", profiles(&manifest)),
    ];
    let folder = Path::new(name);
    std::fs::create_dir(folder).with_context(|| format!("cannot make the folder {name}"))?;
    for (file, template) in FILES {
        let text =
            values.iter().fold(template.to_string(), |text, (key, value)| text.replace(key, value));
        create(&folder.join(file), &text)?;
    }
    create(&folder.join(".gitignore"), "/target\n")?;
    create(&folder.join(LOCK), &read(&sources.join(LOCK))?)?;
    out::warn(format_args!(
        "{name}: build and run it there with `cargo run --release -- run scenario.toml`"
    ));
    Ok(ExitCode::SUCCESS)
}

fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !name.chars().all(fits) || name.starts_with("slotline") {
        bail!(
            "`{name}` cannot be a crate's name here: it needs small letters, digits and hyphens, begins with a \
             letter, and not with `slotline`"
        );
    }
    Ok(())
}

/// The folder with Slotline's sources.
fn sources(given: Option<&Path>) -> Result<PathBuf> {
    let home = std::env::var_os("SLOTLINE_HOME").map(PathBuf::from);
    let here = std::env::current_dir()?;
    let candidates: Vec<&Path> = match given {
        Some(folder) => vec![folder],
        None => home.as_deref().into_iter().chain(here.ancestors()).collect(),
    };
    let found =
        candidates.into_iter().find(|folder| folder.join("crates/slotline/Cargo.toml").is_file());
    let found =
        found.context("Slotline's sources are not here: name their folder with --slotline DIR")?;
    Ok(found.canonicalize()?)
}

/// The profiles of a manifest: all its tables from the first one on, without comments.
fn profiles(manifest: &str) -> String {
    let lines = manifest.lines().skip_while(|line| !line.starts_with("[profile."));
    lines.filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn create(path: &Path, text: &str) -> Result<()> {
    let write = || {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        File::create_new(path)?.write_all(text.as_bytes())
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
