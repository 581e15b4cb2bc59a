//! Columns of Parquet with values that many rows share. A page has each value once, and another the number of each row's value.
//!
//! The library would look up the value of each row by its hash. Here the value follows from the run or from the number of a
//! port, so only the values themselves are looked up.

use super::bits::{pack, varint};
use super::chunk::{self, data_page};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::collections::BTreeMap;
use std::io::Write;

/// No number.
const NONE: u32 = u32::MAX;

/// A column in one row group.
pub(crate) struct Shared {
    /// The values, each once, in the order of their first rows, as Parquet has them.
    values: Vec<u8>,
    count: u32,
    statistics: Statistics,
    numbers: Numbers,
}

/// By row, the number of its value.
enum Numbers {
    Each(Vec<u32>),
    /// Numbers with how many times they are repeated.
    Repeated(Vec<(u32, usize)>),
}

/// Numbers of the distinct texts of keys.
struct Distinct<'a, F> {
    text_of: F,
    by_key: Vec<u32>,
    texts: Vec<&'a str>,
    numbers: BTreeMap<&'a str, u32>,
}

impl<'a, F: Fn(usize) -> &'a str> Distinct<'a, F> {
    fn new(most: usize, text_of: F) -> Self {
        Distinct { text_of, by_key: vec![NONE; most], texts: Vec::new(), numbers: BTreeMap::new() }
    }
    #[inline]
    fn number(&mut self, key: usize) -> u32 {
        if self.by_key[key] == NONE {
            self.by_key[key] = self.number_of((self.text_of)(key));
        }
        self.by_key[key]
    }
    fn number_of(&mut self, text: &'a str) -> u32 {
        let texts = &mut self.texts;
        *self.numbers.entry(text).or_insert_with(|| {
            texts.push(text);
            texts.len() as u32 - 1
        })
    }
}

impl Shared {
    /// The same text in all `rows`.
    pub fn text(text: &str, rows: usize) -> Shared {
        Shared::texts(&[text], Numbers::Repeated(vec![(0, rows)]))
    }

    /// The same number in all `rows`.
    pub fn number(number: u64, rows: usize) -> Shared {
        let (value, none) = (Some(number as i64), Some(0));
        Shared {
            values: number.to_le_bytes().to_vec(),
            count: 1,
            statistics: Statistics::int64(value, value, None, none, false),
            numbers: Numbers::Repeated(vec![(0, rows)]),
        }
    }

    /// A text for each of `keys`, which are below `most`.
    pub fn by_key<'a>(
        keys: impl Iterator<Item = usize>,
        most: usize,
        text_of: impl Fn(usize) -> &'a str,
    ) -> Shared {
        let mut texts = Distinct::new(most, text_of);
        let numbers = keys.map(|key| texts.number(key)).collect();
        Shared::texts(&texts.texts, Numbers::Each(numbers))
    }

    /// The same for keys that are repeated so many times.
    pub fn by_repeated_key<'a>(
        keys: impl Iterator<Item = (usize, usize)>,
        most: usize,
        text_of: impl Fn(usize) -> &'a str,
    ) -> Shared {
        let mut texts = Distinct::new(most, text_of);
        let mut numbers: Vec<(u32, usize)> = Vec::new();
        for (key, rows) in keys {
            let number = texts.number(key);
            match numbers.last_mut() {
                Some((last, sum)) if *last == number => *sum += rows,
                _ => numbers.push((number, rows)),
            }
        }
        Shared::texts(&texts.texts, Numbers::Repeated(numbers))
    }

    /// Texts, each behind its length.
    fn texts(texts: &[&str], numbers: Numbers) -> Shared {
        let mut values = Vec::new();
        for text in texts {
            values.extend_from_slice(&(text.len() as u32).to_le_bytes());
            values.extend_from_slice(text.as_bytes());
        }
        let value = |text: Option<&&str>| text.map(|text| ByteArray::from(*text));
        let (least, most) = (value(texts.iter().min()), value(texts.iter().max()));
        let statistics = Statistics::byte_array(least, most, None, Some(0), false);
        Shared { values, count: texts.len() as u32, statistics, numbers }
    }

    /// Appends the column to a row group.
    pub fn append(
        self,
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<()> {
        let numbers = self.encoded();
        let values = Page::DictionaryPage {
            buf: self.values.into(),
            num_values: self.count,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let numbers = data_page(numbers, self.numbers.len(), Encoding::RLE_DICTIONARY);
        chunk::append(column, group, Some(values), numbers, self.statistics)
    }

    /// The number of bits of each number, and the numbers.
    fn encoded(&self) -> Vec<u8> {
        let bits = (self.count - 1).checked_ilog2().map_or(0, |log| log + 1);
        let mut bytes = vec![bits as u8];
        match &self.numbers {
            Numbers::Each(numbers) if bits == 0 => repeated(0, numbers.len(), bits, &mut bytes),
            Numbers::Each(numbers) => packed(numbers, bits, &mut bytes),
            Numbers::Repeated(runs) => {
                runs.iter().for_each(|(number, rows)| repeated(*number, *rows, bits, &mut bytes));
            }
        }
        bytes
    }
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Numbers::Each(numbers) => numbers.len(),
            Numbers::Repeated(runs) => runs.iter().map(|(_, rows)| rows).sum(),
        }
    }
}

