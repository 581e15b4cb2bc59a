//! Fabric manager and agents together.
