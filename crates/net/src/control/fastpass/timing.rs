//! Timeslots in the units of time and bytes.

use super::allocate::BATCH;
use super::spec::Fastpass;
use crate::control::Surroundings;
use crate::error::SpecError;
use crate::id::HostId;
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
    /// The slowest host's rate.
    pub slowest: Rate,
}

impl Timing {
    /// For a network and its largest packet.
    ///
    /// # Errors
    /// Hosts with several network cards or of different rates; a timeslot too short for a packet.
    pub fn new(options: &Fastpass, around: &Surroundings<'_>) -> Result<Timing, SpecError> {
        let spec = options.spec();
        let slowest = host_rate(around)?;
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
        Ok(Timing { slot, capacity, lead: spec.lead, slowest })
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

/// The rate that all hosts have.
fn host_rate(around: &Surroundings<'_>) -> Result<Rate, SpecError> {
    let mut known: Option<(HostId, Rate)> = None;
    let name = |host: HostId| &around.graph.nodes[around.graph.hosts[host.at()].at()].name;
    for host in (0..around.hosts() as u32).map(HostId) {
        let wires = around.wiring.of(around.graph.hosts[host.at()]);
        let [wire] = wires else {
            let message = format!(
                "fastpass schedules hosts with one network card, but {} has {}: set nics = 1 in the \
                 fabric",
                name(host),
                wires.len()
            );
            return Err(SpecError::new("control", message));
        };
        let back = around.wiring.of(wire.far.node)[wire.far.port.at()].lane.rate;
        let (first, rate) = *known.get_or_insert((host, wire.lane.rate));
        if let Some(other) = [wire.lane.rate, back].into_iter().find(|&other| other != rate) {
            let message = format!(
                "fastpass needs hosts of one rate, but {} has {rate} and {} has {other}",
                name(first),
                name(host)
            );
            return Err(SpecError::new("control", message));
        }
    }
    known.map(|(_, rate)| rate).ok_or_else(|| SpecError::new("control", "no hosts"))
}
