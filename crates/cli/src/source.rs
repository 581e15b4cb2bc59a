//! Where commands read scenarios from: a file or the standard input, with values replaced.

use clap::Args;
use slotline_scenario::{Loaded, Scenario, ScenarioError, read_text};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The file name that stands for the standard input.
const STDIN: &str = "-";

/// A scenario file, and changes to it.
#[derive(Args, Clone)]
pub struct Source {
    /// The scenario file; `-` for the standard input.
    pub file: PathBuf,
    /// Replace a value of the file: fabric.hosts=9, or scheme.dctcp.queue.threshold=20KB; can be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl Source {
    /// Whether the scenario is on the standard input.
    pub fn is_stdin(&self) -> bool {
        self.file == Path::new(STDIN)
    }

    /// Reads and checks the scenario. All of its errors are one text.
    pub fn load(&self) -> anyhow::Result<Loaded> {
        self.load_all().map_err(|errors| {
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            anyhow::anyhow!(texts.join("\n\n"))
        })
    }

    /// Reads and checks the scenario; reports all errors.
    pub fn load_all(&self) -> Result<Loaded, Vec<ScenarioError>> {
        let text = text(&self.file).map_err(|error| vec![error])?;
        Scenario::parse_all(&self.file, text, &self.set)
    }
}

/// The text of a file, or of the standard input.
fn text(file: &Path) -> Result<String, ScenarioError> {
    let read = if file == Path::new(STDIN) { stdin() } else { read_text(file) };
    read.map_err(|error| ScenarioError::Read { path: file.into(), error })
}

fn stdin() -> std::io::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
