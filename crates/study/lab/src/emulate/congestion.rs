//! Congestion controls that the kernel does not have by itself.

use slotline_congestion::{Algorithm, Control, Signal};
use slotline_emulate::circuits::Circuits;
use slotline_emulate::classify::Addresses;
use slotline_emulate::{isolation, namespace};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::{AlgorithmKind, Jumps};
use slotline_scenario::{EmulateSpec, SignalSpec};
use std::path::Path;

/// The gain of the kernel's own DCTCP, as an exponent.
const USUAL_GAIN: u8 = 4;

/// Loads the congestion control of a transport into the kernel, unless the kernel has it already.
///
/// # Errors
/// What is missing, or what the kernel refuses.
pub(super) fn load(
    transport: &TransportSpec,
    spec: &EmulateSpec,
    hosts: u32,
    folder: &Path,
) -> Result<Option<Circuits>, String> {
    // To other transports ECN-Echo tells of full queues.
    let signal = match spec.circuit_signal {
        SignalSpec::EcnEcho if transport.kind == AlgorithmKind::Retcp => Signal::Marks,
        _ => Signal::Map,
    };
    let Some(algorithm) = algorithm(transport, signal) else { return Ok(None) };
    let unique = isolation::outer().unwrap_or_else(std::process::id);
    let folder = folder.join("congestion");
    let control = Control::load(algorithm, Addresses { hosts }.range(), unique, &folder);
    let control = control.map_err(|error| {
        let name = algorithm.name();
        format!("cannot load the congestion control `{name}` into the kernel: {error}")
    })?;
    Ok(Some(Circuits::new(control, signal, hosts)))
}

fn algorithm(transport: &TransportSpec, signal: Signal) -> Option<Algorithm> {
    let gain_shift = transport.gain_shift;
    match transport.kind {
        AlgorithmKind::Retcp => {
            let Jumps { up, down } = transport.jumps();
            Some(Algorithm::Retcp { up, down, signal })
        }
        AlgorithmKind::Dctcp
            if gain_shift != USUAL_GAIN || namespace::available("dctcp").is_err() =>
        {
            Some(Algorithm::Dctcp { gain_shift })
        }
        _ => None,
    }
}
