//! Imports a schedule of circuits in Etalon's form as the `control` of a scheme.

use super::job::Job;
use super::{Imported, Importer, Reader};
use slotline_circuits::etalon_format::{Unit, emit, parse};
use slotline_circuits::{Matching, Week};

pub(super) const IMPORTER: Importer = Importer {
    name: "circuits",
    about: "Etalon's schedules of circuits, in microseconds",
    options: &["--dilation"],
    read: Reader::File(import),
};

fn import(job: &Job<'_>) -> Result<Imported, String> {
    let name = job.file.display().to_string();
    let fragment = table(&job.text()?, &name, job.options.dilation.unwrap_or(1))?;
    Ok(Imported { fragment, ..Imported::default() })
}

/// `text` as a `[scheme.control]` table, which belongs to the `[[scheme]]` before it. Times are in microseconds unless
/// the text names a unit. They are `dilation` times as long as in the network: Etalon's emulator runs 20 times slower
/// than the network that it emulates.
fn table(text: &str, name: &str, dilation: u64) -> Result<String, String> {
    if dilation == 0 {
        return Err("--dilation is 0: lengths are divided by it".into());
    }
    let weeks = parse(text, Some(Unit::Us)).map_err(|error| format!("{name}: {error}"))?;
    let weeks: Result<Vec<Week>, String> = weeks.iter().map(|w| shorter(w, dilation)).collect();
    let weeks = weeks.map_err(|why| format!("{name}: {why}"))?;
    let shown: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    Ok(format!(
        "# The schedule in {shown}: {} racks, {} circuit switch{}. It belongs to the [[scheme]] before it.\n\
         [scheme.control]\nkind = \"circuits\"\nscheduler = \"fixed\"\nschedule = \"\"\"\n{}\"\"\"\n",
        weeks[0].racks(),
        weeks.len(),
        if weeks.len() == 1 { "" } else { "es" },
        emit(&weeks)
    ))
}

fn shorter(week: &Week, dilation: u64) -> Result<Week, String> {
    let slice = |slice: slotline_circuits::Slice| {
        let sources: Vec<Option<usize>> =
            (0..week.racks()).map(|to| slice.circuits.source(to)).collect();
        let matching = Matching::new(&sources).map_err(|error| error.to_string())?;
        Ok::<_, String>((slice.length / dilation, matching))
    };
    let slices = week.slices().map(slice).collect::<Result<Vec<_>, _>>()?;
    let span = slices.iter().map(|(length, _)| length).sum();
    Week::new(span, &slices).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_divided_and_the_rest_stays() {
        let text = "2 3600 1/2/0 400 -1/-1/-1\n2 3600 2/0/1 400 -1/-1/-1\n";
        let toml = table(text, "a\nb", 20).expect("a good text");
        assert!(toml.starts_with("# The schedule in a?b: 3 racks, 2 circuit switches."), "{toml}");
        let table: toml::Table = toml.parse().expect("TOML");
        let schedule = table["scheme"]["control"]["schedule"].as_str().expect("a text");
        assert_eq!(schedule, "unit us\n2 180 1/2/0 20 -1/-1/-1\n2 180 2/0/1 20 -1/-1/-1\n");
    }

    #[test]
    fn errors_have_their_place() {
        let wrong = |text, dilation| table(text, "s.txt", dilation).expect_err("wrong");
        assert_eq!(
            wrong("2 5 1/0", 1),
            "s.txt: line 1, column 8: the week should have 2 slices and has 1"
        );
        assert_eq!(wrong("1 5 1/0", 0), "--dilation is 0: lengths are divided by it");
        assert!(wrong("unit ps\n1 5 1/0", 20).starts_with("s.txt: "));
    }
}
