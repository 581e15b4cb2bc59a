//! Replays a workload over the sockets of hosts, with the kernel's TCP and UDP.

use crate::applications::Applications;
use crate::classify::{Addresses, FIRST_PORT, MOST_CONNS, SERVER_PORT};
use crate::clock::Clock;
use crate::datagrams::Datagrams;
use crate::namespace::inside;
use crate::shared::Shared;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use slotline_linux::wait::{self, sleep};
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_net::workload::{Carrier, Conn, When};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// The result for a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Replayed {
    /// The time at which its first byte was written to the socket.
    pub started: Option<Time>,
    /// The time at which its last byte was read.
    pub finished: Option<Time>,
    /// The number of bytes that were read.
    pub delivered: u64,
}

/// The reason why a workload cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A host has more connections than ports for them.
    #[error(
        "host {host} opens {count} connections; a host of an emulation has ports for {MOST_CONNS}"
    )]
    Ports {
        /// The host.
        host: u32,
        /// The number of its connections.
        count: u32,
    },
    /// A system call failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The reason.
        error: io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> ReplayError {
    move |error| ReplayError::System { what, error }
}

/// The two ends of a TCP connection.
struct Ends {
    sender: OwnedFd,
    receiver: OwnedFd,
    /// Bytes of started flows that are not yet in the sender's socket.
    unsent: u64,
    /// Bytes read from the receiver's socket that belong to the flow being received.
    read: u64,
    /// The flow being received, and one past the connection's last flow.
    flow: u32,
    end: u32,
}

/// A workload that is being replayed.
pub struct Replay {
    plan: Arc<Plan>,
    applications: Applications,
    datagrams: Datagrams,
    /// The sockets by connection; `None` for connections that are not TCP or carry nothing.
    ends: Vec<Option<Ends>>,
    list: OwnedFd,
    flows: Vec<Replayed>,
    open: u64,
    buffer: Vec<u8>,
}

/// The largest number of bytes that are written or read at once.
const CHUNK: usize = 1 << 18;
/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(5);

impl Replay {
    /// Opens all connections of `plan` between the hosts with these network namespaces. Meanwhile the network must pass
    /// packets on.
    pub fn connect(
        plan: Arc<Plan>,
        namespaces: &[OwnedFd],
        seed: u64,
    ) -> Result<Replay, ReplayError> {
        let addresses = Addresses { hosts: namespaces.len() as u32 };
        check_ports(&plan, addresses.hosts)?;
        let sockets = Sockets { plan: &plan, namespaces, addresses };
        let ends = sockets.tcp()?;
        let (senders, receivers) = sockets.udp()?;
        let list = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(io::Error::from)
            .map_err(system("make a list of sockets"))?;
        let datagrams = Datagrams::new(Arc::clone(&plan), senders, receivers, addresses, seed);
        let replay = Replay {
            applications: Applications::new(Arc::clone(&plan)),
            flows: vec![Replayed::default(); plan.traffic.flows.len()],
            open: plan.traffic.flows.len() as u64,
            buffer: vec![0; CHUNK],
            datagrams,
            ends,
            list,
            plan,
        };
        replay.watch().map_err(system("wait for sockets"))?;
        Ok(replay)
    }

    /// Creates an epoll list of all sockets. Connection n has the numbers 2n (sender) and 2n + 1 (receiver). The
    /// receivers of datagrams follow.
    fn watch(&self) -> io::Result<()> {
        for (conn, ends) in (0u64..).zip(&self.ends) {
            let Some(ends) = ends else { continue };
            let (write, read) = (EventFlags::OUT | EventFlags::ET, EventFlags::IN);
            epoll::add(&self.list, &ends.sender, EventData::new_u64(2 * conn), write)?;
            epoll::add(&self.list, &ends.receiver, EventData::new_u64(2 * conn + 1), read)?;
        }
        let first = 2 * self.ends.len() as u64;
        for (host, socket) in (first..).zip(self.datagrams.receivers()) {
            epoll::add(&self.list, socket, EventData::new_u64(host), EventFlags::IN)?;
        }
        Ok(())
    }

    /// Replays until all flows are done or the emulation is stopped, and then stops the emulation. Returns the result
    /// for each flow.
    pub fn run(mut self, clock: &Clock, shared: &Shared) -> Result<Vec<Replayed>, ReplayError> {
        while !shared.stopped() && self.open > 0 {
            while let Some(flow) = self.applications.take(clock.now()) {
                self.start(flow, clock).map_err(system("write to a socket"))?;
            }
            self.send_datagrams(clock);
            let due = [self.applications.next(), self.datagrams.next()].into_iter().flatten().min();
            let span = due.map_or(NAP, |at| clock.until(at).min(NAP));
            self.handle(span, clock).map_err(system("read from a socket"))?;
        }
        Ok(self.flows)
    }

