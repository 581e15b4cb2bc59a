//! A workload: every host sends to the hosts next to it, at random times.

use crate::Calls;
use serde::Deserialize;
use slotline::prelude::*;

pub static CALLS: Calls = Calls::none();

/// The options, as the scenario has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Neighbours {
    /// So many neighbours on one side get data.
    reach: u32,
    /// Bytes of each flow.
    size: Bytes,
    /// Flows begin before this time.
    within: Time,
}

impl Generate for Neighbours {
    fn generate(&self, job: &mut Job) -> Result<(), SpecError> {
        CALLS.count();
        let hosts = job.setting.fabric.hosts.len() as u32;
        if self.reach == 0 || self.reach >= hosts {
            return Err(SpecError::new("reach", format!("`reach` is from 1 to {}", hosts - 1)));
        }
        for src in 0..hosts {
            for step in 1..=self.reach {
                let conn = job.tcp(HostId(src), HostId((src + step) % hosts), 0)?;
                let start = Time::ps(job.rng.below(self.within.as_ps().max(1)));
                job.send(conn, self.size, Start::At(start), None)?;
            }
        }
        Ok(())
    }
}
