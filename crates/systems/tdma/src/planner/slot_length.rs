//! The length of the slots of a round.

use crate::demand::Sizes;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// The number of lengths that are tried. Each is shorter than the one before by the same factor.
const TRIED: u32 = 24;

/// The slot length, within `range`, with which `sizes` takes the least time in slots and guard times together, if
/// senders have links of `rate`. Among lengths that take equal time, it is the longest. So slots are as long as
/// possible, unless their unused time costs more than the guard times of shorter slots would (§4.1).
pub(super) fn best(sizes: &Sizes, rate: Rate, range: (Time, Time), guard: Time) -> Time {
    let (shortest, longest) = range;
    let grid = (0..=TRIED).map(|step| between(shortest, longest, step));
    let fitting = sizes.iter().filter(|size| size.pairs > 0).map(|size| {
        let mean = (size.bytes / u128::from(size.pairs)) as f64;
        Time::from_secs_f64(mean * 8.0 / rate.0.max(1) as f64).after(Time::ns(1))
    });
    let tried = grid.chain(fitting).filter(|slot| (shortest..=longest).contains(slot));
    let cost = |slot: Time| cost(sizes, rate.inverse_rate().bytes_in(slot).max(1), slot + guard);
    tried.map(|slot| (cost(slot), std::cmp::Reverse(slot))).min().map_or(longest, |best| best.1.0)
}

fn between(shortest: Time, longest: Time, step: u32) -> Time {
    let ratio = longest.as_ps() as f64 / shortest.as_ps().max(1) as f64;
    let power = libm::pow(ratio, f64::from(TRIED - step) / f64::from(TRIED));
    Time::ps((shortest.as_ps() as f64 * power) as u64).min(longest)
}

/// The time of the slots for all pairs, one after another, in picoseconds.
fn cost(sizes: &Sizes, slot_bytes: u64, slot: Time) -> u128 {
    let slots: u128 = sizes
        .iter()
        .filter(|size| size.pairs > 0)
        .map(|size| {
            let mean = size.bytes / u128::from(size.pairs);
            u128::from(size.pairs) * mean.div_ceil(u128::from(slot_bytes))
        })
        .sum();
    slots.saturating_mul(slot.as_ps().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Demand;
    use slotline_net::id::HostId;

    fn slot(waiting: &[u64]) -> Time {
        let mut demand = Demand::new(waiting.len() + 1);
        for (dst, &bytes) in waiting.iter().enumerate() {
            demand.set(HostId(waiting.len() as u32), HostId(dst as u32), bytes);
        }
        let range = (Time::us(50), Time::us(1_000));
        best(demand.sizes(), Rate(10_000_000_000), range, Time::us(15))
    }

    #[test]
    fn slots_are_as_long_as_demand_fills_them() {
        assert_eq!(slot(&[]), Time::ms(1));
        assert_eq!(slot(&[1_000_000_000; 4]), Time::ms(1));
        assert_eq!(slot(&[1_500; 4]), Time::us(50));
        // 125 KB take 100 us. One slot of that length serves a pair without unused time.
        assert_eq!(slot(&[125_000; 4]), Time::us(100) + Time::ns(1));
        // Most bytes are in large demands.
        assert_eq!(slot(&[1_000_000_000, 1_500]), Time::ms(1));
        // The unused time of many small demands costs more than guard times.
        let mut many = vec![1_500; 60];
        many.push(2_500_000);
        assert!(slot(&many) < Time::us(200));
    }
}