    fn start(&mut self, flow: u32, clock: &Clock) -> io::Result<()> {
        let planned = self.plan.traffic.flows[flow as usize];
        self.flows[flow as usize].started = Some(clock.now());
        let conn = planned.conn.0;
        match &mut self.ends[conn as usize] {
            Some(ends) => {
                ends.unsent += planned.bytes;
                self.write(conn)
            }
            None => {
                self.datagrams.start(conn, flow, clock.now());
                Ok(())
            }
        }
    }

    /// Writes the pending bytes of a connection as far as its socket has room.
    fn write(&mut self, conn: u32) -> io::Result<()> {
        let Some(ends) = &mut self.ends[conn as usize] else { return Ok(()) };
        while ends.unsent > 0 {
            let length = self.buffer.len().min(usize::try_from(ends.unsent).unwrap_or(usize::MAX));
            match rustix::net::send(&ends.sender, &self.buffer[..length], SendFlags::NOSIGNAL) {
                Ok(sent) => ends.unsent -= sent as u64,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                // The kernel has given up the connection, so its flows remain unfinished.
                Err(Errno::TIMEDOUT | Errno::CONNRESET | Errno::PIPE) => ends.unsent = 0,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for sockets for at most `span`, and handles those that are ready.
    fn handle(&mut self, span: Duration, clock: &Clock) -> io::Result<()> {
        sleep(&self.list, span)?;
        let mut ready = Vec::new();
        wait::ready(&self.list, &mut ready)?;
        for number in ready {
            match (number.checked_sub(2 * self.ends.len()), number % 2) {
                (Some(host), _) => self.read_datagrams(host, clock)?,
                (None, 0) => self.write((number / 2) as u32)?,
                (None, _) => self.read((number / 2) as u32, clock)?,
            }
        }
        Ok(())
    }

    /// Reads once from a connection. The bytes themselves are not copied.
    fn read(&mut self, conn: u32, clock: &Clock) -> io::Result<()> {
        let Some(ends) = &mut self.ends[conn as usize] else { return Ok(()) };
        let length = match rustix::net::recv(
            &ends.receiver,
            &mut self.buffer[..],
            RecvFlags::DONTWAIT | RecvFlags::TRUNC,
        ) {
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(Errno::TIMEDOUT | Errno::CONNRESET) => 0,
            Err(error) => return Err(error.into()),
        };
        if length == 0 {
            return Ok(epoll::delete(&self.list, &ends.receiver)?);
        }
        self.received(conn, length as u64, clock.now());
        Ok(())
    }

    /// Assigns bytes that a connection has received to its flows, which are sent one after the other.
    fn received(&mut self, conn: u32, mut bytes: u64, now: Time) {
        while let Some(ends) = &mut self.ends[conn as usize]
            && bytes > 0
            && ends.flow < ends.end
        {
            let flow = ends.flow;
            let size = self.plan.traffic.flows[flow as usize].bytes;
            let part = bytes.min(size - ends.read);
            bytes -= part;
            ends.read += part;
            let whole = ends.read == size;
            if whole {
                (ends.flow, ends.read) = (flow + 1, 0);
            }
            self.flows[flow as usize].delivered += part;
            if whole {
                self.finish(flow, now);
            }
        }
    }

    fn finish(&mut self, flow: u32, now: Time) {
        self.flows[flow as usize].finished = Some(now);
        self.open -= 1;
        self.applications.done(flow, When::Received, now);
        self.applications.done(flow, When::Acked, now);
    }

    fn send_datagrams(&mut self, clock: &Clock) {
        while let Some(sent) = self.datagrams.send(clock.now()) {
            if sent.last {
                // As in simulation, the sender of datagrams waits for no acknowledgement.
                self.applications.done(sent.flow, When::Acked, clock.now());
                self.open -= 1;
            }
        }
    }

    fn read_datagrams(&mut self, host: usize, clock: &Clock) -> io::Result<()> {
        while let Some((flow, bytes)) = self.datagrams.receive(host, &mut self.buffer)? {
            let size = self.plan.traffic.flows[flow as usize].bytes;
            let result = &mut self.flows[flow as usize];
            result.delivered = (result.delivered + bytes).min(size);
            if result.delivered == size && result.finished.is_none() {
                let now = clock.now();
                result.finished = Some(now);
                self.applications.done(flow, When::Received, now);
            }
        }
        Ok(())
    }
}

fn check_ports(plan: &Plan, hosts: u32) -> Result<(), ReplayError> {
    for host in 0..hosts {
        let count = plan.sends(HostId(host)).len() as u32;
        let own =
            plan.sends(HostId(host)).filter(|&conn| plan.traffic.conns[conn as usize].count > 0);
        if own.count() as u32 > MOST_CONNS {
            return Err(ReplayError::Ports { host, count });
        }
    }
    Ok(())
}

/// Opens sockets.
struct Sockets<'a> {
    plan: &'a Plan,
    namespaces: &'a [OwnedFd],
    addresses: Addresses,
}

impl Sockets<'_> {
    /// The connections that a host opens and that carry data, with the port of each.
    fn own(&self, host: u32, udp: bool) -> Vec<(u32, u16, Conn)> {
        let sends = self.plan.sends(HostId(host));
        let ported = sends.clone().zip(FIRST_PORT..=u16::MAX);
        let planned =
            ported.map(|(conn, port)| (conn, port, self.plan.traffic.conns[conn as usize]));
        let is_udp = |conn: &Conn| matches!(conn.carrier, Carrier::Udp { .. });
        planned.filter(|(.., conn)| conn.count > 0 && is_udp(conn) == udp).collect()
    }

    fn hosts(&self) -> std::ops::Range<u32> {
        0..self.namespaces.len() as u32
    }

    fn server(&self, host: HostId) -> SocketAddr {
        SocketAddrV4::new(self.addresses.of(host), SERVER_PORT).into()
    }

    /// All TCP connections.
    fn tcp(&self) -> Result<Vec<Option<Ends>>, ReplayError> {
        let listen = |host: u32| {
            let address = self.server(HostId(host));
            inside(self.namespaces[host as usize].as_fd(), || TcpListener::bind(address))
        };
        let listeners = self.hosts().map(listen).collect::<io::Result<Vec<_>>>();
        let listeners = listeners.map_err(system("listen on a host"))?;
        let mut senders = BTreeMap::new();
        for host in self.hosts() {
            let own = self.own(host, false);
            for batch in own.chunks(BACKLOG) {
                let open = || {
                    batch
                        .iter()
                        .map(|(conn, port, info)| {
                            Ok((*conn, self.client(SocketType::STREAM, info, *port)?))
                        })
                        .collect::<io::Result<Vec<_>>>()
                };
                let opened = inside(self.namespaces[host as usize].as_fd(), open);
                for (conn, sender) in opened.map_err(system("open a connection"))? {
                    let info = &self.plan.traffic.conns[conn as usize];
                    let accepted = self.accept(&listeners[info.dst.at()], conn);
                    senders
                        .insert(conn, (sender, accepted.map_err(system("accept a connection"))?));
                }
            }
        }
        let conns = 0..self.plan.traffic.conns.len() as u32;
        Ok(conns
            .map(|conn| {
                senders.remove(&conn).map(|(sender, receiver)| self.ends(conn, sender, receiver))
            })
            .collect())
    }

    fn ends(&self, conn: u32, sender: OwnedFd, receiver: OwnedFd) -> Ends {
        let info = &self.plan.traffic.conns[conn as usize];
        let (flow, end) = (info.first.0, info.first.0 + info.count);
        Ends { sender, receiver, unsent: 0, read: 0, flow, end }
    }

    /// The server's socket of the connection that was opened last.
    fn accept(&self, listener: &TcpListener, conn: u32) -> io::Result<OwnedFd> {
        let (stream, from) = listener.accept()?;
        let info = &self.plan.traffic.conns[conn as usize];
        let expected =
            self.plan.sends(info.src).start + u32::from(from.port().saturating_sub(FIRST_PORT));
        if expected != conn {
            return Err(io::Error::other(format!("connection {conn} was expected, {from} came")));
        }
        stream.set_nonblocking(true)?;
        Ok(stream.into())
    }

    /// A socket with source port `port`, connected to the server on the connection's destination.
    fn client(&self, kind: SocketType, conn: &Conn, port: u16) -> io::Result<OwnedFd> {
        let socket =
            rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(self.addresses.of(conn.src), port))?;
        rustix::net::connect(&socket, &self.server(conn.dst))?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(socket)
    }

