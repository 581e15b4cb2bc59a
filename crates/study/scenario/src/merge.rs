//! A scenario merged from several files. Every value has a reference to the place where it was written.

use super::document::Document;
use super::error::ScenarioError;
use super::keys::{KeyPath, Step};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The place where something was written.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The file it is in.
    pub document: Arc<Document>,
    /// Its path in that file.
    pub path: String,
    /// Where its key is.
    pub key: Range<usize>,
    /// Where its value is.
    pub value: Range<usize>,
}

/// Where each part of a document was written, by path; the empty path is the whole.
pub type Marks = BTreeMap<String, Mark>;

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub mark: Mark,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub enum Value {
    /// A table.
    Table(BTreeMap<String, Node>),
    /// A list.
    List(Vec<Node>),
    /// Text, a number, true or false, a date.
    Plain(toml::Value),
}

impl Node {
    /// The content of `document`.
    pub fn read(document: &Arc<Document>) -> Result<Node, ScenarioError> {
        let wrong = |error: toml::de::Error| document.fault_of(&error);
        let values: toml::Table = toml::from_str(&document.text).map_err(wrong)?;
        let places = DeTable::parse(&document.text).map_err(wrong)?;
        let reader = Reader { document };
        let value = reader.table(&values, places.get_ref(), "");
        Ok(Node { value, mark: reader.mark("", 0..0, 0..0) })
    }

