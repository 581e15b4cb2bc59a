//! Path selection (§4): the packets of one timeslot get paths so that no link carries more than it can.
//!
//! Racks, seen from above, form a bipartite multigraph: one edge per packet, from its rack's up-links to
//! the other rack's down-links. A path (a spine) with room for `r` packets per rack and slot is `r`
//! colours, and a colouring of the edges with no colour twice at a rack is a choice of paths. Kőnig's
//! theorem says that as many colours suffice as packets at the busiest rack. Most packets get the lowest
//! colour that is free at both ends; for the others two colours are exchanged along an alternating
//! chain, which is how the theorem is proved.

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choice {
    /// Both ends are in one rack: no path is needed.
    #[default]
    Local,
    /// Over this path.
    Over(u16),
    /// No path has room for it: too many packets, or too many failures.
    Unplaced,
}

/// Why a selector cannot be made, or a link not be found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// No path, no room on a path, or more than colours can be counted.
    #[error("{paths} paths with room for {room} packets each; the product is from 1 to 4,096")]
    Paths {
        /// Paths.
        paths: u16,
        /// Packets per slot.
        room: u16,
    },
    /// More edge switches than have numbers.
    #[error("{pods} pods of {edges} edge switches; 65,535 switches have numbers")]
    Racks {
        /// Pods.
        pods: u16,
        /// Edge switches in each.
        edges: u16,
    },
    /// A path that does not exist.
    #[error("path {path} does not exist; there are {paths}, counted from 0")]
    Path {
        /// Its number.
        path: u16,
        /// How many there are.
        paths: u16,
    },
    /// A rack that does not exist.
    #[error("rack {rack} does not exist; there are {racks}, counted from 0")]
    Rack {
        /// Its number.
        rack: u16,
        /// How many there are.
        racks: u16,
    },
}

/// Bits of a word.
const WORD: usize = 64;
const MOST_COLOURS: u32 = 4_096;

