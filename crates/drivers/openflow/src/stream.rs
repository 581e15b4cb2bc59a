//! Cuts the bytes of a connection into messages.

use crate::VERSION;
use crate::message::{HEADER, Message};
use crate::reader::DecodeError;

/// The bytes of a connection that are not yet messages.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    bytes: Vec<u8>,
    /// Where the first message begins.
    at: usize,
}

impl Stream {
    /// Appends bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message; `None` if its end has not arrived.
    ///
    /// # Errors
    /// The bytes are no message of OpenFlow 1.3. A message whose content alone is wrong is left out by the next call;
    /// after a wrong header the connection is of no more use. A hello may have another version, because it says which
    /// ones its sender knows.
    pub fn take(&mut self) -> Result<Option<Message>, DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(header) = rest.get(..HEADER) else { return Ok(None) };
        if header[0] != VERSION && header[1] != 0 {
            return Err(DecodeError::Version(header[0]));
        }
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if length < HEADER {
            return Err(DecodeError::Length { what: "ofp_header", has: length, needs: HEADER });
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let decoded = Message::decode(message);
        self.at += length;
        decoded.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Body;

    #[test]
    fn messages_in_pieces() {
        let messages = [
            Message { xid: 1, body: Body::EchoRequest(vec![1, 2, 3]) },
            Message { xid: 2, body: Body::BarrierRequest },
        ];
        let bytes: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
        for piece in 1..bytes.len() {
            let (mut stream, mut taken) = (Stream::default(), vec![]);
            for part in bytes.chunks(piece) {
                stream.push(part);
                while let Some(message) = stream.take().unwrap() {
                    taken.push(message);
                }
            }
            assert_eq!(taken, messages, "in pieces of {piece}");
        }
    }

    #[test]
    fn wrong_headers_are_refused() {
        let mut stream = Stream::default();
        stream.push(&[1, 20, 0, 8, 0, 0, 0, 0]);
        assert_eq!(stream.take(), Err(DecodeError::Version(1)));
        let mut stream = Stream::default();
        stream.push(&[4, 20, 0, 7, 0, 0, 0, 0]);
        let error = stream.take().unwrap_err();
        assert_eq!(error.to_string(), "OpenFlow: `ofp_header` has 7 bytes, it needs 8");
    }

    /// A message whose content is wrong does not end the connection.
    #[test]
    fn the_message_after_a_wrong_one_is_read() {
        let mut stream = Stream::default();
        stream.push(&[4, 1, 0, 9, 0, 0, 0, 0, 0]);
        stream.push(&Message { xid: 7, body: Body::BarrierReply }.encode());
        assert!(stream.take().is_err());
        assert_eq!(stream.take(), Ok(Some(Message { xid: 7, body: Body::BarrierReply })));
        assert_eq!(stream.take(), Ok(None));
    }
}
