//! The reference below `docs/` is what the program generates.

use crate::folder::PROGRAM;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_reference_is_up_to_date() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference");
    drop(fs::remove_dir_all(&made));
    let done = Command::new(PROGRAM).arg("reference").arg(&made).output();
    assert!(done.expect("the program starts").status.success());
    let pages = |folder: &Path| {
        let listed = fs::read_dir(folder).expect("a folder of pages");
        let mut names: Vec<_> = listed.map(|page| page.expect("a page").file_name()).collect();
        names.sort();
        names
    };
    let text = |folder: &Path, page| fs::read_to_string(folder.join(page)).expect("a page");
    let same = pages(&made) == pages(&kept)
        && pages(&made).iter().all(|page| text(&made, page) == text(&kept, page));
    assert!(same, "docs/reference is out of date: run `slotline reference docs/reference`");
}
