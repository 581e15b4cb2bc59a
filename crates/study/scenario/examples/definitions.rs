//! Prints the schema of a scenario with a definition for each type, from which `python/generate.py` writes classes.

fn main() {
    println!("{}", slotline_scenario::schema::types::definitions());
}
