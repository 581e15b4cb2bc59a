//! Drives a target: makes inputs, tries them, and stores an input that fails.

use crate::Target;
use slotline_net::rng::Stream;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, Instant};

/// An input that takes longer than this is a failure: no input is larger than some 100 KB.
const LONGEST: Duration = Duration::from_secs(60);

/// Settings of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The duration. Without it, [`Target::inputs`] inputs are tried, so that the verdict does not depend on the
    /// machine.
    pub span: Option<Duration>,
    /// The seed of all inputs.
    pub seed: u64,
    /// The only input to try, from an earlier failure.
    pub replay: Option<PathBuf>,
    /// The folder for failing inputs.
    pub folder: PathBuf,
}

impl Settings {
    /// The settings in the environment: `SLOTLINE_FUZZ_SECONDS`, `SLOTLINE_FUZZ_SEED`, `SLOTLINE_FUZZ_INPUT`.
    ///
    /// # Errors
    /// A variable has no valid value.
    pub fn from_environment(folder: &Path) -> Result<Settings, String> {
        Ok(Settings {
            span: number("SLOTLINE_FUZZ_SECONDS")?.map(Duration::from_secs),
            seed: number("SLOTLINE_FUZZ_SEED")?.unwrap_or(1),
            replay: std::env::var_os("SLOTLINE_FUZZ_INPUT").map(PathBuf::from),
            folder: folder.into(),
        })
    }
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| format!("{name} is `{text}`: it must be a whole number"))
}

/// Drives `target`. Returns the number of inputs that were tried.
///
/// # Errors
/// The property that does not hold, and the file with the input.
pub fn fuzz(target: &Target, settings: &Settings) -> Result<u64, String> {
    match &settings.replay {
        Some(file) if belongs(file, target) => replay(target, file).map(|()| 1),
        Some(_) => Ok(0),
        None => many(target, settings),
    }
}

/// Whether the input in `file` belongs to `target`: its name begins with that of its target.
fn belongs(file: &Path, target: &Target) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("");
    name.strip_prefix(target.name).is_some_and(|rest| rest.starts_with(['-', '.']))
}

fn replay(target: &Target, file: &Path) -> Result<(), String> {
    let input = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    tried(target, &input).map_err(|why| format!("{}: {why}", file.display()))
}

fn many(target: &Target, settings: &Settings) -> Result<u64, String> {
    let io = |error: io::Error| format!("{}: {error}", settings.folder.display());
    std::fs::create_dir_all(&settings.folder).map_err(io)?;
    // The file remains if an input ends the process.
    let path = settings.folder.join(format!("{}.current", target.name));
    let mut current = File::create(&path).map_err(io)?;
    let began = Instant::now();
    let more = |done| settings.span.map_or(done < target.inputs, |span| began.elapsed() < span);
    let mut done = 0;
    while more(done) {
        let input = (target.make)(&mut Stream::named(settings.seed, target.name, done));
        replace(&mut current, &input).map_err(io)?;
        if let Err(why) = tried(target, &input) {
            let file = settings.folder.join(format!("{}-{}-{done}", target.name, settings.seed));
            std::fs::rename(&path, &file).map_err(io)?;
            return Err(description(target, &file, &why));
        }
        done += 1;
    }
    drop(std::fs::remove_file(&path));
    Ok(done)
}

/// Replaces the content of `file` by `content`.
fn replace(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)
}

fn description(target: &Target, file: &Path, why: &str) -> String {
    format!(
        "{}: {why}\nthe input is in {file}; to try it again:\n  SLOTLINE_FUZZ_INPUT={file} cargo test -p \
         slotline-fuzz {}",
        target.about,
        target.name,
        file = file.display()
    )
}

/// Tries one input.
fn tried(target: &Target, input: &[u8]) -> Result<(), String> {
    let began = Instant::now();
    let judged = caught(|| (target.judge)(input))?;
    let took = began.elapsed();
    match judged {
        Ok(()) if took > LONGEST => Err(format!("it took {took:.0?}")),
        judged => judged,
    }
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Calls `work`; a panic is an error with its place and text.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(keep_panics);
    CATCHING.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(false);
    outcome.map_err(|_| PANIC.take())
}

/// Stores the panics of threads that catch them instead of printing them.
fn keep_panics() {
    let usual = take_hook();
    set_hook(Box::new(move |info| {
        if CATCHING.get() {
            // Empty unless RUST_BACKTRACE is set.
            PANIC.set(format!("{info}\n{}", Backtrace::capture()));
        } else {
            usual(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn settings(folder: &Scratch) -> Settings {
        Settings { span: None, seed: 7, replay: None, folder: folder.path().into() }
    }
    fn target(judge: fn(&[u8]) -> Result<(), String>) -> Target {
        let make = |rng: &mut Stream| rng.bits().to_le_bytes().to_vec();
        Target { name: "trial", about: "a trial", inputs: 50, make, judge }
    }

    #[test]
    fn a_failing_input_is_stored_and_fails_again() {
        let folder = Scratch::new();
        let targets = [
            target(|input| if input[0] % 8 == 3 { Err("a law".into()) } else { Ok(()) }),
            target(|input| {
                assert!(input[0] % 8 != 3, "a law");
                Ok(())
            }),
        ];
        for target in targets {
            let why = fuzz(&target, &settings(&folder)).unwrap_err();
            assert!(why.contains("a law"), "{why}");
            let file = why.split("SLOTLINE_FUZZ_INPUT=").nth(1).unwrap().split(' ').next().unwrap();
            let again = Settings { replay: Some(file.into()), ..settings(&folder) };
            assert!(fuzz(&target, &again).unwrap_err().contains("a law"));
            let other = Target { name: "other", ..target };
            assert_eq!(fuzz(&other, &again), Ok(0), "the input belongs to another target");
        }
    }

    #[test]
    fn as_many_inputs_are_tried_as_asked_for() {
        let folder = Scratch::new();
        assert_eq!(fuzz(&target(|_| Ok(())), &settings(&folder)), Ok(50));
        let span = Some(Duration::from_millis(30));
        let done = fuzz(&target(|_| Ok(())), &Settings { span, ..settings(&folder) });
        assert!(done.unwrap() > 0);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
    }
}
