//! Packets that a BPF program redirects on their way out of an interface: into a pair of interfaces (veth), at whose far end
//! this process reads them by a packet socket. It sends those that leave by the interface they were meant for.
//!
//! They have passed routing, netfilter and the search for neighbours before, so they leave as they are. Segments that TCP has
//! joined stay joined. The program lets all packets pass 80 ms after this process has last said that it works, however it has
//! ended or hangs.

use super::frames::Frames;
use super::taker::{RELEASED, Taker};
use super::{Gate, Held, Joined, Kind, Origin};
use crate::capability::check_bpf;
use crate::classifier::Egress;
use crate::command::command;
use crate::hold::{Hold, Leave, Ticket};
use crate::segments::{Limits, Segments, interface_names};
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::SendFlags;
use slotline_rings::{
    self as rings, Frames as Protocols, LONGEST, PREFIX, PacketSender, PacketSocket,
};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The size of a ring in MiB, each of which has room for 63 frames.
const BLOCKS: u16 = 16;
/// The most frames that are read at once.
const BATCH: usize = 64;
/// The room for frames in the queue of an interface, in bytes.
const SENT: i32 = 4 << 20;
/// The most bytes of joined segments, so that their frame fits into the ring.
const MOST_JOINED: u64 = (LONGEST - PREFIX) as u64 - 512;
/// The most bytes of a connection that are held: what a link of 1 Gbit/s carries in 16 ms.
const CONNECTION: u64 = 2 << 20;

/// An interface whose packets are taken. What is dropped first comes first.
#[derive(Debug)]
struct Exit {
    _program: Egress,
    ring: PacketSocket,
    sender: PacketSender,
    _pair: Pair,
}

/// The packets that this process has taken.
#[derive(Debug)]
pub struct PacketGate {
    taker: Taker,
    exits: Vec<Exit>,
    /// The list of all rings.
    list: OwnedFd,
    frames: Frames,
    /// The numbers of frames that leave, in order.
    leaving: VecDeque<u32>,
    /// The frames that may still be read until [`Hold::fill`].
    left: usize,
    lacks: Vec<String>,
    /// The packets that had passed when all were last held again.
    told: u64,
    /// The packets for which a ring had no room, or that an interface refused.
    lost: u64,
    limits: Option<Limits>,
}

impl PacketGate {
    /// Starts to hold packets of the present network namespace. With `killed`, a killed program may have left limits of
    /// interfaces.
    ///
    /// # Errors
    /// What the kernel, `ip` or `tc` refuses, or packets that are forwarded are to be held.
    pub(super) fn open(held: &Held, killed: bool) -> io::Result<PacketGate> {
        check_bpf()?;
        if held.origin != Origin::Applications {
            return Err(io::Error::other(
                "it holds packets of applications, not those that are forwarded",
            ));
        }
        let interfaces = interface_names(&held.hosts)?;
        if interfaces.is_empty() {
            return Err(io::Error::other("no interface leads to the network"));
        }
        let limits = limits(held, killed);
        let (mut taker, list) = (Taker::new()?, epoll::create(epoll::CreateFlags::CLOEXEC)?);
        taker.exempt_below(0);
        let mut exits = Vec::new();
        for (n, name) in interfaces.iter().enumerate() {
            let exit =
                Exit::open(held, &taker, name, n, limits.as_ref().map(Limits::segments), killed)?;
            epoll::add(
                &list,
                &exit.ring,
                epoll::EventData::new_u64(n as u64),
                epoll::EventFlags::IN,
            )?;
            exits.push(exit);
        }
        taker.tell()?;
        let times =
            "the gate `packet` has no departure times: packets leave when the agent sends them";
        let lacks = held.timed.then(|| times.to_owned()).into_iter().collect();
        let (frames, leaving) = (Frames::new(CONNECTION), VecDeque::new());
        Ok(PacketGate {
            taker,
            exits,
            list,
            frames,
            leaving,
            left: 0,
            lacks,
            told: 0,
            lost: 0,
            limits,
        })
    }

    /// The next frame of any interface, with its number.
    fn receive(&mut self) -> Option<(Vec<u8>, usize)> {
        let mut buffer = self.frames.buffer();
        let found = self.exits.iter_mut().position(|exit| exit.ring.receive(&mut buffer));
        if found.is_none() {
            self.frames.give_back(std::mem::take(&mut buffer));
        }
        found.map(|exit| (buffer, exit))
    }

    /// Sends frames until an interface has no room.
    fn send(&mut self) {
        while let Some(&number) = self.leaving.front() {
            if let Some(frame) = self.frames.get(number) {
                let sender = &self.exits[frame.exit].sender;
                match rustix::net::send(sender, &frame.bytes, SendFlags::DONTWAIT) {
                    Ok(_) => {}
                    Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => return,
                    Err(_) => self.lost += 1,
                }
            }
            self.frames.remove(number, &mut self.taker);
            self.leaving.pop_front();
        }
    }
}

