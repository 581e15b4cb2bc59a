//! Records of the permissions that central schedulers give.

use crate::id::HostId;
use crate::time::Time;
use crate::units::Rate;

/// A change of a host's permissions, for the record. Nothing depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// `host` may send to `dst` until `until`. This replaces its earlier permission for `dst`.
    Permitted {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
        /// End of the permission; [`Time::MAX`] if it has no end.
        until: Time,
        /// Its rate limit; `None` for the rate of the host's link.
        rate: Option<Rate>,
    },
    /// A circuit connects one rack to another. The first host of each rack stands for it.
    Circuit {
        /// The first host of the rack where it begins.
        host: HostId,
        /// The first host of the rack where it ends.
        dst: HostId,
        /// When the circuit ends.
        until: Time,
    },
    /// `host` may no longer send to `dst`.
    Withdrawn {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
    },
    /// `host` may no longer send to any destination except `except`.
    AllWithdrawn {
        /// The sending host.
        host: HostId,
        /// The one destination whose permission stays.
        except: Option<HostId>,
    },
    /// `host` accepted the grant of a timeslot. Unlike the others, this says nothing of when it sends.
    Timeslot {
        /// The sending host.
        host: HostId,
        /// The destination.
        dst: HostId,
        /// The number of the timeslot.
        slot: u64,
    },
}

impl Note {
    /// The sending host that the note is about.
    pub fn host(&self) -> HostId {
        match *self {
            Note::Permitted { host, .. }
            | Note::Circuit { host, .. }
            | Note::Withdrawn { host, .. }
            | Note::AllWithdrawn { host, .. }
            | Note::Timeslot { host, .. } => host,
        }
    }
}