    /// The sending sockets for datagrams, by connection, and one receiving socket for each host.
    fn udp(&self) -> Result<(BTreeMap<u32, OwnedFd>, Vec<UdpSocket>), ReplayError> {
        let mut senders = BTreeMap::new();
        for host in self.hosts() {
            let own = self.own(host, true);
            let open = || {
                own.iter()
                    .map(|(conn, port, info)| {
                        Ok((*conn, self.client(SocketType::DGRAM, info, *port)?))
                    })
                    .collect::<io::Result<Vec<_>>>()
            };
            let opened = inside(self.namespaces[host as usize].as_fd(), open);
            senders.extend(opened.map_err(system("open a socket for datagrams"))?);
        }
        let receive = |host: u32| {
            let address = self.server(HostId(host));
            inside(self.namespaces[host as usize].as_fd(), move || {
                let socket = UdpSocket::bind(address)?;
                socket.set_nonblocking(true)?;
                Ok(socket)
            })
        };
        let needed = self.hosts().filter(|_| !senders.is_empty());
        let receivers = needed.map(receive).collect::<io::Result<Vec<_>>>();
        Ok((senders, receivers.map_err(system("receive datagrams"))?))
    }
}

/// The number of connections that are opened before they are accepted.
const BACKLOG: usize = 64;
