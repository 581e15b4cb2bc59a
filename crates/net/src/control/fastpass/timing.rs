//! Timeslots in the units of time and bytes.

use super::allocate::BATCH;
use super::spec::Fastpass;
use crate::control::Surroundings;
use crate::error::SpecError;
use crate::time::Time;
use crate::units::Rate;

/// What all parts agree on: timeslot `n` begins at `n` times its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Length of a timeslot.
    pub slot: Time,
    /// Bytes on the wire that a timeslot carries.
    pub capacity: u32,
    /// How long before it begins a batch of timeslots is allocated.
    pub lead: Time,
    /// Over how long hosts are told one after the other.
    pub telling: Time,
    /// The slowest host's rate.
    pub slowest: Rate,
}

impl Timing {
    /// For a network and its largest packet.
    ///
    /// # Errors
    /// Hosts with several network cards, or that receive faster than they send; a timeslot too short for a packet.
    pub fn new(options: &Fastpass, around: &Surroundings<'_>) -> Result<Timing, SpecError> {
        let spec = options.spec();
        let slowest = host_rates(around)?.into_iter().min();
        let slowest = slowest.ok_or_else(|| SpecError::new("control", "no hosts"))?;
        let packet = largest(around);
        let shares = 1.0 - spec.reserve;
        let needed = Time::from_secs_f64(slowest.pace().time_for(packet).as_secs_f64() / shares);
        // To the next nanosecond.
        let needed = Time::ns(needed.as_ps().div_ceil(1_000));
        let slot = spec.slot.unwrap_or(needed);
        if slot < needed {
            return Err(SpecError::new(
                "control.slot",
                format!(
                    "`slot` is {slot}, but a full packet of {packet} B takes {needed} at {slowest}, \
                     with {} of the timeslot in reserve",
                    spec.reserve
                ),
            ));
        }
        if spec.processing >= slot.times(BATCH.into()) {
            return Err(SpecError::new(
                "control.processing",
                format!(
                    "`processing` is {}, but it has to be below {BATCH} timeslots of {slot}",
                    spec.processing
                ),
            ));
        }
        let share = Time::ps((slot.as_ps() as f64 * shares) as u64);
        let capacity = slowest.pace().bytes_in(share).max(packet).min(u32::MAX.into()) as u32;
        // Half of the time that there is before the batch begins, and before the next one is allocated.
        let room = spec.lead.min(slot.times(BATCH.into())).since(spec.processing);
        let telling = Time::ps(room.as_ps() / 2);
        Ok(Timing { slot, capacity, lead: spec.lead, telling, slowest })
    }
    /// When a timeslot begins.
    #[inline]
    pub const fn start(&self, slot: u64) -> Time {
        self.slot.times(slot)
    }
    /// The first batch that can still be allocated at `now`.
    pub const fn next_batch(&self, now: Time) -> u64 {
        let batch = self.slot.as_ps() * BATCH as u64;
        now.after(self.lead).as_ps().div_ceil(batch)
    }
    /// When to allocate a batch; its first timeslot is 64 times its number.
    pub const fn allocation(&self, batch: u64) -> Time {
        self.start(batch * BATCH as u64).since(self.lead)
    }
}

/// Bytes of the largest packet on the wire.
fn largest(around: &Surroundings<'_>) -> u64 {
    let transport = &around.plan.transport;
    u64::from(transport.data_len(transport.mss()))
}

/// The rate of each host's link, which is the same both ways.
fn host_rates(around: &Surroundings<'_>) -> Result<Vec<Rate>, SpecError> {
    let rate = |host: usize| {
        let node = around.graph.hosts[host];
        let name = &around.graph.nodes[node.at()].name;
        let [wire] = around.wiring.of(node) else {
            let cards = around.wiring.of(node).len();
            let message = format!(
                "fastpass schedules hosts with one network card, but {name} has {cards}: set nics = 1 \
                 in the fabric"
            );
            return Err(SpecError::new("control", message));
        };
        let back = around.wiring.of(wire.far.node)[wire.far.port.at()].lane.rate;
        if back != wire.lane.rate {
            let message = format!(
                "fastpass needs hosts that receive as fast as they send, but {name} sends at {} and \
                 receives at {back}",
                wire.lane.rate
            );
            return Err(SpecError::new("control", message));
        }
        Ok(back)
    };
    (0..around.hosts()).map(rate).collect()
}

/// By host, packets per timeslot: how often the slowest host's rate goes into its own.
///
/// # Errors
/// As [`Timing::new`]; a host that is more than 65,535 times as fast.
pub fn lanes(around: &Surroundings<'_>) -> Result<Vec<u16>, SpecError> {
    let rates = host_rates(around)?;
    let slowest = rates.iter().min().map_or(1, |rate| rate.0.max(1));
    let lanes = |rate: &Rate| {
        let message = format!("{rate} is too fast beside the slowest host");
        u16::try_from(rate.0 / slowest).map_err(|_| SpecError::new("control", message))
    };
    rates.iter().map(lanes).collect()
}