    /// The table, if it is one.
    pub fn table(&self) -> Option<&BTreeMap<String, Node>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Removes `key` from the table and returns it.
    pub fn take(&mut self, key: &str) -> Option<Node> {
        match &mut self.value {
            Value::Table(table) => table.remove(key),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Plain(toml::Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether it is written in braces, as one value.
    pub fn is_inline(&self) -> bool {
        let text = self.mark.document.text.get(self.mark.value.clone());
        text.is_some_and(|text| text.starts_with('{'))
    }

    /// The same value, with the place of the key of `other` for errors of the key.
    pub fn at_key_of(&self, other: &Node) -> Node {
        let mark = Mark { key: other.mark.key.clone(), ..self.mark.clone() };
        Node { value: self.value.clone(), mark }
    }

    /// The elements, if it is a list.
    pub fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(list) => Some(list),
            _ => None,
        }
    }

    /// The value as plain TOML.
    pub fn plain(&self) -> toml::Value {
        match &self.value {
            Value::Table(table) => {
                toml::Value::Table(table.iter().map(|(k, v)| (k.clone(), v.plain())).collect())
            }
            Value::List(list) => toml::Value::Array(list.iter().map(Node::plain).collect()),
            Value::Plain(value) => value.clone(),
        }
    }

    /// The value as a document that reports each fault at the place where it was written.
    pub fn document(&self) -> Document {
        let mut marks = Marks::new();
        self.collect("", &mut marks);
        // Tables, lists and plain values that came from TOML.
        let text = toml::to_string(&self.plain()).expect("came from TOML");
        Document { file: self.mark.document.file.clone(), text, marks, notices: vec![] }
    }

    fn collect(&self, path: &str, marks: &mut Marks) {
        marks.insert(path.to_string(), self.mark.clone());
        match &self.value {
            Value::Table(table) => {
                let dot = if path.is_empty() { "" } else { "." };
                table.iter().for_each(|(key, node)| {
                    node.collect(&format!("{path}{dot}{key}"), marks);
                });
            }
            Value::List(list) => {
                let items = list.iter().enumerate();
                items.for_each(|(at, node)| node.collect(&format!("{path}[{at}]"), marks));
            }
            Value::Plain(_) => {}
        }
    }

    /// The fault `message` with this value.
    pub fn fault(&self, message: String) -> ScenarioError {
        self.mark.fault(false, message)
    }

    /// The fault `message` with this value's key.
    pub fn fault_of_key(&self, message: String) -> ScenarioError {
        self.mark.fault(true, message)
    }

    /// `own` over `self`:
    ///
    /// - a table is merged key by key, unless `own` names another `kind`: then it is replaced;
    /// - a name alone stands for the table with that `kind`;
    /// - the schemes are merged by `name`, new ones come last;
    /// - anything else is replaced.
    pub fn under(self, own: Node) -> Node {
        self.under_at(own, "")
    }

    fn under_at(self, own: Node, key: &str) -> Node {
        match (self.with_kind(&own).value, own.value) {
            (Value::Table(base), Value::Table(own_table)) if same_kind(&base, &own_table) => {
                Node { value: Value::Table(merged(base, own_table)), mark: own.mark }
            }
            (Value::List(base), Value::List(own_list)) if key == "scheme" => {
                Node { value: Value::List(by_name(base, own_list)), mark: own.mark }
            }
            (_, value) => Node { value, mark: own.mark },
        }
    }

    /// If `own` is a table, a name alone becomes the table that it stands for.
    fn with_kind(self, own: &Node) -> Node {
        if self.text().is_none() || own.table().is_none() {
            return self;
        }
        let mark = self.mark.clone();
        Node { value: Value::Table([("kind".to_string(), self)].into()), mark }
    }

    /// Puts `value` at `path`. Lists on the path must exist; missing tables are created.
    ///
    /// # Errors
    /// The message states which part of the path does not exist.
    pub fn assign(&mut self, path: &KeyPath, value: &Node) -> Result<(), String> {
        match path.0.split_first() {
            None => {
                *self = value.clone();
                Ok(())
            }
            // `scheme.dctcp` means the scheme of this name.
            Some((Step::Item(item) | Step::Key(item), rest)) if self.list().is_some() => {
                let rest = KeyPath(rest.to_vec());
                let found = self.items(item)?;
                let Value::List(list) = &mut self.value else { return Ok(()) };
                found.into_iter().try_for_each(|at| list[at].assign(&rest, value))
            }
            Some((Step::Key(key), rest)) => {
                let rest = KeyPath(rest.to_vec());
                let made = Node { value: Value::Table(BTreeMap::new()), mark: value.mark.clone() };
                if self.table().is_none() {
                    *self = self.clone().with_kind(&made);
                }
                let Value::Table(table) = &mut self.value else {
                    return Err(format!("`{key}` cannot be set here: the value is not a table"));
                };
                if !table.contains_key(key) && matches!(rest.0.first(), Some(Step::Item(_))) {
                    return Err(format!("there is no `{key}` in this scenario"));
                }
                table.entry(key.clone()).or_insert(made).assign(&rest, value)
            }
            Some((Step::Item(item), _)) => self.items(item).map(|_| ()),
        }
    }

    /// Removes the value at `path`. The error states what is missing.
    pub fn remove(&mut self, path: &KeyPath) -> Result<(), String> {
        let Some((step, rest)) = path.0.split_first() else { return Ok(()) };
        let rest = KeyPath(rest.to_vec());
        match (step, rest.0.is_empty()) {
            (Step::Key(key), _) => {
                let names: Vec<String> =
                    self.table().into_iter().flatten().map(|(k, _)| k.clone()).collect();
                let Value::Table(table) = &mut self.value else {
                    return Err(format!("`{key}` does not exist, so it cannot be left out"));
                };
                let Some(node) = table.get_mut(key) else {
                    return Err(format!("unknown field `{key}`, expected {}", choices(&names)));
                };
                if rest.0.is_empty() {
                    table.remove(key);
                    return Ok(());
                }
                node.remove(&rest)
            }
            (Step::Item(item), last) => {
                let mut found = self.items(item)?;
                let Value::List(list) = &mut self.value else { return Ok(()) };
                if !last {
                    return found.into_iter().try_for_each(|at| list[at].remove(&rest));
                }
                found.reverse();
                found.into_iter().for_each(|at| drop(list.remove(at)));
                Ok(())
            }
        }
    }

    /// Which elements of the list `item` means: all, by name, or by number.
    fn items(&self, item: &str) -> Result<Vec<usize>, String> {
        let Some(list) = self.list() else {
            return Err(format!("`[{item}]` needs a list: leave it out"));
        };
        if item == "*" {
            return Ok((0..list.len()).collect());
        }
        let names: Vec<&str> = list.iter().filter_map(Node::name).collect();
        let named = list.iter().position(|node| node.name() == Some(item));
        let numbered = item.parse::<usize>().ok().filter(|at| *at < list.len());
        let none = || match (names.is_empty(), list.len()) {
            (false, _) => format!("unknown element `{item}`, expected {}", choices(&names)),
            (true, 0) => format!("`[{item}]` does not exist: the list is empty"),
            (true, n) => format!("`[{item}]` does not exist: elements are numbered 0 to {}", n - 1),
        };
        named.or(numbered).map(|at| vec![at]).ok_or_else(none)
    }

    fn name(&self) -> Option<&str> {
        self.table()?.get("name")?.text()
    }

    /// Calls `change` on each text below this node, with the key of the text.
    pub fn each_text(&mut self, key: &str, change: &dyn Fn(&str, &mut String)) {
        match &mut self.value {
            Value::Table(table) => table.iter_mut().for_each(|(k, node)| node.each_text(k, change)),
            Value::List(list) => list.iter_mut().for_each(|node| node.each_text(key, change)),
            Value::Plain(toml::Value::String(text)) => change(key, text),
            Value::Plain(_) => {}
        }
    }
}

impl Mark {
    /// The fault `message` with this value or its key.
    pub fn fault(&self, key: bool, message: String) -> ScenarioError {
        let span = if key { self.key.clone() } else { self.value.clone() };
        self.document.fault(&self.path, span, message)
    }
}

/// The names in backticks, with commas.
fn choices<T: AsRef<str>>(names: &[T]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    quoted.join(", ")
}

fn same_kind(base: &BTreeMap<String, Node>, own: &BTreeMap<String, Node>) -> bool {
    match (base.get("kind"), own.get("kind")) {
        (Some(base), Some(own)) => base.text() == own.text(),
        _ => true,
    }
}

fn merged(mut base: BTreeMap<String, Node>, own: BTreeMap<String, Node>) -> BTreeMap<String, Node> {
    for (key, node) in own {
        let node = match base.remove(&key) {
            Some(below) => below.under_at(node, &key),
            None => node,
        };
        base.insert(key, node);
    }
    base
}

/// Merges lists by name. A name that one file has twice is kept twice, and refused later.
fn by_name(base: Vec<Node>, own: Vec<Node>) -> Vec<Node> {
    let mut all: Vec<Option<Node>> = base.into_iter().map(Some).collect();
    let mut taken = vec![];
    for node in own {
        let name = node.name().map(str::to_string);
        let same = |other: &Option<Node>| other.as_ref().and_then(Node::name) == name.as_deref();
        let below = all.iter().position(same).filter(|_| name.is_some() && !taken.contains(&name));
        taken.push(name);
        match below {
            Some(at) => all[at] = all[at].take().map(|below| below.under(node)),
            None => all.push(Some(node)),
        }
    }
    all.into_iter().flatten().collect()
}

/// Combines values with the places where they were written.
struct Reader<'a> {
    document: &'a Arc<Document>,
}

