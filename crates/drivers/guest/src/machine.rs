//! A guest as a process of this machine: QEMU, which counts instructions and lets one nanosecond pass for each.

use crate::cpio::{self, Content};
use crate::files::{Files, which};
use crate::job::{FIRST_MODULES, JOB, Job, JobResult, LAST_MODULES, PROGRAM};
use crate::kernel::{self, Kernel};
use crate::modules::{Modules, NETWORK, PORT};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const QEMU: &str = "qemu-system-x86_64";
/// The memory of a guest.
const MEMORY: u64 = 4 << 30;
/// The interval at which the host looks at the guest.
const PERIOD: Duration = Duration::from_millis(20);
/// The number of lines of the kernel's log that an error shows.
const LOG_LINES: usize = 8;
/// The kernel's parameters. It need not measure its clocks, which takes long here, because they are known. Like programs,
/// it must not copy bytes with the instructions for strings (feature 112, and `erms` of the processor): QEMU executes
/// them byte by byte.
const PARAMETERS: &str = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable tsc_early_khz=1000000 \
                          lpj=2000000 noapictimer clearcpuid=112";
/// The message of a kernel whose first process has executed an instruction that the processor lacks.
const ILLEGAL: &str = "exitcode=0x00000004";

/// The reason why a guest has no result.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// QEMU is missing.
    #[error("there is no `{QEMU}`; to get it: sudo apt install qemu-system-x86")]
    Qemu,
    /// No kernel was found.
    #[error("{}", no_kernel(.unreadable))]
    Kernel {
        /// Kernels that this user may not read.
        unreadable: Vec<PathBuf>,
    },
    /// The machine has another processor.
    #[error("a guest needs a machine of the architecture x86_64")]
    Architecture,
    /// A part of the guest cannot be made, or the guest cannot be started.
    #[error("cannot {what}: {error}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
    /// It took too long.
    #[error("the guest was ended after {} s of real time without a result", .0.as_secs())]
    TimedOut(Duration),
    /// It was stopped by the user.
    #[error("interrupted")]
    Stopped,
    /// This program has instructions that QEMU lacks.
    #[error(
        "this program was built for a processor that this version of QEMU does not have: build it with \
         RUSTFLAGS=-Ctarget-cpu=x86-64-v2, or install a newer QEMU (7.2 has AVX2)"
    )]
    Instructions,
    /// The guest ended without a result.
    #[error("the guest ended without a result ({error}). The end of its log:\n{log}")]
    Lost {
        /// What is wrong with the result.
        error: io::Error,
        /// The end of its kernel's log.
        log: String,
    },
}

fn no_kernel(unreadable: &[PathBuf]) -> String {
    if let [first, ..] = unreadable {
        return format!("this user may not read the kernel: sudo chmod a+r {}", first.display());
    }
    format!(
        "there is no kernel with its modules in /boot and /lib/modules; to get one: sudo apt install \
         linux-image-cloud-amd64. Without root: apt-get download $(apt-cache depends -i linux-image-cloud-amd64 | sed \
         -n 's/.*Depends: //p'), dpkg -x linux-image-*.deb ~/.cache/slotline/kernel. Or set {} to the folder of such a \
         package",
        kernel::KERNEL
    )
}

fn system(what: &'static str) -> impl Fn(io::Error) -> GuestError {
    move |error| GuestError::System { what, error }
}

/// The parts that a guest needs.
#[derive(Clone, Debug)]
pub struct Machine {
    qemu: PathBuf,
    kernel: Kernel,
}

