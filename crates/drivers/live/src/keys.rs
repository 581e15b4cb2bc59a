//! Files with private keys.

use slotline_envelope::{KeyError, KeyPair};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The reason why a file with a private key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file cannot be read.
    #[error("cannot read the private key {0}: {1}; `slotline key new` makes one")]
    Read(PathBuf, io::Error),
    /// The file is not a key.
    #[error("{0}: {1}")]
    Invalid(PathBuf, KeyError),
    /// Users other than its owner can read the file.
    #[error("users other than its owner can read the private key {0}; run `chmod 600` on it")]
    Open(PathBuf),
    /// The file cannot be created.
    #[error("cannot create the private key {0}: {1}")]
    Make(PathBuf, io::Error),
    /// The file exists.
    #[error("{0} exists and is not replaced, because hosts know this key; use another file")]
    Exists(PathBuf),
    /// The operating system provides no random bytes.
    #[error(transparent)]
    Random(#[from] KeyError),
}

/// Reads the key in a file that only its owner can read.
///
/// # Errors
/// The file cannot be read, is not a key, or other users can read it.
pub fn read(path: &Path) -> Result<KeyPair, KeyFileError> {
    let unreadable = |error| KeyFileError::Read(path.into(), error);
    let mut file = File::open(path).map_err(unreadable)?;
    let open = file.metadata().map_err(unreadable)?.mode() & 0o077 != 0;
    if open && !is_credential(path) {
        return Err(KeyFileError::Open(path.into()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(unreadable)?;
    text.parse().map_err(|error| KeyFileError::Invalid(path.into(), error))
}

/// Whether systemd restricts the file to this service with access rights that its mode does not show.
fn is_credential(path: &Path) -> bool {
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY");
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// Creates a key and writes it to a file. An existing file is never replaced.
///
/// # Errors
/// The file exists or cannot be written, or the operating system provides no random bytes.
pub fn create(path: &Path) -> Result<KeyPair, KeyFileError> {
    let key = KeyPair::generate()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| KeyFileError::Make(path.into(), error))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(key.to_private_text().as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => KeyFileError::Exists(path.into()),
        _ => KeyFileError::Make(path.into(), error),
    })?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_comes_back_and_only_its_owner_may_read_it() {
        let folder = std::env::temp_dir().join(format!("slotline-keys-{}", std::process::id()));
        let path = folder.join("key");
        let key = create(&path).unwrap();
        assert_eq!(read(&path).unwrap(), key);
        assert!(matches!(create(&path), Err(KeyFileError::Exists(_))), "it is never replaced");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read(&path), Err(KeyFileError::Open(_))));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "no key\n").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("slotline private key 1"));
        fs::remove_dir_all(&folder).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("slotline key new"));
    }
}
