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

impl Deltas {
    /// The numbers of `rows`.
    pub fn of<R>(rows: &[R], number: impl Fn(usize, &R) -> u64) -> Deltas {
        let first = rows.first().map_or(0, |row| number(0, row));
        let mut deltas = Deltas { bytes: Vec::new(), rows: rows.len(), least: first, most: first };
        varint(BLOCK as u64, &mut deltas.bytes);
        varint((BLOCK / PART) as u64, &mut deltas.bytes);
        varint(rows.len() as u64, &mut deltas.bytes);
        signed_varint(first as i64, &mut deltas.bytes);
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

    /// Adds a block: the numbers after the first of `numbers`, which is in the block before.
    fn block(&mut self, numbers: &[u64]) {
        if let Some(delta) = steady(numbers) {
            let ends = [numbers[0], numbers[numbers.len() - 1]];
            (self.least, self.most) =
                (self.least.min(ends[0]).min(ends[1]), self.most.max(ends[0]).max(ends[1]));
            signed_varint(delta, &mut self.bytes);
            self.bytes.extend_from_slice(&[0; BLOCK / PART]);
            return;
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
fn steady(numbers: &[u64]) -> Option<i64> {
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    let delta = numbers[1].wrapping_sub(first);
    let pairs = numbers.iter().zip(&numbers[1..]);
    let others = pairs.fold(0, |others, (a, b)| others | (b.wrapping_sub(*a) ^ delta));
    let sum = i128::from(delta as i64) * (numbers.len() - 1) as i128;
    let same = others == 0 && i128::from(first) + sum == i128::from(last);
    same.then_some(delta as i64)
}

#[cfg(test)]
mod tests {
    use crate::record::{EstimateRow, RunRecord};
    use crate::tables::ESTIMATES;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
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
}
