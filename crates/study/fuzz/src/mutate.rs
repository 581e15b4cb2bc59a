//! Changes to bytes and texts.

use crate::random::Draw;
use slotline_net::rng::Stream;

/// The largest size of an input. Larger inputs find no more errors, and take longer.
const LONGEST: usize = 1 << 18;

/// Numbers that often cause arithmetic errors.
const EXTREMES: [&str; 24] = [
    "0",
    "-1",
    "1",
    "-0",
    "0.1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "1e308",
    "1e-308",
    "1e999",
    "nan",
    "inf",
    "00000000000000000000000000000000000001",
];

/// Bytes that are not UTF-8, or that are rarely expected.
const ODD: [&[u8]; 12] = [
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"\r",
    b"\r\n",
    b"\x1b[31m",
    "\u{202e}".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\"",
];

/// `seed` with some changes, among them parts of `other`.
pub(crate) fn mutated(rng: &mut Stream, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + rng.length(6) {
        change(rng, &mut bytes, other);
    }
    bytes.truncate(LONGEST.max(seed.len()));
    bytes
}

/// `seed` with one change of a kind suited to texts.
pub(crate) fn mutated_text(rng: &mut Stream, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + rng.length(4) {
        match rng.index(8) {
            0..=2 => number(rng, &mut bytes),
            3 => repeat_line(rng, &mut bytes),
            4 => exchange_lines(rng, &mut bytes, other),
            5 => word(rng, &mut bytes, other),
            6 => drop_line(rng, &mut bytes),
            _ => change(rng, &mut bytes, other),
        }
    }
    bytes.truncate(LONGEST.max(seed.len()));
    bytes
}

fn change(rng: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    match rng.index(12) {
        0 | 1 => flip(rng, bytes),
        2 => overwrite(rng, bytes),
        3 => binary_number(rng, bytes),
        4 => insert(rng, bytes),
        5 => delete(rng, bytes),
        6 => splice(rng, bytes, other),
        7 => bytes.truncate(rng.index(bytes.len() + 1)),
        8 => repeat_line(rng, bytes),
        9 => number(rng, bytes),
        10 => odd(rng, bytes),
        _ => double(rng, bytes),
    }
}

/// An index of a byte, if there are any bytes.
fn place(rng: &mut Stream, bytes: &[u8]) -> Option<usize> {
    (!bytes.is_empty()).then(|| rng.index(bytes.len()))
}

/// A short range.
fn range(rng: &mut Stream, bytes: &[u8]) -> std::ops::Range<usize> {
    let from = rng.index(bytes.len() + 1);
    from..from + rng.length((bytes.len() - from).min(1 << 10))
}

fn flip(rng: &mut Stream, bytes: &mut [u8]) {
    if let Some(at) = place(rng, bytes) {
        bytes[at] ^= 1 << rng.index(8);
    }
}

fn overwrite(rng: &mut Stream, bytes: &mut [u8]) {
    let range = range(rng, bytes);
    let noise = rng.noise(range.len().min(8));
    bytes[range.start..range.start + noise.len()].copy_from_slice(&noise);
}

/// Replaces a field of a binary format by an extreme value.
fn binary_number(rng: &mut Stream, bytes: &mut [u8]) {
    let width = *rng.pick(&[1usize, 2, 4, 8]);
    let at = rng.index(bytes.len() / width + 1) * width;
    let one = 1u64 << rng.index(8 * width);
    let value = *rng.pick(&[0, u64::MAX, u64::MAX >> 1, one, one - 1, !one, 1, 2]);
    let fields = if rng.once_in(2) {
        value.to_le_bytes()
    } else {
        value.rotate_left(64 - 8 * width as u32).to_be_bytes()
    };
    if let Some(field) = bytes.get_mut(at..at + width) {
        field.copy_from_slice(&fields[..width]);
    }
}

fn insert(rng: &mut Stream, bytes: &mut Vec<u8>) {
    let at = rng.index(bytes.len() + 1);
    let length = rng.length(64);
    let noise = if rng.once_in(3) { vec![rng.bits() as u8; length] } else { rng.noise(length) };
    bytes.splice(at..at, noise);
}

fn delete(rng: &mut Stream, bytes: &mut Vec<u8>) {
    bytes.drain(range(rng, bytes));
}

fn splice(rng: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    let (here, there) = (range(rng, bytes), range(rng, other));
    bytes.splice(here, other[there].iter().copied());
}

/// Inserts a copy of a part at another place.
fn double(rng: &mut Stream, bytes: &mut Vec<u8>) {
    let part = bytes[range(rng, bytes)].to_vec();
    let at = rng.index(bytes.len() + 1);
    bytes.splice(at..at, part);
}

fn odd(rng: &mut Stream, bytes: &mut Vec<u8>) {
    let at = if rng.once_in(3) { 0 } else { rng.index(bytes.len() + 1) };
    bytes.splice(at..at, rng.pick(&ODD).iter().copied());
}

/// The line around a random place, including its end.
fn line(rng: &mut Stream, bytes: &[u8]) -> std::ops::Range<usize> {
    let at = rng.index(bytes.len() + 1);
    let from = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let to =
        bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1);
    from..to
}

fn repeat_line(rng: &mut Stream, bytes: &mut Vec<u8>) {
    let range = line(rng, bytes);
    let times = 1 + rng.length(20);
    let lines = bytes[range.clone()].repeat(times);
    bytes.splice(range.end..range.end, lines);
}

fn drop_line(rng: &mut Stream, bytes: &mut Vec<u8>) {
    bytes.drain(line(rng, bytes));
}

fn exchange_lines(rng: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    let (here, there) = (line(rng, bytes), line(rng, other));
    bytes.splice(here, other[there].iter().copied());
}

/// Consecutive bytes for which `of` holds, from a random place on.
fn run(rng: &mut Stream, bytes: &[u8], of: fn(&u8) -> bool) -> Option<std::ops::Range<usize>> {
    let begin = place(rng, bytes)?;
    let from = begin + bytes[begin..].iter().position(of)?;
    let length = bytes[from..].iter().position(|byte| !of(byte)).unwrap_or(bytes.len() - from);
    Some(from..from + length)
}

fn number(rng: &mut Stream, bytes: &mut Vec<u8>) {
    let Some(range) = run(rng, bytes, u8::is_ascii_digit) else { return };
    let new = match rng.index(3) {
        0 => rng.pick(&EXTREMES).to_string(),
        1 => rng.below(40).to_string(),
        _ => (rng.bits() >> rng.below(64)).to_string(),
    };
    bytes.splice(range, new.into_bytes());
}

fn word(rng: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    let letter: fn(&u8) -> bool = |byte| byte.is_ascii_alphanumeric() || *byte == b'-';
    let (Some(here), Some(there)) = (run(rng, bytes, letter), run(rng, other, letter)) else {
        return;
    };
    bytes.splice(here, other[there].iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every mutation works on inputs of any length, and most mutations change something.
    #[test]
    fn mutations_change_input_of_any_length() {
        let mut rng = Stream::named(1, "fuzz.mutations", 0);
        let mut changed = 0;
        for round in 0..20_000usize {
            let seed = rng.noise(round % 70);
            let other = rng.noise(round % 31);
            let made = if round % 2 == 0 {
                mutated(&mut rng, &seed, &other)
            } else {
                mutated_text(&mut rng, &seed, &other)
            };
            changed += usize::from(made != seed);
        }
        assert!(changed > 15_000, "{changed}");
    }
}
