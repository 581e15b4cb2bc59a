//! OpenFlow 1.3 as bytes: what a controller of switches says and hears.
//!
//! Source: Open Networking Foundation, "OpenFlow Switch Specification", version 1.3.5 (wire protocol 0x04), section 7.
//! Names and numbers are those of its structures (`ofp_…`).
//!
//! - [`message`] has whole messages, [`mod@matching`] what entries match (OXM), [`action`] what they do, [`modify`] the
//!   changes of tables and groups, and [`statistics`] what switches count.
//! - [`Stream`] cuts the bytes of a connection into messages.
//!
//! The crate has no socket and no clock. Decoding accepts what it knows and keeps the bytes of other messages,
//! fields, actions and instructions; it never panics, and never reads beyond a message.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod action;
pub mod matching;
pub mod message;
pub mod modify;
mod reader;
pub mod statistics;
mod stream;
#[cfg(test)]
mod tests;

pub use reader::DecodeError;
pub use stream::Stream;

/// The version of the protocol on the wire.
pub const VERSION: u8 = 4;
/// Any port, or all ports (`OFPP_ANY`).
pub const ANY_PORT: u32 = u32::MAX;
/// Any group (`OFPG_ANY`).
pub const ANY_GROUP: u32 = u32::MAX;
/// All groups (`OFPG_ALL`), in commands that delete.
pub const ALL_GROUPS: u32 = 0xffff_fffc;
/// All tables (`OFPTT_ALL`), in commands that delete and in requests.
pub const ALL_TABLES: u8 = u8::MAX;