impl Reader<'_> {
    fn mark(&self, path: &str, key: Range<usize>, value: Range<usize>) -> Mark {
        Mark { document: Arc::clone(self.document), path: path.into(), key, value }
    }

    fn table(&self, values: &toml::Table, places: &DeTable<'_>, path: &str) -> Value {
        let dot = if path.is_empty() { "" } else { "." };
        let entry = |(key, place): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &str = AsRef::<str>::as_ref(key.get_ref() as &std::borrow::Cow<'_, str>);
            let part = if name.contains('.') { format!("\"{name}\"") } else { name.to_string() };
            let path = format!("{path}{dot}{part}");
            Some((name.to_string(), self.node(values.get(name)?, place, key.span(), path)))
        };
        Value::Table(places.iter().filter_map(entry).collect())
    }

    fn node(
        &self,
        value: &toml::Value,
        place: &Spanned<DeValue<'_>>,
        key: Range<usize>,
        path: String,
    ) -> Node {
        let mark = self.mark(&path, key, place.span());
        let value = match (value, place.get_ref()) {
            (toml::Value::Table(values), DeValue::Table(places)) => {
                self.table(values, places, &path)
            }
            (toml::Value::Array(values), DeValue::Array(places)) => {
                let items = values.iter().zip(places.iter()).enumerate();
                let item = |(at, (value, place)): (usize, (_, &Spanned<DeValue<'_>>))| {
                    self.node(value, place, place.span(), format!("{path}[{at}]"))
                };
                Value::List(items.map(item).collect())
            }
            (plain, _) => Value::Plain(plain.clone()),
        };
        Node { value, mark }
    }
}
