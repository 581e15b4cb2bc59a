//! `report.html`: one file that needs nothing else. Figures are plain data made here (`plot`) and drawn by
//! the page's own script; words and tables are HTML, and stay where there is no script.

mod fabric;
mod flows;
mod heat;
mod html;
mod links;
mod plot;
mod ports;
mod schedule;
mod sequence;
mod thin;
mod view;
mod why;

use crate::record::RunSet;
use crate::summary::Summary;
use html::{escape, paragraph};
use plot::{Figure, Plot};
use serde::Serialize;
use view::View;

/// The page for `set`, whose result is called `id`.
pub fn html(id: &str, set: &RunSet, summary: &Summary) -> String {
    let title = escape(&set.name);
    let sections = sections(set, summary);
    let links = sections.iter().map(|section| (section.id, section.title));
    let all = [("comparison", "Comparison")]
        .into_iter()
        .chain(links)
        .chain([("made", "How it was made")]);
    let contents: String =
        all.map(|(id, title)| format!("<a href=\"#{id}\">{title}</a>\n")).collect();
    let body: String = sections.iter().map(Section::html).collect();
    let plots = sections.iter().flat_map(|section| section.figures.iter().flatten()).collect();
    let data = data(set, plots);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{}{}</header>\n<nav aria-label=\"Contents\">{contents}</nav>\n\
         <noscript><p class=\"warning\">The figures are drawn by a script, which is switched off here. The \
         tables and all data files beside this page do not need it.</p></noscript>\n\
         <main>\n{}{body}{}</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>\n'use strict';\n(() => {{\n{}}})();\n</script>\n</body>\n</html>\n",
        html::about(id, set),
        html::headline(set, summary),
        html::comparison(set, summary),
        html::trust(set),
        SCRIPTS.concat(),
    )
}

/// Figures that belong together.
struct Section {
    id: &'static str,
    title: &'static str,
    figures: Vec<Figure>,
}

fn sections(set: &RunSet, summary: &Summary) -> Vec<Section> {
    let view = View::of(set);
    let section = |id, title, figures| Section { id, title, figures };
    let schedule = vec![schedule::figure(&view), sequence::figure(&view)];
    vec![
        section("flows", "Flows", flows::figures(&view, summary)),
        section("reasons", "Why", why::figures(&view)),
        section("time", "Over time", ports::figures(&view)),
        section("network", "Network", vec![heat::figure(&view), fabric::figure(&view)]),
        section("slots", "Schedule", schedule),
    ]
}

impl Section {
    fn html(&self) -> String {
        let figures: String = self.figures.iter().map(figure).collect();
        let (id, title) = (self.id, self.title);
        format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{figures}</section>\n")
    }
}

/// The place where the script draws, or what is missing.
fn figure(figure: &Figure) -> String {
    match figure {
        Ok(Plot { id, title, caption, .. }) => format!(
            "<figure id=\"{id}\">\n<h3>{title}</h3>\n<div class=\"stage\"></div>\n\
             <figcaption>{}</figcaption>\n</figure>\n",
            escape(caption)
        ),
        Err(missing) => format!(
            "<div class=\"missing\"><h3>{}</h3>{}</div>\n",
            missing.title,
            paragraph(missing.remedy)
        ),
    }
}

/// All figures as JSON that may stand within a page.
fn data(set: &RunSet, plots: Vec<&Plot>) -> String {
    #[derive(Serialize)]
    struct Data<'a> {
        name: &'a str,
        schemes: &'a [String],
        plots: Vec<&'a Plot>,
    }
    let data = Data { name: &set.name, schemes: &set.schemes, plots };
    // Plain data with text keys always has a JSON form. A `<` in a text could end the script.
    serde_json::to_string(&data).expect("plain data").replace('<', "\\u003c")
}

const STYLE: &str = concat!(include_str!("assets/colours.css"), include_str!("assets/page.css"));

/// One subject each; later ones use earlier ones.
const SCRIPTS: [&str; 13] = [
    include_str!("assets/numbers.js"),
    include_str!("assets/dom.js"),
    include_str!("assets/scales.js"),
    include_str!("assets/lines.js"),
    include_str!("assets/bars.js"),
    include_str!("assets/stack.js"),
    include_str!("assets/heat.js"),
    include_str!("assets/gantt.js"),
    include_str!("assets/sequence.js"),
    include_str!("assets/fabric.js"),
    include_str!("assets/flows.js"),
    include_str!("assets/export.js"),
    include_str!("assets/page.js"),
];

#[cfg(test)]
mod tests;
