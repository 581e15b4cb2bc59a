//! Columns of a row group that are not encoded by the library, as pages.

use bytes::Bytes;
use parquet::basic::{Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use std::io::Write;

/// A page with the values of `rows` rows.
pub(crate) fn data_page(values: Vec<u8>, rows: usize, encoding: Encoding) -> Page {
    Page::DataPage {
        buf: values.into(),
        num_values: rows as u32,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    }
}

/// Appends a column to a row group: the page `data`, and before it the values to which it refers, if it does.
pub(crate) fn append(
    column: ColumnDescPtr,
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: Option<Page>,
    data: Page,
    statistics: Statistics,
) -> Result<()> {
    let (rows, encoding) = (data.num_values(), data.encoding());
    let mut chunk = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut chunk);
    let values = values.map(|page| pages.write_page(whole(page))).transpose()?;
    let data = pages.write_page(whole(data))?;
    let plain = values.as_ref().map(|_| Encoding::PLAIN);
    let encodings: Vec<Encoding> = plain.into_iter().chain([Encoding::RLE, encoding]).collect();
    let first = plain.map(|plain| one_page(PageType::DICTIONARY_PAGE, plain));
    let bytes = data.bytes_written + values.as_ref().map_or(0, |values| values.bytes_written);
    let metadata = ColumnChunkMetaData::builder(column)
        .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
        .set_page_encoding_stats(
            first.into_iter().chain([one_page(PageType::DATA_PAGE, encoding)]).collect(),
        )
        .set_total_compressed_size(bytes as i64)
        .set_total_uncompressed_size(bytes as i64)
        .set_num_values(rows.into())
        .set_dictionary_page_offset(values.map(|values| values.offset as i64))
        .set_data_page_offset(data.offset as i64)
        .set_statistics(statistics)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes,
        rows_written: rows.into(),
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&Bytes::from(chunk.into_inner()?), close)
}

/// A page that is not compressed.
fn whole(page: Page) -> CompressedPage {
    let bytes = page.buffer().len();
    CompressedPage::new(page, bytes)
}

fn one_page(page_type: PageType, encoding: Encoding) -> PageEncodingStats {
    PageEncodingStats { page_type, encoding, count: 1 }
}
