//! Columns of Parquet with a number in each row, as differences between neighbours (`DELTA_BINARY_PACKED`).
//!
//! Of each block of rows there is the least difference, and by how much the others exceed it, with as many bits as the largest
//! of a quarter of the block needs. The library does the same for all types of values, in three times the time.

use super::bits::{pack, signed_varint, varint};
use super::chunk::{self, data_page};
use parquet::basic::Encoding;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// The differences of a block, and of a part of it with its own number of bits.
const BLOCK: usize = 128;
const PART: usize = 32;

/// A column in one row group.
pub(crate) struct Deltas {
    bytes: Vec<u8>,
    rows: usize,
    least: u64,
    most: u64,
}

/// Numbers each of which exceeds the one before by `step`, as wrapping numbers do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Steps {
    pub first: u64,
    pub step: u64,
    pub count: usize,
}

impl Steps {
    /// The number at `place`.
    pub fn number(&self, place: usize) -> u64 {
        self.first.wrapping_add(self.step.wrapping_mul(place as u64))
    }
}

impl Deltas {
    /// The numbers of `rows`.
    pub fn of<R>(rows: &[R], number: impl Fn(usize, &R) -> u64) -> Deltas {
        let first = rows.first().map_or(0, |row| number(0, row));
        let mut deltas = Deltas::begin(rows.len(), first);
        let mut numbers = [first; BLOCK + 1];
        for (at, block) in rows.get(1..).unwrap_or_default().chunks(BLOCK).enumerate() {
            numbers[0] = numbers[BLOCK];
            for (within, row) in block.iter().enumerate() {
                numbers[within + 1] = number(1 + at * BLOCK + within, row);
            }
            deltas.block(&numbers[..=block.len()]);
        }
        deltas
    }

    /// The numbers of `all`, of which there are `rows`. Whole blocks of equal steps are not looked at one by one.
    pub fn of_steps(rows: usize, all: impl Iterator<Item = Steps>) -> Deltas {
        let mut all = all.peekable();
        let first = all.peek().map_or(0, |steps| steps.first);
        let mut deltas = Deltas::begin(rows, first);
        let (mut numbers, mut filled) = ([first; BLOCK + 1], 0);
        for Steps { mut first, step, mut count } in all {
            while count > 0 {
                if filled == 1
                    && count >= BLOCK
                    && first == numbers[0].wrapping_add(step)
                    && let Some(last) = end(numbers[0], step, BLOCK)
                {
                    deltas.steady_block(numbers[0], step, last);
                    (numbers[0], first) = (last, last.wrapping_add(step));
                    count -= BLOCK;
                    continue;
                }
                let taken = count.min(BLOCK + 1 - filled);
                for number in &mut numbers[filled..filled + taken] {
                    *number = first;
                    first = first.wrapping_add(step);
                }
                (filled, count) = (filled + taken, count - taken);
                if filled > BLOCK {
                    deltas.block(&numbers);
                    (numbers[0], filled) = (numbers[BLOCK], 1);
                }
            }
        }
        if filled > 1 {
            deltas.block(&numbers[..filled]);
        }
        deltas
    }

    /// A column of `rows`, before the first block.
    fn begin(rows: usize, first: u64) -> Deltas {
        let mut bytes = Vec::new();
        varint(BLOCK as u64, &mut bytes);
        varint((BLOCK / PART) as u64, &mut bytes);
        varint(rows as u64, &mut bytes);
        signed_varint(first as i64, &mut bytes);
        Deltas { bytes, rows, least: first, most: first }
    }

    /// Adds a block with the same difference between all neighbours.
    fn steady_block(&mut self, first: u64, step: u64, last: u64) {
        self.least = self.least.min(first).min(last);
        self.most = self.most.max(first).max(last);
        signed_varint(step as i64, &mut self.bytes);
        self.bytes.extend_from_slice(&[0; BLOCK / PART]);
    }

    /// Adds a block: the numbers after the first of `numbers`, which is in the block before.
    fn block(&mut self, numbers: &[u64]) {
        if let Some(step) = steady(numbers) {
            return self.steady_block(numbers[0], step, numbers[numbers.len() - 1]);
        }
        for number in numbers {
            (self.least, self.most) = (self.least.min(*number), self.most.max(*number));
        }
        let mut excess = [0; BLOCK];
        let excess = &mut excess[..];
        for (delta, pair) in excess.iter_mut().zip(numbers.windows(2)) {
            *delta = pair[1].wrapping_sub(pair[0]);
        }
        let count = numbers.len() - 1;
        let least = excess[..count].iter().fold(i64::MAX, |least, delta| least.min(*delta as i64));
        excess[..count].iter_mut().for_each(|delta| *delta = delta.wrapping_sub(least as u64));
        signed_varint(least, &mut self.bytes);
        let bits = |part: &[u64]| u64::BITS - part.iter().fold(0, |all, n| all | n).leading_zeros();
        excess.chunks(PART).for_each(|part| self.bytes.push(bits(part) as u8));
        for part in excess.chunks(PART) {
            pack(part, bits(part), &mut self.bytes);
        }
    }

