//! The summary of a result as a table.

use crate::table::{Made, Table};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, LargeStringArray, UInt64Array};
use arrow_schema::{ArrowError, Field};
use slotline_lab::statistics::Ratio;
use slotline_lab::summary::{Cell, Summary};
use slotline_scenario::metric::Metric;
use std::sync::Arc;

/// A scheme on a metric.
type Row<'a> = (&'a str, Metric, &'a Cell);

/// One row for each scheme and metric.
pub fn table(summary: &Summary) -> Result<Table, ArrowError> {
    let rows: Vec<Row<'_>> = rows(summary).collect();
    let numbers = |get: fn(&Cell) -> Option<f64>| -> Float64Array {
        rows.iter().map(|(_, _, cell)| get(cell)).collect()
    };
    let texts = |get: fn(&Row<'_>) -> Option<String>| -> LargeStringArray {
        rows.iter().map(get).collect()
    };
    let columns = vec![
        made("scheme", texts(|row| Some(row.0.into()))),
        made("metric", texts(|row| Some(row.1.key().into()))),
        made("unit", texts(|row| Some(row.1.unit().symbol().into()))),
        made("mean", numbers(|cell| Some(cell.estimate.mean))),
        made("ci_low", numbers(|cell| cell.estimate.low())),
        made("ci_high", numbers(|cell| cell.estimate.high())),
        made("n", rows.iter().map(|row| row.2.estimate.n as u64).collect::<UInt64Array>()),
        made("lower_bound", rows.iter().map(|row| Some(row.2.at_least)).collect::<BooleanArray>()),
        made("verdict", texts(|row| Some(row.2.against.as_ref()?.verdict.text().into()))),
        made("ratio", numbers(|cell| Some(ratio(cell)?.value))),
        made("ratio_low", numbers(|cell| Some(ratio(cell)?.interval?.0))),
        made("ratio_high", numbers(|cell| Some(ratio(cell)?.interval?.1))),
    ];
    Table::new("metrics", columns)
}

fn rows(summary: &Summary) -> impl Iterator<Item = Row<'_>> {
    summary.schemes.iter().flat_map(|scheme| {
        let cells = summary.metrics.iter().zip(&scheme.cells);
        cells.filter_map(|(metric, cell)| Some((scheme.name.as_str(), *metric, cell.as_ref()?)))
    })
}

/// The mean of the scheme over the mean of the baseline.
fn ratio(cell: &Cell) -> Option<Ratio> {
    cell.against.as_ref()?.ratio
}

fn made(name: &str, array: impl Array + 'static) -> Made {
    let field = Field::new(name, array.data_type().clone(), true);
    (field, Arc::new(array) as ArrayRef)
}
