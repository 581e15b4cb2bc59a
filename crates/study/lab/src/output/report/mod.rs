//! `report.html`: one file that needs nothing else. Figures are plain data made here (`plot`) and drawn by
//! the page's own script; words and tables are HTML, and stay where there is no script.

pub mod bumps;
mod fabric;
pub(crate) mod flows;
pub(crate) mod frame;
mod groups;
mod heat;
pub(crate) mod html;
mod links;
pub(crate) mod plot;
mod ports;
mod schedule;
mod sequence;
pub(crate) mod thin;
mod view;
mod why;

use crate::output::{faults, voqs};
use crate::record::RunSet;
use crate::summary::Summary;
use frame::{Page, Section};
use view::View;

/// The page for `set`, whose result is called `id`.
pub fn html(id: &str, set: &RunSet, summary: &Summary) -> String {
    page(id, set, summary).html()
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
    let words = |id, title, text| Section { id, title, text, figures: vec![] };
    let drawn = |id, title, figures| Section { id, title, text: String::new(), figures };
    let schedule = vec![schedule::figure(&view), sequence::figure(&view)];
    let faults = faults::page(set).map(|text| words("faults", "Faults", text));
    let queues = voqs::page(set).map(|text| words("voqs", "Queues by rack", text));
    let mut all = vec![
        words("comparison", "Comparison", html::comparison(set, summary)),
        drawn("flows", "Flows", flows::figures(&view, summary)),
        drawn("reasons", "Why", why::figures(&view)),
        drawn("time", "Over time", ports::figures(&view)),
        drawn("bumps", "Bumps", bumps::figures(&view)),
        drawn("network", "Network", vec![heat::figure(&view), fabric::figure(&view)]),
        drawn("slots", "Schedule", schedule),
        words("made", "How it was made", html::trust(set)),
    ];
    all.retain(|section| section.id != "bumps" || !section.figures.is_empty());
    // Before the last one.
    faults.into_iter().chain(queues).for_each(|faults| all.insert(all.len() - 1, faults));
    all
}

#[cfg(test)]
mod tests;
