//! A search through parts of a host's destinations: those that the same links lead to.

use super::{Candidate, Paths, Search};
use crate::planner::host_set::find;
use crate::planner::links::Links;

/// Paths that tell which destinations stand and fall together.
pub(super) trait DestinationGroups: Paths {
    /// Into how many parts the destinations of `src` fall. Part 0 are those that nothing is known of.
    fn parts(&self, src: usize) -> usize;
    /// Whether `src` may reach any of a part by what is left of the links.
    fn reaches(&self, src: usize, part: usize, links: &Links) -> bool;
    /// Replaces `out` with those of the destinations `among` that are in a part of `src`, 64 to a word,
    /// less some of those it cannot reach by what is left of the links.
    fn part(&self, src: usize, part: usize, links: &Links, among: &[u64], out: &mut Vec<u64>);
    fn scratch(&mut self) -> &mut Scratch;
}

/// Room for the sets of a search.
#[derive(Default)]
pub(super) struct Scratch {
    among: Vec<u64>,
    set: Vec<u64>,
}

/// [`Paths::search`], part by part.
pub(super) fn search_groups<P: DestinationGroups>(
    paths: &mut P,
    search: Search<'_>,
    looks: &mut usize,
) -> Option<Candidate> {
    let mut scratch = std::mem::take(paths.scratch());
    let found = search_in(paths, search, &mut scratch, looks);
    *paths.scratch() = scratch;
    found
}

fn search_in<P: DestinationGroups>(
    paths: &mut P,
    search: Search<'_>,
    Scratch { among, set }: &mut Scratch,
    looks: &mut usize,
) -> Option<Candidate> {
    let Search { src, from, waiting, open, links } = search;
    among.clear();
    among.extend(waiting.iter().zip(open).map(|(waits, open)| waits & open));
    let parts = paths.parts(src) - 1;
    // What nothing is known of comes last: looking at it changes the parts.
    let first = 1 + if parts > 0 { from % parts } else { 0 };
    for part in (first..=parts).chain(1..first).chain([0]) {
        if !paths.reaches(src, part, links) {
            continue;
        }
        paths.part(src, part, links, among, set);
        let found = look(looks, set, from, |dst| paths.fit((src, dst), links));
        if found.is_some() || *looks == 0 {
            return found;
        }
    }
    None
}

/// The first destination of a set, from one on, whose path is free, if so many looks will do.
fn look(
    looks: &mut usize,
    set: &[u64],
    from: usize,
    mut fit: impl FnMut(usize) -> Option<Candidate>,
) -> Option<Candidate> {
    let mut found = None;
    find(set, from, |dst| {
        if *looks > 0 {
            found = fit(dst);
        }
        let over = found.is_some() || *looks == 0;
        *looks -= usize::from(*looks > 0);
        over
    });
    found
}
