//! A central scheduler: pairs of hosts take turns, first come, first served.

use serde::Deserialize;
use slotline::prelude::*;

/// The options in a scenario.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    slice: Time,
}

/// A sender and a receiver.
type Pair = (HostId, HostId);

/// No host sends to two others at once, and none receives from two.
pub struct Turns {
    slice: Time,
    /// Pairs with packets waiting, the longest wait first.
    waiting: Vec<Pair>,
    /// Pairs whose turn it is, and until when.
    sending: Vec<(Pair, Time)>,
    /// Hosts that reported and expect an answer.
    reported: Vec<HostId>,
}

/// Reads the options, and returns a function that makes a scheduler for a network.
pub fn factory(options: &Options) -> Result<impl Fn(Network) -> Turns + use<>, SpecError> {
    let Keys { slice } = options.read()?;
    Ok(move |_network| Turns { slice, waiting: vec![], sending: vec![], reported: vec![] })
}

impl Turns {
    /// What a host may do now: send to its receiver, or wait.
    fn window(&self, src: HostId, now: Time) -> Decision {
        let turn = self.sending.iter().find(|((from, _), _)| *from == src);
        let dst = turn.map(|((_, to), _)| *to);
        Decision::Window { src, dst, until: turn.map_or(now, |(_, until)| *until), rate: None }
    }
}

impl Control for Turns {
    fn observe(&mut self, news: &News<'_>, _now: Time) {
        let src = news.host();
        let is_over = |pair: &Pair| match *news {
            News::Joined(_) | News::Left(_) => pair.0 == src,
            News::Released { dst, .. } => *pair == (src, dst),
            _ => false,
        };
        self.sending.retain(|(pair, _)| !is_over(pair));
        self.waiting.retain(|pair| !is_over(pair));
        let News::Backlog { destinations, .. } = *news else { return };
        self.waiting.retain(|(from, to)| *from != src || destinations.contains(to));
        for pair in destinations.iter().map(|dst| (src, *dst)) {
            let sends = self.sending.iter().any(|(sending, _)| *sending == pair);
            if !sends && !self.waiting.contains(&pair) {
                self.waiting.push(pair);
            }
        }
        self.reported.push(src);
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        // Who has more to send when its turn is over reports it, and waits again.
        self.sending.retain(|(_, until)| *until > now);
        for pair in std::mem::take(&mut self.waiting) {
            if self.sending.iter().all(|((from, to), _)| *from != pair.0 && *to != pair.1) {
                self.sending.push((pair, now.after(self.slice)));
                self.reported.push(pair.0);
            } else {
                self.waiting.push(pair);
            }
        }
        let answered = std::mem::take(&mut self.reported);
        plan.extend(answered.into_iter().map(|host| self.window(host, now)));
        self.sending.iter().map(|(_, until)| *until).min()
    }
}
