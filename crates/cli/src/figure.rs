//! `slotline figure` and `slotline figures`: figures of results as files for papers.

use crate::out;
use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use slotline_figures::{Format, Look, units};
use slotline_lab::output::read;
use slotline_lab::summary::Summary;
use slotline_lab::sweep::part::{find, join};
use slotline_report::plot::Plot;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder in a result that receives figures.
const FOLDER: &str = "figures";

#[derive(Args)]
pub struct FigureOptions {
    /// Folder of a result or of a sweep.
    run: PathBuf,
    /// Name of the figure [default: list all names].
    name: Option<String>,
    /// File to write; its ending gives the format [default: figures/NAME.FORMAT in the folder of the result].
    #[arg(short, long, value_name = "FILE", requires = "name")]
    output: Option<PathBuf>,
    /// Format of the file [default: pdf].
    #[arg(long, value_parser = format())]
    format: Option<Format>,
    /// Draw only these schemes; can be given several times. A line of a sweep has the name that its page shows.
    #[arg(long, value_name = "NAME")]
    scheme: Vec<String>,
    /// Change this axis from linear to logarithmic, or back.
    #[arg(long, value_name = "AXIS", value_enum)]
    log: Vec<AxisName>,
    #[command(flatten)]
    size: Size,
}

#[derive(Args)]
pub struct FiguresOptions {
    /// Folder of a result or of a sweep.
    run: PathBuf,
    /// Folder that receives the figures [default: figures in the folder of the result].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only this format; can be given several times [default: all].
    #[arg(long, value_parser = format())]
    format: Vec<Format>,
    #[command(flatten)]
    size: Size,
}

/// How large figures are.
#[derive(Args)]
struct Size {
    /// Width: 84mm for a column of most papers, 178mm for a page; also cm, in and pt.
    #[arg(long, value_name = "LENGTH", default_value = "84mm", value_parser = millimetres)]
    width: f64,
    /// Pixels per inch of PNG.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u16).range(30..=2400))]
    dpi: u16,
}

/// Reads the name of a format.
fn format() -> impl TypedValueParser<Value = Format> {
    let help = |format| match format {
        Format::Svg => "Paths and texts, which other programs can edit",
        Format::Pdf => "For LaTeX, with the font embedded",
        Format::Png => "Pixels",
    };
    let value = |format: Format| PossibleValue::new(format.name()).help(help(format));
    let known = PossibleValuesParser::new(Format::ALL.map(value));
    known.try_map(|name| Format::named(&name).ok_or("it is no format"))
}

/// The format that the ending of a file names.
fn named_by(file: &Path) -> Option<Format> {
    Format::named(file.extension()?.to_str()?)
}

/// An axis.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AxisName {
    /// From left to right.
    X,
    /// From bottom to top.
    Y,
}

/// Reads a length; the result is in millimetres.
fn millimetres(text: &str) -> Result<f64, String> {
    let wrong = || {
        format!(
            "`{text}` is not a width between 40mm and 1000mm: write it as 84mm, 8.4cm, 3.3in or 239pt"
        )
    };
    let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let factor = match unit {
        "mm" => 1.0,
        "cm" => 10.0,
        "in" => 25.4,
        "pt" => 25.4 / 72.0,
        _ => return Err(wrong()),
    };
    let length = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    if (40.0..=1000.0).contains(&length) { Ok(length) } else { Err(wrong()) }
}

/// The figures of a result or of a sweep.
struct Source {
    /// The result, and the version that made it.
    id: String,
    /// The names of schemes.
    names: Vec<String>,
    plots: Vec<Plot>,
}

impl Source {
    fn read(folder: &Path) -> Result<Source> {
        if folder.join("sweep.json").is_file() {
            let sweep = join(&find(folder)?)?;
            let (names, plots) = slotline_report::sweep::plots(&sweep);
            return Ok(Source { id: sweep.sweep, names, plots });
        }
        let stored = read::open(folder)?;
        let plots = slotline_report::plots(&stored.set, &Summary::of(&stored.set));
        Ok(Source { id: stored.id, names: stored.set.schemes, plots })
    }

