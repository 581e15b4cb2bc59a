//! Changes of a switch: entries of its tables, and groups (sections 7.3.4.1 and 7.3.4.2).

use crate::action::{Action, Instruction, decode_actions, decode_instructions, encode_actions};
use crate::matching::{self, Field};
use crate::reader::{DecodeError, Reader, Write, set_length};
use crate::{ALL_GROUPS, ALL_TABLES, ANY_GROUP, ANY_PORT};

/// What a change of entries does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Command {
    /// Adds an entry, or replaces the one with the same match and priority. Counters begin at 0.
    Add,
    /// Changes the instructions of all entries that match. Counters stay.
    Modify,
    /// Changes the instructions of the entry with this match and priority. Counters stay.
    ModifyStrict,
    /// Deletes all entries that match.
    Delete,
    /// Deletes the entry with this match and priority.
    DeleteStrict,
}

impl Command {
    const ALL: [Command; 5] = [
        Command::Add,
        Command::Modify,
        Command::ModifyStrict,
        Command::Delete,
        Command::DeleteStrict,
    ];
}

/// A change of the entries of a table (`ofp_flow_mod`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowMod {
    /// A number that the controller gives to the entry.
    pub cookie: u64,
    /// In changes and deletions: the bits of the cookie by which entries are chosen.
    pub cookie_mask: u64,
    /// The table.
    pub table: u8,
    /// What happens.
    pub command: Command,
    /// Seconds without a packet after which the entry is removed; 0 for never.
    pub idle_timeout: u16,
    /// Seconds after which the entry is removed; 0 for never.
    pub hard_timeout: u16,
    /// Of the entries that match a packet, the one with the highest priority counts.
    pub priority: u16,
    /// `OFPFF_…`.
    pub flags: u16,
    /// What it matches.
    pub fields: Vec<Field>,
    /// What it does.
    pub instructions: Vec<Instruction>,
}

/// No packet in a buffer of the switch is meant.
const NO_BUFFER: u32 = u32::MAX;

impl FlowMod {
    /// Adds an entry to the first table.
    pub fn add(priority: u16, fields: Vec<Field>, instructions: Vec<Instruction>) -> FlowMod {
        FlowMod {
            cookie: 0,
            cookie_mask: 0,
            table: 0,
            command: Command::Add,
            idle_timeout: 0,
            hard_timeout: 0,
            priority,
            flags: 0,
            fields,
            instructions,
        }
    }
    /// Deletes all entries of all tables.
    pub fn delete_all() -> FlowMod {
        FlowMod {
            table: ALL_TABLES,
            command: Command::Delete,
            ..FlowMod::add(0, Vec::new(), Vec::new())
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u64(self.cookie);
        out.u64(self.cookie_mask);
        out.u8(self.table);
        out.u8(self.command as u8);
        out.u16(self.idle_timeout);
        out.u16(self.hard_timeout);
        out.u16(self.priority);
        out.u32(NO_BUFFER);
        out.u32(ANY_PORT);
        out.u32(ANY_GROUP);
        out.u16(self.flags);
        out.zeros(2);
        matching::encode(&self.fields, out);
        self.instructions.iter().for_each(|instruction| instruction.encode(out));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<FlowMod, DecodeError> {
        let (cookie, cookie_mask, table) = (reader.u64()?, reader.u64()?, reader.u8()?);
        let number = reader.u8()?;
        let command = Command::ALL.get(usize::from(number)).copied();
        let unknown = DecodeError::Value { what: "ofp_flow_mod.command", value: number.into() };
        let command = command.ok_or(unknown)?;
        let [idle_timeout, hard_timeout, priority] = [reader.u16()?, reader.u16()?, reader.u16()?];
        reader.skip(12)?;
        let flags = reader.u16()?;
        reader.skip(2)?;
        let fields = matching::decode(reader)?;
        let instructions = decode_instructions(reader)?;
        Ok(FlowMod {
            cookie,
            cookie_mask,
            table,
            command,
            idle_timeout,
            hard_timeout,
            priority,
            flags,
            fields,
            instructions,
        })
    }
}

/// What a change of groups does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupCommand {
    /// Adds a group.
    Add,
    /// Replaces the buckets of a group.
    Modify,
    /// Deletes a group, or all of them.
    Delete,
}

/// Which buckets of a group a packet gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupKind {
    /// All.
    All,
    /// One, which the switch chooses, usually by a hash of addresses and ports.
    Select,
    /// The only one.
    Indirect,
    /// The first whose port or group works.
    FastFailover,
}