impl Machine {
    /// Looks for the parts on this machine.
    ///
    /// # Errors
    /// A part is missing; the error says how to get it.
    pub fn find() -> Result<Machine, GuestError> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(GuestError::Architecture);
        }
        let qemu = which(QEMU).ok_or(GuestError::Qemu)?;
        let kernel = kernel::find(&kernel::roots())
            .map_err(|unreadable| GuestError::Kernel { unreadable })?;
        Ok(Machine { qemu, kernel })
    }

    /// The version of the guest's kernel.
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Runs `job` in a guest that has `files` besides this program. Calls `on_line` with each line of the program's error
    /// output. Setting `stop` ends the guest. After `time_out` of real time the guest is ended.
    ///
    /// # Errors
    /// The guest has no result.
    pub fn run(
        &self,
        job: &Job,
        files: Files,
        time_out: Duration,
        stop: &AtomicBool,
        mut on_line: impl FnMut(&str),
    ) -> Result<JobResult, GuestError> {
        let made = self.complete(files, job).and_then(|files| packed(&files));
        let channels = Channels::new(made.map_err(system("make the guest's files"))?)
            .map_err(system("make the guest's ports"))?;
        let mut running = self.start(&channels).map_err(system("start QEMU"))?;
        let begun = Instant::now();
        let mut lines = Lines::default();
        let ended = loop {
            let ended = running.0.try_wait().map_err(system("wait for QEMU"))?.is_some();
            lines
                .read(&channels.messages, &mut on_line)
                .map_err(system("read the messages of the guest"))?;
            match (ended, stop.load(Ordering::Relaxed)) {
                (true, _) => break channels.result(),
                (_, true) => return Err(GuestError::Stopped),
                _ if begun.elapsed() > time_out => return Err(GuestError::TimedOut(time_out)),
                _ => std::thread::sleep(PERIOD),
            }
        };
        ended.map_err(|error| channels.lost(error, &running.errors()))
    }

    /// Adds what every guest needs: this program, modules, the job, and a few files of the system.
    fn complete(&self, mut files: Files, job: &Job) -> io::Result<Files> {
        let own = std::fs::read_link("/proc/self/exe")?;
        files.program(&own)?;
        files.put(PROGRAM, Content::Link(own.to_string_lossy().into_owned()));
        files.put(JOB, Content::File(job.bytes()));
        let modules = Modules::below(&self.kernel.modules);
        for (folder, wanted) in [(FIRST_MODULES, &NETWORK[..]), (LAST_MODULES, &PORT)] {
            for (n, (name, bytes)) in modules.in_order(wanted)?.into_iter().enumerate() {
                files.put(&format!("{folder}/{n:03}-{name}"), Content::File(bytes));
            }
        }
        let system = [
            ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
            ("/etc/group", "root:x:0:\n"),
            ("/etc/hosts", "127.0.0.1\tlocalhost\n"),
            ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
        ];
        system
            .iter()
            .for_each(|(path, text)| files.put(path, Content::File(text.as_bytes().into())));
        ["/root", "/tmp", "/run"].iter().for_each(|folder| files.put(folder, Content::Folder));
        Ok(files)
    }

    fn start(&self, channels: &Channels) -> io::Result<Running> {
        // If this process is killed, so is QEMU.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.qemu).args(self.arguments(channels));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        child.process_group(0).spawn().map(Running)
    }

    /// One processor that executes an instruction per nanosecond of virtual time, and time that jumps over idleness. Two
    /// machines with these arguments behave in the same way: random numbers and clocks begin with fixed values. There is no
    /// disk, because the machine's firmware would read from it, which takes a different time in each run.
    fn arguments(&self, channels: &Channels) -> Vec<String> {
        let fixed = "-no-user-config -nodefaults -display none -no-reboot -machine pc -accel tcg,thread=single -icount \
                     shift=0,sleep=off -cpu max,-erms,-fsrm -smp 1 -rtc base=2020-01-01T00:00:00,clock=vm -seed 1 -net none";
        let path = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        let append = format!("{PARAMETERS} rdinit={PROGRAM} -- {COMMAND}");
        let line = |name: &str, file: &File| format!("file,id={name},path={}", path(file));
        let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("-m", format!("{}M", MEMORY >> 20));
        add("-kernel", self.kernel.image.to_string_lossy().into_owned());
        add("-initrd", path(&channels.files));
        add("-append", append);
        add("-chardev", line("log", &channels.log));
        add("-serial", "chardev:log".into());
        add("-chardev", line("messages", &channels.messages));
        add("-serial", "chardev:messages".into());
        add("-chardev", line("result", &channels.result));
        add("-device", "virtio-serial-pci".into());
        add("-device", "virtserialport,chardev=result".into());
        arguments
    }
}

/// The command of this program that the first process of a guest runs.
pub const COMMAND: &str = "guest";

fn packed(files: &Files) -> io::Result<File> {
    let file = in_memory("files")?;
    let written = files.write(BufWriter::with_capacity(1 << 20, file))?;
    written.into_inner().map_err(io::IntoInnerError::into_error)
}

/// A file without a name, so nothing remains of it. Child processes inherit it.
fn in_memory(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::empty())?))
}

/// The files between a guest and this process.
struct Channels {
    /// The guest's first file system.
    files: File,
    /// The log of its kernel.
    log: File,
    /// The lines that its first process writes.
    messages: File,
    /// The archive with the result.
    result: File,
}

