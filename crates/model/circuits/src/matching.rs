//! A configuration of a circuit switch: which source each destination is connected to.

use crate::demand::MAX_RACKS;
use std::fmt;

/// A rack without a circuit.
pub(crate) const DARK: u16 = u16::MAX;

/// A partial permutation: each destination hears at most one source, each source reaches at most one
/// destination, and none is connected to itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// By destination.
    sources: Vec<u16>,
    /// By source.
    destinations: Vec<u16>,
}

/// Why circuits cannot exist at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchingError {
    /// More racks than there can be.
    Racks(usize),
    /// A source that there is not.
    NoSuchRack {
        /// The source named.
        source: usize,
        /// Where: the destination.
        destination: usize,
        /// Racks.
        racks: usize,
    },
    /// A source that two destinations have.
    Twice {
        /// The source.
        source: usize,
        /// Its destinations.
        destinations: [usize; 2],
    },
    /// A rack that is connected to itself.
    Itself(usize),
    /// A destination that has another source already.
    Taken(usize),
}

impl fmt::Display for MatchingError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            MatchingError::Racks(racks) => write!(f, "{racks} racks: at most {MAX_RACKS}"),
            MatchingError::NoSuchRack { source, destination, racks } => write!(
                f,
                "destination {destination} has source {source}: racks are 0 to {}, or -1 for none",
                racks.saturating_sub(1)
            ),
            MatchingError::Twice { source, destinations: [a, b] } => write!(
                f,
                "source {source} is at destinations {a} and {b}: a circuit leads to one rack"
            ),
            MatchingError::Itself(rack) => write!(f, "rack {rack} is connected to itself"),
            MatchingError::Taken(rack) => {
                write!(f, "destination {rack} has another source already")
            }
        }
    }
}

impl std::error::Error for MatchingError {}

impl Matching {
    /// No circuits between so many racks.
    pub fn dark(racks: usize) -> Matching {
        Matching { sources: vec![DARK; racks], destinations: vec![DARK; racks] }
    }
    /// From each destination's source, or none.
    pub fn new(sources: &[Option<usize>]) -> Result<Matching, MatchingError> {
        let racks = sources.len();
        if racks > MAX_RACKS {
            return Err(MatchingError::Racks(racks));
        }
        let mut matching = Matching::dark(racks);
        for (destination, source) in sources.iter().enumerate() {
            if let &Some(source) = source {
                matching.connect(source, destination)?;
            }
        }
        Ok(matching)
    }
    /// Racks.
    pub fn racks(&self) -> usize {
        self.sources.len()
    }
    /// Takes all circuits away, and has so many racks.
    pub fn clear(&mut self, racks: usize) {
        for side in [&mut self.sources, &mut self.destinations] {
            side.clear();
            side.resize(racks, DARK);
        }
    }
    /// Adds a circuit, if both ends are free.
    pub fn connect(&mut self, source: usize, destination: usize) -> Result<(), MatchingError> {
        let racks = self.racks();
        if source.max(destination) >= racks {
            return Err(MatchingError::NoSuchRack { source, destination, racks });
        }
        if source == destination {
            return Err(MatchingError::Itself(source));
        }
        if self.destinations[source] != DARK {
            let destinations = [self.destinations[source].into(), destination];
            return Err(MatchingError::Twice { source, destinations });
        }
        if self.sources[destination] != DARK {
            return Err(MatchingError::Taken(destination));
        }
        self.destinations[source] = destination as u16;
        self.sources[destination] = source as u16;
        Ok(())
    }
    /// What exists.
    pub fn circuits(&self) -> Circuits<'_> {
        Circuits(&self.sources)
    }
}

/// The circuits of a valid configuration, by reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Circuits<'a>(pub(crate) &'a [u16]);

impl<'a> Circuits<'a> {
    /// Racks.
    pub fn racks(self) -> usize {
        self.0.len()
    }
    /// The source that a destination hears.
    pub fn source(self, destination: usize) -> Option<usize> {
        Some(self.0[destination]).filter(|&source| source != DARK).map(usize::from)
    }
    /// Whether there is no circuit: a night.
    pub fn is_dark(self) -> bool {
        self.0.iter().all(|&source| source == DARK)
    }
    /// Source and destination of each circuit, by destination.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> + 'a {
        let lit = |&(_, &source): &(usize, &u16)| source != DARK;
        self.0.iter().enumerate().filter(lit).map(|(dst, &source)| (source.into(), dst))
    }
    /// A configuration of one's own.
    pub fn to_matching(self) -> Matching {
        let mut destinations = vec![DARK; self.racks()];
        self.pairs().for_each(|(src, dst)| destinations[src] = dst as u16);
        Matching { sources: self.0.to_vec(), destinations }
    }
}
