//! Tests of the documentation: its scenarios run, and its commands print what it shows.
//!
//! In `README.md` and below `docs/`, a block marked ` ```toml scenario ` is a whole scenario file, which must run
//! successfully. Each line `$ ./slotline …` of a block marked ` ```console ` is executed in an empty folder that has
//! the repository's `scenarios` and `data`, one folder per document. It must succeed; in a block marked ` ```console
//! fails ` it must end with exit code 2 instead. Lines below the command must occur in its output, in this order. Words
//! that contain a digit may differ, and `...` stands for any number of lines. In a block marked ` ```console exact `
//! only the number of blanks may differ.
//!
//! A block marked ` ```csv file NAME ` (or toml, text) is written to that file of the folder. A block marked ` ```toml
//! append NAME ` is appended to it. `$ sed …` is executed like the program, so that a document can develop a scenario
//! step by step. A block marked ` ```rust from PATH ` must occur unchanged in that file of the repository.
//!
//! The documentation is complete: every name and key that a scenario may use is in `docs/`.

use crate::folder::{BAD_INPUT, PROGRAM};
use slotline_scenario::catalogue::Kind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// A fenced block of a document.
struct Block {
    /// Number of its first line.
    line: usize,
    /// The text after the fence.
    info: String,
    lines: Vec<String>,
}

#[test]
fn documents_show_what_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let waiting = Mutex::new(documents(&root));
    let try_all = || {
        let next = || waiting.lock().expect("no thread has failed").pop();
        std::iter::from_fn(next)
            .flat_map(|document| try_document(&root, &document))
            .collect::<Vec<_>>()
    };
    let (mut results, others) = thread::scope(|scope| {
        let other = scope.spawn(try_all);
        (try_all(), other.join().expect("no thread has failed"))
    });
    results.extend(others);
    assert!(!results.is_empty(), "no document has a block to try");
    let wrong: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Tries everything in a document. Returns one result for each part, in order.
fn try_document(root: &Path, document: &Path) -> Vec<Result<(), String>> {
    let text = fs::read_to_string(document).expect("a readable document");
    let place = Folder::new(root, document);
    let tried = |block: &Block| {
        let fault = |why| format!("{}:{}: {why}", document.display(), block.line);
        place.try_block(block).into_iter().map(|result| result.map_err(fault)).collect::<Vec<_>>()
    };
    blocks(&text).iter().flat_map(tried).collect()
}

/// `README.md` and everything below `docs`.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), blocks.last_mut()) {
            (Some(_), _) if open => open = false,
            (Some(info), _) => {
                open = true;
                blocks.push(Block { line: at + 2, info: info.trim().into(), lines: Vec::new() });
            }
            (None, Some(block)) if open => block.lines.push(line.to_string()),
            _ => {}
        }
    }
    blocks
}

/// How the lines below a command are compared with its output.
#[derive(Clone, Copy)]
enum Like {
    /// Words with digits may differ.
    Words,
    /// Only the number of blanks may differ.
    Exactly,
}

/// The folder in which one document's examples are tried.
struct Folder(PathBuf);

impl Folder {
    fn new(root: &Path, document: &Path) -> Folder {
        let name = document.strip_prefix(root).expect("a document of the repository");
        let name = name.with_extension("").to_string_lossy().replace('/', "-");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("shown")).expect("a folder for examples");
        let root = root.canonicalize().expect("the repository");
        for linked in ["scenarios", "data"] {
            std::os::unix::fs::symlink(root.join(linked), path.join(linked)).expect("a link");
        }
        Folder(path)
    }

    /// Tries everything in a block. Returns one result for each part.
    fn try_block(&self, block: &Block) -> Vec<Result<(), String>> {
        let shown =
            |like, code| commands(block).map(|shown| self.try_command(shown, like, code)).collect();
        match block.info.split_whitespace().collect::<Vec<_>>()[..] {
            ["toml", "scenario"] => vec![self.try_scenario(block)],
            [_, "file", name] => vec![self.write(name, block, String::new())],
            [_, "append", name] => vec![self.append(name, block)],
            ["console"] => shown(Like::Words, 0),
            ["console", "exact"] => shown(Like::Exactly, 0),
            ["console", "fails"] => shown(Like::Words, BAD_INPUT),
            [_, "from", path] => vec![stands_in(path, block)],
            _ => Vec::new(),
        }
    }

    fn try_scenario(&self, block: &Block) -> Result<(), String> {
        let file = format!("shown/line-{}.toml", block.line);
        self.write(&file, block, String::new())?;
        self.run(&["run", &file], 0).map(drop)
    }

    fn write(&self, name: &str, block: &Block, before: String) -> Result<(), String> {
        let text = before + &block.lines.join("\n") + "\n";
        fs::write(self.0.join(name), text).map_err(|error| format!("{name}: {error}"))
    }

    fn append(&self, name: &str, block: &Block) -> Result<(), String> {
        let before = fs::read_to_string(self.0.join(name));
        self.write(name, block, before.map_err(|error| format!("{name}: {error}"))?)
    }

    fn try_command(&self, shown: &[String], like: Like, code: i32) -> Result<(), String> {
        let words = words(shown[0].strip_prefix("$ ").unwrap_or(""));
        let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let printed = match words.first().map(String::as_str) {
            Some("./slotline") => self.run(&arguments, code)?,
            Some("sed") => self.call("sed", &arguments, 0)?,
            _ => {
                return Err(format!("`{}`: only `./slotline` and `sed` can be tried", shown[0]));
            }
        };
        compare(&shown[1..], &printed, like)
    }

    /// Runs the program; returns what it printed.
    fn run(&self, arguments: &[&str], code: i32) -> Result<String, String> {
        self.call(PROGRAM, arguments, code)
    }

    fn call(&self, program: &str, arguments: &[&str], code: i32) -> Result<String, String> {
        let output = Command::new(program).args(arguments).current_dir(&self.0).output();
        let output = output.expect("the program starts");
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        if output.status.code() == Some(code) {
            return Ok(printed);
        }
        let arguments = arguments.join(" ");
        Err(format!("`slotline {arguments}`: {} instead of {code}\n{printed}", output.status))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Each command of a block with the lines below it.
fn commands(block: &Block) -> impl Iterator<Item = &[String]> {
    block.lines.chunk_by(|_, next| !next.starts_with("$ "))
}

/// The words of a command line. Quotes keep blanks, as in a shell.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let (word, after) = match quote {
            Some(quote) => rest[1..].split_once(quote).unwrap_or((&rest[1..], "")),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_string());
        rest = after.trim_start();
    }
    words
}

