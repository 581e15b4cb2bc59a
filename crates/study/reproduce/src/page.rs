//! The folder of an experiment: a self-contained page, and the comparison as JSON.

use super::table::{emulated, estimate, notes, stated};
use super::{Experiment, Findings, Row, Work};
use slotline_lab::output::OutputError;
use slotline_lab::output::format::emulated as emulated_line;
use slotline_report::frame::{Page, Section};
use slotline_report::html::{escape, list, paragraph};
use std::fs;
use std::path::{Path, PathBuf};

/// The file that marks a folder of this program.
const ROWS: &str = "rows.json";

/// Writes `report.html` and `rows.json` to the folder of `experiment` below `root`, and replaces earlier ones. A folder
/// of this name with other content is not changed.
pub fn write(
    root: &Path,
    experiment: &Experiment,
    findings: &mut Findings,
) -> Result<PathBuf, OutputError> {
    let folder = root.join(experiment.id);
    let ours = folder.join(ROWS).is_file();
    if folder.exists() && !ours {
        return Err(OutputError::Foreign(folder));
    }
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    let rows = format!("[\n{}\n]\n", findings.json(experiment.id).join(",\n"));
    let page = html(experiment, findings);
    for (name, text) in [(ROWS, rows), ("report.html", page)] {
        // A file with its final name is complete.
        let (draft, file) = (folder.join(format!(".{name}")), folder.join(name));
        fs::write(&draft, text).map_err(at(&draft))?;
        fs::rename(&draft, &file).map_err(at(&file))?;
    }
    Ok(folder)
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> OutputError {
    let path = path.to_path_buf();
    move |error| OutputError::Io { path, error }
}

/// The page. It moves the figures out of `findings`.
fn html(experiment: &Experiment, findings: &mut Findings) -> String {
    let figures = std::mem::take(&mut findings.figures);
    let section = |id, title, text, figures| Section { id, title, text, figures };
    let title = format!("{}: {}", experiment.id, experiment.about);
    let how = made(experiment) + &emulation(findings);
    let page = Page {
        title: &title,
        head: head(experiment),
        names: &findings.names,
        sections: vec![
            section("figures", "Figures", String::new(), figures),
            section("comparison", "Paper and ours", table(findings), vec![]),
            section("made", "How it was made", how, vec![]),
        ],
    };
    page.html()
}

fn head(experiment: &Experiment) -> String {
    let title = format!("<p class=\"lead\">{}</p>\n", escape(experiment.paper().title));
    title
        + &list(&[
            ("Experiment", experiment.id.to_string()),
            ("Made by", format!("slotline {}", env!("CARGO_PKG_VERSION"))),
        ])
}

fn table(findings: &Findings) -> String {
    let notes = notes(&findings.rows);
    let mut heads = vec!["Setup", "Quantity", "Paper", "Ours", "Unit", "Note"];
    if findings.emulated.is_some() {
        heads.splice(3..4, ["Simulated", "Emulated"]);
    }
    let head = |text: &&str| {
        let class = if matches!(*text, "Quantity" | "Unit") { " class=\"text\"" } else { "" };
        format!("<th scope=\"col\"{class}>{text}</th>")
    };
    let heads: String = heads.iter().map(head).collect();
    let value = |at| emulated(findings, at).map_or("–".into(), estimate);
    let cell = |at| findings.emulated.as_ref().map(|_| format!("<td>{}</td>", value(at)));
    let body = |(at, row)| line(row, &cell(at).unwrap_or_default(), &notes);
    let body: String = findings.rows.iter().enumerate().map(body).collect();
    let notes: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Paper and ours\"><table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n\
         <p class=\"small\">The paper's values are those of its text, and not read from figures. ± is half of the 95 \
                           % interval over seeds.</p>\n<ol class=\"small\">\n{notes}</ol>\n"
    )
}

/// `emulated` is the cell with the value of real hosts.
fn line(row: &Row, emulated: &str, notes: &[&str]) -> String {
    let note = notes.iter().position(|note| *note == row.note);
    let paper = row.paper.map_or("–".into(), stated);
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td>{}</td><td>{}</td>{emulated}\
         <td class=\"text\">{}</td><td>{}</td></tr>\n",
        escape(&row.setup()),
        escape(&row.quantity),
        escape(&paper),
        estimate(&row.ours),
        escape(if row.unit == "1" { "" } else { &row.unit }),
        note.map_or(String::new(), |at| (at + 1).to_string()),
    )
}

/// How well the machine kept up with real hosts.
fn emulation(findings: &Findings) -> String {
    findings
        .emulated
        .as_ref()
        .map_or(String::new(), |found| paragraph(&emulated_line(&found.emulation)))
}

fn made(experiment: &Experiment) -> String {
    let how = match &experiment.work {
        Work::Runs(study) => format!(
            "The scenario {} was run at the points of the axis. The command slotline run {} runs it as it is in the file. The page of the documentation on the paper gives the sources of its settings.",
            study.file, study.file
        ),
        Work::Computed { how, .. } => how.to_string(),
    };
    paragraph(&how) + &paragraph("The comparison is in rows.json beside this page.")
}
