//! The handshake `Noise_IK_25519_AESGCM_SHA256` (noiseprotocol.org, revision 34), with the crate `snow`.

use crate::curve::Resolver;
use crate::keys::{KEY, KeyPair, PublicKey};
use crate::wire::{
    self, INITIATION_HEADER, INITIATION_NOISE, RESPONSE_NOISE, RESPONSE_PAYLOAD, Response,
};
use snow::resolvers::RingResolver;
use snow::{Builder, HandshakeState};

const PATTERN: &str = "Noise_IK_25519_AESGCM_SHA256";
const PROLOGUE: &[u8] = b"slotline-envelope";
const TIMESTAMP: usize = 8;

/// The keys of a session's data.
pub(crate) struct Secrets {
    pub send: [u8; KEY],
    pub receive: [u8; KEY],
}

/// A handshake that waits for its response.
pub(crate) struct Initiator(HandshakeState);

/// An initiation by the owner of the key `remote`. It may be a replay.
pub(crate) struct Received {
    noise: HandshakeState,
    pub remote: PublicKey,
    pub timestamp: u64,
}

impl Initiator {
    /// Begins a handshake; `None` if the operating system provides no random bytes.
    pub fn begin(
        own: &KeyPair,
        remote: &PublicKey,
        header: &[u8; INITIATION_HEADER],
        timestamp: u64,
    ) -> Option<(Initiator, [u8; INITIATION_NOISE])> {
        let prologue = prologue(header);
        let mut noise = builder(own, &prologue)
            .remote_public_key(remote.as_bytes())
            .and_then(Builder::build_initiator)
            .expect("all that the pattern needs is there, once");
        let mut message = [0; INITIATION_NOISE];
        noise.write_message(&timestamp.to_be_bytes(), &mut message).ok()?;
        Some((Initiator(noise), message))
    }
    /// The index that the peer chose and the keys, if the response is authentic. Otherwise the handshake continues to
    /// wait.
    pub fn finish(&mut self, response: &Response) -> Option<(u32, Secrets)> {
        let mut payload = [0; RESPONSE_PAYLOAD];
        self.0.read_message(response.noise, &mut payload).ok()?;
        let (send, receive) = self.0.dangerously_get_raw_split();
        Some((wire::parse_response_payload(&payload)?, Secrets { send, receive }))
    }
}

/// Reads an initiation; `None` if it is not for the key `own` or was altered.
pub(crate) fn receive(
    own: &KeyPair,
    header: &[u8; INITIATION_HEADER],
    message: &[u8; INITIATION_NOISE],
) -> Option<Received> {
    let prologue = prologue(header);
    let mut noise =
        builder(own, &prologue).build_responder().expect("all that the pattern needs is there");
    let mut timestamp = [0; TIMESTAMP];
    noise.read_message(message, &mut timestamp).ok()?;
    let remote = noise.get_remote_static()?.try_into().ok()?;
    let timestamp = u64::from_be_bytes(timestamp);
    Some(Received { noise, remote: PublicKey::from_bytes(remote), timestamp })
}

impl Received {
    /// The response, with the index that this end chose, and the keys; `None` if the operating system provides no
    /// random bytes.
    pub fn respond(mut self, sender: u32) -> Option<([u8; RESPONSE_NOISE], Secrets)> {
        let mut message = [0; RESPONSE_NOISE];
        self.noise.write_message(&wire::response_payload(sender), &mut message).ok()?;
        let (receive, send) = self.noise.dangerously_get_raw_split();
        Some((message, Secrets { send, receive }))
    }
}

fn prologue(header: &[u8; INITIATION_HEADER]) -> Vec<u8> {
    [PROLOGUE, header].concat()
}

fn builder<'a>(own: &'a KeyPair, prologue: &'a [u8]) -> Builder<'a> {
    let pattern = PATTERN.parse().expect("snow knows the pattern");
    Builder::with_resolver(pattern, Box::new(Resolver(RingResolver)))
        .prologue(prologue)
        .and_then(|builder| builder.local_private_key(own.private()))
        .expect("each is set once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Frame;

    /// A handshake by the owner of key 1 with that of key 2, and the initiation.
    fn initiated() -> (Initiator, Received) {
        let (a, b) = (KeyPair::from_private([1; 32]), KeyPair::from_private([2; 32]));
        let header = wire::initiation_header(5);
        let (initiator, message) = Initiator::begin(&a, &b.public(), &header, 77).unwrap();
        let received = receive(&b, &header, &message).unwrap();
        assert_eq!((received.remote, received.timestamp), (a.public(), 77));
        (initiator, received)
    }

    #[test]
    fn both_ends_get_the_same_keys() {
        let (mut initiator, received) = initiated();
        let (noise, theirs) = received.respond(6).unwrap();
        let (sender, ours) = initiator.finish(&Response { receiver: 5, noise: &noise }).unwrap();
        assert_eq!(sender, 6);
        assert_eq!((ours.send, ours.receive), (theirs.receive, theirs.send));
        assert_ne!(ours.send, ours.receive);
    }

    #[test]
    fn an_altered_response_leaves_the_handshake_waiting() {
        let (mut initiator, received) = initiated();
        let (message, _) = received.respond(6).unwrap();
        let right = [&wire::response_header(5)[..], &message].concat();
        for bit in 0..8 * right.len() {
            let mut wrong = right.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            match wire::parse(&wrong) {
                Ok(Frame::Response(response)) if response.receiver == 5 => {
                    assert!(initiator.finish(&response).is_none(), "bit {bit}");
                }
                _ => {}
            }
        }
        let Ok(Frame::Response(response)) = wire::parse(&right) else { panic!() };
        assert!(initiator.finish(&response).is_some());
    }
}
