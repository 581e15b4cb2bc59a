//! Rules of this source tree, checked on every file outside tests: files and functions are short, nothing is
//! unfinished, and pure crates use no clock, file or network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 60;
/// The median function of the whole tree, and of each crate with many functions, is shorter than this.
const MEDIAN_FUNCTION: usize = 10;
/// The median of a crate with fewer functions is not checked.
const MANY_FUNCTIONS: usize = 50;

/// Crates that use neither time nor the outside world.
const PURE: [&str; 6] = ["circuits", "envelope", "formats", "net", "openflow", "sim"];
const OUTSIDE_WORLD: [&str; 10] = [
    "Instant",
    "SystemTime",
    "thread::sleep",
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::io",
    "HashMap",
    "HashSet",
];
const SAFE: [&str; 30] = [
    "arbiter",
    "xco",
    "tdma",
    "fastpass",
    "hedera",
    "hybrid",
    "schemes",
    "bench",
    "bump",
    "circuits",
    "congestion",
    "design",
    "emulate",
    "envelope",
    "figures",
    "formats",
    "fuzz",
    "guest",
    "lab",
    "live",
    "net",
    "openflow",
    "preload",
    "py",
    "report",
    "reproduce",
    "scenario",
    "sim",
    "slotline",
    "tables",
];
const UNFINISHED: [&str; 5] = ["#[allow(", "#![allow(", "todo!", "unimplemented!", "dbg!"];

/// Exceptions to the rules: (file below `crates/`, name of the function or of the finding; empty for the file's
/// length). The list may only shrink: an entry that is no longer needed fails the test.
///
/// The writer of captures writes to any `Write` and opens no file.
const EXCEPTIONS: &[(&str, &str)] = &[("model/formats/src/pcapng_writer.rs", "std::io")];

/// A violation of a rule.
struct Finding {
    file: String,
    what: String,
    why: String,
}

/// A source file without comments, literals and test items, all replaced by blanks.
struct Source {
    file: String,
    code: String,
    /// Lines outside test items.
    lines: usize,
}

impl Source {
    fn crate_name(&self) -> &str {
        let folder = self.file.split_once("/src/").map_or("", |(folder, _)| folder);
        folder.rsplit('/').next().unwrap_or("")
    }
    fn finding(&self, what: &str, why: String) -> Finding {
        Finding { file: self.file.clone(), what: what.into(), why }
    }
}

#[test]
fn habits_are_followed() {
    let sources = sources();
    let mut findings: Vec<Finding> = sources.iter().flat_map(judge).collect();
    findings.retain(|f| !EXCEPTIONS.contains(&(&f.file, &f.what)));
    let all: Vec<String> =
        findings.iter().map(|f| format!("  {} {}: {}", f.file, f.what, f.why)).collect();
    assert!(all.is_empty(), "these files break the rules of this tree:\n{}", all.join("\n"));
}

#[test]
fn exceptions_are_needed() {
    let findings: Vec<Finding> = sources().iter().flat_map(judge).collect();
    for (file, what) in EXCEPTIONS {
        let needed = findings.iter().any(|f| (f.file.as_str(), f.what.as_str()) == (*file, *what));
        assert!(needed, "{file} {what} follows the rules now: remove it from EXCEPTIONS");
    }
}

#[test]
fn the_median_function_is_short() {
    let sources = sources();
    let mut lengths: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for source in &sources {
        for function in functions(&source.code) {
            lengths.entry("all crates").or_default().push(function.lines);
            lengths.entry(source.crate_name()).or_default().push(function.lines);
        }
    }
    lengths.retain(|_, lengths| lengths.len() >= MANY_FUNCTIONS);
    for (name, mut lengths) in lengths {
        lengths.sort_unstable();
        let median = lengths[lengths.len() / 2];
        assert!(
            median < MEDIAN_FUNCTION,
            "{name}: the median of {} functions has {median} lines; it must be below {MEDIAN_FUNCTION}",
            lengths.len()
        );
    }
}

