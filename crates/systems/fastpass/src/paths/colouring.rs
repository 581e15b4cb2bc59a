//! A colouring of the packets of one timeslot: no colour occurs twice at a rack, and as few packets as
//! possible stay without a colour.

use super::Choice;

/// Bits of a word.
const WORD: usize = 64;
/// The words of a rack with up to 64 colours: its free colours, and the packet with each colour.
const ROW: usize = 1 + WORD;

/// A packet in one word: its number (32 bits) and its racks of source and destination (16 bits each).
#[derive(Clone, Copy)]
struct Packet(u64);

impl Packet {
    fn new(number: usize, (src, dst): (u16, u16)) -> Packet {
        Packet((number as u64) << 32 | u64::from(src) << 16 | u64::from(dst))
    }
    fn number(self) -> usize {
        (self.0 >> 32) as usize
    }
    fn src(self) -> usize {
        usize::from((self.0 >> 16) as u16)
    }
    fn dst(self) -> usize {
        usize::from(self.0 as u16)
    }
}

/// The colours of one word.
fn colours(at: usize, mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| at * WORD + word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

/// One side of the graph: the links from racks to paths, or the links from paths to racks.
#[derive(Clone, Debug)]
struct Side {
    /// The number of words of colours per rack.
    words: usize,
    /// The colours that work, by rack.
    works: Vec<u64>,
    /// By rack: words of the colours that work and are free, then the packet with each colour. The packet is
    /// valid only where the colour is in use.
    rows: Vec<u64>,
}

impl Side {
    fn new(racks: usize, colours: usize) -> Side {
        let words = colours.div_ceil(WORD);
        let row = (0..words).map(|word| match colours - word * WORD {
            0..WORD => (1 << (colours % WORD)) - 1,
            _ => u64::MAX,
        });
        let works = std::iter::repeat_n(row, racks).flatten().collect();
        Side { words, works, rows: vec![0; racks * words * ROW] }
    }
    /// Marks all colours that work as free.
    fn reset(&mut self) {
        let rows = self.rows.chunks_exact_mut(self.words * ROW);
        for (row, works) in rows.zip(self.works.chunks_exact(self.words)) {
            row.iter_mut().zip(works).for_each(|(free, &works)| *free = works);
        }
    }
    /// The rows of racks with up to 64 colours.
    fn single(&mut self) -> &mut [[u64; ROW]] {
        self.rows.as_chunks_mut().0
    }
    fn bit(&self, rack: usize, colour: usize) -> (usize, u64) {
        (rack * self.words * ROW + colour / WORD, 1 << (colour % WORD))
    }
    fn is_free(&self, rack: usize, colour: usize) -> bool {
        let (word, bit) = self.bit(rack, colour);
        self.rows[word] & bit != 0
    }
    fn works(&self, rack: usize, colour: usize) -> bool {
        self.works[rack * self.words + colour / WORD] >> (colour % WORD) & 1 != 0
    }
    fn toggle(&mut self, rack: usize, colour: usize) {
        let (word, bit) = self.bit(rack, colour);
        self.rows[word] ^= bit;
    }
    /// The index of the packet with a colour.
    fn place(&self, rack: usize, colour: usize) -> usize {
        rack * self.words * ROW + self.words + colour
    }
    fn packet(&self, rack: usize, colour: usize) -> Packet {
        Packet(self.rows[self.place(rack, colour)])
    }
    /// Exchanges the colours of the packets with two colours at a rack. Returns the packet that had the
    /// second.
    fn swap(&mut self, rack: usize, one: usize, two: usize) -> Packet {
        let (one, two) = (self.place(rack, one), self.place(rack, two));
        self.rows.swap(one, two);
        Packet(self.rows[one])
    }
    fn take(&mut self, rack: usize, colour: usize, packet: Packet) {
        self.toggle(rack, colour);
        let place = self.place(rack, colour);
        self.rows[place] = packet.0;
    }
    fn free(&self, rack: usize) -> &[u64] {
        &self.rows[rack * self.words * ROW..][..self.words]
    }
    /// All free colours, the lowest first.
    fn free_colours(&self, rack: usize) -> impl Iterator<Item = usize> {
        self.free(rack).iter().enumerate().flat_map(|(at, &word)| colours(at, word))
    }
    /// Marks a colour as working or broken. Returns whether this is a change.
    fn set_works(&mut self, rack: usize, colour: usize, works: bool) -> bool {
        let changes = self.works(rack, colour) != works;
        self.works[rack * self.words + colour / WORD] ^= u64::from(changes) << (colour % WORD);
        changes
    }
}

/// The result of the first pass.
enum Pass {
    /// All packets are visited.
    Done,
    /// No colour is free at both ends of this packet.
    Stuck(usize),
    /// This rack does not exist.
    NoRack(u16),
}

/// A colouring, reused for each timeslot.
#[derive(Clone, Debug)]
pub(super) struct Colouring {
    up: Side,
    down: Side,
    /// The choice that each colour stands for.
    choices: Vec<Choice>,
    /// The number of colours that do not work, at up-links and at down-links.
    broken: usize,
    /// The packets that have no colour yet.
    rest: Vec<u32>,
}

impl Colouring {
    /// Makes a colouring for a number of racks, with one colour for each choice.
    pub(super) fn new(racks: usize, choices: Vec<Choice>) -> Colouring {
        let up = Side::new(racks, choices.len());
        Colouring { down: up.clone(), up, choices, broken: 0, rest: Vec::new() }
    }
    /// Sets whether a colour works at a rack.
    pub(super) fn set_works(&mut self, rack: usize, colour: usize, works: bool) {
        for side in [&mut self.up, &mut self.down] {
            match (side.set_works(rack, colour, works), works) {
                (true, true) => self.broken -= 1,
                (true, false) => self.broken += 1,
                (false, _) => {}
            }
        }
    }
    /// Chooses colours for packets, given by their racks. The error is a rack that does not exist.
    pub(super) fn choose(
        &mut self,
        packets: &[(u16, u16)],
        out: &mut Vec<Choice>,
    ) -> Result<(), u16> {
        self.up.reset();
        self.down.reset();
        self.rest.clear();
        out.resize(packets.len(), Choice::Unplaced);
        let mut from = 0;
        loop {
            let pass = match self.up.words {
                1 => self.first_pass_one_word(from, packets, out),
                _ => self.first_pass_many_words(from, packets, out),
            };
            match pass {
                Pass::Done => break,
                Pass::NoRack(rack) => return Err(rack),
                Pass::Stuck(number) => {
                    from = number + 1;
                    if !self.recolour(Packet::new(number, packets[number]), out) {
                        out[number] = Choice::Unplaced;
                        self.rest.push(number as u32);
                    }
                }
            }
        }
        self.place_rest(packets, out);
        Ok(())
    }
    /// Runs the first pass from packet `from` on, with up to 64 colours: each packet gets the lowest colour
    /// that is free at both ends.
    #[inline(never)]
    fn first_pass_one_word(
        &mut self,
        from: usize,
        packets: &[(u16, u16)],
        out: &mut [Choice],
    ) -> Pass {
        let Colouring { up, down, choices, .. } = self;
        let (ups, downs) = (up.single(), down.single());
        for (i, (&(src, dst), choice)) in packets[from..].iter().zip(&mut out[from..]).enumerate() {
            let Some(up) = ups.get_mut(usize::from(src)) else { return Pass::NoRack(src) };
            let Some(down) = downs.get_mut(usize::from(dst)) else { return Pass::NoRack(dst) };
            if src == dst {
                *choice = Choice::Local;
                continue;
            }
            let free = up[0] & down[0];
            if free == 0 {
                return Pass::Stuck(from + i);
            }
            let lowest = free & free.wrapping_neg();
            let colour = free.trailing_zeros() as usize;
            let packet = Packet::new(from + i, (src, dst)).0;
            up[0] ^= lowest;
            down[0] ^= lowest;
            up[1 + colour] = packet;
            down[1 + colour] = packet;
            *choice = choices[colour];
        }
        Pass::Done
    }
    /// Runs the first pass with any number of colours.
    fn first_pass_many_words(
        &mut self,
        from: usize,
        packets: &[(u16, u16)],
        out: &mut [Choice],
    ) -> Pass {
        let racks = self.up.works.len() / self.up.words;
        for (number, &(src, dst)) in packets.iter().enumerate().skip(from) {
            if usize::from(src.max(dst)) >= racks {
                return Pass::NoRack(src.max(dst));
            }
            let packet = Packet::new(number, (src, dst));
            if src == dst {
                out[number] = Choice::Local;
            } else if let Some(colour) = self.common_colour(packet) {
                self.assign(packet, colour, out);
            } else {
                return Pass::Stuck(number);
            }
        }
        Pass::Done
    }
    /// The lowest colour that is free at both ends.
    fn common_colour(&self, packet: Packet) -> Option<usize> {
        let rows = self.up.free(packet.src()).iter().zip(self.down.free(packet.dst()));
        rows.enumerate().filter_map(|(at, (up, down))| colours(at, up & down).next()).next()
    }
    /// Gives a packet a colour that is free at both ends.
    #[inline]
    fn assign(&mut self, packet: Packet, colour: usize, out: &mut [Choice]) {
        self.up.take(packet.src(), colour, packet);
        self.down.take(packet.dst(), colour, packet);
        out[packet.number()] = self.choices[colour];
    }
    /// Places the packets that are left. An exchange may have made room for a packet that found none before.
    fn place_rest(&mut self, packets: &[(u16, u16)], out: &mut [Choice]) {
        let mut rest = std::mem::take(&mut self.rest);
        let mut before = usize::MAX;
        while (1..before).contains(&rest.len()) {
            before = rest.len();
            rest.retain(|&number| {
                let packet = Packet::new(number as usize, packets[number as usize]);
                let common_colour = self.common_colour(packet);
                if let Some(colour) = common_colour {
                    self.assign(packet, colour, out);
                }
                common_colour.is_none() && !self.recolour(packet, out)
            });
        }
        self.rest = rest;
    }
    /// Gives a packet a colour that other packets give up. Returns whether there is one.
    #[inline(never)]
    fn recolour(&mut self, packet: Packet, out: &mut [Choice]) -> bool {
        let found = if self.up.words == 1 { self.recolour_neighbour(packet, out) } else { None };
        let found = found.or_else(|| self.recolour_chain(packet, out));
        if let Some(colour) = found {
            self.assign(packet, colour, out);
        }
        found.is_some()
    }
    /// Gives one packet at either rack another colour, of up to 64. Returns the colour that it had.
    #[inline(never)]
    fn recolour_neighbour(&mut self, packet: Packet, out: &mut [Choice]) -> Option<usize> {
        let (src, dst) = (packet.src(), packet.dst());
        let (above, below) = (self.up.free(src)[0], self.down.free(dst)[0]);
        for colour in colours(0, above & self.down.works[dst]) {
            let other = self.down.packet(dst, colour);
            let free = self.up.free(other.src())[0] & below;
            if free != 0 {
                self.reassign(other, colour, free.trailing_zeros() as usize, out);
                return Some(colour);
            }
        }
        for colour in colours(0, below & self.up.works[src]) {
            let other = self.up.packet(src, colour);
            let free = self.down.free(other.dst())[0] & above;
            if free != 0 {
                self.reassign(other, colour, free.trailing_zeros() as usize, out);
                return Some(colour);
            }
        }
        None
    }
    /// Gives a packet another colour that is free at both ends.
    #[inline]
    fn reassign(&mut self, packet: Packet, old: usize, new: usize, out: &mut [Choice]) {
        self.up.toggle(packet.src(), old);
        self.down.toggle(packet.dst(), old);
        self.assign(packet, new, out);
    }
    /// Exchanges two colours along a chain. Returns the colour that is free at both ends afterwards.
    #[inline(never)]
    fn recolour_chain(&mut self, packet: Packet, out: &mut [Choice]) -> Option<usize> {
        let (src, dst) = (packet.src(), packet.dst());
        let free = |dst| self.down.free_colours(dst);
        let (first, second) = match self.broken {
            0 => (self.up.free_colours(src).next()?, free(dst).next()?),
            _ => (self.up.free_colours(src))
                .flat_map(|first| free(dst).map(move |second| (first, second)))
                .find(|&(first, second)| self.chain_ends_free(dst, first, second))?,
        };
        self.swap_chain(dst, first, second, out);
        Some(first)
    }
    /// Follows the chain of `first` and `second` that begins with `first` at the down-links of rack `dst`.
    /// Returns whether it ends where the other colour is free, and not where it is broken. The chain cannot
    /// reach a rack where `first` is free at the up-links.
    fn chain_ends_free(&self, dst: usize, first: usize, second: usize) -> bool {
        let mut rack = dst;
        loop {
            if self.down.is_free(rack, first) || !self.down.works(rack, first) {
                return self.down.is_free(rack, first);
            }
            rack = self.down.packet(rack, first).src();
            if self.up.is_free(rack, second) || !self.up.works(rack, second) {
                return self.up.is_free(rack, second);
            }
            rack = self.up.packet(rack, second).dst();
        }
    }
    /// Exchanges the colours along that chain, so that `first` is free at its beginning.
    fn swap_chain(&mut self, dst: usize, first: usize, second: usize, out: &mut [Choice]) {
        let Colouring { up, down, choices, .. } = self;
        if down.is_free(dst, first) {
            return;
        }
        let mut over = down.packet(dst, first);
        down.swap(dst, first, second);
        down.toggle(dst, first);
        down.toggle(dst, second);
        loop {
            out[over.number()] = choices[second];
            let rack = over.src();
            let last = up.is_free(rack, second);
            let back = up.swap(rack, first, second);
            if last {
                up.toggle(rack, first);
                up.toggle(rack, second);
                return;
            }
            out[back.number()] = choices[first];
            let rack = back.dst();
            let last = down.is_free(rack, first);
            over = down.swap(rack, second, first);
            if last {
                down.toggle(rack, first);
                down.toggle(rack, second);
                return;
            }
        }
    }
}
