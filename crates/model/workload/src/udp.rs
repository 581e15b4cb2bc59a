//! Datagrams at a constant rate, on and off, or as a Poisson process.

use super::job::Job;
use super::options::options;
use super::spec::Generate;
use super::{Carrier, Hosts, Start};
use serde::{Deserialize, Serialize};
use slotline_base::error::SpecError;
use slotline_base::id::HostId;
use slotline_base::time::Time;
use slotline_base::units::{Bytes, Rate};
use std::fmt;
use std::str::FromStr;

/// The rate of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pacing {
    /// `"line"`: the rate of its link.
    Line,
    /// A rate on the wire.
    At(Rate),
}

impl schemars::JsonSchema for Pacing {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "pacing".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        slotline_base::schema::word_or::<Rate>(generator, "line")
    }
}

impl FromStr for Pacing {
    type Err = String;
    fn from_str(text: &str) -> Result<Pacing, String> {
        if text == "line" {
            return Ok(Pacing::Line);
        }
        text.parse().map(Pacing::At).map_err(|e| format!("{e}, or \"line\""))
    }
}
impl TryFrom<String> for Pacing {
    type Error = String;
    fn try_from(text: String) -> Result<Pacing, String> {
        text.parse()
    }
}
impl From<Pacing> for String {
    fn from(pacing: Pacing) -> String {
        pacing.to_string()
    }
}
impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pacing::Line => f.write_str("line"),
            Pacing::At(rate) => rate.fmt(f),
        }
    }
}

options! {
    /// Each sender sends datagrams to one receiver, without feedback. Receivers are assigned to senders in turn.
    Udp {
        /// Hosts that send.
        senders: Hosts = Hosts::Count(1),
        /// Hosts that receive. Unless they are listed, they are taken from the hosts that do not send.
        receivers: Hosts = Hosts::Count(1),
        /// Rate of each sender, while on.
        rate: Pacing = Pacing::Line,
        /// Bytes of a message, at most 65,507. A message that exceeds one packet is fragmented.
        message: Bytes = Bytes(1_400),
        /// Length of a burst; only with `off`.
        on: Time = Time::ZERO,
        /// Silence between bursts. If it is 0, the rate is constant.
        off: Time = Time::ZERO,
        /// Whether datagrams are a Poisson process instead of evenly spaced.
        poisson: bool = false,
        /// By how much the clocks of senders diverge in a second, at most 100 ms: each is fast or slow by at most half of
        /// this, at random, and so is the sender's rate. Default: exact clocks.
        #[serde(skip_serializing_if = "Option::is_none")]
        clock_drift: Option<Time> = None,
        /// When senders stop, computed from the payload: with headers, sending lasts slightly longer. Default: the
        /// end of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time> = None,
        /// When senders begin.
        start: Time = Time::ZERO,
        /// Priority class, 0 to 7.
        #[schemars(range(max = 7))]
        class: u8 = 0,
    }
}

impl Udp {
    fn message(&self) -> Result<u32, SpecError> {
        // 65,535 less the headers of IPv4 and UDP (RFC 768).
        if (1..=65_507).contains(&self.message.0) {
            return Ok(self.message.0 as u32);
        }
        Err(SpecError::new(
            "message",
            format!("`message` = {}: a datagram carries 1B to 65507B", self.message),
        ))
    }

    fn rate(&self, line: Rate) -> Result<Rate, SpecError> {
        match self.rate {
            Pacing::At(Rate(0)) => {
                Err(SpecError::new("rate", "`rate` = 0bps: a sender needs a rate"))
            }
            Pacing::At(rate) => Ok(rate.min(line)),
            Pacing::Line => Ok(line),
        }
    }

    /// The rate of a sender whose clock differs from the exact one.
    fn by_own_clock(&self, rate: Rate, job: &mut Job) -> Result<Rate, SpecError> {
        let Some(drift) = self.clock_drift else { return Ok(rate) };
        SpecError::unless(drift <= Time::ms(100), "clock-drift", drift, || "at most 100ms".into())?;
        let gained = drift.as_secs_f64() * (job.rng.unit() - 0.5);
        Ok(Rate((rate.0 as f64 * (1.0 + gained)) as u64))
    }

    /// The part of `span` in which a sender is on.
    fn active(&self, span: Time) -> Result<Time, SpecError> {
        if self.off == Time::ZERO {
            return Ok(span);
        }
        if self.on == Time::ZERO {
            return Err(SpecError::new(
                "on",
                "`on` = 0s: bursts need a length where `off` is given",
            ));
        }
        let cycle = self.on.after(self.off).as_ps();
        let (cycles, rest) = (span.as_ps() / cycle, Time::ps(span.as_ps() % cycle));
        Ok(self.on.times(cycles).after(rest.min(self.on)))
    }

