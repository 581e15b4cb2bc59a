//! A log of all messages that a controller's node received and of its actions. [`crate::replay`] runs the node again
//! from it.
//!
//! ```text
//! "slotline log 1\n", the length of the header as 4 bytes (little-endian), the header as JSON, then records:
//! kind: 1 byte, ps since the record before: LEB128, then
//! 1 (heard)  length: LEB128, the packet of the message as slotline_net::wire::packet has it
//! 2 (step)   messages sent: LEB128, and where there are any, a digest of them: 8 bytes (little-endian)
//! ```
//!
//! Steps with nothing due are left out.

use serde::{Deserialize, Serialize};
use slotline_net::frame::{Kind, Packet};
use slotline_net::rng::mix64;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::wire::packet;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::iter;
use std::path::{Path, PathBuf};

/// The first bytes of a log.
pub const MAGIC: &[u8] = b"slotline log 1\n";
pub(crate) const HEARD: u8 = 1;
pub(crate) const STEP: u8 = 2;

/// The subject of a log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of the program.
    pub program: String,
    /// The scenario, with all its values.
    pub scenario: String,
    /// The name of the scheme.
    pub scheme: String,
    /// The controller's number among the hosts of the network.
    pub station: u32,
    /// The number from which the random numbers of this start were drawn.
    pub incarnation: u64,
    /// The network time at which the node began, in picoseconds.
    pub began: u64,
}

/// A digest of messages in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// The number of messages.
    pub messages: u64,
    /// Their digest.
    pub digest: u64,
}

impl Sent {
    /// Adds a message. Other packets of the node do not leave a controller.
    pub fn add(&mut self, far: End, message: &Packet, payload: &[u8]) {
        if message.kind != Kind::Control {
            return;
        }
        let mut digest = mix64(self.digest ^ (u64::from(far.node.0) << 16 | u64::from(far.port.0)));
        for chunk in packet::emit(message, payload).chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            digest = mix64(digest ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64);
        }
        *self = Sent { messages: self.messages + 1, digest };
    }
}

/// Writes a log. If the disk is full, the log ends, and the daemon continues.
#[derive(Debug)]
pub struct Recorder<W: Write = BufWriter<File>> {
    out: W,
    /// The name of the first log, if logs are files, and whether this log has begun.
    path: Option<PathBuf>,
    begun: bool,
    last: u64,
    fault: Option<io::Error>,
}

impl Recorder {
    /// Begins a log in a new file. If a file with this name exists, a number is added to the name, so a restarted
    /// arbiter neither continues nor replaces a log.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        let numbered = |n: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{n}"));
            PathBuf::from(name)
        };
        let mut names = iter::once(path.to_owned()).chain((1..).map(numbered));
        let made =
            names.find_map(|name| match File::options().write(true).create_new(true).open(name) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                made => Some(made),
            });
        let file = made.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into()))?;
        Ok(Recorder { path: Some(path.into()), ..Recorder::new(BufWriter::new(file)) })
    }

    /// Records that a node begins: after the first one of a daemon in a further file, because a log is about one node.
    pub fn begin_next(&mut self, header: &Header) {
        if self.begun {
            self.flush();
            match self.path.take().map(|path| Recorder::create(&path)) {
                Some(Ok(next)) => *self = next,
                Some(Err(error)) => self.fault = Some(error),
                None => {}
            }
        }
        self.begin(header);
    }
}

impl<W: Write> Recorder<W> {
    /// Begins a log.
    pub fn new(out: W) -> Recorder<W> {
        Recorder { out, path: None, begun: false, last: 0, fault: None }
    }
    /// Records that the node begins.
    pub fn begin(&mut self, header: &Header) {
        let text = serde_json::to_vec(header).unwrap_or_default();
        let length = (text.len() as u32).to_le_bytes();
        (self.last, self.begun) = (header.began, true);
        self.write(&[MAGIC, &length, &text].concat());
    }
    /// Records that the node receives a message.
    pub fn heard(&mut self, message: &Packet, payload: &[u8], now: Time) {
        let bytes = packet::emit(message, payload);
        let mut record = self.record(HEARD, now);
        number(&mut record, bytes.len() as u64);
        record.extend(bytes);
        self.write(&record);
    }
    /// Records that the node did what was due.
    pub fn stepped(&mut self, sent: Sent, now: Time) {
        let mut record = self.record(STEP, now);
        number(&mut record, sent.messages);
        if sent.messages > 0 {
            record.extend(sent.digest.to_le_bytes());
        }
        self.write(&record);
    }
    /// Passes buffered records to the operating system.
    pub fn flush(&mut self) {
        if self.fault.is_none() {
            self.fault = self.out.flush().err();
        }
    }
    /// Ends the log for this reason.
    pub fn end(&mut self, why: &str) {
        self.flush();
        self.fault.get_or_insert_with(|| io::Error::other(why.to_owned()));
    }
    /// Returns the writer of the log.
    pub fn into_inner(self) -> W {
        self.out
    }
    /// The reason why the log ended.
    pub fn fault(&self) -> Option<&io::Error> {
        self.fault.as_ref()
    }

    fn record(&mut self, kind: u8, now: Time) -> Vec<u8> {
        let mut record = vec![kind];
        number(&mut record, now.as_ps().saturating_sub(self.last));
        self.last = now.as_ps().max(self.last);
        record
    }
    fn write(&mut self, bytes: &[u8]) {
        if self.fault.is_none() {
            self.fault = self.out.write_all(bytes).err();
        }
    }
}

/// Appends a number as LEB128: seven bits in each byte, the lowest first.
fn number(out: &mut Vec<u8>, value: u64) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