/// The colours of one word.
fn colours(at: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| at * WORD + word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

/// One side of the graph: the links from racks to paths, or those from paths to racks.
#[derive(Clone, Debug)]
struct Side {
    /// Words per rack.
    words: usize,
    /// Colours that work, by rack.
    works: Vec<u64>,
    /// Colours that work and are free, by rack.
    free: Vec<u64>,
    /// The packet with this colour, by rack; one place more, for no colour. Means something only where
    /// the colour is in use.
    packet: Vec<u32>,
}

impl Side {
    fn new(racks: usize, colours: usize) -> Side {
        let words = colours.div_ceil(WORD);
        let row = (0..words).map(|word| match colours - word * WORD {
            0..WORD => (1 << (colours % WORD)) - 1,
            _ => u64::MAX,
        });
        let works: Vec<u64> = std::iter::repeat_n(row, racks).flatten().collect();
        let packet = vec![0; racks * (words * WORD + 1)];
        Side { words, free: works.clone(), works, packet }
    }
    fn place(&self, rack: usize, colour: usize) -> usize {
        rack * (self.words * WORD + 1) + colour
    }
    fn bit(&self, rack: usize, colour: usize) -> (usize, u64) {
        (rack * self.words + colour / WORD, 1 << (colour % WORD))
    }
    fn is_free(&self, rack: usize, colour: usize) -> bool {
        let (word, bit) = self.bit(rack, colour);
        self.free[word] & bit != 0
    }
    fn toggle(&mut self, rack: usize, colour: usize) {
        let (word, bit) = self.bit(rack, colour);
        self.free[word] ^= bit;
    }
    /// The packet that uses a colour; `None` where the colour is free or out of order.
    fn user(&self, rack: usize, colour: usize) -> Option<usize> {
        let (word, bit) = self.bit(rack, colour);
        (self.works[word] & !self.free[word] & bit != 0)
            .then(|| self.packet[self.place(rack, colour)] as usize)
    }
    fn row(&self, rack: usize) -> &[u64] {
        &self.free[rack * self.words..][..self.words]
    }
    /// All free colours, the lowest first.
    fn free_colours(&self, rack: usize) -> impl Iterator<Item = usize> {
        self.row(rack).iter().enumerate().flat_map(|(at, &word)| colours(at, word))
    }
    fn repair(&mut self, rack: usize, colour: usize, works: bool) {
        let (word, bit) = self.bit(rack, colour);
        self.works[word] = if works { self.works[word] | bit } else { self.works[word] & !bit };
    }
}

/// Chooses paths, one timeslot at a time: slots do not depend on one another.
#[derive(Clone, Debug)]
pub struct PathSelector {
    racks: u16,
    paths: u16,
    room: u16,
    up: Side,
    down: Side,
    /// What a colour means; behind all of them, that there is none, and that none is needed.
    choices: Vec<Choice>,
    /// The packet's colour in this slot.
    colour: Vec<u32>,
    /// Packets between racks that the first pass left without colour.
    rest: Vec<u32>,
    chain: Vec<u32>,
}

impl PathSelector {
    /// A selector for racks that are joined by `paths`, each with room for so many packets per slot from
    /// each rack and to each rack (the rate of a rack's link to a spine over that of a host).
    ///
    /// # Errors
    /// No path, no room, or more than 4,096 packets per rack and slot.
    pub fn new(racks: u16, paths: u16, room: u16) -> Result<PathSelector, PathError> {
        let colours = u32::from(paths) * u32::from(room);
        if !(1..=MOST_COLOURS).contains(&colours) {
            return Err(PathError::Paths { paths, room });
        }
        let side = Side::new(racks.into(), colours as usize);
        let meaning = (0..side.words * WORD).map(|colour| (colour % usize::from(paths)) as u16);
        let choices = meaning.map(Choice::Over).chain([Choice::Unplaced, Choice::Local]).collect();
        let (colour, rest, chain) = (Vec::new(), Vec::new(), Vec::new());
        Ok(PathSelector {
            racks,
            paths,
            room,
            up: side.clone(),
            down: side,
            choices,
            colour,
            rest,
            chain,
        })
    }
    /// Says whether the links between a rack and a path work, from the next slot on.
    ///
    /// # Errors
    /// A rack or path that does not exist.
    pub fn set_link(&mut self, rack: u16, path: u16, works: bool) -> Result<(), PathError> {
        self.check(rack)?;
        if path >= self.paths {
            return Err(PathError::Path { path, paths: self.paths });
        }
        for part in 0..self.room {
            let colour = usize::from(part * self.paths + path);
            self.up.repair(rack.into(), colour, works);
            self.down.repair(rack.into(), colour, works);
        }
        Ok(())
    }
    /// Says whether a path as a whole works, from the next slot on.
    ///
    /// # Errors
    /// A path that does not exist.
    pub fn set_path(&mut self, path: u16, works: bool) -> Result<(), PathError> {
        (0..self.racks).try_for_each(|rack| self.set_link(rack, path, works))
    }
    /// Chooses for the packets of one slot, given as racks of source and destination. Replaces `out`,
    /// which is in the packets' order.
    ///
    /// # Errors
    /// A rack that does not exist; `out` is of no use then.
    pub fn select(
        &mut self,
        packets: &[(u16, u16)],
        out: &mut Vec<Choice>,
    ) -> Result<(), PathError> {
        let last = packets.iter().fold(0, |last, &(src, dst)| last.max(src).max(dst));
        self.check(last)?;
        self.up.free.copy_from_slice(&self.up.works);
        self.down.free.copy_from_slice(&self.down.works);
        self.colour.resize(packets.len(), 0);
        self.rest.resize(packets.len() + 1, 0);
        let rest = if self.up.words == 1 { self.word(packets) } else { self.words(packets) };
        self.place_rest(rest, packets);
        out.clear();
        out.extend(self.colour.iter().map(|&colour| self.choices[colour as usize]));
        Ok(())
    }
    fn check(&self, rack: u16) -> Result<(), PathError> {
        let racks = self.racks;
        (rack < racks).then_some(()).ok_or(PathError::Rack { rack, racks })
    }
    fn none(&self) -> u32 {
        (self.up.words * WORD) as u32
    }
    /// The first pass with up to 64 colours, free of branches: the lowest colour that is free at both
    /// ends. Returns how many packets are left.
    fn word(&mut self, packets: &[(u16, u16)]) -> usize {
        let PathSelector { up, down, colour, rest, .. } = self;
        let mut left = 0;
        for (i, (&(src, dst), colour)) in packets.iter().zip(colour).enumerate() {
            let (src, dst) = (usize::from(src), usize::from(dst));
            let between = u64::from(src != dst).wrapping_neg();
            let free = up.free[src] & down.free[dst] & between;
            let lowest = free & free.wrapping_neg();
            let chosen = free.trailing_zeros();
            up.free[src] ^= lowest;
            down.free[dst] ^= lowest;
            up.packet[src * (WORD + 1) + chosen as usize] = i as u32;
            down.packet[dst * (WORD + 1) + chosen as usize] = i as u32;
            *colour = chosen + u32::from(src == dst);
            rest[left] = i as u32;
            left += usize::from((free == 0) & (src != dst));
        }
        left
    }
    /// The first pass with any number of colours.
    fn words(&mut self, packets: &[(u16, u16)]) -> usize {
        let mut left = 0;
        for (i, &(src, dst)) in packets.iter().enumerate() {
            let (src, dst) = (usize::from(src), usize::from(dst));
            self.colour[i] = self.none();
            if src == dst {
                self.colour[i] = self.none() + 1;
            } else if let Some(colour) = self.common(src, dst) {
                self.paint(i, src, dst, colour);
            } else {
                self.rest[left] = i as u32;
                left += 1;
            }
        }
        left
    }
    /// The lowest colour that is free at both ends.
    fn common(&self, src: usize, dst: usize) -> Option<usize> {
        let words = self.up.row(src).iter().zip(self.down.row(dst)).enumerate();
        words.filter_map(|(at, (up, down))| colours(at, up & down).next()).next()
    }
    /// Gives a packet a colour that is free at both ends.
    fn paint(&mut self, packet: usize, src: usize, dst: usize, colour: usize) {
        self.up.toggle(src, colour);
        self.down.toggle(dst, colour);
        self.note(packet, src, dst, colour);
    }
    fn note(&mut self, packet: usize, src: usize, dst: usize, colour: usize) {
        let (up, down) = (self.up.place(src, colour), self.down.place(dst, colour));
        self.up.packet[up] = packet as u32;
        self.down.packet[down] = packet as u32;
        self.colour[packet] = colour as u32;
    }
    /// Places what the first pass left. An exchange may make room for one that found none before.
    fn place_rest(&mut self, mut rest: usize, packets: &[(u16, u16)]) {
        loop {
            let before = rest;
            rest = 0;
            for at in 0..before {
                let packet = self.rest[at];
                self.rest[rest] = packet;
                rest += usize::from(!self.exchange(packet as usize, packets));
            }
            if rest == 0 || rest == before {
                return;
            }
        }
    }
    /// Finds a colour for a packet by exchanging two others along a chain. Returns whether there is one.
    fn exchange(&mut self, packet: usize, packets: &[(u16, u16)]) -> bool {
        let (src, dst) = (usize::from(packets[packet].0), usize::from(packets[packet].1));
        let found = self.common(src, dst).or_else(|| {
            let mut chain = std::mem::take(&mut self.chain);
            let pairs = self
                .up
                .free_colours(src)
                .flat_map(|wanted| self.down.free_colours(dst).map(move |given| (wanted, given)));
            let way = pairs
                .into_iter()
                .find(|&(wanted, given)| self.follow(dst, wanted, given, packets, &mut chain));
            self.chain = chain;
            way.map(|(wanted, given)| self.flip(dst, wanted, given, packets))
        });
        if let Some(colour) = found {
            self.paint(packet, src, dst, colour);
        }
        found.is_some()
    }
    /// The packets on the chain of `wanted` and `given` that begins with `wanted` at the down-links of
    /// rack `dst`. It cannot come to a rack where `wanted` is free at the up-links. Returns whether
    /// the colours can be exchanged along it: at its end the other one must be free and in order.
    fn follow(
        &self,
        dst: usize,
        wanted: usize,
        given: usize,
        packets: &[(u16, u16)],
        chain: &mut Vec<u32>,
    ) -> bool {
        chain.clear();
        let mut rack = dst;
        loop {
            let Some(over) = self.down.user(rack, wanted) else {
                return self.down.is_free(rack, wanted);
            };
            chain.push(over as u32);
            rack = usize::from(packets[over].0);
            let Some(back) = self.up.user(rack, given) else {
                return self.up.is_free(rack, given);
            };
            chain.push(back as u32);
            rack = usize::from(packets[back].1);
        }
    }
    /// Exchanges the colours along the chain; returns the one that is free at its beginning now.
    fn flip(&mut self, dst: usize, wanted: usize, given: usize, packets: &[(u16, u16)]) -> usize {
        let chain = std::mem::take(&mut self.chain);
        let Some(&last) = chain.last() else { return wanted };
        for (step, &packet) in chain.iter().enumerate() {
            let (src, dst) = packets[packet as usize];
            let colour = if step % 2 == 0 { given } else { wanted };
            self.note(packet as usize, src.into(), dst.into(), colour);
        }
        let (src, end) = packets[last as usize];
        for colour in [wanted, given] {
            self.down.toggle(dst, colour);
            if chain.len() % 2 == 1 {
                self.up.toggle(src.into(), colour);
            } else {
                self.down.toggle(end.into(), colour);
            }
        }
        self.chain = chain;
        wanted
    }
}

/// Sorts grants by slot: `out[i]` has the source and destination of each packet of slot `i`. Replaces
/// what was there.
pub fn by_slot(grants: &[super::Grant], out: &mut [Vec<(u16, u16)>; WORD]) {
    out.iter_mut().for_each(Vec::clear);
    for grant in grants {
        let mut slots = grant.slots;
        while slots != 0 {
            out[slots.trailing_zeros() as usize].push((grant.src, grant.dst));
            slots &= slots - 1;
        }
    }
}

#[cfg(test)]
#[path = "paths_tests.rs"]
mod tests;
