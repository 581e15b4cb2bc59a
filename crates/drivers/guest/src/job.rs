//! What a guest does: it runs this program with other arguments. Files of the guest carry the job and its result.

use crate::cpio::{Content, Writer};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The folder of these files in a guest.
pub(crate) const FOLDER: &str = "/slotline";
/// The program, in this folder.
pub(crate) const PROGRAM: &str = "/slotline/program";
/// The job, in this folder.
pub(crate) const JOB: &str = "/slotline/job";
/// The folders of modules that are loaded before the program starts, and after it has ended.
pub(crate) const FIRST_MODULES: &str = "/slotline/modules";
pub(crate) const LAST_MODULES: &str = "/slotline/port";
/// The names of entries in the archive with the result.
const EXIT: &str = "exit";
const OUTPUT: &str = "output";
const RETURNED: &str = "returned";

/// A command that a guest runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// The arguments of this program.
    pub arguments: Vec<OsString>,
    /// The folder in which it runs.
    pub folder: PathBuf,
    /// The folder whose content is returned.
    pub returned: Option<PathBuf>,
}

impl Job {
    /// The job as a file: the parts, with a zero byte after each.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let returned = self.returned.as_deref().map_or(OsStr::new(""), Path::as_os_str);
        let head = [self.folder.as_os_str(), returned];
        let parts = head.into_iter().chain(self.arguments.iter().map(OsString::as_os_str));
        parts.flat_map(|part| part.as_bytes().iter().copied().chain([0])).collect()
    }

    /// Reads what [`Job::bytes`] has written.
    pub(crate) fn of(bytes: &[u8]) -> Option<Job> {
        let parts = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
        let mut parts = parts.map(|part| OsString::from_vec(part.to_vec()));
        let (folder, returned) = (parts.next()?, parts.next()?);
        let returned = Some(PathBuf::from(returned)).filter(|path| *path != Path::new(""));
        Some(Job { arguments: parts.collect(), folder: folder.into(), returned })
    }
}

/// The result of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobResult {
    /// The exit code of the program.
    pub exit: u8,
    /// What it printed on its standard output.
    pub output: Vec<u8>,
    /// The entries of the returned folder, with paths in it. A folder comes before what it contains.
    pub files: Vec<(String, Content)>,
}

impl JobResult {
    /// Writes the result as an archive. `returned` is a folder that may not exist.
    pub(crate) fn pack<W: Write>(
        exit: u8,
        output: Vec<u8>,
        returned: Option<&Path>,
        to: W,
    ) -> io::Result<W> {
        let mut writer = Writer::new(to);
        writer.add(EXIT, &Content::File(vec![exit]))?;
        writer.add(OUTPUT, &Content::File(output))?;
        let existing = returned.filter(|folder| folder.is_dir());
        existing.map_or(Ok(()), |folder| pack_folder(&mut writer, folder, RETURNED))?;
        writer.finish()
    }

    /// The result in an archive.
    ///
    /// # Errors
    /// Something is missing, or a path leads out of the folder.
    pub(crate) fn unpack(entries: Vec<(String, Content)>) -> io::Result<JobResult> {
        let mut result = JobResult { exit: 0, output: vec![], files: vec![] };
        let mut exit = None;
        for (name, content) in entries {
            match (name.as_str(), content) {
                (EXIT, Content::File(bytes)) => exit = bytes.first().copied(),
                (OUTPUT, Content::File(bytes)) => result.output = bytes,
                (RETURNED, _) => {}
                (name, content) => result.files.push((inner(name)?.to_owned(), content)),
            }
        }
        result.exit = exit.ok_or_else(|| io::Error::other("the exit code is missing"))?;
        Ok(result)
    }
}

/// The path in the returned folder.
fn inner(name: &str) -> io::Result<&str> {
    let rest = name.strip_prefix(RETURNED).and_then(|rest| rest.strip_prefix('/'));
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    rest.filter(|rest| rest.split('/').all(plain))
        .ok_or_else(|| io::Error::other(format!("`{name}` does not belong to the result")))
}

/// Adds the files and folders in `folder`, in the order of their names. Links are left out.
fn pack_folder<W: Write>(writer: &mut Writer<W>, folder: &Path, name: &str) -> io::Result<()> {
    writer.add(name, &Content::Folder)?;
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            pack_folder(writer, &entry.path(), &name)?;
        } else if kind.is_file() {
            writer.add(&name, &Content::File(fs::read(entry.path())?))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio;

    #[test]
    fn a_job_is_read_as_written() {
        for returned in [None, Some(PathBuf::from("/r"))] {
            let arguments = vec!["emulate".into(), "".into(), "a b".into()];
            let job = Job { arguments, folder: "/home/x".into(), returned };
            assert_eq!(Job::of(&job.bytes()), Some(job));
        }
        assert_eq!(Job::of(b"/home"), None);
    }

    #[test]
    fn a_result_is_read_as_packed() {
        let folder = std::env::temp_dir().join(format!("slotline-job-{}", std::process::id()));
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/c.csv"), "1,2").unwrap();
        let packed = |returned| {
            let archive = JobResult::pack(3, b"text".into(), returned, Vec::new()).unwrap();
            JobResult::unpack(cpio::read(&archive[..]).unwrap()).unwrap()
        };
        let result = packed(Some(&folder));
        assert_eq!((result.exit, &result.output[..]), (3, &b"text"[..]));
        let names: Vec<&str> = result.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "a/b", "a/b/c.csv"]);
        assert_eq!(result.files[2].1, Content::File(b"1,2".into()));
        assert_eq!(packed(None).files, []);
        assert_eq!(packed(Some(Path::new("/none"))).files, []);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let with = |name: &str| {
            JobResult::unpack(vec![
                (EXIT.into(), Content::File(vec![0])),
                (name.into(), Content::Folder),
            ])
        };
        assert!(with("returned/a").is_ok());
        for name in ["returned/../a", "/etc", "returned//a", "returnedx/a"] {
            assert!(with(name).is_err(), "{name}");
        }
        assert!(JobResult::unpack(vec![]).is_err());
    }
}
