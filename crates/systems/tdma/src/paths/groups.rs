//! A search through groups of a host's destinations. The same links lead to all destinations of a group.

use super::{Candidate, Paths, Search};
use crate::planner::host_set::find;
use crate::planner::links::Links;

/// Paths whose destinations form groups that are reached by the same links.
pub(super) trait DestinationGroups: Paths {
    /// The number of groups of the destinations of `src`. Group 0 has those whose path is not known.
    fn groups(&self, src: usize) -> usize;
    /// Whether `src` may reach any destination of a group over the links.
    fn reaches(&self, src: usize, group: usize, links: &Links) -> bool;
    /// Replaces `out` with the destinations in `among` that are in a group of `src`, 64 to a word. Some destinations
    /// that cannot be reached over the links may be left out.
    fn group(&self, src: usize, group: usize, links: &Links, among: &[u64], out: &mut Vec<u64>);
    fn scratch(&mut self) -> &mut Scratch;
}

/// Working memory for the sets of a search.
#[derive(Default)]
pub(super) struct Scratch {
    among: Vec<u64>,
    set: Vec<u64>,
}

/// [`Paths::search`], group by group.
pub(super) fn search_groups<P: DestinationGroups>(
    paths: &mut P,
    search: Search<'_>,
    lookups: &mut usize,
) -> Option<Candidate> {
    let mut scratch = std::mem::take(paths.scratch());
    let found = search_in(paths, search, &mut scratch, lookups);
    *paths.scratch() = scratch;
    found
}

fn search_in<P: DestinationGroups>(
    paths: &mut P,
    search: Search<'_>,
    Scratch { among, set }: &mut Scratch,
    lookups: &mut usize,
) -> Option<Candidate> {
    let Search { src, from, waiting, open, links } = search;
    among.clear();
    among.extend(waiting.iter().zip(open).map(|(waits, open)| waits & open));
    let groups = paths.groups(src) - 1;
    // The destinations whose path is not known come last, as looking them up changes the groups.
    let first = 1 + if groups > 0 { from % groups } else { 0 };
    for group in (first..=groups).chain(1..first).chain([0]) {
        if !paths.reaches(src, group, links) {
            continue;
        }
        paths.group(src, group, links, among, set);
        let found = first_fit(lookups, set, from, |dst| paths.fit(src, dst, links));
        if found.is_some() || *lookups == 0 {
            return found;
        }
    }
    None
}

/// The first destination of a set, from `from` on, whose path is free, if it is found with at most `lookups` lookups.
fn first_fit(
    lookups: &mut usize,
    set: &[u64],
    from: usize,
    mut fit: impl FnMut(usize) -> Option<Candidate>,
) -> Option<Candidate> {
    let mut found = None;
    find(set, from, |dst| {
        if *lookups > 0 {
            found = fit(dst);
        }
        let over = found.is_some() || *lookups == 0;
        *lookups -= usize::from(*lookups > 0);
        over
    });
    found
}
