//! A queue on the command line, as a scenario has it.

use super::objects::Objects;
use serde::Deserialize;
use slotline_net::aqm::spec::QueueSpec;
use std::path::Path;

#[derive(Deserialize)]
struct Table {
    queue: QueueSpec,
}

/// Reads what a scenario could have after `queue =`. A name alone needs no quotes. The path of an object file is
/// relative to the folder in which the program was started.
pub fn queue_from_text(text: &str) -> Result<QueueSpec, String> {
    let word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let value = if word { format!("\"{text}\"") } else { text.to_string() };
    let mut table: Table =
        toml::from_str(&format!("queue = {value}")).map_err(|error| error.message().to_string())?;
    Objects::beside(Path::new("")).fill(&mut table.queue).map_err(|error| error.message)?;
    table.queue.validate().map_err(|error| error.to_string())?;
    Ok(table.queue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_a_table() {
        assert_eq!(queue_from_text("ecn"), QueueSpec::named("ecn").map_err(|e| e.to_string()));
        let table = queue_from_text("{ kind = \"ecn\", limit = \"40KB\" }").unwrap();
        assert_eq!(table.limit.0, 40_000);
        for (text, why) in [("blue", "unknown variant"), ("{ limit = \"0B\" }", "0B"), ("{", "")] {
            assert!(queue_from_text(text).unwrap_err().contains(why), "{text}");
        }
    }
}
