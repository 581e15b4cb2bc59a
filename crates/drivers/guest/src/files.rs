//! The files of a guest: programs of this machine, with what they need, at the same paths.

use crate::cpio::{Content, Writer};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The longest chain of symbolic links, as in Linux.
const MOST_LINKS: usize = 40;

/// The file system of a guest, by path without a slash at its start. A folder comes before what it contains.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Files(BTreeMap<String, Content>);

impl Files {
    /// Adds an entry, and the folders above it.
    pub fn put(&mut self, path: &str, content: Content) {
        let path = path.trim_start_matches('/');
        for (at, _) in path.match_indices('/') {
            self.0.entry(path[..at].into()).or_insert(Content::Folder);
        }
        self.0.insert(path.into(), content);
    }

    /// Copies a file or a folder of this machine, and the symbolic links on the way to it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn copy(&mut self, path: &Path) -> io::Result<()> {
        let name =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let real = self.follow(path).map_err(name)?;
        if !fs::metadata(&real).map_err(name)?.is_dir() {
            self.put(text(&real)?, Content::File(fs::read(&real).map_err(name)?));
            return Ok(());
        }
        self.put(text(&real)?, Content::Folder);
        for entry in fs::read_dir(&real).map_err(name)? {
            self.copy(&entry?.path())?;
        }
        Ok(())
    }

    /// Adds the symbolic links on the way to `path`, and returns the path without them.
    fn follow(&mut self, path: &Path) -> io::Result<PathBuf> {
        let absolute = std::path::absolute(path)?;
        let parts = |path: &Path| -> Vec<OsString> {
            path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
        };
        let (mut left, mut done, mut links) = (parts(&absolute), PathBuf::new(), 0);
        while let Some(part) = left.pop() {
            match Path::new(&part).components().next() {
                Some(Component::ParentDir) => drop(done.pop()),
                _ => done.push(part),
            }
            if let Ok(target) = fs::read_link(&done) {
                self.put(text(&done)?, Content::Link(text(&target)?.into()));
                done.pop();
                left.extend(parts(&target));
                links += 1;
            }
            if links > MOST_LINKS {
                return Err(io::Error::other("its symbolic links form a circle"));
            }
        }
        Ok(done)
    }

    /// Copies a program, with its libraries, or with the interpreter that its first line names.
    ///
    /// # Errors
    /// One of the files cannot be read.
    pub fn program(&mut self, path: &Path) -> io::Result<()> {
        if self.0.contains_key(text(path)?.trim_start_matches('/')) {
            return Ok(());
        }
        self.copy(path)?;
        for needed in libraries(path).into_iter().chain(interpreters(path)) {
            self.program(&needed)?;
        }
        Ok(())
    }

    /// Writes all as an archive.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write<W: Write>(&self, to: W) -> io::Result<W> {
        let mut writer = Writer::new(to);
        self.0.iter().try_for_each(|(path, content)| writer.add(path, content))?;
        writer.finish()
    }
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other(format!("{path:?} is no text")))
}

/// The libraries of a program, and its loader, as `ldd` prints them. Static programs and scripts have none.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output();
    let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    listed(&printed.unwrap_or_default())
}

/// The absolute paths in lines such as `libm.so.6 => /lib/libm.so.6 (0x7f00)` and `/lib/ld.so (0x7f00)`.
fn listed(printed: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let found = line.split("=>").last()?.split_whitespace().next()?;
        found.starts_with('/').then(|| PathBuf::from(found))
    };
    printed.lines().filter_map(path).collect()
}

/// The interpreter of a script, and the program that this one runs if it is `env`.
fn interpreters(script: &Path) -> Vec<PathBuf> {
    let mut start = Vec::new();
    let read = fs::File::open(script).and_then(|file| file.take(256).read_to_end(&mut start));
    let Some(line) = read.ok().and_then(|_| start.strip_prefix(b"#!")) else { return vec![] };
    let line =
        String::from_utf8_lossy(line.split(|&byte| byte == b'\n').next().unwrap_or_default());
    line.split_whitespace().filter_map(which).collect()
}

/// The executable file that a shell runs for `name`.
pub fn which(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    // Ordinary users may lack these, which hold programs that they need.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut files = env::split_paths(&path).chain(more).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// The programs and files that a command line of the shell names: all of its words that are one. `folder` is the folder
/// in which it runs.
pub fn named_in(command: &str, folder: &Path) -> Vec<PathBuf> {
    let between = |c: char| c.is_whitespace() || "|&;<>()$`\"'={}".contains(c);
    let words = command.split(between).filter(|word| !word.is_empty());
    let file = |word: &str| Some(folder.join(word)).filter(|path| path.is_file());
    words.filter_map(|word| file(word).or_else(|| which(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn libraries_as_ldd_prints_them() {
        let printed = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/x/libm.so.6 (0x00007f00)\n\t\
                       /lib64/ld-linux-x86-64.so.2 (0x00007f00)\n\tlibnone.so => not found\n";
        let paths = ["/lib/x/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(listed(printed), paths);
        assert_eq!(listed("\tnot a dynamic executable\n"), [] as [PathBuf; 0]);
    }

    #[test]
    fn links_on_the_way_are_copied() {
        let folder = env::temp_dir().join(format!("slotline-files-{}", std::process::id()));
        let folder = folder.to_str().unwrap();
        let at = |path: &str| format!("{folder}/{path}");
        fs::create_dir_all(at("usr/bin")).unwrap();
        fs::write(at("usr/bin/real"), "#!/bin/sh -e\n").unwrap();
        symlink("usr/bin", at("bin")).unwrap();
        symlink("../bin/real", at("usr/bin/name")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let mut files = Files::default();
        files.copy(Path::new(&at("bin/name"))).unwrap();
        let entry = |path: &str| files.0.get(at(path).trim_start_matches('/'));
        assert_eq!(entry("bin"), Some(&Content::Link("usr/bin".into())));
        assert_eq!(entry("usr/bin/name"), Some(&Content::Link("../bin/real".into())));
        assert_eq!(entry("usr/bin/real"), Some(&Content::File(b"#!/bin/sh -e\n".into())));
        assert_eq!(entry("usr"), Some(&Content::Folder));
        assert_eq!(entry("bin/name"), None, "it is found through the link");
        assert!(files.copy(Path::new(&at("circle"))).is_err());
        assert!(files.copy(Path::new(&at("none"))).unwrap_err().to_string().contains("none"));
        let names = named_in("cd /; sh bin/real --x=usr/bin/name|none $(sh)", Path::new(folder));
        let named = |path: &str| names.iter().any(|name| name.to_str() == Some(&at(path)));
        assert!(named("bin/real") && named("usr/bin/name"));
        let shells = names.iter().filter(|name| name.ends_with("sh")).count();
        assert_eq!((names.len(), shells), (4, 2), "{names:?}");
        assert_eq!(interpreters(Path::new(&at("usr/bin/real"))), [PathBuf::from("/bin/sh")]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_program_comes_with_its_libraries() {
        let shell = which("sh").unwrap();
        let mut files = Files::default();
        files.program(&shell).unwrap();
        let found = |name: &str| files.0.keys().any(|path| path.contains(name));
        assert!(found("/sh"));
        assert_eq!(found("ld-linux"), !libraries(&shell).is_empty());
    }
}
