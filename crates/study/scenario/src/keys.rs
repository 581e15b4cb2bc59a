//! Paths of keys, such as `workload[0].load`, by which a scenario file refers to its parts.

use std::fmt;

/// One step into a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the table at this key.
    Key(String),
    /// To an element of a list: `[2]` by number from 0, `[dctcp]` by its `name`, `[*]` to each.
    Item(String),
}

impl Step {
    /// The key, if the step is one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Step::Key(key) => Some(key),
            Step::Item(_) => None,
        }
    }
}

/// A path of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(pub Vec<Step>);

impl KeyPath {
    /// Parses `workload[0].load`, `scheme[dctcp].queue.threshold` or `seed`. The error shows how to write a path.
    pub fn parse(text: &str) -> Result<KeyPath, String> {
        let wrong = || {
            format!(
                "`{text}` is not a path of keys: write, for example, \"workload[0].load\" or \
                 \"scheme[dctcp].queue.threshold\""
            )
        };
        let mut steps = vec![];
        for part in dotted(text) {
            let (key, items) = part.split_at(part.find('[').unwrap_or(part.len()));
            if key.is_empty() || key.contains(|c: char| c == ']' || c.is_whitespace()) {
                return Err(wrong());
            }
            steps.push(Step::Key(key.to_string()));
            let mut rest = items;
            while !rest.is_empty() {
                let inner = rest.strip_prefix('[').and_then(|open| open.split_once(']'));
                let (item, after) = inner.filter(|(item, _)| !item.is_empty()).ok_or_else(wrong)?;
                steps.push(Step::Item(item.to_string()));
                rest = after;
            }
        }
        if steps.is_empty() { Err(wrong()) } else { Ok(KeyPath(steps)) }
    }

    /// The key that it ends with.
    pub fn last_key(&self) -> &str {
        self.0.iter().rev().find_map(Step::key).unwrap_or("")
    }
}

/// The parts between dots; a dot in brackets belongs to a name.
fn dotted(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == '.' && depth == 0
    });
    parts.collect()
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if at == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_back_as_written() {
        for text in ["seed", "fabric.k", "workload[0].load", "scheme[a.b c].queue.pfc.xoff", "x[*]"]
        {
            assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(KeyPath::parse("scheme[a.b].queue").unwrap().0.len(), 3);
        assert_eq!(KeyPath::parse("workload[0].load").unwrap().last_key(), "load");
        assert_eq!(KeyPath::parse("workload[0]").unwrap().last_key(), "workload");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".", "a.", "a[", "a[]", "a]", "a[0]b", "[0]", "a b", "a[0"] {
            assert!(KeyPath::parse(text).is_err_and(|e| e.contains("not a path")), "{text}");
        }
    }
}
