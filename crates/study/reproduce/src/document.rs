//! Writes the table of an experiment into the page of its paper.

use super::{Experiment, Row, markdown};

/// Stands above the table of a result that is older than the last change of results of its scenario.
const OLDER: &str = "*Results of this scenario have changed since this table was made.*";

/// `page` with a new heading and a new table in the section of `experiment`; `None` without such a section and table.
/// The text around the table stays. A sentence above the table says whether the result is `older` than the last change
/// of results.
pub fn with_table(
    page: &str,
    experiment: &Experiment,
    rows: &[Row],
    older: bool,
) -> Option<String> {
    let begin = format!("## {}: ", experiment.id);
    let lines: Vec<&str> = page.lines().collect();
    let head = lines.iter().position(|line| line.starts_with(&begin))?;
    let table = head + lines[head..].iter().position(|line| is_row(line))?;
    if lines[head + 1..table].iter().any(|line| line.starts_with("## ")) {
        return None;
    }
    let end = table + lines[table..].iter().take_while(|line| is_row(line)).count();
    let heading = format!("{begin}{}", experiment.about);
    let mut between: Vec<&str> = lines[head + 1..table].to_vec();
    if between.ends_with(&[OLDER, ""]) {
        between.truncate(between.len() - 2);
    }
    if older {
        between.extend([OLDER, ""]);
    }
    let rows = markdown(rows);
    let before = lines[..head].iter().copied();
    let all = before.chain([heading.as_str()]).chain(between).chain(rows.lines());
    Some(all.chain(lines[end..].iter().copied()).flat_map(|line| [line, "\n"]).collect())
}

fn is_row(line: &str) -> bool {
    line.starts_with('|')
}

#[cfg(test)]
mod tests {
    use super::super::{Stated, find};
    use super::*;
    use slotline_lab::statistics::{ANY, Estimate};

    const PAGE: &str = "\
# Hedera

## hed-1: an earlier title

| | old |
|---|---:|
| a | 1.0 |

A text.

| | another table |
|---|---:|

## hed-2: another one
";

    #[test]
    fn a_table_is_replaced_and_the_text_stays() {
        let experiment = find("hed-1").expect("it is there");
        let row = Row {
            x: None,
            point: "a".into(),
            scheme: String::new(),
            quantity: "demand".into(),
            unit: "1".into(),
            paper: Some(Stated::About(2.0)),
            ours: Estimate { mean: 3.0, half: None, n: 1, possible: ANY },
            note: String::new(),
        };
        let rows = [row];
        let page = with_table(PAGE, experiment, &rows, false).expect("a section");
        let expected = PAGE.replace("an earlier title", experiment.about).replace(
            "| | old |\n|---|---:|\n| a | 1.0 |",
            "| | demand |\n|---|---:|\n| a | 3.0 (~ 2.0) |",
        );
        assert_eq!(page, expected);
        let older = with_table(PAGE, experiment, &rows, true).expect("a section");
        assert_eq!(older, page.replace("| | demand", &format!("{OLDER}\n\n| | demand")));
        for (page, is_older) in [(&older, true), (&page, false)] {
            assert_eq!(with_table(&older, experiment, &rows, is_older).as_ref(), Some(page));
        }
        assert_eq!(with_table(PAGE, find("hed-2").expect("it is there"), &[], false), None);
        assert_eq!(with_table(PAGE, find("hed-3").expect("it is there"), &[], false), None);
    }
}
