//! The library as a file, and the environment of a program that loads it.

use crate::error::at;
use crate::{AduTable, PreloadError, SharedTime};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

/// The library, an ELF shared object for this system. It is empty if it was not built: it needs Linux with 64 bits and
/// the GNU C library.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libslotline.so"));

/// Writes the library as `libslotline.so` into an existing folder, and returns its absolute path.
///
/// # Errors
/// [`PreloadError::Unsupported`] if there is no library for this system, [`PreloadError::Separator`] if `LD_PRELOAD`
/// cannot name the file, [`PreloadError::File`] if it cannot be written.
pub fn install(folder: &Path) -> Result<PathBuf, PreloadError> {
    if LIBRARY.is_empty() {
        return Err(PreloadError::Unsupported);
    }
    let path = absolute(folder.join("libslotline.so")).map_err(at(folder))?;
    let separators = [b' ', b':', b'\t', b'\n', b'$'];
    if path.as_os_str().as_encoded_bytes().iter().any(|byte| separators.contains(byte)) {
        return Err(PreloadError::Separator(path));
    }
    // A running program may have mapped an older library, whose file must not change.
    let fresh = path.with_extension("new");
    fs::write(&fresh, LIBRARY).map_err(at(&fresh))?;
    fs::rename(&fresh, &path).map_err(at(&path))?;
    Ok(path)
}

/// The environment variables for a program that loads the library at `library`, optionally with virtual time, and
/// optionally as a host that reports its demand. A library that this process itself preloads comes after it. Child
/// processes inherit the variables.
pub fn environment(
    library: &Path,
    time: Option<&SharedTime>,
    demand: Option<(&AduTable, u32)>,
) -> Vec<(String, OsString)> {
    let mut variables =
        vec![("LD_PRELOAD".into(), preload(library, std::env::var_os("LD_PRELOAD")))];
    if let Some(time) = time {
        variables.push(("SLOTLINE_TIME".into(), time.path().into()));
    }
    if let Some((table, host)) = demand {
        variables.push(("SLOTLINE_ADU".into(), table.path().into()));
        variables.push(("SLOTLINE_HOST".into(), host.to_string().into()));
    }
    variables
}

/// A command that starts `program` with the variables of [`environment`], from a shell. In virtual time the library
/// refuses, in the shell, a program that would have real time: the shell says why, and ends with exit code 126.
pub fn started(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$@\"", "sh"]).arg(program);
    command
}

fn preload(library: &Path, others: Option<OsString>) -> OsString {
    let mut list = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        list.push(OsStr::new(":"));
        list.push(others);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_libraries_are_loaded_after_it() {
        let library = Path::new("/run/libslotline.so");
        assert_eq!(preload(library, None), "/run/libslotline.so");
        assert_eq!(preload(library, Some("".into())), "/run/libslotline.so");
        assert_eq!(preload(library, Some("/a.so /b.so".into())), "/run/libslotline.so:/a.so /b.so");
    }

    #[test]
    fn a_folder_that_ld_preload_cannot_name_is_refused() {
        let refused = install(Path::new("/tmp/two words"));
        assert!(matches!(refused, Err(PreloadError::Separator(_))), "{refused:?}");
    }
}
