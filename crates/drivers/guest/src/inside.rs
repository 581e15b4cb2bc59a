//! The first process of a guest: it prepares the machine, runs the job, writes the result to a port, and turns the
//! machine off.

use crate::job::{FIRST_MODULES, FOLDER, JOB, Job, JobResult, LAST_MODULES, PROGRAM};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, init_module, reboot};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, PipeReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// Set in the environment of the job.
const GUEST: &str = "SLOTLINE_GUEST";
/// The line to the machine outside.
const LINE: &str = "/dev/ttyS1";
/// The port that takes the result.
const PORT: &str = "/dev/vport0p1";
/// How long the port may take to appear.
const PATIENCE: Duration = Duration::from_secs(20);
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether this program runs in a guest.
pub fn is_inside() -> bool {
    std::env::var_os(GUEST).is_some()
}

/// Does the work of the first process. Does not return, because the guest ends.
///
/// # Errors
/// This process is not the first of a machine.
pub fn first_process() -> io::Result<()> {
    if std::process::id() != 1 {
        return Err(io::Error::other("only the first process of a guest has this command"));
    }
    let done = prepare().and_then(|()| serve());
    if let (Err(error), Ok(mut line)) = (done, line()) {
        // If this fails, the machine outside sees that the guest has ended without a result.
        let _ = writeln!(line, "the guest failed: {error}");
    }
    Ok(reboot(RebootCommand::PowerOff)?)
}

fn line() -> io::Result<File> {
    OpenOptions::new().write(true).open(LINE)
}

fn prepare() -> io::Result<()> {
    let systems = ["proc:/proc", "sysfs:/sys", "devtmpfs:/dev"];
    for (kind, folder) in systems.iter().filter_map(|system| system.split_once(':')) {
        fs::create_dir_all(folder)?;
        mount(kind, folder, kind, MountFlags::empty(), None)
            .map_err(|error| io::Error::other(format!("cannot mount {folder}: {error}")))?;
    }
    fs::create_dir_all("/dev/shm")?;
    load(FIRST_MODULES)?;
    let settings = "/proc/sys/net/ipv4/tcp";
    let available = fs::read_to_string(format!("{settings}_available_congestion_control"))?;
    fs::write(format!("{settings}_allowed_congestion_control"), available)?;
    // The network's thread may use the processor as long as it needs, because time waits for it.
    fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1")
}

/// Loads the modules in a folder, in the order of their names.
fn load(folder: &str) -> io::Result<()> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    for file in files {
        match init_module(&fs::read(&file)?, c"") {
            // The kernel has it.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                return Err(io::Error::other(format!("module {}: {error}", file.display())));
            }
        }
    }
    Ok(())
}

fn serve() -> io::Result<()> {
    let job = Job::of(&fs::read(JOB)?);
    let job = job.ok_or_else(|| io::Error::other("the job is damaged"))?;
    let printed = Path::new(FOLDER).join("printed");
    let status = run(&job, &printed)?;
    let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    // The port is idle until now, because its answers come at times that no two runs share.
    load(LAST_MODULES)?;
    let port = BufWriter::with_capacity(1 << 15, port()?);
    let output = fs::read(printed)?;
    JobResult::pack(exit as u8, output, job.returned.as_deref(), port).map(drop)
}

/// Runs the program. Its error output goes to the machine outside, line by line.
fn run(job: &Job, printed: &Path) -> io::Result<ExitStatus> {
    let (errors, writer) = io::pipe()?;
    let line = line()?;
    let mut command = Command::new(PROGRAM);
    command
        .args(&job.arguments)
        .current_dir(&job.folder)
        .env_clear()
        .envs([(GUEST, "1"), ("PATH", PATH), ("HOME", "/root"), ("LANG", "C.UTF-8")])
        .stdout(File::create(printed)?)
        .stderr(writer);
    let mut child = command.spawn()?;
    drop(command);
    let messages = std::thread::spawn(move || copy_lines(errors, line));
    let status = child.wait()?;
    messages.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")))?;
    Ok(status)
}

fn copy_lines(from: PipeReader, mut line: File) -> io::Result<()> {
    for text in BufReader::new(from).lines() {
        writeln!(line, "{}", text?)?;
    }
    Ok(())
}

fn port() -> io::Result<File> {
    let begun = Instant::now();
    loop {
        match OpenOptions::new().write(true).open(PORT) {
            Err(_) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            opened => return opened,
        }
    }
}
