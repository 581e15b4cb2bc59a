//! Emulation with real hosts. It needs root (or the right to create network namespaces) and `/dev/net/tun`. Tests that
//! lack something print that and pass.

mod gate;
mod network;
mod ping;
mod transfer;
