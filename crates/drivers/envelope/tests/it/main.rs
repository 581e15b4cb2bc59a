//! Two endpoints over a network that loses, repeats, delays, alters and replays datagrams.

mod attacks;
mod delivery;
mod flood;
mod rotation;
mod sessions;
mod world;