/// Limits for what is held as one packet; `None` if segments are held one by one.
fn limits(held: &Held, killed: bool) -> Option<Limits> {
    let (bytes, framing) = match &held.joined {
        Joined::No => return None,
        Joined::All => (MOST_JOINED, 0),
        Joined::Within(room) => (room.bytes.min(MOST_JOINED), room.framing),
    };
    Limits::set(&held.hosts, bytes, framing, killed).ok()
}

impl Exit {
    fn open(
        held: &Held,
        taker: &Taker,
        name: &str,
        n: usize,
        joined: Option<Segments>,
        killed: bool,
    ) -> io::Result<Exit> {
        let pair = Pair::add(held.queue, n, joined)?;
        let ring = PacketSocket::open(&pair.far, Protocols::All, BLOCKS)?;
        let sender = PacketSender::open(name, RELEASED, SENT)?;
        let program =
            taker.program(&held.network, &held.exempt_ports, rings::index(&pair.near)?)?;
        let program = Egress::attach(name, &program, killed)?;
        Ok(Exit { _program: program, ring, sender, _pair: pair })
    }
}

/// A pair of interfaces without addresses, until this is dropped.
#[derive(Debug)]
struct Pair {
    near: String,
    far: String,
}

impl Pair {
    /// The kernel splits packets that are longer than these segments when they enter the pair.
    fn add(queue: u16, n: usize, joined: Option<Segments>) -> io::Result<Pair> {
        let pair = Pair::named(queue, n);
        let segments = joined.map_or(1, |joined| joined.most);
        let (near, far) = (&pair.near, &pair.far);
        let commands = format!(
            "link add {near} mtu 65535 type veth peer name {far} mtu 65535\n\
             link set {near} arp off addrgenmode none gso_max_segs {segments} gso_max_size {}\n\
             link set {far} arp off addrgenmode none\nlink set {far} up\nlink set {near} up\n",
            LONGEST - PREFIX
        );
        command("ip", &["-batch", "-"], &commands).map_err(io::Error::other)?;
        Ok(pair)
    }

    fn named(queue: u16, n: usize) -> Pair {
        Pair { near: near(queue, n), far: format!("slot{queue}f{n}") }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = command("ip", &["link", "delete", &self.near], "");
    }
}

/// Removes the pairs that a killed program has left. Returns whether there were any.
pub(super) fn remove_pairs(queue: u16) -> bool {
    let there = |n: &usize| rings::index(&near(queue, *n)).is_ok();
    let left: Vec<Pair> = (0..).take_while(there).map(|n| Pair::named(queue, n)).collect();
    !left.is_empty()
}

fn near(queue: u16, n: usize) -> String {
    format!("slot{queue}n{n}")
}

impl Gate for PacketGate {
    fn kind(&self) -> Kind {
        Kind::Packet
    }
    fn segments(&self) -> Option<Segments> {
        self.limits.as_ref().map(Limits::segments)
    }
    fn is_timed(&self) -> bool {
        false
    }
    fn lacks(&self) -> &[String] {
        &self.lacks
    }
    fn pass(&mut self, pass: bool) -> io::Result<()> {
        if pass && !self.passes() {
            self.told = self.taker.passed()?;
        }
        self.taker.pass(pass);
        self.taker.tell()
    }
    fn passes(&self) -> bool {
        self.taker.passes()
    }
    fn passed(&mut self) -> io::Result<u64> {
        Ok(self.taker.passed()? - self.told)
    }
    fn exempt_below(&mut self, bytes: u32) -> io::Result<()> {
        self.taker.exempt_below(bytes);
        self.taker.tell()
    }
    fn lost(&self) -> u64 {
        self.lost
    }
}

impl AsFd for PacketGate {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.list.as_fd()
    }
}

impl Hold for PacketGate {
    fn fill(&mut self) -> io::Result<()> {
        if self.left == 0 {
            // A ring can only be full where there was more to read.
            for exit in &self.exits {
                self.lost += exit.ring.dropped()?;
            }
        }
        self.left = BATCH;
        Ok(())
    }
    fn next(&mut self, head: &mut Vec<u8>) -> Option<Ticket> {
        self.left = self.left.checked_sub(1)?;
        let (bytes, exit) = self.receive()?;
        Some(Ticket::from(self.frames.put(bytes, exit, head, &mut self.taker)))
    }
    fn release(&mut self, packet: Ticket, _how: Leave) {
        self.leaving.push_back(packet.number);
    }
    fn discard(&mut self, packet: Ticket) {
        self.frames.remove(packet.number, &mut self.taker);
    }
    fn flush(&mut self) -> io::Result<()> {
        self.send();
        self.taker.tell()
    }
}

impl Drop for PacketGate {
    /// What has been taken leaves.
    fn drop(&mut self) {
        let _ = self.pass(true);
        let mut head = Vec::new();
        while let Some((bytes, exit)) = self.receive() {
            let number = self.frames.put(bytes, exit, &mut head, &mut self.taker);
            self.leaving.push_back(number);
        }
        self.send();
    }
}
