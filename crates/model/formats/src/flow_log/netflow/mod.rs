//! Messages of NetFlow 5, NetFlow 9 and IPFIX, in a file one after the other or in a capture of packets.

mod fields;
mod messages;
mod sets;
mod v5;

use super::{EachRecord, Unread};
use crate::FormatError;
use crate::pcap::{self, Packets};
use messages::{Length, length};
use sets::Exporter;

/// A file whose form is not understood after this many bytes has none that is.
const BEGINNING: usize = 4;

/// Reads messages.
#[derive(Default)]
pub(super) struct NetFlow {
    form: Form,
    exporter: Exporter,
    unread: Unread,
    /// Messages read.
    messages: usize,
}

enum Form {
    /// The first bytes.
    Unknown(Vec<u8>),
    /// Messages, and the bytes that are not a whole message yet.
    Plain(Vec<u8>),
    Capture(Packets),
}

impl Default for Form {
    fn default() -> Form {
        Form::Unknown(Vec::new())
    }
}

impl NetFlow {
    pub fn push(&mut self, bytes: &[u8], each: &mut EachRecord<'_>) -> Result<(), FormatError> {
        match &mut self.form {
            Form::Unknown(first) => {
                first.extend_from_slice(bytes);
                let Some(start) = first.first_chunk::<BEGINNING>() else { return Ok(()) };
                let form = form(*start).map_err(|why| FormatError::new(1, why))?;
                let first = std::mem::take(first);
                self.form = form;
                self.push(&first, each)
            }
            Form::Plain(rest) => {
                rest.extend_from_slice(bytes);
                let whole = std::mem::take(rest);
                let used = self.messages(&whole, false, each)?;
                self.form = Form::Plain(whole[used..].to_vec());
                Ok(())
            }
            Form::Capture(packets) => {
                let (exporter, unread) = (&mut self.exporter, &mut self.unread);
                packets.push(bytes, &mut |packet| {
                    let datagram = pcap::datagram(packet)?;
                    let message = datagram.filter(|datagram| messages::is_whole(datagram.payload));
                    let Some(message) = message else {
                        unread.other_packets += 1;
                        return Ok(());
                    };
                    exporter.message(message.src, message.payload, unread, each)
                })
            }
        }
    }

    pub fn finish(mut self, each: &mut EachRecord<'_>) -> Result<Unread, FormatError> {
        match std::mem::take(&mut self.form) {
            Form::Unknown(_) => {
                let why = "the file is empty or too short for a message of NetFlow or IPFIX";
                return Err(FormatError::new(1, why));
            }
            Form::Capture(packets) => packets.finish()?,
            Form::Plain(rest) => {
                let used = self.messages(&rest, true, each)?;
                if used < rest.len() {
                    let left = rest.len() - used;
                    let why =
                        format!("the file ends within this message, after {left} bytes of it");
                    return Err(FormatError::new(self.messages + 1, why));
                }
            }
        }
        Ok(self.unread)
    }

    /// Reads the whole messages at the beginning of `bytes`. Returns their length.
    fn messages(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        each: &mut EachRecord<'_>,
    ) -> Result<usize, FormatError> {
        let mut used = 0;
        let source = core::net::Ipv4Addr::UNSPECIFIED.into();
        loop {
            let wrong = |why| FormatError::new(self.messages + 1, why);
            let rest = &bytes[used..];
            let length = match length(rest, at_end).map_err(wrong)? {
                Length::Whole(length) => length,
                Length::Incomplete => return Ok(used),
            };
            let read = self.exporter.message(source, &rest[..length], &mut self.unread, each);
            read.map_err(wrong)?;
            self.messages += 1;
            used += length;
        }
    }
}

/// The form of a file by its first bytes.
fn form(start: [u8; BEGINNING]) -> Result<Form, String> {
    match start {
        [0, 5 | 9 | 10, ..] => Ok(Form::Plain(Vec::new())),
        [0x0c, 0xa5, ..] | [0xa5, 0x0c, ..] => Err(
            "this is a file of nfcapd: `nfdump -r FILE -o csv` turns it into a table, which is \
                 read as \"flow-log\""
                .into(),
        ),
        [0xcf, 0x10, ..] => {
            Err("this is a file of flow-tools: `flow-export -f 2` turns it into a table, which is \
                 read as \"flow-log\""
                .into())
        }
        start if pcap::is_capture(start) => Ok(Form::Capture(Packets::default())),
        [0, version, ..] => {
            Err(format!("version {version} is not read: expected NetFlow 5 or 9, or IPFIX (10)"))
        }
        _ => Err("this is neither messages of NetFlow or IPFIX nor a capture of packets".into()),
    }
}