/// The same number, of `bits` bits, in `rows` rows.
fn repeated(number: u32, rows: usize, bits: u32, out: &mut Vec<u8>) {
    varint((rows as u64) << 1, out);
    out.extend_from_slice(&number.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// A run of numbers in groups of eight, `bits` for each, the lowest first.
fn packed(numbers: &[u32], bits: u32, out: &mut Vec<u8>) {
    let groups = numbers.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * bits as usize;
    pack(numbers, bits, out);
    // The last group is filled with zeros.
    out.resize(end, 0);
}

#[cfg(test)]
mod tests {
    use crate::record::{EstimateRow, PortRow, RunRecord};
    use crate::tables::ESTIMATES;
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    /// The cells of a row as text.
    fn cells(row: &parquet::record::Row) -> Vec<String> {
        let text = |field: &Field| match field {
            Field::Str(text) => text.clone(),
            other => other.to_string(),
        };
        row.get_column_iter().map(|(_, field)| text(field)).collect()
    }

    /// Written rows of `ports` ports are what other programs read.
    fn are_read(ports: u32, rows: u32) {
        // Two neighbouring ports have one node. The last port does not exist, so it has no name.
        let port = |at: u32| PortRow {
            node: format!("s{}", at / 2),
            port: format!("p{at}"),
            ..PortRow::default()
        };
        let row = |at: u32| EstimateRow {
            t_ps: at.into(),
            port: at * 7 % (ports + 1),
            ..EstimateRow::default()
        };
        let run = RunRecord {
            scheme: "a scheme".into(),
            seed: 3,
            ports: (0..ports).map(port).collect(),
            estimates: (0..rows).map(row).collect(),
            ..RunRecord::default()
        };
        let mut file = Vec::new();
        ESTIMATES.parquet(&[&run], &mut file).unwrap();
        let file = SerializedFileReader::new(Bytes::from(file)).unwrap();
        let read: Vec<Vec<String>> =
            file.get_row_iter(None).unwrap().map(|row| cells(&row.unwrap())).collect();
        let expected = run.estimates.iter().map(|row| {
            let port = run.ports.get(row.port as usize).cloned().unwrap_or_default();
            let (time, index) = (row.t_ps.to_string(), row.port.to_string());
            [
                "a scheme".into(),
                "3".into(),
                time,
                port.node,
                port.port,
                "0".into(),
                "0".into(),
                "0".into(),
                index,
            ]
            .to_vec()
        });
        assert_eq!(read, expected.collect::<Vec<_>>(), "{ports} ports, {rows} rows");
    }

    #[test]
    fn shared_values_are_read() {
        for (ports, rows) in
            [(0, 1), (1, 5), (1, 8), (2, 17), (7, 100), (300, 1_001), (5_000, 20_000)]
        {
            are_read(ports, rows);
        }
    }
}
