//! Parts tables: those of the program are valid, and invalid ones are refused with the place of the error.

use super::parts::{Parts, SHIPPED};
use proptest::prelude::*;
use slotline_net::units::Rate;
use std::path::Path;

fn read(text: &str) -> Result<Parts, String> {
    Parts::parse(Path::new("own.toml"), text.into()).map_err(|error| error.to_string())
}

fn with(from: &str, to: &str) -> Result<Parts, String> {
    let text = SHIPPED[0].1;
    assert!(text.contains(from), "{from}");
    read(&text.replacen(from, to, 1))
}

fn refused(from: &str, to: &str, says: &[&str]) {
    let error = with(from, to).expect_err("not a table");
    assert!(error.starts_with("own.toml:"), "{error}");
    says.iter().for_each(|word| assert!(error.contains(word), "{word}: {error}"));
}

#[test]
fn the_tables_of_the_program_are_whole_and_say_where_figures_are_from() {
    for (name, _) in SHIPPED {
        let parts = Parts::shipped(name).expect("a whole table");
        assert_eq!((parts.name.as_str(), parts.currency()), (name, "USD"));
        for part in &parts.switches {
            let sourced = !part.source.is_empty() || part.examples.len() == 2;
            assert!(sourced, "{}: neither a source nor an example", part.name);
            let longest = parts.longest(part.rate).expect("cables for its ports");
            assert!(longest.0 >= 100_000, "{}: cables up to {longest}", part.name);
        }
    }
}

#[test]
fn a_table_is_found_for_a_rate() {
    let named = |rate: u64| Parts::for_rate(Rate(rate * 1_000_000_000)).name;
    assert_eq!([1, 10, 100, 400].map(named), ["2012", "2012", "today", "today"]);
    assert_eq!(named(11), "2012", "which then says what it has");
}

#[test]
fn errors_have_their_place() {
    refused("ports = 48", "prots = 48", &["unknown key `prots`", "did you mean `ports`?"]);
    refused("name = \"2008\"\n", "", &["missing key `name`"]);
    refused("name = \"2008\"\n", "name = \"2008\"\nextra = 1\n", &["unknown key `extra`"]);
    refused("\"3000 USD\"", "3000", &["expected text"]);
    refused("\"3000 USD\"", "\"3000\"", &["\"7000 USD\""]);
    refused("\"3000 USD\"", "\"-3 USD\"", &["`-3 USD`"]);
    refused("\"7000 USD\"", "\"7000 EUR\"", &["EUR", "USD", "switch[1].price"]);
    refused("power = \"100W\"", "power = \"100 hp\"", &["BTU/h"]);
    refused("length = \"2m\"", "length = \"2 feet\"", &["`2 feet`"]);
    refused("length = \"2m\"", "length = \"0m\"", &["cable[0].length"]);
    refused("ports = 48", "ports = 0", &["switch[0].ports"]);
    refused("units = 1", "units = 49", &["a rack has 1 to 48"]);
    refused("uplinks = 4\n", "", &["`uplinks` and `uplink-rate`"]);
    refused("rate = \"1Gbps\"", "rate = \"0bps\"", &["above zero"]);
    refused("rate = \"1Gbps\"", "rate = \"1Gb\"", &["Gbps"]);
    refused("hosts-per-rack = 48", "hosts-per-rack = 0", &["floor.hosts-per-rack"]);
    refused("rack-width = \"0.6m\"", "rack-width = \"0m\"", &["floor.rack-width"]);
    refused("riser = \"2m\"", "riser = \"200m\"", &["floor.riser", "at most 100 m"]);
    refused("uplinks = 4\n", "uplinks = 5000\n", &["switch[1].uplinks", "at most 1024"]);
    refused("examples = [\"power\"]", "examples = [\"colour\"]", &["`colour`", "price"]);
    refused("name = \"48-port 10GigE\"", "name = \"48-port GigE\"", &["two switches"]);
    assert!(read("switch = 3").is_err() && read("[[").is_err() && read("").is_err());
}

#[test]
fn the_cheapest_cable_that_reaches_is_taken() {
    let parts = Parts::shipped("today").expect("a table");
    let rate = Rate(400_000_000_000);
    let name = |mm| {
        let found = parts.cable(rate, super::amount::Length(mm));
        found.map(|at| parts.cables[at].name.as_str())
    };
    assert_eq!(name(1), Some("400G copper, 1 m"));
    assert_eq!(name(1_001), Some("400G copper, 2 m"));
    assert_eq!(name(3_001), Some("400G fibre, 5 m"));
    assert_eq!((name(500_000), name(500_001)), (Some("400G fibre, 500 m"), None));
}

proptest! {
    /// Any damaged table gives a table or an error, never a panic.
    #[test]
    fn damaged_tables_are_refused(at in 0usize..1_500, cut in 0usize..40, put in ".{0,12}") {
        let text = SHIPPED[0].1;
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        let (from, to) = (floor(at).unwrap_or(0), floor(at + cut).unwrap_or(0));
        let _ = read(&format!("{}{put}{}", &text[..from], &text[to..]));
    }
}
