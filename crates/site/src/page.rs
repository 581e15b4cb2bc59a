//! Pages as HTML.

use crate::code::{escape, highlight};
use crate::document::{Document, Heading, events};
use crate::link::{Address, Target};
use crate::nav::{INDEX, Nav, Page, Section};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Tag, TagEnd, html};

const STYLE: &str = include_str!("style.css");
/// Deepest level of headings in a page's table of contents.
const DEEPEST: u8 = 3;

/// The page of a document; `targets` are what its links lead to, in order.
pub fn document(document: &Document, targets: &[Target], nav: &Nav) -> String {
    let address = document.address();
    let main = format!(
        "{}{}{}",
        contents(&document.headings),
        body(document, targets, &address),
        around(document, nav, &address)
    );
    page(document.title(), &main, &menu(nav, &address, Some(document)), &address)
}

/// The page that shows another file of the repository.
pub fn source(path: &str, text: &str, nav: &Nav) -> String {
    let address = Address::of_file(path);
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let language = if extension == "rs" { "rust" } else { extension };
    let main = format!(
        "<h1><code>{}</code></h1>\n<pre><code>{}</code></pre>\n",
        escape(path),
        highlight(language, text)
    );
    page(path, &main, &menu(nav, &address, None), &address)
}

fn page(title: &str, main: &str, menu: &str, address: &Address) -> String {
    let home = Address::of_document(INDEX).seen_from(address);
    let title =
        if title == "Slotline" { title.to_string() } else { format!("{title} · Slotline") };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the text</a>\n\
         <header><a class=\"home\" href=\"{home}\">Slotline</a> <a class=\"all\" href=\"#pages\">All pages</a></header>\n\
         <main id=\"main\">\n{main}</main>\n<nav id=\"pages\" aria-label=\"Pages\">\n{menu}</nav>\n</body>\n</html>\n",
        escape(&title)
    )
}

/// All pages by section; the current one with its own headings, those of a folder only within it.
fn menu(nav: &Nav, address: &Address, current: Option<&Document>) -> String {
    let item = |page: &Page| {
        let target = Address::of_document(&page.path);
        let here = current.filter(|document| document.path == page.path);
        format!(
            "<li{}><a href=\"{}\"{}>{}</a>{}</li>\n",
            if page.parent.is_some() { " class=\"below\"" } else { "" },
            target.seen_from(address),
            if here.is_some() { " aria-current=\"page\"" } else { "" },
            escape(&page.words),
            here.map_or(String::new(), |document| list(&document.headings, 2))
        )
    };
    let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_string());
    let within = current.and_then(|document| folder(&document.path));
    let shown = |page: &&Page| page.parent.is_none() || folder(&page.path) == within;
    let section = |section: &Section| {
        let items: String = section.pages.iter().filter(shown).map(item).collect();
        format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escape(&section.title))
    };
    nav.0.iter().map(section).collect()
}

/// The page's own headings, folded; wide screens have them in the menu.
fn contents(headings: &[Heading]) -> String {
    let list = list(headings, DEEPEST);
    if list.is_empty() {
        return list;
    }
    format!("<details class=\"contents\"><summary>On this page</summary>{list}</details>\n")
}

fn list(headings: &[Heading], deepest: u8) -> String {
    let shown = headings.iter().filter(|heading| (2..=deepest).contains(&heading.level));
    let item = |heading: &Heading| {
        let (level, anchor) = (heading.level, &heading.anchor);
        format!("<li class=\"l{level}\"><a href=\"#{anchor}\">{}</a></li>", escape(&heading.text))
    };
    let items: String = shown.map(item).collect();
    if items.is_empty() { items } else { format!("<ul>{items}</ul>") }
}

/// Links to the pages before and after.
fn around(document: &Document, nav: &Nav, address: &Address) -> String {
    let [before, after] = nav.around(&document.path);
    let link = |page: Option<&Page>, class: &str, what: &str| {
        page.map_or(String::new(), |Page { path, words, .. }| {
            let to = Address::of_document(path).seen_from(address);
            format!(
                "<a class=\"{class}\" rel=\"{class}\" href=\"{to}\">{what}{}</a>",
                escape(words)
            )
        })
    };
    let (before, after) = (link(before, "prev", "← "), link(after, "next", "→ "));
    format!("<nav class=\"around\" aria-label=\"Order\">{before}{after}</nav>\n")
}

/// A document's Markdown as HTML.
fn body(document: &Document, targets: &[Target], address: &Address) -> String {
    let mut writer = Writer {
        headings: document.headings.iter(),
        links: document.links.iter().zip(targets),
        address,
        code: None,
    };
    let events = events(&document.text).flat_map(|(event, _)| writer.write(event));
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

struct Writer<'a, H, L> {
    headings: H,
    links: L,
    address: &'a Address,
    /// Language and text of the block of code that is open.
    code: Option<(String, String)>,
}

impl<'a, H, L> Writer<'a, H, L>
where
    H: Iterator<Item = &'a Heading>,
    L: Iterator<Item = (&'a crate::document::Link, &'a Target)>,
{
    /// What stands in the page for a part of the document.
    fn write<'e>(&mut self, event: Event<'e>) -> Vec<Event<'e>> {
        let raw = |html: String| vec![Event::Html(html.into())];
        match event {
            Event::Text(text) if self.code.is_some() => {
                self.code.iter_mut().for_each(|(_, code)| code.push_str(&text));
                vec![]
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.code = Some((language(&kind), String::new()));
                vec![]
            }
            Event::End(TagEnd::CodeBlock) => {
                let (language, code) = self.code.take().unwrap_or_default();
                raw(format!("<pre><code>{}</code></pre>\n", highlight(&language, &code)))
            }
            Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
                let id = self.headings.next().map(|heading| CowStr::from(heading.anchor.clone()));
                vec![Event::Start(Tag::Heading { level, id, classes, attrs })]
            }
            Event::Start(Tag::Table(columns)) => {
                let open = Event::Html("<div class=\"wide\">".into());
                vec![open, Event::Start(Tag::Table(columns))]
            }
            Event::End(TagEnd::Table) => vec![event, Event::Html("</div>\n".into())],
            Event::Start(tag) => vec![Event::Start(self.linked(tag))],
            event => vec![event],
        }
    }

    /// A link or picture with its place in the site.
    fn linked<'e>(&mut self, tag: Tag<'e>) -> Tag<'e> {
        match tag {
            Tag::Link { link_type, title, id, .. } => {
                Tag::Link { link_type, dest_url: self.next(), title, id }
            }
            Tag::Image { link_type, title, id, .. } => {
                Tag::Image { link_type, dest_url: self.next(), title, id }
            }
            tag => tag,
        }
    }
    fn next<'e>(&mut self) -> CowStr<'e> {
        let address = self.address;
        let place = self.links.next().map(|(link, target)| target.seen_from(address, &link.to));
        place.unwrap_or_default().into()
    }
}

/// The first word behind a fence.
fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or("").to_string(),
        CodeBlockKind::Indented => String::new(),
    }
}
