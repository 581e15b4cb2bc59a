//! `report.html`: one self-contained file that shows a result. This crate computes the figures as plain data
//! ([`plot`]), and the script of the page draws them. Text and tables are HTML, and do not need the
//! script. The crate also writes results in the formats of other tools ([`export`]) and the page of a
//! parameter study ([`sweep`]).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bumps;
pub mod colours;
pub mod export;
mod fabric;
mod faults;
pub mod flows;
pub mod frame;
mod groups;
mod heat;
pub mod html;
mod links;
pub mod plot;
mod ports;
mod schedule;
mod sequence;
pub mod sweep;
pub mod thin;
mod view;
mod voqs;
mod why;

use frame::{Page, Section};
use plot::Figure;
use serde_json::json;
use slotline_lab::output::PageFile;
use slotline_lab::record::RunSet;
use slotline_lab::summary::Summary;
use view::View;

/// The report as a file of a result.
pub const PAGE: PageFile = PageFile { name: "report.html", text: html };

/// The page for `set`, whose result has the name `id`.
pub fn html(id: &str, set: &RunSet, summary: &Summary) -> String {
    page(id, set, summary).html()
}

/// All figures of the page as JSON, for other programs that draw them: for each its title, its caption and its data, or
/// how to get the data.
pub fn figures(set: &RunSet, summary: &Summary) -> String {
    let sections = sections(set, summary);
    let figures = sections.iter().flat_map(|section| &section.figures);
    let value = |figure: &Figure| match figure {
        Ok(plot) => json!({ "title": plot.title, "caption": plot.caption, "plot": plot }),
        Err(missing) => json!({ "title": missing.title, "remedy": missing.remedy }),
    };
    json!({ "schemes": set.schemes, "figures": figures.map(value).collect::<Vec<_>>() }).to_string()
}

/// The figures of `set`, in the order of the page.
pub fn plots(set: &RunSet, summary: &Summary) -> Vec<plot::Plot> {
    sections(set, summary).into_iter().flat_map(|section| section.figures).flatten().collect()
}

fn page<'a>(id: &str, set: &'a RunSet, summary: &Summary) -> Page<'a> {
    Page {
        title: &set.name,
        head: html::about(id, set) + &html::headline(set, summary),
        names: &set.schemes,
        sections: sections(set, summary),
    }
}

fn sections(set: &RunSet, summary: &Summary) -> Vec<Section> {
    let view = View::of(set);
    let plain = |id, title, text| Section { id, title, text, figures: vec![] };
    let drawn = |id, title, figures| Section { id, title, text: String::new(), figures };
    let schedule = vec![schedule::figure(&view), sequence::figure(&view)];
    let expected = html::expectations(set, summary);
    let faults = faults::page(set).map(|text| plain("faults", "Faults", text));
    let queues = voqs::page(set).map(|text| plain("voqs", "Queues by rack", text));
    let mut all = vec![
        plain("comparison", "Comparison", html::comparison(set, summary)),
        drawn("flows", "Flows", flows::figures(&view, summary)),
        drawn("reasons", "Why", why::figures(&view)),
        drawn("time", "Over time", ports::figures(&view)),
        drawn("bumps", "Bumps", bumps::figures(&view)),
        drawn("network", "Network", vec![heat::figure(&view), fabric::figure(&view)]),
        drawn("slots", "Schedule", schedule),
        plain("made", "How it was made", html::trust(set)),
    ];
    all.retain(|section| section.id != "bumps" || !section.figures.is_empty());
    if let Some(text) = expected {
        all.insert(1, plain("expected", "Expectations", text));
    }
    // These sections are inserted before the last one.
    faults.into_iter().chain(queues).for_each(|faults| all.insert(all.len() - 1, faults));
    all
}

#[cfg(test)]
mod tests;
