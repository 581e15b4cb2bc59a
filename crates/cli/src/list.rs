//! `slotline list`: all names that a scenario can use.

use anyhow::{Result, bail};
use clap::Args;
use slotline_scenario::catalogue::{Entry, Kind, Parameter};
use std::fmt::Write;
use std::process::ExitCode;

/// The width of the text in columns.
const WIDTH: usize = 96;

#[derive(Args)]
pub struct ListOptions {
    /// List only this kind, with all parameters.
    #[arg(value_parser = kind)]
    pub kind: Option<Kind>,
    /// List only the entry of this name.
    pub name: Option<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

pub fn list(options: &ListOptions) -> Result<ExitCode> {
    let kinds = options.kind.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    let mut lists: Vec<(Kind, Vec<Entry>)> =
        kinds.into_iter().map(|kind| (kind, kind.entries())).collect();
    if let (Some(name), Some((kind, entries))) = (&options.name, lists.first_mut()) {
        let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        entries.retain(|entry| entry.name == *name);
        if entries.is_empty() {
            bail!("no {} `{name}`: there are {}", kind.name(), names.join(", "));
        }
    }
    let text = match (options.json, options.kind) {
        (true, _) => json(&lists)?,
        (false, None) => lists.iter().map(overview).collect(),
        (false, Some(_)) => lists.iter().map(in_full).collect(),
    };
    Ok(crate::print_text(&text))
}

fn json(lists: &[(Kind, Vec<Entry>)]) -> Result<String> {
    let of_kind = |(kind, entries): &(Kind, Vec<Entry>)| serde_json::json!({ "kind": kind.name(), "place": kind.place(), "entries": entries });
    Ok(serde_json::to_string_pretty(&lists.iter().map(of_kind).collect::<Vec<_>>())?)
}

/// The names with a line about each; for a kind that is one table, its keys.
fn overview((kind, entries): &(Kind, Vec<Entry>)) -> String {
    let mut out = format!("{} ({})\n", kind.name(), kind.place());
    let mut line = |name: &str, about: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  {name:<18} {}", first_sentence(about));
    };
    for entry in entries {
        match entry.name.as_str() {
            "" => entry.parameters.iter().for_each(|p| line(&p.key, &p.about)),
            name => line(name, &entry.about),
        }
    }
    out + "\n"
}

fn first_sentence(text: &str) -> &str {
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

fn in_full((kind, entries): &(Kind, Vec<Entry>)) -> String {
    let mut out = format!("{} ({})\n", kind.name(), kind.place());
    for entry in entries {
        let title = if entry.name.is_empty() { kind.name() } else { &entry.name };
        let _ = writeln!(out, "\n{title}: {}", entry.about);
        entry.more.iter().for_each(|paragraph| out.push_str(&wrapped(paragraph, 2)));
        entry
            .source
            .iter()
            .for_each(|source| out.push_str(&wrapped(&format!("Source: {source}"), 2)));
        parameters(&entry.parameters, 2, &mut out);
    }
    out
}

fn parameters(all: &[Parameter], indent: usize, out: &mut String) {
    for parameter in all {
        let usual = match &parameter.default {
            Some(default) => format!("default {default}"),
            None if parameter.required => "required".into(),
            None => "may be left out".into(),
        };
        let (key, value) = (&parameter.key, &parameter.value);
        let _ = writeln!(out, "{:indent$}{key:<18} {value}; {usual}", "");
        out.push_str(&wrapped(&parameter.about, indent + 4));
        if let Some(source) = &parameter.source {
            out.push_str(&wrapped(&format!("Source: {source}"), indent + 4));
        }
        for choice in &parameter.choices {
            let source = choice.source.iter().map(|source| format!(" Source: {source}"));
            let about = choice.about.clone() + &source.collect::<String>();
            let line = format!("\"{}\": {about}", choice.name);
            out.push_str(&wrapped(&line, indent + 6));
        }
        parameters(&parameter.parameters, indent + 4, out);
    }
}

/// `text` on lines of at most [`WIDTH`] columns.
fn wrapped(text: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut column = WIDTH;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column + 1 + length > WIDTH {
            let _ = write!(out, "{}{:indent$}{word}", if out.is_empty() { "" } else { "\n" }, "");
            column = indent + length;
        } else {
            let _ = write!(out, " {word}");
            column += 1 + length;
        }
    }
    out + "\n"
}

fn kind(text: &str) -> Result<Kind, String> {
    let names = || Kind::ALL.map(Kind::name).join(", ");
    Kind::named(text).ok_or_else(|| format!("there are: {}", names()))
}