    /// Appends the column to a row group.
    pub fn append(
        self,
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<()> {
        let page = data_page(self.bytes, self.rows, Encoding::DELTA_BINARY_PACKED);
        let (least, most) = (Some(self.least as i64), Some(self.most as i64));
        let statistics = Statistics::int64(least, most, None, Some(0), false);
        chunk::append(column, group, None, page, statistics)
    }
}

/// The difference between all neighbours, if it is the same and no number overflows.
fn steady(numbers: &[u64]) -> Option<u64> {
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    let step = numbers[1].wrapping_sub(first);
    let pairs = numbers.iter().zip(&numbers[1..]);
    let others = pairs.fold(0, |others, (a, b)| others | (b.wrapping_sub(*a) ^ step));
    let same = others == 0 && end(first, step, numbers.len() - 1) == Some(last);
    same.then_some(step)
}

/// The number `count` steps after `first`, if none overflows.
fn end(first: u64, step: u64, count: usize) -> Option<u64> {
    u64::try_from(i128::from(first) + i128::from(step as i64) * count as i128).ok()
}

#[cfg(test)]
mod tests {
    use super::{Deltas, Steps};
    use crate::record::{EstimateRow, RunRecord};
    use crate::tables::ESTIMATES;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use proptest::prelude::*;
    use slotline_net::rng::mix64;

    /// Numbers of up to `bits` bits are what other programs read, with the least and the largest of them.
    fn are_read(bits: u32, count: u64) {
        let number = |at: u64| mix64(at).checked_shr(u64::BITS - bits).unwrap_or(0);
        let row = |at: u64| EstimateRow { t_ps: number(at), ..EstimateRow::default() };
        let run = RunRecord { estimates: (0..count).map(row).collect(), ..RunRecord::default() };
        let mut file = Vec::new();
        ESTIMATES.parquet(&[&run], &mut file).unwrap();
        let file = SerializedFileReader::new(Bytes::from(file)).unwrap();
        let read = file
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().get_column_iter().nth(2).map(|(_, field)| field.clone()));
        let expected = (0..count).map(|at| Some(Field::ULong(number(at))));
        assert_eq!(read.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        let group = file.metadata().row_group(0);
        let statistics = group.column(2).statistics().unwrap();
        let range = [(0..count).map(number).min(), (0..count).map(number).max()];
        let range = range.map(|number| number.map(u64::to_le_bytes));
        let found = [statistics.min_bytes_opt(), statistics.max_bytes_opt()];
        assert_eq!(found, range.each_ref().map(|bytes| bytes.as_ref().map(|bytes| &bytes[..])));
    }

    #[test]
    fn numbers_are_read() {
        for bits in 0..=u64::BITS {
            for count in [1, 2, 33, 128, 129, 130, 257, 700] {
                are_read(bits, count);
            }
        }
    }
    fn steps() -> impl Strategy<Value = Steps> {
        let first = prop_oneof![0..4u64, Just(u64::MAX - 200), any::<u64>()];
        let step = prop_oneof![Just(0), 0..3u64, Just(u64::MAX), any::<u64>()];
        (first, step, 0..400usize).prop_map(|(first, step, count)| Steps { first, step, count })
    }

    proptest! {
        #[test]
        fn steps_are_as_their_numbers(mut all in prop::collection::vec(steps(), 0..6), goes_on: bool) {
            for at in (1..all.len()).filter(|_| goes_on) {
                let before = all[at - 1];
                all[at] = Steps { first: before.number(before.count), step: before.step, ..all[at] };
            }
            all.retain(|steps| steps.count > 0);
            let numbers_of = |steps: &Steps| {
                let steps = *steps;
                (0..steps.count).map(move |place| steps.number(place))
            };
            let numbers: Vec<u64> = all.iter().flat_map(numbers_of).collect();
            let (expected, found) =
                (Deltas::of(&numbers, |_, number| *number), Deltas::of_steps(numbers.len(), all.into_iter()));
            prop_assert_eq!((found.bytes, found.rows), (expected.bytes, expected.rows));
            prop_assert_eq!((found.least, found.most), (expected.least, expected.most));
        }
    }
}
