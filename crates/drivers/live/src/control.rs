//! The control socket of a daemon, for other programs on its machine: one line in each direction.

use crate::running::{PATIENCE, Running, attend};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest line in bytes.
const LONGEST: u64 = 1_000;

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens a socket at `path`, and replaces a socket that a killed daemon has left.
    ///
    /// # Errors
    /// The folder cannot be made or written, or another daemon listens there.
    pub fn open(path: &Path) -> io::Result<ControlSocket> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        if UnixStream::connect(path).is_ok() {
            let what = format!("another daemon listens at {}", path.display());
            return Err(io::Error::new(io::ErrorKind::AddrInUse, what));
        }
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(ControlSocket { listener, path: path.into() })
    }

    /// Answers each client that connects and sends a line, until the daemon is requested to stop.
    pub fn serve(&self, running: &Running, answer: impl Fn(&str) -> String) {
        let accept = || Ok(self.listener.accept()?.0);
        attend(running, accept, |stream| converse(&stream, &answer));
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn converse(mut stream: &UnixStream, answer: &impl Fn(&str) -> String) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    stream.write_all(answer(line.trim()).as_bytes())
}

/// The answer of the daemon that listens at `path` to a line.
///
/// # Errors
/// No daemon listens there.
pub fn ask(path: &Path, line: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_answers_until_it_stops() {
        let folder = std::env::temp_dir().join(format!("slotline-control-{}", std::process::id()));
        let path = folder.join("agent.sock");
        let socket = ControlSocket::open(&path).unwrap();
        assert!(ControlSocket::open(&path).is_err(), "one daemon at each socket");
        let running = Running::default();
        std::thread::scope(|scope| {
            let (socket, running) = (&socket, &running);
            scope.spawn(move || socket.serve(running, |line| format!("{line}: fine")));
            assert_eq!(ask(&path, "status").unwrap(), "status: fine");
            running.stop();
        });
        drop(socket);
        assert!(ask(&path, "status").is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
