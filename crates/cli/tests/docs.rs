//! What the documentation shows works: its scenarios run, its commands do what it says they do.
//!
//! In `README.md` and below `docs/`, a block marked ` ```toml scenario ` is a whole scenario file: it
//! is run and must succeed. Each line `$ ./slotline …` of a block marked ` ```console ` is executed
//! in an empty folder that has the repository's `scenarios` and `data`, one folder per document. It
//! must succeed; in a block marked ` ```console fails ` it must end with exit code 2 instead. Lines
//! below the command must be found in what it prints, in this order. Words that have a digit in them
//! may differ, and `...` stands for any number of lines.
//!
//! And it is complete: every name and key that a scenario may use is in `docs/`.

use slotline_lab::catalogue::Kind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = env!("CARGO_BIN_EXE_slotline");
/// Exit code of whatever is wrong with the input.
const BAD_INPUT: i32 = 2;

/// A fenced block of a document.
struct Block {
    /// Number of its first line.
    line: usize,
    /// What stands behind the fence.
    info: String,
    lines: Vec<String>,
}

#[test]
fn documents_show_what_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut wrong = Vec::new();
    let mut done = 0;
    for document in documents(&root) {
        let text = fs::read_to_string(&document).expect("a readable document");
        let place = Folder::new(&root, &document);
        for block in blocks(&text) {
            let results = place.try_block(&block);
            done += results.len();
            let faults = results.into_iter().filter_map(Result::err);
            wrong.extend(faults.map(|why| format!("{}:{}: {why}", document.display(), block.line)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(done > 0, "no document has a block to try");
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

/// Where one document's examples are tried.
struct Folder(PathBuf);

impl Folder {
    fn new(root: &Path, document: &Path) -> Folder {
        let name = document.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("docs-{name}"));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("shown")).expect("a folder for examples");
        let root = root.canonicalize().expect("the repository");
        for linked in ["scenarios", "data"] {
            std::os::unix::fs::symlink(root.join(linked), path.join(linked)).expect("a link");
        }
        Folder(path)
    }

    /// One result for each thing in the block that can be tried.
    fn try_block(&self, block: &Block) -> Vec<Result<(), String>> {
        match block.info.as_str() {
            "toml scenario" => vec![self.try_scenario(block)],
            "console" => commands(block).map(|shown| self.try_command(shown, 0)).collect(),
            "console fails" => {
                commands(block).map(|shown| self.try_command(shown, BAD_INPUT)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn try_scenario(&self, block: &Block) -> Result<(), String> {
        let file = format!("shown/line-{}.toml", block.line);
        fs::write(self.0.join(&file), block.lines.join("\n")).expect("a writable folder");
        self.run(&["run", &file], 0).map(drop)
    }

    fn try_command(&self, shown: &[String], code: i32) -> Result<(), String> {
        let Some(command) = shown[0].strip_prefix("$ ./slotline") else {
            return Err(format!("`{}`: only `$ ./slotline …` can be tried", shown[0]));
        };
        let arguments: Vec<&str> = command.split_whitespace().collect();
        let said = self.run(&arguments, code)?;
        compare(&shown[1..], &said)
    }

    /// Runs the program; returns what it said.
    fn run(&self, arguments: &[&str], code: i32) -> Result<String, String> {
        let output = Command::new(PROGRAM).args(arguments).current_dir(&self.0).output();
        let output = output.expect("the program starts");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if output.status.code() == Some(code) {
            return Ok(said);
        }
        let arguments = arguments.join(" ");
        Err(format!("`slotline {arguments}`: {} instead of {code}\n{said}", output.status))
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

/// Whether the lines shown are among those `said`, in order.
fn compare(shown: &[String], said: &str) -> Result<(), String> {
    let mut rest = said.lines();
    for line in shown.iter().filter(|line| !line.trim().is_empty() && line.trim() != "...") {
        if !rest.any(|said| is_like(line, said)) {
            return Err(format!("`{}` is not printed, or not in this order:\n{said}", line));
        }
    }
    Ok(())
}

/// Whether `said` has all words of `shown`, in order, but for those with digits.
fn is_like(shown: &str, said: &str) -> bool {
    let mut words = said.split_whitespace();
    let mut fixed = shown.split_whitespace().filter(|w| !w.contains(|c: char| c.is_ascii_digit()));
    fixed.all(|word| words.any(|said| said == word))
}

#[test]
fn lines_are_compared_by_their_words() {
    let shown = |text: &str| text.lines().map(str::to_string).collect::<Vec<_>>();
    let said = "incast: 3 schemes\n\nFCT mean  ms  12.8 ± 0.1\nGoodput  Gbit/s  9.1\n";
    assert_eq!(compare(&shown("FCT mean ms 10.1 ± 0.7\n...\nGoodput Gbit/s 7"), said), Ok(()));
    assert_eq!(compare(&shown("\n..."), said), Ok(()));
    for wrong in ["FCT median ms 12.8", "Goodput Gbit/s 9.1\nincast: 3 schemes", "mean FCT"] {
        assert!(compare(&shown(wrong), said).is_err(), "{wrong}");
    }
    let block = &blocks("text\n```console\n$ a\nb\nc\n$ d\n```\n$ e\n")[0];
    assert_eq!((block.line, block.info.as_str()), (3, "console"));
    assert_eq!(commands(block).map(<[String]>::len).collect::<Vec<_>>(), [3, 1]);
}

/// The reference has every key; pages that explain have every name, too.
#[test]
fn documents_have_every_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = ["scenario.md", "workloads.md"]
        .map(|name| fs::read_to_string(root.join("docs").join(name)).expect("a readable document"));
    let entries = Kind::ALL.iter().flat_map(|kind| kind.entries()).map(|entry| entry.name);
    let mut missing: Vec<String> = entries
        .filter(|name| !text.iter().any(|text| text.contains(&format!("`{name}`"))))
        .filter(|name| !name.is_empty())
        .collect();
    missing.dedup();
    assert!(missing.is_empty(), "not in docs/: {missing:?}");
}
