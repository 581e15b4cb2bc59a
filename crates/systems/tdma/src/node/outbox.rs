//! The FIFO port of a controller. Frames leave at once, and messages when they delay no frame.

use crate::counters;
use crate::wire::{Body, Message};
use slotline_net::frame::{PUSH, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Counters, Cx};
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::time::Time;
use slotline_net::units::{InverseRate, Rate};
use slotline_net::wire::ETHERNET_OVERHEAD;
use slotline_net::wire::mac_control::{AROUND, Frame};

/// The port of hosts and stations to a control network.
pub(super) const CONTROL_PORT: PortId = PortId(1);

/// The bytes of the longest message on the wire.
const LONGEST: u64 = 1_538;

/// The port, and the counters of what has left by it.
pub(super) struct Outbox {
    host: HostId,
    port: PortId,
    pace: InverseRate,
    /// When all that was queued will have left.
    free_at: Time,
    /// The number of the last message.
    seq: u32,
    pub created: u64,
    frames: u64,
    frame_bytes: u64,
    messages: u64,
    bytes: u64,
}

impl Outbox {
    /// The port of `host`, with a link of this rate.
    pub fn new(host: HostId, rate: Rate) -> Outbox {
        let (free_at, seq, created) = (Time::ZERO, 0, 0);
        let (frames, frame_bytes, messages, bytes) = (0, 0, 0, 0);
        Outbox {
            host,
            port: PortId(0),
            pace: rate.inverse_rate(),
            free_at,
            seq,
            created,
            frames,
            frame_bytes,
            messages,
            bytes,
        }
    }
    /// The port of `host` to a control network, with a link of this rate.
    pub fn of_control(host: HostId, rate: Rate) -> Outbox {
        Outbox { port: CONTROL_PORT, ..Outbox::new(host, rate) }
    }
    /// Numbers begin with the time, so that those of a controller that has restarted are later.
    pub fn start(&mut self, now: Time) {
        self.seq = (now.as_ns() / 1_000) as u32;
    }
    fn count(&mut self, len: u16, now: Time) {
        self.created += 1;
        self.free_at = self.free_at.max(now).after(self.pace.time_for(len.into()));
        self.bytes += u64::from(len);
    }
    /// Sends a frame. Its mark distinguishes it, in captures, from messages of the same length.
    pub fn frame(&mut self, host: HostId, frame: &Frame, cx: &mut Cx<'_>) {
        let packet = cx.attach((self.host, host), frame.emit(), AROUND as u16, CONTROL_CLASS);
        let packet = Packet { flags: PUSH, ..packet };
        self.count(packet.len, cx.now);
        self.frames += 1;
        self.frame_bytes += u64::from(packet.len);
        cx.send(self.port, packet);
    }
    /// Sends a message about `about` to `to`.
    pub fn message(&mut self, to: HostId, about: HostId, heard: u32, body: Body, cx: &mut Cx<'_>) {
        self.seq = self.seq.wrapping_add(1);
        let bytes = Message { host: about, seq: self.seq, heard, body }.emit();
        let packet = cx.attach((self.host, to), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        self.count(packet.len, cx.now);
        self.messages += 1;
        cx.send(self.port, packet);
    }
    /// Whether a message sent now would have left before frames are due at `edge`.
    ///
    /// # Errors
    /// It would not have left. The error is the time at which to ask again.
    pub fn may_send(&self, edge: Time, now: Time) -> Result<(), Time> {
        if self.free_at > now {
            return Err(self.free_at);
        }
        let gone = now.after(self.longest());
        if now < edge && gone > edge { Err(edge) } else { Ok(()) }
    }
    /// How long the longest message takes.
    pub fn longest(&self) -> Time {
        self.pace.time_for(LONGEST)
    }
    pub fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::PAUSE_FRAMES, self.frames);
        counters.add(counters::PAUSE_FRAME_BYTES, self.frame_bytes);
        counters.add(counters::DIRECTIVES, self.messages);
        counters.add(counters::CONTROL_BYTES_SENT, self.bytes);
    }
}
