//! Attaches a BPF program to the packets that leave an interface: a filter of the discipline `clsact`, by netlink
//! (`RTM_NEWTFILTER`), because `tc` takes programs only from files.

use crate::command::{command, output};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use slotline_rings::bpf::Program;
use slotline_rings::index;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

const NEW_FILTER: u16 = 44;
const DELETE_FILTER: u16 = 45;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
/// Flags of a new filter: it is created, or replaces the one with its numbers.
const CREATE: u16 = 0x400;
const REPLACE: u16 = 0x100;
/// The place of filters for packets that leave, and the numbers of ours there.
const EGRESS: u32 = 0xffff_fff3;
const PRIORITY: u32 = 0x534c;
const NUMBER: u32 = 1;
/// All protocols, in the order of the network.
const ALL: u32 = 0x0300;
/// Attributes.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const FILE: u16 = 6;
const NAME: u16 = 7;
const FLAGS: u16 = 8;
/// The result of the program is the decision.
const DIRECT: u32 = 1;

/// A program for the packets that leave an interface, until this is dropped.
#[derive(Debug)]
pub(crate) struct Egress {
    name: String,
    attached: bool,
    /// Whether the discipline `clsact` is not another program's.
    own_clsact: bool,
}

impl Egress {
    /// Attaches a program to an interface, in place of one that a killed process has left. With `killed`, there may be such a
    /// one.
    pub fn attach(name: &str, program: &Program, killed: bool) -> io::Result<Egress> {
        let shown = output("tc", &["qdisc", "show", "dev", name], "").map_err(io::Error::other)?;
        let present = shown.contains("qdisc clsact ");
        let own_clsact = !present || killed;
        let mut egress = Egress { name: name.into(), attached: false, own_clsact };
        if !present {
            qdisc(name, &format!("add dev {name} clsact"))?;
        }
        attach(index(name)?, program)?;
        egress.attached = true;
        Ok(egress)
    }
}

impl Drop for Egress {
    /// The interface may have vanished meanwhile.
    fn drop(&mut self) {
        let name = &self.name;
        if self.own_clsact {
            let _ = qdisc(name, &format!("del dev {name} clsact"));
        } else if self.attached {
            let _ = index(name).and_then(remove);
        }
    }
}

/// Changes the queue disciplines of an interface.
pub(crate) fn qdisc(name: &str, arguments: &str) -> io::Result<()> {
    let all: Vec<&str> = ["qdisc"].into_iter().chain(arguments.split(' ')).collect();
    command("tc", &all, "").map_err(|why| io::Error::other(format!("{name}: {why}")))
}

/// Attaches a program to the packets that leave the interface with this number, in place of one that an earlier process
/// has left.
fn attach(interface: u32, program: &Program) -> io::Result<()> {
    let file = program.as_fd().as_raw_fd().to_ne_bytes();
    let options: Vec<u8> = [
        attribute(FILE, &file),
        attribute(NAME, b"slotline\0"),
        attribute(FLAGS, &DIRECT.to_ne_bytes()),
    ]
    .concat();
    let more = [attribute(KIND, b"bpf\0"), attribute(OPTIONS, &options)].concat();
    request(NEW_FILTER, CREATE | REPLACE, interface, &more)
}

/// Removes the program from the interface with this number.
fn remove(interface: u32) -> io::Result<()> {
    request(DELETE_FILTER, 0, interface, &attribute(KIND, b"bpf\0"))
}

fn request(kind: u16, flags: u16, interface: u32, more: &[u8]) -> io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    rustix::net::send(&socket, &message(kind, flags, interface, more), SendFlags::empty())?;
    let mut answer = [0; 4_096];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    match result(&answer[..length.min(answer.len())]) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::other("the kernel's answer about a filter makes no sense")),
    }
}

/// A message with its header (`struct nlmsghdr`), and `struct tcmsg`.
fn message(kind: u16, flags: u16, interface: u32, more: &[u8]) -> Vec<u8> {
    let body = [0, interface, NUMBER, EGRESS, PRIORITY << 16 | ALL];
    let length = 16 + 4 * body.len() + more.len();
    let mut out = (length as u32).to_ne_bytes().to_vec();
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(&(REQUEST | ACKNOWLEDGE | flags).to_ne_bytes());
    // The sequence number and the port.
    out.extend_from_slice(&[0; 8]);
    out.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
    out.extend_from_slice(more);
    out
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut out = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

/// The code in an acknowledgement; 0 is success.
fn result(answer: &[u8]) -> Option<i32> {
    const ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(*answer.get(4..)?.first_chunk()?);
    (kind == ERROR).then_some(())?;
    Some(i32::from_ne_bytes(*answer.get(16..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_answers_are_read() {
        assert_eq!(
            attribute(7, b"ab\0"),
            [&7u16.to_ne_bytes()[..], &7u16.to_ne_bytes(), b"ab\0\0"].concat()
        );
        let sent = message(NEW_FILTER, CREATE, 5, &[1, 2, 3, 4]);
        assert_eq!(sent.len(), 40);
        assert_eq!(sent[..4], 40u32.to_ne_bytes());
        let mut answer = [0u8; 36];
        answer[4..6].copy_from_slice(&2u16.to_ne_bytes());
        answer[16..20].copy_from_slice(&(-2i32).to_ne_bytes());
        assert_eq!(result(&answer), Some(-2));
        assert_eq!(result(&answer[..18]), None);
        assert_eq!(result(&[0; 36]), None);
    }
}
