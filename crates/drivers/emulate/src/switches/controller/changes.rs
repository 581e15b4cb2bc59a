//! What the events of a scenario change in real switches.

use super::{Change, Controller, End, Rate, Time};
use slotline_net::route::Routes;
use std::io;
use std::sync::Arc;

impl<'a> Controller<'a> {
    /// Carries out the changes that are due.
    pub(super) fn change(&mut self, now: Time) -> io::Result<()> {
        while let Some((_, node, change)) = self.changes.pop_front_if(|(at, ..)| *at <= now) {
            let end = |port| End { node: *node, port };
            match change {
                Change::Down(port) => self.set_link(end(*port), false)?,
                Change::Up(port) => self.set_link(end(*port), true)?,
                Change::Rate(port, rate) => self.set_rate(end(*port), *rate, now)?,
                Change::Routes(routes) => self.reroute(routes, now)?,
                // For stations, and for schemes whose hosts say that they leave: there are none.
                Change::Elsewhere(..)
                | Change::Stop
                | Change::Restart
                | Change::Leave
                | Change::Join => {}
            }
        }
        Ok(())
    }

    /// Lets packets pass an end of a link, or drops them.
    fn set_link(&mut self, end: End, works: bool) -> io::Result<()> {
        let changes = self.entries.link(end, works);
        self.send(changes);
        self.carry_out()
    }

    fn set_rate(&mut self, end: End, rate: Rate, now: Time) -> io::Result<()> {
        self.rates.insert((end.node, end.port), rate);
        if let Some(own) = &mut self.chooser {
            own.scheme.set_rate(end, rate, now);
        }
        self.network.cables(self.entries.graph, self.entries.wiring).set_rate(end, rate)
    }

    /// Gives all switches other routes, which a timeline has once for each node.
    fn reroute(&mut self, routes: &'a Arc<Routes>, now: Time) -> io::Result<()> {
        if std::ptr::eq(self.entries.routes, &**routes) {
            return Ok(());
        }
        self.entries.routes = routes;
        self.again = !self.again;
        if let Some(own) = &mut self.chooser {
            own.scheme.reroute(routes, now);
        }
        for (node, channel) in &mut self.network.channels {
            for body in self.entries.new_routes(*node, self.again) {
                channel.send(body);
            }
        }
        self.carry_out()?;
        let conns: Vec<u32> = self.entries.connections().collect();
        for conn in conns {
            let path = self.paths.get(&conn).map(|(path, _)| *path);
            let entries = self.entries.rerouted(conn, path);
            self.send(entries);
        }
        self.carry_out()
    }
}
