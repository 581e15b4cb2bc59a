//! The configuration of a circuit switch, as a partial matching of sources and destinations.

use crate::demand::MAX_RACKS;
use std::fmt;

/// The number that marks a rack without a circuit.
pub(crate) const DARK: u16 = u16::MAX;

/// A partial permutation of the racks. Each source has at most one destination, each destination has at most
/// one source, and no rack is connected to itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matching {
    /// The source of each destination.
    sources: Vec<u16>,
    /// The destination of each source.
    destinations: Vec<u16>,
}

/// The reason why circuits cannot exist at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchingError {
    /// There are more than [`MAX_RACKS`] racks.
    Racks(usize),
    /// The source or the destination does not exist.
    NoSuchRack {
        /// The source.
        source: usize,
        /// The destination.
        destination: usize,
        /// The number of racks.
        racks: usize,
    },
    /// The source has two destinations.
    Twice {
        /// The source.
        source: usize,
        /// Its two destinations.
        destinations: [usize; 2],
    },
    /// The rack is connected to itself.
    Itself(usize),
    /// The destination already has another source.
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
                write!(f, "destination {rack} already has another source")
            }
        }
    }
}

impl std::error::Error for MatchingError {}

impl Matching {
    /// A configuration without circuits.
    pub fn dark(racks: usize) -> Matching {
        Matching { sources: vec![DARK; racks], destinations: vec![DARK; racks] }
    }
    /// A configuration from the source of each destination.
    ///
    /// # Errors
    /// The circuits are not a partial permutation; see [`MatchingError`].
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
    /// The number of racks.
    pub fn racks(&self) -> usize {
        self.sources.len()
    }
    /// Removes all circuits and sets the number of racks.
    pub fn clear(&mut self, racks: usize) {
        for side in [&mut self.sources, &mut self.destinations] {
            side.clear();
            side.resize(racks, DARK);
        }
    }
    /// Sets the number of racks, and connects each destination to the source at `distance`. The distance is at
    /// least one and less than the number of racks.
    pub(crate) fn rotate(&mut self, racks: usize, distance: usize) {
        debug_assert!(0 < distance && distance < racks, "no rack is connected to itself");
        for (side, first) in
            [(&mut self.sources, distance), (&mut self.destinations, racks - distance)]
        {
            side.clear();
            side.extend((first..racks).chain(0..first).map(|rack| rack as u16));
        }
    }
    /// Adds a circuit.
    ///
    /// # Errors
    /// An end does not exist or is in use, or both ends are the same rack.
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
    /// The circuits of this configuration.
    pub fn circuits(&self) -> Circuits<'_> {
        Circuits(&self.sources)
    }
}

/// A borrowed view of the circuits of a valid configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Circuits<'a>(pub(crate) &'a [u16]);

impl<'a> Circuits<'a> {
    /// The number of racks.
    pub fn racks(self) -> usize {
        self.0.len()
    }
    /// The source of a destination, if it has one.
    pub fn source(self, destination: usize) -> Option<usize> {
        Some(self.0[destination]).filter(|&source| source != DARK).map(usize::from)
    }
    /// Whether there is no circuit at all, as in a night.
    pub fn is_dark(self) -> bool {
        self.0.iter().all(|&source| source == DARK)
    }
    /// The source and destination of each circuit, in the order of destinations.
    pub fn pairs(self) -> impl Iterator<Item = (usize, usize)> + 'a {
        let lit = |&(_, &source): &(usize, &u16)| source != DARK;
        self.0.iter().enumerate().filter(lit).map(|(dst, &source)| (source.into(), dst))
    }
    /// An owned copy of the configuration.
    pub fn to_matching(self) -> Matching {
        let mut destinations = vec![DARK; self.racks()];
        self.pairs().for_each(|(src, dst)| destinations[src] = dst as u16);
        Matching { sources: self.0.to_vec(), destinations }
    }
}
