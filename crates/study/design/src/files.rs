//! Plans as files: the bill of materials as CSV, a comparison as JSON.

use super::amount::{Money, Power};
use super::bill::{Bill, Known, Line, Sum};
use super::compare::{Comparison, Costed};
use super::parts::Parts;
use serde_json::{Value, json};

/// The columns of a bill of materials.
const HEADER: &str = "kind,item,role,count,price,cost,currency,power_w,heat_w,examples";

/// The bill as CSV, with a line for each part and role. Prices, power and heat are those of one part; unknown values
/// are empty; `examples` names the figures that are examples.
pub fn csv(bill: &Bill, parts: &Parts) -> String {
    let line = |line: &Line| csv_line(line, parts.currency()) + "\n";
    format!("{HEADER}\n{}", bill.lines.iter().map(line).collect::<String>())
}

fn csv_line(line: &Line, currency: &str) -> String {
    let money = |value: Option<u128>| value.map_or(String::new(), |v| cents(Money(v)));
    let watts = |known: &Known<Power>| known.value.map_or(String::new(), |p| p.watts().to_string());
    let price = line.price.value.map(|price| price.0);
    let cost = price.map(|price| price * u128::from(line.count));
    let cells = [
        line.kind.to_string(),
        quoted(&line.item),
        line.role.to_string(),
        line.count.to_string(),
        money(price),
        money(cost),
        if price.is_some() { currency.to_string() } else { String::new() },
        watts(&line.power),
        watts(&line.heat),
        examples(line),
    ];
    cells.join(",")
}

fn cents(money: Money) -> String {
    format!("{}.{:02}", money.0 / 100, money.0 % 100)
}

/// The figures of a line that are examples, such as "price power".
fn examples(line: &Line) -> String {
    let marks = [
        ("price", line.price.example && line.price.value.is_some()),
        ("power", line.power.example && line.power.value.is_some_and(|power| power.0 > 0)),
        ("heat", line.heat.example && line.heat.value.is_some_and(|heat| heat.0 > 0)),
    ];
    let named: Vec<&str> = marks.iter().filter(|mark| mark.1).map(|mark| mark.0).collect();
    named.join(" ")
}

/// A cell of text. Quotes in it are doubled.
fn quoted(text: &str) -> String {
    if !text.contains([',', '"', '\n', '\r']) {
        return text.into();
    }
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The comparison as JSON, the requested design first. Impossible designs have only an `error`.
pub fn json(comparison: &Comparison) -> Value {
    let Comparison { parts, wish, main, others } = comparison;
    let other = |(name, plan): &(String, Result<Costed, super::PlanError>)| match plan {
        Ok(costed) => design(costed, parts),
        Err(error) => json!({ "name": name, "error": error.to_string() }),
    };
    let designs: Vec<Value> =
        std::iter::once(design(main, parts)).chain(others.iter().map(other)).collect();
    json!({
        "hosts": wish.hosts,
        "nic_bps": wish.nic.0,
        "table": { "name": parts.name, "date": parts.date, "source": parts.source },
        "currency": parts.currency(),
        "designs": designs,
    })
}

fn design((design, bill): &Costed, parts: &Parts) -> Value {
    let lines: Vec<Value> = bill.lines.iter().map(line).collect();
    let money = |sum: &Sum| amount(sum, |value| Money(value).value());
    let watts = |sum: &Sum| amount(sum, |value| Power(value).watts());
    json!({
        "name": design.name,
        "room": design.room,
        "oversubscription": design.oversubscription.value(),
        "switches": design.switch_count(),
        "ports": design.ports(parts),
        "ports_used": design.ports_used(),
        "cables": design.cables(),
        "cable_m": bill.length as f64 / 1e3,
        "racks": design.hall.racks.len(),
        "cost_of_switches": money(&bill.switches),
        "cost_of_cables": money(&bill.cables),
        "power_w": watts(&bill.power),
        "heat_w": watts(&bill.heat),
        "remarks": design.remarks,
        "bill": lines,
    })
}

/// A sum; `null` if a figure is unknown.
fn amount(sum: &Sum, of: impl Fn(u128) -> f64) -> Value {
    json!({ "value": sum.whole().map(of), "example": sum.example })
}

fn line(line: &Line) -> Value {
    json!({
        "kind": line.kind,
        "item": line.item,
        "role": line.role,
        "count": line.count,
        "price": line.price.value.map(Money::value),
        "power_w": line.power.value.map(Power::watts),
        "heat_w": line.heat.value.map(Power::watts),
        "examples": examples(line),
    })
}
