//! The configuration of a pipeline.

use slotline_fastpass::{DemandError, PathError, PathSelector, Policy};

/// The configuration of a pipeline.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The order in which pairs are served.
    pub policy: Policy,
    /// The rack of each endpoint.
    pub racks: Vec<u16>,
    /// The port of each endpoint.
    pub port_of: Vec<u16>,
    /// The paths between racks, with their failures.
    pub paths: PathSelector,
    /// Partitions of the allocation. The number affects the result: it decides when a pair is served.
    pub partitions: usize,
    /// Stages of path selection.
    pub selections: usize,
    /// The highest number of rounds in progress at the same time.
    pub depth: u64,
    /// Threads, at most one for each stage. The stages are sorted by number: the first port, partition and
    /// selection, then the second ones. Each thread runs an equal number of consecutive stages.
    pub threads: usize,
}

/// The reason why a pipeline cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PipelineError {
    /// A number is zero.
    #[error(
        "a pipeline needs at least one of each: ports, partitions, selections, threads, rounds of depth"
    )]
    Zero,
    /// `racks` and `port_of` differ in length.
    #[error("racks of {racks} endpoints, ports of {ports}")]
    Endpoints {
        /// Length of `racks`.
        racks: usize,
        /// Length of `port_of`.
        ports: usize,
    },
    /// A port does not exist.
    #[error("an endpoint belongs to port {port}; there are {ports}, counted from 0")]
    Port {
        /// The number of the port.
        port: u16,
        /// The number of ports.
        ports: usize,
    },
    /// The allocator refuses the setup.
    #[error(transparent)]
    Demand(#[from] DemandError),
    /// The path selector refuses the setup.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Checks the setup of a pipeline with this number of ports.
pub(crate) fn check(setup: &Setup, ports: usize) -> Result<(), PipelineError> {
    let Setup { racks, port_of, partitions, selections, threads, .. } = setup;
    if [ports, *partitions, *selections, *threads, setup.depth as usize].contains(&0) {
        return Err(PipelineError::Zero);
    }
    if racks.len() != port_of.len() {
        return Err(PipelineError::Endpoints { racks: racks.len(), ports: port_of.len() });
    }
    if let Some(&port) = port_of.iter().find(|&&port| usize::from(port) >= ports) {
        return Err(PipelineError::Port { port, ports });
    }
    let last = racks.iter().copied().max().unwrap_or(0);
    setup.paths.clone().select(&[(last, last)], &mut Vec::new())?;
    Ok(())
}
