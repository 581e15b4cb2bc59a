//! The keys that two ends share for some time, and the state of the data sent and received with them.

use crate::handshake::Secrets;
use crate::keys::PublicKey;
use crate::window::Window;
use crate::wire::{DATA_HEADER, TAG, data_header};
use crate::{OpenError, Settings};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use slotline_base::time::Time;

/// The age until which a session seals.
const SENDS_FOR: Time = Time::s(180);
/// The age until which a session opens. The other end may have started to count later, and datagrams take time.
const RECEIVES_FOR: Time = Time::s(190);
/// The largest number of messages that a session seals.
const MOST_MESSAGES: u64 = u64::MAX - (1 << 13);
/// The largest age of a session at which its initiator begins the next one.
const INITIATOR_REKEY: Time = Time::s(120);
/// The age of a session at which its responder begins the next one, if the initiator has not done so.
const RESPONDER_REKEY: [Time; 2] = [Time::s(150), Time::s(160)];

/// Which end began a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Initiator,
    Responder,
}

/// The indices that the two ends use for a session.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub local: u32,
    pub remote: u32,
}

pub(crate) struct Session {
    names: Names,
    role: Role,
    /// The peer's key in the handshake.
    key: PublicKey,
    created: Time,
    send: LessSafeKey,
    receive: LessSafeKey,
    sealed: u64,
    window: Window,
}

impl Session {
    pub fn new(
        names: Names,
        role: Role,
        key: PublicKey,
        secrets: &Secrets,
        now: Time,
    ) -> Box<Session> {
        Box::new(Session {
            names,
            role,
            key,
            created: now,
            send: aead(&secrets.send),
            receive: aead(&secrets.receive),
            sealed: 0,
            window: Window::new(),
        })
    }
    pub fn local(&self) -> u32 {
        self.names.local
    }
    pub fn key(&self) -> PublicKey {
        self.key
    }
    pub fn created(&self) -> Time {
        self.created
    }
    /// The number of datagrams that it has sealed.
    pub fn sealed(&self) -> u64 {
        self.sealed
    }
    pub fn may_seal(&self, now: Time) -> bool {
        now.since(self.created) < SENDS_FOR && self.sealed < MOST_MESSAGES
    }
    /// The time at which it ends.
    pub fn end(&self) -> Time {
        self.created.after(RECEIVES_FOR)
    }
    /// The time at which this end, with the key `own`, begins the next session.
    pub fn rekey_at(&self, own: PublicKey, settings: &Settings) -> Time {
        self.created.after(match self.role {
            Role::Initiator => settings.rekey_after.min(INITIATOR_REKEY),
            Role::Responder => RESPONDER_REKEY[usize::from(own > self.key)],
        })
    }
    /// Appends the datagram of a message.
    pub fn seal(&mut self, message: &[u8], out: &mut Vec<u8>) {
        let header = data_header(self.names.remote, self.sealed);
        let begin = out.len() + DATA_HEADER;
        out.reserve(DATA_HEADER + message.len() + TAG);
        out.extend_from_slice(&header);
        out.extend_from_slice(message);
        let tag = self
            .send
            .seal_in_place_separate_tag(nonce(self.sealed), Aad::from(header), &mut out[begin..])
            .expect("a datagram is shorter than AES-GCM allows");
        out.extend_from_slice(tag.as_ref());
        self.sealed += 1;
    }
    /// Deciphers a datagram in place. Returns the length of the message, which follows the header.
    pub fn open(
        &mut self,
        datagram: &mut [u8],
        counter: u64,
        now: Time,
    ) -> Result<usize, OpenError> {
        if now >= self.end() {
            return Err(OpenError::UnknownSession);
        }
        if !self.window.admits(counter) {
            return Err(OpenError::Replayed);
        }
        let (header, text) =
            datagram.split_first_chunk_mut::<DATA_HEADER>().ok_or(OpenError::Forged)?;
        let message = self
            .receive
            .open_in_place(nonce(counter), Aad::from(&*header), text)
            .map_err(|_| OpenError::Forged)?;
        self.window.note(counter);
        Ok(message.len())
    }
}

fn aead(secret: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, secret).expect("the key has 32 bytes"))
}

/// The nonce of Noise, section 12.3: four zero bytes, and the counter, big-endian.
fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(send: u8, receive: u8) -> Box<Session> {
        let names = Names { local: 1, remote: 0x0102_0304 };
        let secrets = Secrets { send: [send; 32], receive: [receive; 32] };
        Session::new(names, Role::Initiator, PublicKey::from_bytes([0; 32]), &secrets, Time::ZERO)
    }

    #[test]
    fn a_datagram_is_as_documented() {
        let mut out = b"before".to_vec();
        let mut session = session(1, 2);
        session.seal(b"first", &mut out);
        out.truncate(6);
        session.seal(b"hello", &mut out);
        // From another implementation of AES-GCM: Python's `cryptography`, AESGCM(bytes([1] * 32)).encrypt(nonce,
        // b"hello", header), with the nonce 0^4 || 0^7 1.
        let header = [3, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(out[6..22], header);
        let sealed = [
            211, 191, 252, 235, 179, 178, 197, 203, 16, 115, 209, 105, 50, 223, 8, 40, 231, 54, 71,
            92, 40,
        ];
        assert_eq!(out[22..], sealed);
    }

    #[test]
    fn both_directions_and_both_limits() {
        let (mut a, mut b) = (session(1, 2), session(2, 1));
        let mut out = Vec::new();
        a.seal(b"x", &mut out);
        assert!(a.may_seal(Time::s(179)) && !a.may_seal(Time::s(180)));
        assert_eq!(b.open(&mut out.clone(), 0, Time::s(190)), Err(OpenError::UnknownSession));
        assert_eq!(b.open(&mut out.clone(), 0, Time::s(189)), Ok(1));
        assert_eq!(b.open(&mut out, 0, Time::s(189)), Err(OpenError::Replayed));
        a.sealed = MOST_MESSAGES;
        assert!(!a.may_seal(Time::ZERO));
    }
}
