//! Messages to systemd: that a daemon is ready, and that it still works.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The socket of the service manager, if there is one.
#[derive(Debug)]
pub struct Manager(Option<(UnixDatagram, SocketAddr)>);

impl Manager {
    /// The service manager that started this process, from the environment (`NOTIFY_SOCKET`).
    pub fn of_process() -> Manager {
        let name = std::env::var("NOTIFY_SOCKET").ok();
        Manager(name.and_then(|name| open(&name).ok()))
    }
    /// Sends a message, such as `READY=1`. Nothing happens if there is no service manager or it does not listen.
    pub fn tell(&self, what: &str) {
        if let Some((socket, address)) = &self.0 {
            let _ = socket.send_to_addr(what.as_bytes(), address);
        }
    }
}

fn open(name: &str) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    Ok((UnixDatagram::unbound()?, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manager_hears() {
        let path = std::env::temp_dir().join(format!("slotline-notify-{}", std::process::id()));
        let hears = UnixDatagram::bind(&path).unwrap();
        Manager(Some(open(path.to_str().unwrap()).unwrap())).tell("READY=1");
        let mut buffer = [0; 20];
        let length = hears.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
        std::fs::remove_file(&path).unwrap();
        Manager(None).tell("READY=1");
    }
}
