//! The files that a scenario consists of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The file of a scenario, the files that it extends, and the files that they name. Each text of a scenario that is the
/// path of a file counts as its name.
pub fn named_files(scenario: &Path) -> Vec<PathBuf> {
    let mut found = Found::default();
    found.add(scenario);
    found.paths.into_iter().collect()
}

#[derive(Default)]
struct Found {
    paths: BTreeSet<PathBuf>,
    /// Files whose texts were read, by their real paths. Several paths can lead to one file.
    read: BTreeSet<PathBuf>,
}

impl Found {
    fn add(&mut self, path: &Path) {
        self.paths.insert(path.into());
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let real = path.canonicalize().unwrap_or_else(|_| path.into());
        if !(is_toml || self.read.is_empty()) || !self.read.insert(real) {
            return;
        }
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let table: toml::Table = toml::from_str(&text).unwrap_or_default();
        let folder = path.parent().unwrap_or(Path::new(""));
        table.values().for_each(|value| self.add_named(value, folder));
    }

    fn add_named(&mut self, value: &toml::Value, folder: &Path) {
        match value {
            toml::Value::String(text) if folder.join(text).is_file() => {
                self.add(&folder.join(text))
            }
            toml::Value::Array(values) => values.iter().for_each(|one| self.add_named(one, folder)),
            toml::Value::Table(table) => table.values().for_each(|one| self.add_named(one, folder)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_are_found_at_any_depth() {
        let folder = std::env::temp_dir().join(format!("slotline-named-{}", std::process::id()));
        fs::create_dir_all(folder.join("base")).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write(
            "s.toml",
            "extends = \"base/b.toml\"\nname = \"none\"\n[[workload]]\nfile = \"trace.csv\"\n",
        );
        write(
            "base/b.toml",
            "extends = \"../s.toml\"\nscheme = [{ queue = { object = \"red.o\" } }]\n",
        );
        write("trace.csv", "text = \"other\"");
        ["base/red.o", "other"].iter().for_each(|name| write(name, ""));
        let found = named_files(&folder.join("s.toml"));
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names.len(), 5, "{names:?}; s.toml by two paths");
        assert!(["b.toml", "red.o", "s.toml", "trace.csv"].iter().all(|name| names.contains(name)));
        fs::remove_dir_all(folder).unwrap();
    }
}