/// Whether the block's lines occur consecutively in a file of the repository.
fn stands_in(path: &str, block: &Block) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
    let shown = block.lines.join("\n");
    if text.contains(&format!("{shown}\n")) {
        return Ok(());
    }
    let missing = block.lines.iter().find(|line| !text.lines().any(|there| there == **line));
    Err(format!("is not in {path} as it stands here: {missing:?}"))
}

/// Whether the lines shown occur in `printed`, in order.
fn compare(shown: &[String], printed: &str, like: Like) -> Result<(), String> {
    let mut rest = printed.lines();
    for line in shown.iter().filter(|line| !line.trim().is_empty() && line.trim() != "...") {
        if !rest.any(|printed| is_like(line, printed, like)) {
            return Err(format!("`{}` is not printed, or not in this order:\n{printed}", line));
        }
    }
    Ok(())
}

/// Whether `printed` has the words of `shown` in order: exactly these words, or at least those without digits.
fn is_like(shown: &str, printed: &str, like: Like) -> bool {
    let mut words = printed.split_whitespace();
    let fixed = shown.split_whitespace();
    match like {
        Like::Exactly => words.eq(fixed),
        Like::Words => fixed
            .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
            .all(|word| words.any(|printed| printed == word)),
    }
}

#[test]
fn lines_are_compared_by_their_words() {
    let shown = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let printed = "incast: 3 schemes\n\nFCT mean  ms  12.8 ± 0.1\nGoodput  Gbit/s  9.1\n";
    let by_words = |text: &str| compare(&shown(text), printed, Like::Words);
    assert_eq!(by_words("FCT mean ms 10.1 ± 0.7\n...\nGoodput Gbit/s 7"), Ok(()));
    assert_eq!(by_words("\n..."), Ok(()));
    for wrong in ["FCT median ms 12.8", "Goodput Gbit/s 9.1\nincast: 3 schemes", "mean FCT"] {
        assert!(by_words(wrong).is_err(), "{wrong}");
    }
    let exactly = |text: &str| compare(&shown(text), printed, Like::Exactly).is_ok();
    assert!(exactly("FCT mean ms 12.8 ± 0.1\n...\nGoodput  Gbit/s 9.1"));
    assert!(!exactly("FCT mean ms 12.9 ± 0.1") && !exactly("FCT mean ms"));
    assert_eq!(words("sed -i 's/a b/c/' x.toml"), ["sed", "-i", "s/a b/c/", "x.toml"]);
    let block = &blocks("text\n```console\n$ a\nb\nc\n$ d\n```\n$ e\n")[0];
    assert_eq!((block.line, block.info.as_str()), (3, "console"));
    assert_eq!(commands(block).map(<[String]>::len).collect::<Vec<_>>(), [3, 1]);
}

/// The reference has every key, and the other pages have every name.
#[test]
fn documents_have_every_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = documents(&root).into_iter().filter(|page| page.starts_with(root.join("docs")));
    let text: Vec<String> =
        pages.map(|page| fs::read_to_string(page).expect("a readable document")).collect();
    let entries = Kind::ALL.iter().flat_map(|kind| kind.entries()).map(|entry| entry.name);
    let mut missing: Vec<String> = entries
        .filter(|name| !name.is_empty())
        .filter(|name| !text.iter().any(|text| text.contains(&format!("`{name}`"))))
        .collect();
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "not in docs/: {missing:?}");
}
