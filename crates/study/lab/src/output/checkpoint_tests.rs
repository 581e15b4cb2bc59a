//! The runs of a killed process are found once and unchanged. Damaged runs and runs of other programs are repeated.

use super::super::scratch;
use super::*;

fn plan() -> RunSet {
    RunSet { runs: vec![], ..RunSet::example(3) }
}

fn claim(root: &Path) -> Place {
    let plan = plan();
    Place::claim(root, &plan.name, &plan.scenario, true).unwrap_or_else(|error| panic!("{error}"))
}

/// The first `n` runs, which took long enough to be stored.
fn runs(n: usize) -> Vec<RunRecord> {
    let mut runs: Vec<RunRecord> =
        RunSet::example(3).in_order().into_iter().take(n).cloned().collect();
    runs.iter_mut().for_each(|run| run.engine.wall_s = 1.0);
    runs
}

/// Leaves the draft of a killed process; returns its folder.
fn killed(root: &Path, done: &[RunRecord]) -> PathBuf {
    let place = claim(root);
    for run in done {
        let mut checkpoints = run.clone();
        place.save(&plan(), &mut checkpoints).unwrap();
        assert_eq!(checkpoints, *run, "saving does not change it");
    }
    let holder = lock::holder();
    let (host, _) = holder.rsplit_once('.').unwrap();
    let draft = root.join(format!(".{}.{host}.{}.partial", place.id, i32::MAX));
    fs::rename(&place.draft, &draft).unwrap();
    std::mem::forget(place);
    draft
}

/// The only folder of stored runs in `draft`.
fn of_program(draft: &Path) -> PathBuf {
    entries(draft).into_iter().find(|path| is_checkpoint(path)).unwrap()
}

#[test]
fn what_a_killed_process_left_is_found_once() {
    let root = scratch("checkpoint");
    let done = runs(4);
    let draft = killed(&root, &done[..3]);
    let second = killed(&root.join("elsewhere"), &done[2..]);
    fs::rename(
        &second,
        draft.with_file_name(
            format!("{}", second.file_name().unwrap().display())
                .replace(&i32::MAX.to_string(), &(i32::MAX - 1).to_string()),
        ),
    )
    .unwrap();
    fs::remove_dir_all(root.join("elsewhere")).unwrap();
    let place = claim(&root);
    let recovered = place.recover(&plan());
    assert_eq!(recovered.notes, [] as [String; 0]);
    let sorted = |mut runs: Vec<RunRecord>| {
        runs.sort_by_key(|run| (run.scheme.clone(), run.seed));
        runs
    };
    assert_eq!(sorted(recovered.runs), sorted(done.clone()), "of two processes, each run once");
    assert_eq!(
        entries(&root),
        std::slice::from_ref(&place.draft),
        "the others' drafts are ours now"
    );
    place.abandon();
    assert_eq!(entries(&root).len(), 1, "left for the next");
    // A process with the number of the killed one also continues.
    let place = claim(&root);
    let recovered = place.recover(&plan());
    assert_eq!(recovered.runs.len(), 4);
    let whole = RunSet::example(3);
    let written = place.write(&whole, &crate::summary::Summary::of(&whole), false, &[]).unwrap();
    assert_eq!(entries(&root), std::slice::from_ref(&written.folder), "nothing is left behind");
    assert!(entries(&written.folder).iter().all(|path| path.is_file()), "nor inside");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn what_is_damaged_or_of_another_program_is_done_again() {
    let root = scratch("checkpoint-damaged");
    let done = runs(4);
    let draft = killed(&root, &done);
    let checkpoints = entries(&of_program(&draft));
    let mut bytes = fs::read(checkpoints[0].join("flows.parquet")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(checkpoints[0].join("flows.parquet"), bytes).unwrap();
    fs::remove_file(checkpoints[1].join("runs.json")).unwrap();
    let index = fs::read_to_string(checkpoints[2].join("runs.json")).unwrap();
    let other = crate::output::index::seal(&index.replace("incast", "outcast"));
    fs::write(checkpoints[2].join("runs.json"), other).unwrap();
    let place = claim(&root);
    let recovered = place.recover(&plan());
    assert_eq!(recovered.runs, done[3..]);
    assert_eq!(recovered.notes.len(), 2, "{:?}", recovered.notes);
    assert!(recovered.notes[0].contains("flows.parquet") && recovered.notes[0].contains("damaged"));
    assert!(recovered.notes[1].contains("another scenario or version"), "{:?}", recovered.notes);
    drop(place);
    assert_eq!(entries(&root), [] as [PathBuf; 0]);

    let draft = killed(&root, &done);
    fs::rename(of_program(&draft), draft.join("runs-0123456789abcdef")).unwrap();
    let recovered = claim(&root).recover(&plan());
    assert!(
        recovered.runs.is_empty() && recovered.notes[0].contains("another build"),
        "{:?}",
        recovered.notes
    );
    assert_eq!(entries(&root), [] as [PathBuf; 0]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn short_runs_and_empty_drafts_leave_nothing() {
    let root = scratch("checkpoint-short");
    let place = claim(&root);
    let mut short = runs(1).remove(0);
    short.engine.wall_s = WORTH_S / 2.0;
    place.save(&plan(), &mut short).unwrap();
    assert!(!has_runs(&place.draft));
    place.abandon();
    assert_eq!(entries(&root), [] as [PathBuf; 0]);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_process_that_lives_keeps_its_own() {
    let root = scratch("checkpoint-alive");
    let draft = killed(&root, &runs(2));
    // The parent of this process is alive.
    let parent = std::os::unix::process::parent_id().to_string();
    let name = draft.display().to_string().replace(&i32::MAX.to_string(), &parent);
    fs::rename(draft, &name).unwrap();
    assert!(claim(&root).recover(&plan()).runs.is_empty());
    assert!(has_runs(Path::new(&name)));
    fs::remove_dir_all(root).unwrap();
}
