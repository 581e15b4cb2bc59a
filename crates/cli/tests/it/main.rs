//! The command `slotline`, as users call it.

mod bad_input;
mod compare;
#[cfg(target_os = "linux")]
mod congestion;
mod design;
#[cfg(target_os = "linux")]
mod discovery;
mod docs;
mod docs_links;
#[cfg(target_os = "linux")]
mod emulate;
#[cfg(target_os = "linux")]
mod exact;
mod figures;
mod folder;
#[cfg(target_os = "linux")]
mod gate;
mod import;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod network;
mod output;
mod package;
mod reference;
mod resume;
mod routes;
mod starting;
mod sweep;