impl Channels {
    fn new(files: File) -> io::Result<Channels> {
        let [log, messages, result] = ["log", "messages", "result"].map(in_memory);
        Ok(Channels { files, log: log?, messages: messages?, result: result? })
    }

    fn result(&self) -> io::Result<JobResult> {
        (&self.result).rewind()?;
        JobResult::unpack(cpio::read(BufReader::with_capacity(1 << 20, &self.result))?)
    }

    /// The error for a guest that has ended without a result. `qemu` is QEMU's error output.
    fn lost(&self, error: io::Error, qemu: &str) -> GuestError {
        let mut log = Vec::new();
        let read = (&self.log).rewind().and_then(|()| (&self.log).read_to_end(&mut log));
        let log = read.map_or_else(|error| error.to_string(), |_| log_end(&log));
        if log.contains(ILLEGAL) {
            return GuestError::Instructions;
        }
        GuestError::Lost { error, log: format!("{log}\n{}", qemu.trim()) }
    }
}

/// The last lines of a log, without control characters.
fn log_end(log: &[u8]) -> String {
    let text = String::from_utf8_lossy(log);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    last.chars().filter(|&c| c == '\n' || !c.is_control()).collect()
}

/// A process of QEMU. It is killed when this value is dropped.
struct Running(Child);

impl Running {
    /// What QEMU said. It has ended.
    fn errors(&mut self) -> String {
        let mut text = String::new();
        let mut errors = self.0.stderr.take();
        let _ = errors.as_mut().map(|errors| errors.read_to_string(&mut text));
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The lines of a growing file.
#[derive(Default)]
struct Lines {
    read: u64,
    rest: Vec<u8>,
}

impl Lines {
    /// Calls `on_line` with each complete line that is new.
    fn read(&mut self, file: &File, on_line: &mut impl FnMut(&str)) -> io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            let length = file.read_at(&mut chunk, self.read)?;
            if length == 0 {
                return Ok(());
            }
            self.read += length as u64;
            self.rest.extend_from_slice(&chunk[..length]);
            while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                on_line(String::from_utf8_lossy(&line).trim_end());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_once_and_whole() {
        let file = in_memory("lines").unwrap();
        let (mut lines, mut seen) = (Lines::default(), Vec::new());
        let mut at = 0;
        for text in ["one\r\ntw", "o\n", "", "three"] {
            file.write_all_at(text.as_bytes(), at).unwrap();
            at += text.len() as u64;
            lines.read(&file, &mut |line| seen.push(line.to_owned())).unwrap();
        }
        assert_eq!(seen, ["one", "two"]);
    }

    #[test]
    fn the_guest_repeats_itself() {
        let kernel = Kernel { image: "/k".into(), modules: "/m".into(), release: "1".into() };
        let machine = Machine { qemu: "/q".into(), kernel };
        let channels = Channels::new(in_memory("files").unwrap()).unwrap();
        let arguments = machine.arguments(&channels).join(" ");
        // Without one of these, two runs differ.
        for part in [
            "-icount shift=0,sleep=off",
            "-accel tcg,thread=single",
            "clock=vm",
            "-seed 1",
            "nokaslr",
            "-smp 1",
        ] {
            assert!(arguments.contains(part), "{part}: {arguments}");
        }
        assert!(arguments.contains("rdinit=/slotline/program -- guest"));
    }

    #[test]
    fn a_guest_without_a_result_is_explained() {
        let channels = Channels::new(in_memory("files").unwrap()).unwrap();
        assert!(channels.result().is_err());
        channels.log.write_all_at(b"booting\r\n\r\nPanic \x1b[0m\n", 0).unwrap();
        let text = channels.lost(io::Error::other("no archive"), "qemu: bad\n").to_string();
        assert!(text.contains("no archive") && text.contains("Panic [0m\nqemu: bad"), "{text}");
        channels.log.write_all_at(b"init! exitcode=0x00000004", 0).unwrap();
        assert!(matches!(channels.lost(io::Error::other(""), ""), GuestError::Instructions));
    }

    #[test]
    fn what_is_missing_is_named() {
        let text = GuestError::Kernel { unreadable: vec![] }.to_string();
        assert!(text.contains("linux-image-cloud-amd64") && text.contains("dpkg -x"));
        let text = no_kernel(&[PathBuf::from("/boot/vmlinuz-6")]);
        assert!(text.contains("chmod a+r /boot/vmlinuz-6"));
    }
}
