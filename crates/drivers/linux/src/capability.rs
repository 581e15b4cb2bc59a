//! Whether this process may load BPF programs.

use std::fs;
use std::io::{Error, ErrorKind, Result};

/// The capabilities of Linux that permit BPF: `CAP_SYS_ADMIN` and `CAP_BPF`.
const PERMIT: [u32; 2] = [21, 39];

/// Checks that this process has the capability for BPF. Where an old unit of systemd does not give it, the filter of system calls
/// ends a process that tries.
///
/// # Errors
/// It lacks the capability; the text says what to do.
pub fn check_bpf() -> Result<()> {
    match permits(&fs::read_to_string("/proc/thread-self/status")?) {
        // A kernel that does not tell decides when it is asked.
        None | Some(true) => Ok(()),
        Some(false) => Err(Error::new(
            ErrorKind::PermissionDenied,
            "this process lacks CAP_BPF; a unit of systemd has to have CAP_BPF in CapabilityBoundingSet and bpf in \
             SystemCallFilter: install packaging/systemd/slotline-agent.service, then `systemctl daemon-reload` and \
             `systemctl restart slotline-agent`",
        )),
    }
}

/// Whether a status of a process in `/proc` has one of the capabilities; `None` if it does not tell.
fn permits(status: &str) -> Option<bool> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let bits = u64::from_str_radix(line.trim(), 16).ok()?;
    Some(PERMIT.iter().any(|bit| bits >> bit & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_unit_lacks_the_capability() {
        // CAP_NET_ADMIN and CAP_NET_RAW alone, with CAP_BPF, all, and none.
        for (bits, expected) in
            [("3000", false), ("8000003000", true), ("1ffffffffff", true), ("0", false)]
        {
            let status = format!("Name:\tslotline\nCapPrm:\t0\nCapEff:\t{bits:0>16}\nCapBnd:\t0\n");
            assert_eq!(permits(&status), Some(expected), "{bits}");
        }
        assert_eq!(permits("CapEff: zz\n"), None);
        assert_eq!(permits("Name:\tx\n"), None);
    }
}
