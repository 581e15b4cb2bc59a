//! Programs on the hosts of an emulation.

use crate::namespace::inside;
use crate::shared::Shared;
use crate::virtual_time::Environment;
use rustix::process::{Pid, Signal, kill_process_group};
use slotline_net::time::Time;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// The number of the host.
    pub host: usize,
    /// The command line for `sh -c`.
    pub run: String,
    /// The network time at which it starts.
    pub at: Time,
    /// Whether the emulation may end before the program does.
    pub background: bool,
}

/// The result of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ran {
    /// The time at which it started.
    pub started: Option<Time>,
    /// The time at which it ended by itself.
    pub ended: Option<Time>,
    /// Its exit code. If a signal ended it, 128 plus the signal's number, as in shells.
    pub exit: Option<i32>,
    /// Its standard output and standard error output, in the order of arrival.
    pub output: String,
}

/// Output of a program beyond this number of bytes is dropped.
const MOST_OUTPUT: usize = 1 << 20;
/// The interval at which programs are checked.
const PERIOD: Duration = Duration::from_millis(2);
/// The time that a program has to end after a request, and that processes which hold its output have afterwards.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `programs` until all programs that are not in the background have ended and `others` says that nothing else is
/// in progress, or until the emulation is stopped. `environment` is added to the environment of each program.
pub fn run(
    programs: &[Program],
    namespaces: &[OwnedFd],
    environment: &Environment,
    shared: &Shared,
    others_done: impl Fn() -> bool,
) -> io::Result<Vec<Ran>> {
    let Some(clock) = shared.wait_for_clock() else {
        return Ok(programs.iter().map(|_| Ran::default()).collect());
    };
    let mut states: Vec<State> = programs.iter().map(|_| State::default()).collect();
    let goes_on = |states: &[State]| {
        let awaited = programs.iter().zip(states);
        awaited.into_iter().any(|(program, state)| !program.background && state.ran.ended.is_none())
    };
    while !shared.stopped() && (goes_on(&states) || !others_done()) {
        for (program, state) in programs.iter().zip(&mut states) {
            let due = state.ran.started.is_none() && clock.now() >= program.at;
            if due {
                state.start(program, &namespaces[program.host], environment, clock.now())?;
            }
            state.look(clock.now())?;
        }
        std::thread::sleep(PERIOD);
    }
    states.iter().for_each(|state| state.signal(Signal::TERM));
    wait_while(|| states.iter_mut().any(State::runs));
    states.iter().for_each(|state| state.signal(Signal::KILL));
    // The last output may still be in the pipe.
    wait_while(|| states.iter().any(State::prints));
    Ok(states.into_iter().map(State::finish).collect())
}

/// Waits for at most [`GRACE`].
fn wait_while(mut waits: impl FnMut() -> bool) {
    let begin = Instant::now();
    while waits() && begin.elapsed() < GRACE {
        std::thread::sleep(PERIOD);
    }
}

#[derive(Default)]
struct State {
    ran: Ran,
    child: Option<Child>,
    output: Arc<Mutex<Vec<u8>>>,
    /// Reads the output until no process holds the pipe, possibly longer than the program runs.
    collector: Option<JoinHandle<()>>,
}

impl State {
    fn start(
        &mut self,
        program: &Program,
        namespace: &OwnedFd,
        environment: &Environment,
        now: Time,
    ) -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new("sh");
        command
            .args(["-c", &program.run])
            .envs(environment.variables().iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .process_group(0);
        self.child = Some(inside(namespace.as_fd(), || command.spawn())?);
        drop(command);
        self.ran.started = Some(now);
        let output = Arc::clone(&self.output);
        self.collector = Some(std::thread::spawn(move || collect(reader, &output)));
        Ok(())
    }

    /// Notes whether the program has ended.
    fn look(&mut self, now: Time) -> io::Result<()> {
        let Some(child) = self.child.as_mut().filter(|_| self.ran.ended.is_none()) else {
            return Ok(());
        };
        if let Some(status) = child.try_wait()? {
            (self.ran.ended, self.ran.exit) = (Some(now), Some(code(status)));
        }
        Ok(())
    }

    fn runs(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    fn prints(&self) -> bool {
        self.collector.as_ref().is_some_and(|collector| !collector.is_finished())
    }

    fn signal(&self, signal: Signal) {
        let id = self.child.as_ref().and_then(|child| Pid::from_raw(child.id() as i32));
        if let Some(id) = id.filter(|_| self.ran.ended.is_none()) {
            // The program may have ended in the meantime.
            let _ = kill_process_group(id, signal);
        }
    }

    fn finish(mut self) -> Ran {
        if let (None, Some(child)) = (self.ran.exit, &mut self.child) {
            self.ran.exit = child.wait().ok().map(code);
        }
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        self.ran.output = String::from_utf8_lossy(&output).into_owned();
        self.ran
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

fn collect(mut reader: PipeReader, output: &Mutex<Vec<u8>>) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(length @ 1..) = reader.read(&mut chunk) {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_OUTPUT.saturating_sub(output.len());
        output.extend_from_slice(&chunk[..length.min(room)]);
    }
}
