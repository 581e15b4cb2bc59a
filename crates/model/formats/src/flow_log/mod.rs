//! Logs of flows: tables with a header, logs of Zeek, and what NetFlow and IPFIX export.
//!
//! A log is pushed in pieces of any size. It is read record by record, so that memory does not grow with its length.
//! Sources: RFC 3954 (NetFlow 9), RFC 7011 (IPFIX), RFC 5103 (records of both directions), RFC 4180 (CSV).

mod columns;
mod flows;
mod netflow;
mod table;
mod text;
mod zeek;

pub use columns::Columns;
pub use flows::{Ends, FlowLog, LoggedFlow};

use crate::FormatError;
use core::net::IpAddr;
use netflow::NetFlow;
use text::TextLines;

/// The kinds of logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// Lines with fields below a header.
    Table(Columns),
    /// `conn.log` of Zeek, as lines with fields or in JSON.
    Zeek,
    /// Messages of NetFlow 5, NetFlow 9 or IPFIX, one after the other or in a capture of packets.
    NetFlow,
}

impl LogKind {
    /// What the number of an error counts.
    pub fn counted(&self) -> &'static str {
        match self {
            LogKind::NetFlow => "message or packet",
            _ => "line",
        }
    }
}

/// What was sent in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sent {
    /// Bytes as the log counts them.
    pub bytes: u64,
    /// Packets, where the log has their number.
    pub packets: Option<u64>,
}

/// A record of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRecord {
    /// The sender, or the end that opened the connection.
    pub src: IpAddr,
    /// The other end.
    pub dst: IpAddr,
    /// The number of the protocol above IP, where the log has it.
    pub protocol: Option<u8>,
    /// When it began, in picoseconds since 1970.
    pub start_ps: i128,
    /// What `src` sent.
    pub there: Sent,
    /// What `dst` sent, where the log has both directions in a record.
    pub back: Option<Sent>,
}

/// The numbers of records that cannot be used, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unread {
    /// Records without an address, a size or a start.
    pub incomplete: u64,
    /// Sets of records whose template did not come before them.
    pub without_template: u64,
    /// Packets of a capture that are no messages of NetFlow or IPFIX.
    pub other_packets: u64,
    /// The largest number of packets of which one was sampled, if it was announced.
    pub sampled: u64,
}

/// Receives records.
pub(crate) type EachRecord<'a> = dyn FnMut(&LogRecord) -> Result<(), String> + 'a;

enum State {
    Table(TextLines, Box<table::Table>),
    Zeek(TextLines, zeek::Zeek),
    NetFlow(Box<NetFlow>),
}

/// Reads a log.
pub struct LogReader {
    state: State,
}

impl LogReader {
    /// A log of which nothing has been read.
    pub fn new(kind: &LogKind) -> LogReader {
        let lines = TextLines::default();
        let state = match kind {
            LogKind::Table(columns) => {
                State::Table(lines, Box::new(table::Table::new(columns.clone())))
            }
            LogKind::Zeek => State::Zeek(lines, zeek::Zeek::default()),
            LogKind::NetFlow => State::NetFlow(Box::default()),
        };
        LogReader { state }
    }

    /// Reads the next bytes and calls `each` for every record that is complete. Errors name the line, message or
    /// packet, from 1.
    ///
    /// # Errors
    /// The log is not understood, or `each` refuses a record.
    pub fn push(&mut self, bytes: &[u8], each: &mut EachRecord<'_>) -> Result<(), FormatError> {
        match &mut self.state {
            State::Table(lines, table) => lines.push(bytes, |line| table.line(line, each)),
            State::Zeek(lines, zeek) => lines.push(bytes, |line| zeek.line(line, each)),
            State::NetFlow(netflow) => netflow.push(bytes, each),
        }
    }

    /// Ends the log.
    ///
    /// # Errors
    /// As [`LogReader::push`], and if the log ends too early.
    pub fn finish(self, each: &mut EachRecord<'_>) -> Result<Unread, FormatError> {
        match self.state {
            State::Table(mut lines, mut table) => {
                let number = lines.end(|line| table.line(line, each))?;
                table.end().map_err(|why| FormatError::new(number.max(1), why))
            }
            State::Zeek(mut lines, mut zeek) => {
                let number = lines.end(|line| zeek.line(line, each))?;
                zeek.end().map_err(|why| FormatError::new(number.max(1), why))
            }
            State::NetFlow(netflow) => netflow.finish(each),
        }
    }
}

#[cfg(test)]
mod tests;