    fn stream(
        &self,
        job: &mut Job,
        src: HostId,
        dst: HostId,
        active: Time,
    ) -> Result<(), SpecError> {
        let (exact, message) = (self.rate(job.place(src).rate)?, self.message()?);
        let rate = self.by_own_clock(exact, job)?;
        let carrier =
            Carrier::Udp { rate, message, on: self.on, off: self.off, poisson: self.poisson };
        let conn = job.out.connect(src, dst, carrier, self.class)?;
        job.send(
            conn,
            Bytes(rate.inverse_rate().bytes_in(active).max(1)),
            Start::At(self.start),
            None,
        )
    }
}

impl Generate for Udp {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        let (senders, receivers) = job.disjoint(&self.senders, &self.receivers)?;
        let active = self.active(job.end(self.start, self.until)?.since(self.start))?;
        let to = receivers.iter().cycle();
        senders.iter().zip(to).try_for_each(|(&src, &dst)| self.stream(job, src, dst, active))
    }
}

#[cfg(test)]
mod tests {
    use super::super::WorkloadSpec;
    use super::super::testing::{endless, fabric, made, refusal};
    use super::*;

    fn spec() -> Udp {
        Udp { until: Some(Time::ms(1)), ..Udp::default() }
    }

    #[test]
    fn streams_have_the_rate_and_last_until_the_end() {
        let (senders, receivers) = (Hosts::Count(3), "8,9".parse().unwrap());
        let rate = "1Gbps".parse().unwrap();
        let traffic =
            made(&WorkloadSpec::Udp(Udp { senders, receivers, rate, ..spec() }), &fabric());
        let ends: Vec<_> = traffic.conns.iter().map(|c| (c.src.0, c.dst.0)).collect();
        assert_eq!(ends, [(0, 8), (1, 9), (2, 8)]);
        assert!(traffic.flows.iter().all(|flow| flow.bytes == 125_000));
        let line = made(&WorkloadSpec::Udp(spec()), &fabric());
        let Carrier::Udp { rate, .. } = line.conns[0].carrier else { panic!("not UDP") };
        assert_eq!((rate, line.flows[0].bytes), (Rate(10_000_000_000), 1_250_000));
    }

    #[test]
    fn clocks_differ_by_at_most_the_drift() {
        let rate = "1Gbps".parse().unwrap();
        let clock_drift = Some(Time::ms(10));
        let senders = Hosts::Count(8);
        let udp = Udp { senders, receivers: "9".parse().unwrap(), rate, clock_drift, ..spec() };
        let traffic = made(&WorkloadSpec::Udp(udp.clone()), &fabric());
        let rate = |carrier: &Carrier| match carrier {
            Carrier::Udp { rate, .. } => rate.0,
            Carrier::Tcp => panic!("not UDP"),
        };
        let mut rates: Vec<u64> = traffic.conns.iter().map(|conn| rate(&conn.carrier)).collect();
        assert!(rates.iter().all(|rate| (995_000_000..=1_005_000_000).contains(rate)), "{rates:?}");
        rates.sort_unstable();
        rates.dedup();
        assert_eq!(rates.len(), 8);
        let wrong = Udp { clock_drift: Some(Time::s(1)), ..udp };
        assert!(refusal(&WorkloadSpec::Udp(wrong), &fabric()).contains("at most 100ms"));
    }

    #[test]
    fn bursts_count_only_while_on() {
        let bursts = Udp { on: Time::us(100), off: Time::us(200), ..spec() };
        // Three whole cycles and 100 us of the fourth: 400 us on.
        assert_eq!(made(&WorkloadSpec::Udp(bursts), &fabric()).flows[0].bytes, 500_000);
    }

    #[test]
    fn contradictions_are_refused() {
        let no = |spec| refusal(&WorkloadSpec::Udp(spec), &fabric());
        assert!(no(Udp { off: Time::us(1), ..spec() }).contains("need a length"));
        assert!(no(Udp { message: Bytes(70_000), ..spec() }).contains("65507B"));
        assert!(no(Udp { rate: Pacing::At(Rate(0)), ..spec() }).contains("needs a rate"));
        let forever = WorkloadSpec::Udp(Udp { until: None, ..spec() });
        assert!(endless(&forever).unwrap_err().to_string().contains("no end time"));
        assert!(no(Udp { senders: Hosts::All, ..spec() }).contains("0 to choose from"));
        assert!("fast".parse::<Pacing>().unwrap_err().contains("\"line\""));
    }
}
