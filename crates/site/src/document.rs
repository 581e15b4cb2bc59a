//! One Markdown document: its title, headings, anchors and links.

use crate::Fault;
use crate::link::Address;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::ops::Range;

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 is the title.
    pub level: u8,
    /// Its anchor.
    pub anchor: String,
    /// Its words.
    pub text: String,
}

/// A link or a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it leads, as written.
    pub to: String,
    /// The line it stands in.
    pub line: usize,
    /// Its words.
    pub text: String,
    /// How many headings stand before it.
    pub under: usize,
}

/// A document that was read.
#[derive(Clone, Debug)]
pub struct Document {
    /// From the root of the repository.
    pub path: String,
    /// Its Markdown.
    pub text: String,
    /// In order.
    pub headings: Vec<Heading>,
    /// In order of the document, as rendering meets them.
    pub links: Vec<Link>,
    /// Anchors, of headings and others.
    pub anchors: Vec<String>,
}

impl Document {
    /// Reads `text`, the content of the file at `path`.
    pub fn read(path: &str, text: &str) -> Document {
        let mut document = Document {
            path: path.into(),
            text: text.into(),
            headings: vec![],
            links: vec![],
            anchors: vec![],
        };
        let mut reader = Reader { document: &mut document, seen: BTreeMap::new(), open: vec![] };
        events(text).for_each(|(event, at)| reader.read(&event, at.start));
        document
    }
    /// The text of its first heading, or its path.
    pub fn title(&self) -> &str {
        self.headings.first().map_or(&self.path, |heading| &heading.text)
    }
    /// Where its page is.
    pub fn address(&self) -> Address {
        Address::of_document(&self.path)
    }
    /// A fault in it, without words yet.
    pub fn fault(&self, line: usize) -> Fault {
        Fault { file: self.path.clone(), line, message: String::new() }
    }
}

/// The parts of a Markdown text, with their places.
pub fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    Parser::new_ext(text, options).into_offset_iter()
}

struct Reader<'a> {
    document: &'a mut Document,
    /// How often a slug has been used.
    seen: BTreeMap<String, usize>,
    /// Headings (without place) and links that are open.
    open: Vec<(Option<usize>, String)>,
}

impl Reader<'_> {
    fn read(&mut self, event: &Event<'_>, at: usize) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.open.push((None, String::new())),
            Event::Start(
                Tag::Link { dest_url, link_type, .. } | Tag::Image { dest_url, link_type, .. },
            ) => self.open_link(dest_url, *link_type, at),
            Event::Text(text) | Event::Code(text) => self.say(text),
            Event::SoftBreak => self.say(" "),
            Event::End(TagEnd::Heading(level)) => self.close_heading(*level as u8),
            Event::End(TagEnd::Link | TagEnd::Image) => self.close_link(),
            Event::Html(html) | Event::InlineHtml(html) => {
                self.document.anchors.extend(named(html).map(str::to_string));
            }
            _ => {}
        }
    }
    fn say(&mut self, text: &str) {
        self.open.iter_mut().for_each(|(_, said)| said.push_str(text));
    }
    fn open_link(&mut self, to: &str, kind: LinkType, at: usize) {
        let mail = if kind == LinkType::Email { "mailto:" } else { "" };
        let line = self.document.text[..at].matches('\n').count() + 1;
        let under = self.document.headings.len();
        self.open.push((Some(self.document.links.len()), String::new()));
        let to = format!("{mail}{to}");
        self.document.links.push(Link { to, line, text: String::new(), under });
    }
    fn close_link(&mut self) {
        if let Some((Some(at), text)) = self.open.pop() {
            self.document.links[at].text = text;
        }
    }
    fn close_heading(&mut self, level: u8) {
        let (_, text) = self.open.pop().unwrap_or_default();
        let slug = slug(&text);
        let count = self.seen.entry(slug.clone()).or_insert(0);
        let anchor = if *count == 0 { slug.clone() } else { format!("{slug}-{count}") };
        *count += 1;
        self.document.anchors.push(anchor.clone());
        self.document.headings.push(Heading { level, anchor, text });
    }
}

/// The anchor of a heading, as the usual hosts of repositories make it.
pub fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors that HTML sets by `name="…"` and `id="…"`.
fn named(html: &str) -> impl Iterator<Item = &str> {
    let starts = [" name=\"", " id=\""]
        .into_iter()
        .flat_map(|key| html.match_indices(key).map(move |(at, _)| at + key.len()));
    starts.filter_map(|at| html[at..].split_once('"').map(|(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read() {
        let text = "# The `end`, now\n\n<a name=\"x\"></a>\n## A\n\nsee\n[b *c*](d.md#e) <a@b.de>\n\n## A\n";
        let document = Document::read("docs/t.md", text);
        assert_eq!(document.title(), "The end, now");
        let anchors: Vec<_> = document.headings.iter().map(|h| h.anchor.as_str()).collect();
        assert_eq!(anchors, ["the-end-now", "a", "a-1"]);
        assert_eq!(document.anchors, ["the-end-now", "x", "a", "a-1"]);
        let link =
            |to: &str, text: &str| Link { to: to.into(), line: 7, text: text.into(), under: 2 };
        assert_eq!(document.links, [link("d.md#e", "b c"), link("mailto:a@b.de", "a@b.de")]);
    }

    #[test]
    fn anchors_are_the_usual_ones() {
        assert_eq!(slug("`[end]`"), "end");
        assert_eq!(slug("What works, and what does not (yet)"), "what-works-and-what-does-not-yet");
        assert_eq!(slug("xco-2: TCP beside UDP"), "xco-2-tcp-beside-udp");
    }
}
