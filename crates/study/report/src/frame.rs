//! The frame of a page: head, contents, sections with figures, their data and the scripts that draw them.

use super::html::escape;
use super::plot::{Figure, Missing, Plot};
use serde::Serialize;

/// A self-contained page.
pub struct Page<'a> {
    /// Its heading.
    pub title: &'a str,
    /// The HTML below the heading.
    pub head: String,
    /// The names of lines and bars in its figures: schemes, or schemes with settings.
    pub names: &'a [String],
    /// Its parts.
    pub sections: Vec<Section>,
}

/// Tables and figures on one subject.
pub struct Section {
    /// Its name in the page.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The HTML before the figures.
    pub text: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

impl Page<'_> {
    /// The page as a file.
    pub fn html(&self) -> String {
        let link =
            |section: &Section| format!("<a href=\"#{}\">{}</a>\n", section.id, section.title);
        let contents: String = self.sections.iter().map(link).collect();
        let body: String = self.sections.iter().map(Section::html).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n{}</header>\n<nav aria-label=\"Contents\">{contents}</nav>\n\
             <noscript><p class=\"warning\">A script draws the figures, and scripts are disabled here. The tables and the data files beside this page do not need it.</p></noscript>\n\
             <main>\n{body}</main>\n\
             <script type=\"application/json\" id=\"data\">{}</script>\n\
             <script>\n'use strict';\n(() => {{\n{}}})();\n</script>\n</body>\n</html>\n",
            self.head,
            self.data(),
            SCRIPTS.concat(),
            title = escape(self.title),
        )
    }

    /// All figures as JSON that can be embedded in a page.
    pub(super) fn data(&self) -> String {
        #[derive(Serialize)]
        struct Data<'a> {
            name: &'a str,
            schemes: &'a [String],
            plots: Vec<&'a Plot>,
        }
        let plots = self.sections.iter().flat_map(|section| section.figures.iter().flatten());
        let data = Data { name: self.title, schemes: self.names, plots: plots.collect() };
        // Data with text keys can always be written as JSON. A `<` in a text could end the script.
        serde_json::to_string(&data).expect("plain data").replace('<', "\\u003c")
    }
}

impl Section {
    fn html(&self) -> String {
        let figures: String = self.figures.iter().flatten().map(figure).collect();
        let missing = missing(self.figures.iter().filter_map(|figure| figure.as_ref().err()));
        let (id, title, text) = (self.id, self.title, &self.text);
        format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{text}{figures}{missing}</section>\n")
    }
}

/// The element in which the script draws.
fn figure(Plot { id, title, caption, .. }: &Plot) -> String {
    format!(
        "<figure id=\"{id}\">\n<h3>{}</h3>\n<div class=\"stage\"></div>\n\
         <figcaption>{}</figcaption>\n</figure>\n",
        escape(title),
        escape(caption)
    )
}

/// A line for each reason why figures are missing. They have no headings, because nothing would follow below them.
fn missing<'a>(all: impl Iterator<Item = &'a Missing>) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = vec![];
    for Missing { title, remedy } in all {
        match reasons.iter_mut().find(|(reason, _)| reason == remedy) {
            Some((_, titles)) => titles.push(title),
            None => reasons.push((remedy, vec![title])),
        }
    }
    let line = |(reason, titles): &(&str, Vec<&str>)| {
        let titles = escape(&titles.join("; "));
        format!("<p class=\"missing\"><b>{titles}</b>: {}</p>\n", escape(reason))
    };
    reasons.iter().map(line).collect()
}

/// The style sheet of pages. It begins with the colours on paper.
pub const STYLE: &str =
    concat!(include_str!("assets/colours.css"), include_str!("assets/page.css"));

/// The scripts of the page. Each has one subject, and uses only scripts before it.
pub(super) const SCRIPTS: [&str; 16] = [
    include_str!("assets/numbers.js"),
    include_str!("assets/dom.js"),
    include_str!("assets/scales.js"),
    include_str!("assets/lines.js"),
    include_str!("assets/study.js"),
    include_str!("assets/bars.js"),
    include_str!("assets/stack.js"),
    include_str!("assets/heat.js"),
    include_str!("assets/gantt.js"),
    include_str!("assets/sequence.js"),
    include_str!("assets/fabric.js"),
    include_str!("assets/flows.js"),
    include_str!("assets/vega.js"),
    include_str!("assets/export.js"),
    include_str!("assets/picture.js"),
    include_str!("assets/page.js"),
];
