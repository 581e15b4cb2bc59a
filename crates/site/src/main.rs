//! `slotline-site [FOLDER]`: builds the documentation's site, by default to `target/site`.

use slotline_site::Site;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match build(std::env::args_os().nth(1).map(PathBuf::from)) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(faults) => {
            faults.iter().for_each(|fault| eprintln!("{fault}"));
            ExitCode::from(2)
        }
    }
}

fn build(out: Option<PathBuf>) -> Result<String, Vec<String>> {
    let here = std::env::current_dir().map_err(|e| vec![e.to_string()])?;
    let root = here.ancestors().find(|folder| folder.join("docs/index.md").is_file());
    let root: &Path = root
        .ok_or_else(|| vec!["no docs/index.md here or above: run this in the repository".into()])?;
    let out = out.unwrap_or_else(|| root.join("target/site"));
    let words = |faults: Vec<slotline_site::Fault>| {
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let site = Site::build(root).map_err(words)?;
    site.write(&out).map_err(|e| vec![format!("{}: {e}", out.display())])?;
    Ok(format!("{} files; open {}", site.files.len(), out.join("index.html").display()))
}
