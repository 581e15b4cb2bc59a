//! Columns of Parquet with texts that many rows share. A page has each text once, and another the number of each row's text.
//!
//! The library would look up the text of each row by its hash. Here the text follows from the run or from the number of a
//! port, so only the texts themselves are looked up.

use bytes::Bytes;
use parquet::basic::{Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::collections::BTreeMap;
use std::io::Write;

/// No number.
const NONE: u32 = u32::MAX;

/// The texts of a column in one row group.
pub(crate) struct SharedTexts<'a> {
    /// The texts, each once, in the order of their first rows.
    texts: Vec<&'a str>,
    /// By row, the number of its text.
    rows: Vec<u32>,
}

impl<'a> SharedTexts<'a> {
    /// The same text in all `rows`, of which there is at least one.
    pub fn same(text: &'a str, rows: usize) -> SharedTexts<'a> {
        SharedTexts { texts: vec![text], rows: vec![0; rows] }
    }

    /// A text for each of `keys`, which are below `most`.
    pub fn by_key(
        keys: impl Iterator<Item = usize>,
        most: usize,
        text_of: impl Fn(usize) -> &'a str,
    ) -> SharedTexts<'a> {
        let (mut texts, mut numbers) = (Vec::new(), BTreeMap::new());
        let mut number = |text: &'a str| {
            *numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            })
        };
        let mut by_key = vec![NONE; most];
        let rows = keys.map(|key| {
            if by_key[key] == NONE {
                by_key[key] = number(text_of(key));
            }
            by_key[key]
        });
        let rows = rows.collect();
        SharedTexts { texts, rows }
    }

    /// Appends the column to a row group.
    pub fn append(
        &self,
        column: ColumnDescPtr,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> Result<()> {
        let mut chunk = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut chunk);
        let texts = pages.write_page(whole(self.texts_page()))?;
        let numbers = pages.write_page(whole(self.numbers_page()))?;
        let encodings = [Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY];
        let bytes = texts.bytes_written + numbers.bytes_written;
        let metadata = ColumnChunkMetaData::builder(column)
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(vec![
                one_page(PageType::DICTIONARY_PAGE, Encoding::PLAIN),
                one_page(PageType::DATA_PAGE, Encoding::RLE_DICTIONARY),
            ])
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(bytes as i64)
            .set_num_values(self.rows.len() as i64)
            .set_dictionary_page_offset(Some(texts.offset as i64))
            .set_data_page_offset(numbers.offset as i64)
            .set_statistics(self.statistics())
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes,
            rows_written: self.rows.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&Bytes::from(chunk.into_inner()?), close)
    }

    /// The texts, each behind its length.
    fn texts_page(&self) -> Page {
        let mut bytes = Vec::new();
        for text in &self.texts {
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        Page::DictionaryPage {
            buf: bytes.into(),
            num_values: self.texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }
    }

    /// The number of bits of each number, and the numbers.
    fn numbers_page(&self) -> Page {
        let bits = (self.texts.len() as u32 - 1).checked_ilog2().map_or(0, |log| log + 1);
        let mut bytes = vec![bits as u8];
        match bits {
            0 => repeated(self.rows.len(), &mut bytes),
            _ => packed(&self.rows, bits, &mut bytes),
        }
        Page::DataPage {
            buf: bytes.into(),
            num_values: self.rows.len() as u32,
            encoding: Encoding::RLE_DICTIONARY,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    fn statistics(&self) -> Statistics {
        let text = |text: Option<&&str>| text.map(|text| ByteArray::from(*text));
        let (least, most) = (text(self.texts.iter().min()), text(self.texts.iter().max()));
        Statistics::byte_array(least, most, None, Some(0), false)
    }
}

/// A page that is not compressed.
fn whole(page: Page) -> CompressedPage {
    let bytes = page.buffer().len();
    CompressedPage::new(page, bytes)
}

fn one_page(page_type: PageType, encoding: Encoding) -> PageEncodingStats {
    PageEncodingStats { page_type, encoding, count: 1 }
}

/// A run of `rows` zeros, which have no bits.
fn repeated(rows: usize, out: &mut Vec<u8>) {
    varint((rows as u64) << 1, out);
}

/// A run of numbers in groups of eight, `bits` for each, the lowest first.
fn packed(numbers: &[u32], bits: u32, out: &mut Vec<u8>) {
    let groups = numbers.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * bits as usize;
    let (mut waiting, mut count) = (0u64, 0);
    for number in numbers {
        waiting |= u64::from(*number) << count;
        count += bits;
        if count >= 32 {
            out.extend_from_slice(&(waiting as u32).to_le_bytes());
            waiting >>= 32;
            count -= 32;
        }
    }
    out.extend_from_slice(&waiting.to_le_bytes());
    // The last group is filled with zeros.
    out.resize(end, 0);
}

/// A number in groups of seven bits, the lowest first; the eighth bit says that there are more.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}
