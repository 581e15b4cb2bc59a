//! Two hosts joined by the kernel's bridge, which a modelled switch is compared with.

use slotline_emulate::namespace::{GateKind, Host, HostError, KernelTcp};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// The bridge is in the present network namespace, which should be this process' own.
pub(crate) struct Bridge {
    hosts: Vec<Host>,
}

const NAME: &str = "bridge0";
const PORT: u16 = 7_000;

fn address(n: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, n as u8 + 1)
}

impl Bridge {
    /// Packets pass it one by one, as they pass a modelled switch: hosts do not join segments.
    pub(crate) fn new(mtu: u32) -> Result<Bridge, Box<dyn Error + Send + Sync>> {
        ip(&format!("link add {NAME} mtu {mtu} type bridge"))?;
        ip(&format!("link set {NAME} up"))?;
        let hosts = (0..2).map(|n| host(n, mtu)).collect::<Result<Vec<Host>, _>>()?;
        for (n, host) in hosts.iter().enumerate() {
            let namespace =
                format!("/proc/{}/fd/{}", std::process::id(), host.namespace().as_raw_fd());
            ip(&format!(
                "link add port{n} mtu {mtu} type veth peer name veth0 mtu {mtu} netns {namespace}"
            ))?;
            ip(&format!("link set port{n} master {NAME} up gso_max_segs 1"))?;
            host.inside(|| {
                ip("link set veth0 up gso_max_segs 1")?;
                ip(&format!("address add {}/24 dev veth0", address(n)))
            })?;
        }
        Ok(Bridge { hosts })
    }

    /// What a TCP connection between the hosts carries in `span`, in Mbit/s.
    pub(crate) fn goodput(&self, span: Duration) -> io::Result<f64> {
        let listener = self.hosts[1].inside(|| TcpListener::bind((address(1), PORT)))?;
        let connect = || TcpStream::connect((address(1), PORT));
        let mut out = self.hosts[0].inside(connect)?;
        let (mut arriving, _) = listener.accept()?;
        std::thread::scope(|scope| {
            let began = Instant::now();
            scope.spawn(move || {
                let block = vec![0; 1 << 17];
                while began.elapsed() < span && out.write_all(&block).is_ok() {}
            });
            let (mut block, mut bytes) = (vec![0; 1 << 17], 0);
            loop {
                match arriving.read(&mut block)? {
                    0 => return Ok(bytes as f64 * 8e-6 / began.elapsed().as_secs_f64()),
                    read => bytes += read,
                }
            }
        })
    }
}

impl Drop for Bridge {
    /// The other ends of its ports vanish with the hosts.
    fn drop(&mut self) {
        drop(ip(&format!("link delete {NAME}")));
    }
}

fn host(n: usize, mtu: u32) -> Result<Host, HostError> {
    let tcp = KernelTcp { mtu, ..KernelTcp::default() };
    let spare = Ipv4Addr::new(10, 77, 0, n as u8 + 1);
    Host::new(&format!("h{n}"), spare, &tcp, GateKind::Interface)
}

fn ip(command: &str) -> io::Result<()> {
    let output = Command::new("ip").args(command.split_whitespace()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "ip {command}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}
