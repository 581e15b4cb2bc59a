//! YAML with the line of every value.

use crate::error::FormatError;
use crate::tree::{DEEPEST, Entry, Tree, Value, check_keys};
use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

/// Reads `text`, which is one document. Anchors, aliases, tags and several documents are refused.
pub(crate) fn parse(text: &str) -> Result<Tree, FormatError> {
    let mut reader = Reader { events: Parser::new_from_str(text), line: 1 };
    loop {
        match reader.next()? {
            Some((Event::DocumentStart(_), _)) => break,
            Some((Event::StreamStart, _)) => {}
            _ => return reader.fail("there is nothing in this file"),
        }
    }
    let tree = reader.tree(0)?;
    loop {
        match reader.next()? {
            None => return Ok(tree),
            Some((Event::DocumentStart(_), _)) => {
                return reader.fail("a second document begins: one file has one");
            }
            Some(_) => {}
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// The line of the latest event.
    line: usize,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, why: impl Into<String>) -> Result<T, FormatError> {
        Err(FormatError::new(self.line, why))
    }

    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, FormatError> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok((event, span))) => {
                self.line = span.start.line().max(1);
                Ok(Some((event, span)))
            }
            Some(Err(error)) => {
                let why = format!("this is not YAML: {}", error.info());
                Err(FormatError::new(error.marker().line().max(1), why))
            }
        }
    }

    fn tree(&mut self, depth: usize) -> Result<Tree, FormatError> {
        let Some((event, _)) = self.next()? else {
            return self.fail("the file ends where a value should be");
        };
        self.value(event, depth)
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Tree, FormatError> {
        if depth > DEEPEST {
            return self.fail(format!("values are nested more than {DEEPEST} deep"));
        }
        let line = self.line;
        let value = match event {
            Event::Scalar(_, _, 1.., _)
            | Event::SequenceStart(1.., _)
            | Event::MappingStart(1.., _) => {
                return self.fail("anchors (`&name`) are not understood: write values out");
            }
            Event::Scalar(text, style, _, None) => scalar(&text, style),
            Event::SequenceStart(_, None) => Value::List(self.list(depth)?),
            Event::MappingStart(_, None) => Value::Map(self.map(depth)?),
            Event::Alias(_) => {
                return self.fail("aliases (`*name`) are not understood: write the value out");
            }
            Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) => {
                return self.fail("tags (`!name`) are not understood: leave them out");
            }
            _ => return self.fail("a value is missing here"),
        };
        Ok(Tree { line, value })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Tree>, FormatError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Some((Event::SequenceEnd, _)) => return Ok(items),
                Some((event, _)) => items.push(self.value(event, depth + 1)?),
                None => return self.fail("a list does not end"),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, FormatError> {
        let mut entries = Vec::new();
        loop {
            let Some((event, _)) = self.next()? else {
                return self.fail("a map does not end");
            };
            if event == Event::MappingEnd {
                check_keys(&entries)?;
                return Ok(entries);
            }
            let line = self.line;
            let key = match event {
                Event::Scalar(text, _, 0, None) => text.into_owned(),
                _ => return self.fail("a key must be plain text"),
            };
            if key == "<<" {
                return self.fail("merge keys (`<<`) are not understood: write the keys out");
            }
            entries.push(Entry { key, line, tree: self.tree(depth + 1)? });
        }
    }
}

/// A scalar by YAML's core schema. Quoted scalars are text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    match text {
        _ if style != ScalarStyle::Plain => Value::Text(text.into()),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Flag(true),
        "false" | "False" | "FALSE" => Value::Flag(false),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            && text.parse::<f64>().is_ok() =>
        {
            Value::Number(text.into())
        }
        _ => Value::Text(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::get;

    #[test]
    fn values_have_their_lines() {
        let text = "# lab\nname: x\nnodes:\n  a: {kind: linux, 'n': \"1\"}\n  b:\nlinks:\n  - [1, 2.5]\n  - no\n";
        let tree = parse(text).unwrap();
        let top = tree.map("it").unwrap();
        let lines: Vec<usize> = top.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [2, 3, 6]);
        let nodes = get(top, "nodes").unwrap().map("nodes").unwrap();
        assert_eq!((nodes[0].line, nodes[1].line), (4, 5));
        assert_eq!(nodes[1].tree.value, Value::Null);
        let a = nodes[0].tree.map("a").unwrap();
        assert_eq!(get(a, "n").unwrap().value, Value::Text("1".into()));
        let links = get(top, "links").unwrap().list("links").unwrap();
        assert_eq!(links[1].line, 8);
        assert_eq!(links[1].value, Value::Text("no".into()));
        assert_eq!(links[0].list("it").unwrap()[1].value, Value::Number("2.5".into()));
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        for (text, line, part) in [
            ("a: 1\nb: [1, 2", 2, "not YAML"),
            ("", 1, "nothing"),
            ("a: 1\na: 2", 2, "twice"),
            ("a: &x 1\nb: *x", 1, "anchors"),
            ("a: 1\n---\nb: 2", 2, "second document"),
            ("a: 1\nb: !!str 2", 2, "tags"),
            ("x: 1\n? [a]\n: 2", 2, "key"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(part), "{text}: {error}");
            assert!(error.line.abs_diff(line) <= 1, "{text}: {error}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