fn judge(source: &Source) -> Vec<Finding> {
    let mut out = Vec::new();
    if source.lines > LONGEST_FILE {
        out.push(source.finding("", format!("{} lines; at most {LONGEST_FILE}", source.lines)));
    }
    for function in functions(&source.code).iter().filter(|f| f.lines > LONGEST_FUNCTION) {
        let why = format!("{} lines; at most {LONGEST_FUNCTION}", function.lines);
        out.push(source.finding(&function.name, why));
    }
    out.extend(mentions(source, &UNFINISHED, "must not remain in this tree"));
    if PURE.contains(&source.crate_name()) {
        out.extend(mentions(source, &OUTSIDE_WORLD, "is not allowed in a pure crate"));
    }
    if SAFE.contains(&source.crate_name()) {
        out.extend(mentions(source, &["unsafe"], "is not allowed in this crate"));
    }
    out
}

fn mentions(source: &Source, words: &[&str], why: &str) -> Vec<Finding> {
    let line = |at: usize| source.code[..at].matches('\n').count() + 1;
    let finding = |word: &&str| {
        let at = find_word(&source.code, word)?;
        Some(source.finding(word, format!("{why} (line {})", line(at))))
    };
    words.iter().filter_map(finding).collect()
}

/// The position at which `word` is not a part of a longer name.
fn find_word(code: &str, word: &str) -> Option<usize> {
    let whole = |&at: &usize| {
        let before = code[..at].bytes().next_back();
        let after = code[at + word.len()..].bytes().next();
        let open = word.ends_with(['(', '!']);
        !before.is_some_and(in_name) && (open || !after.is_some_and(in_name))
    };
    code.match_indices(word).map(|(at, _)| at).find(whole)
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

struct Function {
    name: String,
    /// From `fn` to the closing brace.
    lines: usize,
}

/// All functions that have a body.
fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").map(|(at, _)| at);
    let alone = |at: &usize| !code[..*at].bytes().next_back().is_some_and(in_name);
    starts.filter(alone).filter_map(|at| function(&code[at..])).collect()
}

fn function(code: &str) -> Option<Function> {
    let name: String = code[3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let open = body(code).filter(|_| !name.is_empty())?;
    let end = open + closing_brace(&code[open..]);
    Some(Function { name, lines: code[..end].matches('\n').count() + 1 })
}

/// Where the body of an item opens; `None` if it has no body.
fn body(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The length of the block that `code` begins with.
fn closing_brace(code: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// All sources except those of tests.
fn sources() -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    collect(&crates, &mut paths);
    paths.sort();
    assert!(paths.len() > 20, "the sources are not below {}", crates.display());
    let mut tests = BTreeSet::new();
    let read = |path: &PathBuf| read(path, &crates, &mut tests);
    let all: Vec<Source> = paths.iter().map(read).collect();
    all.into_iter().filter(|source| !tests.contains(&source.file)).collect()
}

/// All `.rs` files below `folder`, except those in folders of tests.
fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        if path.is_dir() && name != "tests" && name != "target" {
            collect(&path, out);
        } else if name.ends_with(".rs") {
            out.push(path);
        }
    }
}

/// Reads a file; names the files of its test modules in `tests`.
fn read(path: &Path, crates: &Path, tests: &mut BTreeSet<String>) -> Source {
    let text = fs::read_to_string(path).expect("a readable file");
    let file = path.strip_prefix(crates).expect("below crates").to_string_lossy().into_owned();
    let (code, modules) = without_tests(blanked(&text));
    let stem = file.strip_suffix(".rs").unwrap_or(&file);
    let parent = stem.rsplit_once('/').map_or("", |(parent, _)| parent);
    let is_root = stem.ends_with("/mod") || stem.ends_with("/lib") || stem.ends_with("/main");
    let folder = if is_root { parent } else { stem };
    tests.extend(modules.iter().map(|module| format!("{folder}/{module}.rs")));
    let lines = text.lines().count() - cut_lines(&code);
    Source { file, code, lines }
}

/// Marks a line of a test item.
const CUT: &str = "\u{1}";

fn cut_lines(code: &str) -> usize {
    code.lines().filter(|line| line.contains(CUT)).count()
}

