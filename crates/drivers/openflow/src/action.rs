//! What an entry does with packets: actions and instructions (sections 7.2.4 and 7.2.5).

use crate::matching::Field;
use crate::reader::{DecodeError, Reader, Write, pad, set_length};

/// What happens to a packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// It leaves by a port.
    Output(u32),
    /// It goes to a group.
    Group(u32),
    /// A field gets a value. The field has no mask.
    Set(Field),
    /// Any other action: its type, and what follows its length.
    Other(u16, Vec<u8>),
}

/// What an entry does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Instruction {
    /// The packet goes on to a later table.
    Goto(u8),
    /// Bits of the metadata get a value: value and mask.
    WriteMetadata(u64, u64),
    /// Actions are carried out at once, in this order.
    Apply(Vec<Action>),
    /// Any other instruction: its type, and what follows its length.
    Other(u16, Vec<u8>),
}

/// The length of type and length.
const HEADER: usize = 4;
/// The bytes of a packet that are sent if the port is the controller; elsewhere without effect.
const WHOLE: u16 = u16::MAX;

/// Appends a structure that begins with its type and its length, padded to eight bytes.
fn structure(out: &mut Vec<u8>, kind: u16, content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.u16(kind);
    out.u16(0);
    content(out);
    pad(out, start);
    set_length(out, start, start + 2);
}

impl Action {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Action::Output(port) => structure(out, 0, |out| {
                out.u32(*port);
                out.u16(WHOLE);
                out.zeros(6);
            }),
            Action::Group(group) => structure(out, 22, |out| out.u32(*group)),
            Action::Set(field) => structure(out, 25, |out| field.encode(out)),
            Action::Other(kind, content) => structure(out, *kind, |out| out.extend(content)),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Action, DecodeError> {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut content = reader.rest_of("ofp_action_header", length, HEADER, 8)?;
        Ok(match kind {
            0 => Action::Output(content.u32()?),
            22 => Action::Group(content.u32()?),
            25 => Action::Set(Field::decode(&mut content)?),
            _ => Action::Other(kind, content.all().to_vec()),
        })
    }
}

/// Appends a list of actions.
pub(crate) fn encode_actions(actions: &[Action], out: &mut Vec<u8>) {
    actions.iter().for_each(|action| action.encode(out));
}

/// Reads a list of actions up to the end of `reader`.
pub(crate) fn decode_actions(reader: &mut Reader<'_>) -> Result<Vec<Action>, DecodeError> {
    let mut actions = Vec::new();
    while !reader.is_empty() {
        actions.push(Action::decode(reader)?);
    }
    Ok(actions)
}

impl Instruction {
    /// Lets the packet leave by a port.
    pub fn output(port: u32) -> Instruction {
        Instruction::Apply(vec![Action::Output(port)])
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Instruction::Goto(table) => structure(out, 1, |out| out.u8(*table)),
            Instruction::WriteMetadata(value, mask) => structure(out, 2, |out| {
                out.zeros(4);
                out.u64(*value);
                out.u64(*mask);
            }),
            Instruction::Apply(actions) => structure(out, 4, |out| {
                out.zeros(4);
                encode_actions(actions, out);
            }),
            Instruction::Other(kind, content) => structure(out, *kind, |out| out.extend(content)),
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Instruction, DecodeError> {
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let mut content = reader.rest_of("ofp_instruction", length, HEADER, 8)?;
        Ok(match kind {
            1 => Instruction::Goto(content.u8()?),
            2 => {
                content.skip(4)?;
                Instruction::WriteMetadata(content.u64()?, content.u64()?)
            }
            4 => {
                content.skip(4)?;
                Instruction::Apply(decode_actions(&mut content)?)
            }
            _ => Instruction::Other(kind, content.all().to_vec()),
        })
    }
}

/// Reads a list of instructions up to the end of `reader`.
pub(crate) fn decode_instructions(
    reader: &mut Reader<'_>,
) -> Result<Vec<Instruction>, DecodeError> {
    let mut instructions = Vec::new();
    while !reader.is_empty() {
        instructions.push(Instruction::decode(reader)?);
    }
    Ok(instructions)
}
