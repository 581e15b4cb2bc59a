//! The connection to a switch.

use slotline_openflow::Stream;
use slotline_openflow::message::{Body, Message};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// The connection of a controller to a switch. Requests are answered in their order.
#[derive(Debug)]
pub(super) struct Channel {
    /// The name of the switch, for messages.
    switch: String,
    socket: UnixStream,
    stream: Stream,
    /// Messages that are not yet written.
    out: Vec<u8>,
    /// The number of the next message.
    xid: u32,
    buffer: Vec<u8>,
}

impl Channel {
    /// Connects to the switch that listens at `path`.
    ///
    /// # Errors
    /// It does not, or it does not speak OpenFlow 1.3.
    pub fn open(path: &Path, switch: String) -> io::Result<Channel> {
        let socket = UnixStream::connect(path);
        let named = |error: io::Error| io::Error::other(format!("`{switch}`: {error}"));
        let socket = socket.map_err(named)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let (stream, out, buffer) = (Stream::default(), Vec::new(), vec![0; CHUNK]);
        let mut channel = Channel { switch, socket, stream, out, xid: 1, buffer };
        channel.send(Body::Hello);
        match channel.request(Body::FeaturesRequest)?.as_slice() {
            [Body::Features(_)] => Ok(channel),
            other => Err(channel.unexpected(other)),
        }
    }

    /// Puts a message into the buffer of messages to write. Returns its number.
    pub fn send(&mut self, body: Body) -> u32 {
        let xid = self.xid;
        self.xid = self.xid.wrapping_add(1);
        self.out.extend(Message { xid, body }.encode());
        xid
    }

    /// Writes all messages, and waits until the switch has carried them out.
    ///
    /// # Errors
    /// It refuses one of them, or the connection fails.
    pub fn carry_out(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        match self.request(Body::BarrierRequest)?.as_slice() {
            [Body::BarrierReply] => Ok(()),
            other => Err(self.unexpected(other)),
        }
    }

    /// Asks, and returns the answer, which may have several parts.
    ///
    /// # Errors
    /// The switch refuses this or an earlier message, or the connection fails.
    pub fn request(&mut self, body: Body) -> io::Result<Vec<Body>> {
        let xid = self.send(body);
        self.socket.write_all(&self.out)?;
        self.out.clear();
        let mut parts = Vec::new();
        loop {
            let message = self.receive()?;
            match message.body {
                Body::Error(refusal) => {
                    return Err(io::Error::other(format!("`{}`: {refusal}", self.switch)));
                }
                Body::EchoRequest(data) => {
                    let echo = Message { xid: message.xid, body: Body::EchoReply(data) };
                    self.socket.write_all(&echo.encode())?;
                }
                // It comes by itself, with a number of the switch.
                Body::Hello => {}
                body if message.xid == xid => {
                    let more = matches!(
                        body,
                        Body::FlowStats(_, true) | Body::PortStats(_, true) | Body::Ports(_, true)
                    );
                    parts.push(body);
                    if !more {
                        return Ok(parts);
                    }
                }
                _ => {}
            }
        }
    }

    /// How long the switch takes to answer an echo request.
    ///
    /// # Errors
    /// The connection fails.
    pub fn echo(&mut self) -> io::Result<Duration> {
        let began = Instant::now();
        self.request(Body::EchoRequest(Vec::new()))?;
        Ok(began.elapsed())
    }

    /// The next message.
    fn receive(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = self.stream.take().map_err(io::Error::other)? {
                return Ok(message);
            }
            let count = self.socket.read(&mut self.buffer)?;
            if count == 0 {
                let why = format!("`{}`: the switch has ended the connection", self.switch);
                return Err(io::Error::other(why));
            }
            self.stream.push(&self.buffer[..count]);
        }
    }

    /// An answer that does not fit.
    pub fn unexpected(&self, answer: &[Body]) -> io::Error {
        io::Error::other(format!("`{}`: unexpected answer {answer:?}", self.switch))
    }
}
