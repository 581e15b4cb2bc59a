//! Everything a scenario can name.

use slotline_net::workload::DISTRIBUTIONS;
use std::fmt::Write;

/// A kind of thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `[fabric]`.
    Topology,
    /// `[[workload]]`.
    Workload,
    /// Flow sizes of a workload.
    Distribution,
    /// `routing` of a scheme.
    Routing,
    /// `queue` of a scheme.
    Queue,
    /// `transport` of a scheme.
    Transport,
    /// `control` of a scheme.
    Control,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 7] = [
        Kind::Topology,
        Kind::Workload,
        Kind::Distribution,
        Kind::Routing,
        Kind::Queue,
        Kind::Transport,
        Kind::Control,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Topology => "topology",
            Kind::Workload => "workload",
            Kind::Distribution => "distribution",
            Kind::Routing => "routing",
            Kind::Queue => "queue",
            Kind::Transport => "transport",
            Kind::Control => "control",
        }
    }

    /// Where a scenario names it.
    fn place(self) -> &'static str {
        match self {
            Kind::Topology => "kind in [fabric]",
            Kind::Workload => "kind in [[workload]]",
            Kind::Distribution => "sizes of a poisson workload; also a size, or a file",
            Kind::Routing => "routing in [[scheme]]",
            Kind::Queue => "queue in [[scheme]]",
            Kind::Transport => "transport in [[scheme]]",
            Kind::Control => "control in [[scheme]]",
        }
    }

    /// Name and description of each.
    pub fn entries(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Kind::Topology => vec![],
            Kind::Workload => vec![],
            Kind::Distribution => {
                DISTRIBUTIONS.iter().map(|(name, _)| (*name, "published flow sizes")).collect()
            }
            Kind::Routing => vec![],
            Kind::Queue => vec![],
            Kind::Transport => vec![],
            Kind::Control => vec![],
        }
    }
}

/// The list, of one kind or of all.
pub fn text(only: Option<Kind>) -> String {
    let mut out = String::new();
    for kind in Kind::ALL.into_iter().filter(|kind| only.is_none_or(|only| only == *kind)) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{} ({})", kind.name(), kind.place());
        for (name, about) in kind.entries() {
            let _ = writeln!(out, "  {name:<18} {about}");
        }
        out.push('\n');
    }
    out
}
