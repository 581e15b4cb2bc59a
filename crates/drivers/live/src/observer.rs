//! The daemon on a switch of a network that arbiters discover: it tells them the switch's neighbours, and is a witness of
//! their election. It has no node, and leaves packets alone.

use crate::channel::{Channel, Peer};
use crate::clock::Local;
use crate::election::Standby;
use crate::lease::Witness;
use crate::message::Message;
use crate::neighbours::{Heard, OwnCable, Reports};
use crate::renewal::{Renewal, Request};
use crate::running::{Running, waiting_list};
use crate::status::{ObserverStatus, Shared};
use slotline_envelope::KeyPair;
use slotline_linux::wait;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The largest number of messages handled before other work has its turn.
const BURST: usize = 64;
/// The longest sleep. It bounds the time until a request to stop is noticed.
const NAP: Duration = Duration::from_millis(20);
/// The interval at which arbiters are asked for a sign of life, and the time within which they give one.
const ASKS: Duration = Duration::from_secs(1);
const PRESENT: Duration = Duration::from_secs(3);

/// The configuration of an observer.
pub struct ObserverSetup {
    /// The address on which it listens.
    pub address: SocketAddr,
    /// The private key of the machine.
    pub key: KeyPair,
    /// The arbiters.
    pub arbiters: Vec<Peer>,
    /// The cables of the machine.
    pub heard: Arc<Heard>,
    /// The time after which a silent one of two arbiters is replaced.
    pub timeout: Option<Duration>,
}

/// A running observer.
pub struct Observer {
    setup: ObserverSetup,
    channel: Channel,
    witness: Witness,
    reports: Reports,
    asks: Local,
}

impl Observer {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(setup: ObserverSetup, now: Local) -> io::Result<Observer> {
        let channel = Channel::open(setup.address, setup.key.clone(), &setup.arbiters, now)?;
        let lease = setup.timeout.map_or(Duration::ZERO, Standby::lease);
        let (witness, reports) = (Witness::new(lease, now), Reports::default());
        Ok(Observer { setup, channel, witness, reports, asks: now })
    }

    /// Runs until it is requested to stop.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn run(mut self, running: &Running, shared: &Shared<ObserverStatus>) -> io::Result<()> {
        let list = waiting_list(&[self.channel.readable()])?;
        while !running.stopped() {
            let now = running.now();
            shared.carry_out(|request| self.carry_out(request, now));
            let next = self.round(now)?;
            shared.show(|| self.status(now));
            if !next.is_zero() {
                wait::sleep(&list, next.min(NAP))?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, request: Request, now: Local) -> Result<(), String> {
        let Request::Renew(renewal) = request else {
            return Err("this daemon only tells its neighbours".into());
        };
        let Renewal { key, peers, .. } = *renewal;
        self.channel.renew(&key, &peers, now).map_err(|error| error.to_string())?;
        self.setup.arbiters = peers;
        Ok(())
    }

    /// Does everything that is due. Returns the time until there is more to do.
    fn round(&mut self, now: Local) -> io::Result<Duration> {
        for _ in 0..BURST {
            let Some((from, message)) = self.channel.receive(now)? else { break };
            let at = self.setup.arbiters.iter().position(|peer| peer.number == from);
            if let (Message::Ask(ask), Some(at), true) = (message, at, self.setup.timeout.is_some())
            {
                let answer = self.witness.answer(at, &ask, now);
                self.channel.send(from, &Message::Answer(answer), now);
            }
        }
        if now >= self.asks {
            self.asks = now.after(ASKS);
            for arbiter in &self.setup.arbiters {
                self.channel.expect(arbiter.number, now);
                self.channel.send(arbiter.number, &Message::TimeRequest(now), now);
            }
        }
        let Observer { setup, channel, reports, .. } = self;
        let next = reports.attend(&setup.heard, channel, &setup.arbiters, now);
        Ok(next.min(self.asks.since(now)).min(self.channel.attend(now)))
    }

    fn status(&self, now: Local) -> ObserverStatus {
        let name = |OwnCable { port, far, machine }: OwnCable| {
            format!("{port}: {far} of machine {machine}")
        };
        ObserverStatus {
            cables: self.setup.heard.now().map(|cables| cables.into_iter().map(name).collect()),
            arbiters: self.channel.present(PRESENT, now),
            refused: self.channel.refused(),
            lost_messages: self.channel.lost(),
        }
    }
}
