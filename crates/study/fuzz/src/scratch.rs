//! Temporary files for functions that read files.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder, which is removed with its content when this value is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder.
    pub fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slotline-fuzz-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Scratch(path)
    }
    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
    /// Writes a file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("room for a temporary file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Calls `work` with this thread's folder.
pub(crate) fn with<T>(work: impl FnOnce(&Scratch) -> T) -> T {
    thread_local! { static FOLDER: OnceCell<Scratch> = const { OnceCell::new() }; }
    FOLDER.with(|folder| work(folder.get_or_init(Scratch::new)))
}
