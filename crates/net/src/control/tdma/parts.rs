//! A search through parts of a host's destinations: those that the same links lead to.

use super::links::Links;
use super::paths::{Fit, Paths};
use super::set::find;

/// Paths that tell which destinations stand and fall together.
pub(super) trait Parts: Paths {
    /// Into how many parts the destinations of `src` fall. Part 0 are those that nothing is known of.
    fn parts(&self, src: usize) -> usize;
    /// Whether `src` may reach any of a part while the links have `left`.
    fn reaches(&self, src: usize, part: usize, left: &[u64]) -> bool;
    /// Replaces `out` with those of the destinations `among` that are in a part of `src`, 64 to a word,
    /// less some of those it cannot reach while the links have `left`.
    fn part(&self, src: usize, part: usize, left: &[u64], among: &[u64], out: &mut Vec<u64>);
}

/// Room for the sets of a search.
#[derive(Default)]
pub(super) struct Scratch {
    among: Vec<u64>,
    set: Vec<u64>,
}

/// [`Paths::search`], part by part.
pub(super) fn by_parts<P: Parts>(
    paths: &mut P,
    (src, from): (usize, usize),
    (waiting, open): (&[u64], &[u64]),
    links: &Links,
    Scratch { among, set }: &mut Scratch,
    looks: &mut usize,
) -> Option<Fit> {
    among.clear();
    among.extend(waiting.iter().zip(open).map(|(waits, open)| waits & open));
    let parts = paths.parts(src) - 1;
    // What nothing is known of comes last: looking at it changes the parts.
    let first = 1 + if parts > 0 { from % parts } else { 0 };
    for part in (first..=parts).chain(1..first).chain([0]) {
        if !paths.reaches(src, part, &links.left) {
            continue;
        }
        paths.part(src, part, &links.left, among, set);
        let found = first_fit(paths, src, (set, from), links, looks);
        if found.is_some() || *looks == 0 {
            return found;
        }
    }
    None
}

/// The first destination of a set, from one on, whose path is free, if so many looks will do.
fn first_fit<P: Paths>(
    paths: &mut P,
    src: usize,
    (set, from): (&[u64], usize),
    links: &Links,
    looks: &mut usize,
) -> Option<Fit> {
    let mut found = None;
    find(set, from, |dst| {
        if *looks > 0 {
            found = paths.fit((src, dst), links);
        }
        let over = found.is_some() || *looks == 0;
        *looks -= usize::from(*looks > 0);
        over
    });
    found
}
