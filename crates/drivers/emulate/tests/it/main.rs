//! Emulation with real hosts. It needs root (or the right to make network namespaces) and `/dev/net/tun`; tests that
//! lack something say so and pass.

mod network;
mod ping;
