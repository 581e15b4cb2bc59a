//! Expectations about some points of a sweep.

use super::plan::{Study, shown};
use slotline_scenario::ScenarioError;
use slotline_scenario::merge::{Node, Value};

const KEY: &str = "expect";

/// Removes the expectations that are not about point `at`, and the settings that say what the others are about.
pub(super) fn keep(tree: &mut Node, study: &Study, at: usize) {
    let Value::Table(table) = &mut tree.value else { return };
    let Some(Node { value: Value::List(list), .. }) = table.get_mut(KEY) else { return };
    list.retain(|expect| is_about(expect, study, at));
    list.iter_mut().for_each(|expect| drop(expect.take("at")));
    if list.is_empty() {
        table.remove(KEY);
    }
}

/// The settings that an expectation asks for.
fn asked(expect: &Node) -> impl Iterator<Item = (&String, &Node)> {
    let at = expect.table().and_then(|table| table.get("at")?.table());
    at.into_iter().flatten()
}

fn is_about(expect: &Node, study: &Study, at: usize) -> bool {
    let settings = study.settings(at);
    asked(expect).all(|(path, value)| {
        let position = study.parameters.iter().position(|parameter| parameter.path == *path);
        let setting = position.and_then(|position| settings[position].as_ref());
        setting.is_some_and(|setting| shown(setting) == shown(&value.plain()))
    })
}

/// Checks that every expectation is about some point.
pub(super) fn check(study: &Study) -> Result<(), ScenarioError> {
    let list = study.base.table().and_then(|table| table.get(KEY)?.list()).unwrap_or_default();
    for expect in list {
        for (path, node) in asked(expect) {
            let known = study.parameters.iter().any(|parameter| parameter.path == *path);
            if !known {
                let all: Vec<String> =
                    study.parameters.iter().map(|p| format!("`{}`", p.path)).collect();
                let why = format!("the sweep does not vary `{path}`: it varies {}", all.join(", "));
                return Err(node.fault_of_key(why));
            }
        }
        if !(0..study.len()).any(|at| is_about(expect, study, at)) {
            return Err(expect.fault("no point of the sweep has these values".into()));
        }
    }
    Ok(())
}