    fn find(&self, name: &str) -> Result<&Plot> {
        let found = self.plots.iter().find(|plot| plot.id == name);
        let all: Vec<&str> = self.plots.iter().map(|plot| plot.id).collect();
        found.with_context(|| {
            format!(
                "there is no figure `{name}` of this result, expected one of: {}",
                all.join(", ")
            )
        })
    }

    /// The schemes that are not among `chosen`.
    fn others(&self, chosen: &[String]) -> Result<Vec<usize>> {
        if let Some(wrong) = chosen.iter().find(|name| !self.names.contains(name)) {
            let all = self.names.join("`, `");
            bail!("there is no scheme `{wrong}`, expected one of: `{all}`");
        }
        let hidden = |at: &usize| !chosen.is_empty() && !chosen.contains(&self.names[*at]);
        Ok((0..self.names.len()).filter(hidden).collect())
    }

    fn look(&self, size: &Size) -> Look<'_> {
        Look {
            names: &self.names,
            width: units(size.width),
            hidden: vec![],
            other_scale: [false; 2],
        }
    }

    /// Writes a figure as `file`, and its caption beside it.
    fn write(
        &self,
        plot: &Plot,
        look: &Look<'_>,
        size: &Size,
        format: Format,
        file: &Path,
    ) -> Result<()> {
        let bytes = format.render(plot, look, size.dpi)?;
        let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
        folder.with_context(|| format!("cannot write `{}`", file.display()))?;
        put(file, &bytes)?;
        let made = format!("Result {}, slotline {}.", self.id, env!("CARGO_PKG_VERSION"));
        put(
            &file.with_extension("txt"),
            format!("{}\n\n{}\n\n{made}\n", plot.title, plot.caption).as_bytes(),
        )
    }
}

pub fn figure(options: &FigureOptions) -> Result<ExitCode> {
    let source = Source::read(&options.run)?;
    let Some(name) = &options.name else {
        source.plots.iter().for_each(|plot| out::say(&format!("{:<20} {}", plot.id, plot.title)));
        return Ok(ExitCode::SUCCESS);
    };
    let plot = source.find(name)?;
    let format = format_of(options)?;
    let file = match &options.output {
        Some(file) => file.clone(),
        None => options.run.join(FOLDER).join(format!("{name}.{}", format.name())),
    };
    let other_scale = [AxisName::X, AxisName::Y].map(|axis| options.log.contains(&axis));
    let hidden = source.others(&options.scheme)?;
    let look = Look { hidden, other_scale, ..source.look(&options.size) };
    source.write(plot, &look, &options.size, format, &file)?;
    out::say(&format!(
        "Figure: {}   (caption: {})",
        file.display(),
        file.with_extension("txt").display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// The format of a file: that of its name, which the option must not contradict.
fn format_of(options: &FigureOptions) -> Result<Format> {
    let Some(file) = &options.output else { return Ok(options.format.unwrap_or(Format::Pdf)) };
    match (named_by(file), options.format) {
        (Some(named), Some(given)) if named != given => {
            bail!("`{}` does not end with .{}", file.display(), given.name())
        }
        (named, given) => named.or(given).with_context(|| {
            format!(
                "`{}` does not end with .pdf, .svg or .png: name the format with --format",
                file.display()
            )
        }),
    }
}

pub fn figures(options: &FiguresOptions) -> Result<ExitCode> {
    let source = Source::read(&options.run)?;
    let folder = options.out.clone().unwrap_or_else(|| options.run.join(FOLDER));
    let formats = match &options.format[..] {
        [] => &Format::ALL,
        some => some,
    };
    for plot in &source.plots {
        for format in formats {
            let file = folder.join(format!("{}.{}", plot.id, format.name()));
            source.write(plot, &source.look(&options.size), &options.size, *format, &file)?;
        }
    }
    out::say(&format!("Figures: {} in {}", source.plots.len(), folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Writes `bytes` to another file first and then renames it, so that a file is never incomplete.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut beside = path.as_os_str().to_os_string();
    beside.push(".partial");
    let beside = PathBuf::from(beside);
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    written
        .inspect_err(|_| drop(fs::remove_file(&beside)))
        .with_context(|| format!("cannot write `{}`", path.display()))
}
