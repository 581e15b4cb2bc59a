//! The socket by which a daemon tells its status to other programs of its machine.

use crate::running::Running;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often it is seen that the daemon is to stop, and the most that one who asks may take.
const PATIENCE: Duration = Duration::from_millis(50);

/// A listening socket, which is removed with this.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens a socket at `path`, in place of one that a killed daemon has left.
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

    /// Answers whoever connects with `status`, until the daemon is to stop.
    pub fn serve(&self, running: &Running, status: impl Fn() -> String) {
        while !running.stopped() {
            match self.listener.accept() {
                // Who goes away before the answer does not matter.
                Ok((stream, _)) => drop(answer(&stream, &status())),
                Err(_) => std::thread::sleep(PATIENCE),
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn answer(mut stream: &UnixStream, text: &str) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())
}

/// The status of the daemon that listens at `path`.
///
/// # Errors
/// None listens there.
pub fn ask(path: &Path) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
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
            scope.spawn(move || socket.serve(running, || "fine".into()));
            assert_eq!(ask(&path).unwrap(), "fine");
            running.stop();
        });
        drop(socket);
        assert!(ask(&path).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