impl GroupKind {
    const ALL: [GroupKind; 4] =
        [GroupKind::All, GroupKind::Select, GroupKind::Indirect, GroupKind::FastFailover];
}

/// One of the alternatives of a group (`ofp_bucket`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Its share, where a switch chooses one.
    pub weight: u16,
    /// The port that must work, for [`GroupKind::FastFailover`].
    pub watch_port: u32,
    /// The group that must work, for [`GroupKind::FastFailover`].
    pub watch_group: u32,
    /// What it does.
    pub actions: Vec<Action>,
}

impl Bucket {
    /// One of several equal alternatives: packets leave by a port.
    pub fn output(port: u32) -> Bucket {
        let actions = vec![Action::Output(port)];
        Bucket { weight: 1, watch_port: ANY_PORT, watch_group: ANY_GROUP, actions }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.u16(0);
        out.u16(self.weight);
        out.u32(self.watch_port);
        out.u32(self.watch_group);
        out.zeros(4);
        encode_actions(&self.actions, out);
        set_length(out, start, start);
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Bucket, DecodeError> {
        let length = reader.u16()?;
        let mut bucket = reader.rest_of("ofp_bucket", length, 2, 16)?;
        let (weight, watch_port) = (bucket.u16()?, bucket.u32()?);
        let watch_group = bucket.u32()?;
        bucket.skip(4)?;
        Ok(Bucket { weight, watch_port, watch_group, actions: decode_actions(&mut bucket)? })
    }
}

/// A change of a group (`ofp_group_mod`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupMod {
    /// What happens.
    pub command: GroupCommand,
    /// Which buckets a packet gets.
    pub kind: GroupKind,
    /// The number of the group.
    pub group: u32,
    /// The alternatives.
    pub buckets: Vec<Bucket>,
}

impl GroupMod {
    /// Adds a group of which the switch chooses one port for each packet.
    pub fn select(group: u32, ports: impl IntoIterator<Item = u32>) -> GroupMod {
        let buckets = ports.into_iter().map(Bucket::output).collect();
        GroupMod { command: GroupCommand::Add, kind: GroupKind::Select, group, buckets }
    }
    /// Deletes a group if there is one with this number, and the entries that use it.
    pub fn delete(group: u32) -> GroupMod {
        let (command, kind) = (GroupCommand::Delete, GroupKind::All);
        GroupMod { command, kind, group, buckets: Vec::new() }
    }
    /// Deletes all groups, and the entries that use them.
    pub fn delete_all() -> GroupMod {
        GroupMod::delete(ALL_GROUPS)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.u16(self.command as u16);
        out.u8(self.kind as u8);
        out.zeros(1);
        out.u32(self.group);
        self.buckets.iter().for_each(|bucket| bucket.encode(out));
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<GroupMod, DecodeError> {
        let command = match reader.u16()? {
            0 => GroupCommand::Add,
            1 => GroupCommand::Modify,
            2 => GroupCommand::Delete,
            other => {
                let value = other.into();
                return Err(DecodeError::Value { what: "ofp_group_mod.command", value });
            }
        };
        let number = reader.u8()?;
        let kind = GroupKind::ALL.get(usize::from(number)).copied();
        let unknown = DecodeError::Value { what: "ofp_group_mod.type", value: number.into() };
        reader.skip(1)?;
        let group = reader.u32()?;
        let mut buckets = Vec::new();
        while !reader.is_empty() {
            buckets.push(Bucket::decode(reader)?);
        }
        Ok(GroupMod { command, kind: kind.ok_or(unknown)?, group, buckets })
    }
}
