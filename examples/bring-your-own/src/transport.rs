//! Congestion control: one more segment for each window that is acknowledged, and a quarter less at a loss or mark.

use crate::Calls;
use serde::Deserialize;
use slotline::prelude::*;

pub static CALLS: Calls = Calls::none();

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    /// The window never grows beyond so many segments.
    most: u32,
}

/// The state of one connection.
#[derive(Clone, Debug)]
pub struct Gentle {
    window: u32,
    most: u32,
    /// Segments acknowledged since the window last grew.
    acked: u32,
    /// No reduction before this time: one for each round trip.
    calm: Time,
}

pub fn factory(options: &Options) -> Result<impl Fn(u32) -> Gentle + use<>, SpecError> {
    let Keys { most } = options.read()?;
    if most == 0 {
        return Err(SpecError::new("most", "`most` is 0: nothing could be sent"));
    }
    Ok(move |window: u32| Gentle { window: window.min(most), most, acked: 0, calm: Time::ZERO })
}

impl Congestion for Gentle {
    fn on_ack(&mut self, ack: &Ack, now: Time) {
        CALLS.count();
        if ack.echo && now >= self.calm {
            self.calm = now + ack.srtt;
            self.window = (self.window * 3 / 4).max(1);
        }
        self.acked += ack.acked;
        if self.acked >= self.window && ack.limited && !ack.recovering {
            self.acked = 0;
            self.window = (self.window + 1).min(self.most);
        }
    }
    fn on_loss(&mut self, loss: Loss, _now: Time) {
        self.window = match loss {
            Loss::Fast { .. } => (self.window * 3 / 4).max(1),
            Loss::Timeout { .. } => 1,
        };
    }
    fn restart(&mut self, initial_window: u32) {
        self.window = self.window.min(initial_window);
    }
    fn window(&self) -> u32 {
        self.window
    }
}