/// Replaces test items by blanks, and returns the names of test modules in files of their own.
fn without_tests(mut code: String) -> (String, Vec<String>) {
    const TEST: &str = "#[cfg(test)]";
    let mut modules = Vec::new();
    while let Some(start) = code.find(TEST) {
        let item = start + TEST.len();
        let end = match body(&code[item..]) {
            Some(open) => item + open + closing_brace(&code[item + open..]) + 1,
            None => item + code[item..].find(';').unwrap_or(0) + 1,
        };
        let end = end.min(code.len());
        modules.extend(module(&code[item..end]));
        let lines = code[start..end].matches('\n').count() + 1;
        code.replace_range(start..end, &vec![CUT; lines].join("\n"));
    }
    (code, modules)
}

/// `NAME` of `mod NAME;`.
fn module(item: &str) -> Option<String> {
    let name = item.trim().strip_prefix("mod ")?.strip_suffix(';')?;
    Some(name.trim().to_string())
}

/// `text` with comments and literals replaced by blanks.
fn blanked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let opaque = opaque(&bytes[at..]);
        let hidden = bytes[at..at + opaque].iter_mut().filter(|byte| **byte != b'\n');
        hidden.for_each(|byte| *byte = b' ');
        at += opaque.max(1);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The length of the comment or literal at the beginning of `code`; 0 if there is none.
fn opaque(code: &[u8]) -> usize {
    match code {
        [b'/', b'/', ..] => code.iter().position(|&byte| byte == b'\n').unwrap_or(code.len()),
        [b'/', b'*', ..] => block_comment(code),
        [b'"', ..] => quoted(code),
        [b'\'', b'\\', ..] => quoted(code),
        [b'\'', first, ..] => {
            // A character literal, or else a lifetime, which has no closing quote.
            let width = (first.leading_ones() as usize).max(1);
            if code.get(1 + width) == Some(&b'\'') { width + 2 } else { 0 }
        }
        [b'r', ..] => raw_string(code),
        _ => 0,
    }
}

/// The length up to the next quote like the first one, without escaped quotes.
fn quoted(code: &[u8]) -> usize {
    let mut at = 1;
    while at < code.len() && code[at] != code[0] {
        at += if code[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(code.len())
}

fn block_comment(code: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < code.len() {
        match &code[at..] {
            [b'/', b'*', ..] => depth += 1,
            [b'*', b'/', ..] => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    at.min(code.len())
}

/// `r"..."` or `r#"..."#`. A quote never follows a name that ends in `r`.
fn raw_string(code: &[u8]) -> usize {
    let hashes = code[1..].iter().take_while(|&&byte| byte == b'#').count();
    let open = 1 + hashes;
    if code.get(open) != Some(&b'"') {
        return 0;
    }
    let end = [&b"\""[..], &b"#".repeat(hashes)].concat();
    let inner = &code[open + 1..];
    let close = inner.windows(end.len()).position(|window| window == end);
    close.map_or(code.len(), |close| open + 1 + close + end.len())
}

/// Checks that the rules above detect violations.
#[test]
fn what_breaks_a_habit_is_seen() {
    let text = r###"
        //! fn comment() { dbg!(1) }
        fn braces<'a>(x: &'a str, n: [u8; 3]) -> char { let _ = "}\"{"; '{' }
        trait T { fn declared(&self, n: [u8; 2]); }
        fn long() {
            let _ = r#" unsafe " todo! "#; /* a /* nested */ comment { */
            let unsafe_name = Instantaneous;
        }
        #[cfg(test)]
        mod elsewhere;
        #[cfg(test)]
        mod tests {
            fn of_a_test() { todo!() }
        }
        fn last() { unsafe { Instant::now() } }
    "###;
    let (code, modules) = without_tests(blanked(text));
    let found: Vec<_> = functions(&code).into_iter().map(|f| (f.name, f.lines)).collect();
    let expected = [("braces", 1), ("long", 4), ("last", 1)];
    assert_eq!(found, expected.map(|(name, lines)| (name.to_string(), lines)));
    assert_eq!(modules, ["elsewhere"]);
    assert_eq!(cut_lines(&code), 6);
    let word = |word: &str| find_word(&code, word);
    assert!(word("unsafe").is_some() && word("Instant").is_some());
    assert_eq!((word("todo!"), word("dbg!"), word("Instantaneous").is_some()), (None, None, true));
}
