//! The parts of Linux that drivers use: packets that the kernel holds for a program ([`hold`], [`nfqueue`]), those that
//! leave a host ([`gate`]) and those that a host forwards ([`crossing`]), times at which packets leave ([`departures`]),
//! paths of flows ([`flows`]) and of a host's packets ([`tags`]), notices of links ([`link_events`]), segments that are held as one packet ([`segments`]),
//! datagrams in batches ([`datagrams`]), what the queues of interfaces hold ([`queues`]), programs that
//! configure the kernel ([`command`]), and waiting for several files ([`wait`]).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod capability;
mod classifier;
pub mod command;
pub mod crossing;
pub mod datagrams;
pub mod departures;
pub mod flows;
pub mod gate;
pub mod hold;
pub mod link_events;
mod netlink;
pub mod nfqueue;
mod opening;
pub mod queues;
mod rules;
pub mod segments;
pub mod tags;
pub mod wait;
