//! The clock of an emulation: network time that runs slower than real time by a factor.

use slotline_net::time::Time;
use std::time::{Duration, Instant};

/// The factor by which network time runs slower than real time, at least 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dilation {
    /// In thousandths, so that all conversions are exact integers.
    thousandths: u32,
}

impl Dilation {
    /// Network time equals real time.
    pub const NONE: Dilation = Dilation { thousandths: 1_000 };
    /// The greatest factor.
    pub const MOST: f64 = 100_000.0;

    /// A factor from 1 to [`Dilation::MOST`], rounded to thousandths; `None` for any other.
    pub fn new(factor: f64) -> Option<Dilation> {
        let valid = (1.0..=Dilation::MOST).contains(&factor);
        valid.then(|| Dilation { thousandths: (factor * 1e3).round() as u32 })
    }
    /// The factor as a number.
    pub fn factor(self) -> f64 {
        f64::from(self.thousandths) / 1e3
    }
    /// The factor as numerator and denominator.
    pub fn ratio(self) -> (u64, u64) {
        (self.thousandths.into(), 1_000)
    }
    /// The network time that passes in a real span.
    pub fn network(self, real: Duration) -> Time {
        let ps = real.as_nanos() * 1_000_000 / u128::from(self.thousandths);
        Time::ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
    /// The real span in which `network` time passes, rounded up.
    pub fn real(self, network: Time) -> Duration {
        let ns = (u128::from(network.as_ps()) * u128::from(self.thousandths)).div_ceil(1_000_000);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Network time, counted from a real instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    dilation: Dilation,
}

impl Clock {
    /// A clock whose network time zero is now.
    pub fn start(dilation: Dilation) -> Clock {
        Clock { origin: Instant::now(), dilation }
    }
    /// The present network time.
    pub fn now(&self) -> Time {
        self.dilation.network(self.origin.elapsed())
    }
    /// The network time at a real instant; `None` if that was before network time began.
    pub fn at(&self, instant: Instant) -> Option<Time> {
        instant.checked_duration_since(self.origin).map(|real| self.dilation.network(real))
    }
    /// The real time until `at`; zero if `at` is in the past.
    pub fn until(&self, at: Time) -> Duration {
        self.dilation.real(at).saturating_sub(self.origin.elapsed())
    }
    /// The real time since `at`; zero if `at` is in the future.
    pub fn since(&self, at: Time) -> Duration {
        self.origin.elapsed().saturating_sub(self.dilation.real(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_exact_and_inverse() {
        let twenty = Dilation::new(20.0).unwrap();
        assert_eq!(twenty.network(Duration::from_millis(20)), Time::ms(1));
        assert_eq!(twenty.real(Time::ms(1)), Duration::from_millis(20));
        assert_eq!(
            twenty.network(Duration::from_secs(86_400 * 365)).as_ps() / 1_000_000_000_000,
            1_576_800
        );
        assert_eq!(Dilation::NONE.network(Duration::from_nanos(7)), Time::ns(7));
        assert_eq!(Dilation::new(2.5).unwrap().real(Time::ns(2)), Duration::from_nanos(5));
        assert_eq!([0.5, f64::NAN, 2e5].map(Dilation::new), [None; 3]);
    }
}
