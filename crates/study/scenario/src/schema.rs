//! The scenario file described by a JSON Schema, for editors, for `slotline list`, for the reference, and for finding all
//! errors of a file at once. It is made from the types by [`types`], and kept in files, because making it takes longer than
//! a short run, and the code for it more place than its text.

pub mod types;

use serde_json::Value;
use slotline_net::schema::part_of;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The schema of files as text, for editors. A test compares it with the types.
pub const TEXT: &str = include_str!("schema/file.json");

static FILE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(TEXT).expect("the file is a schema"));
static SCENARIO: LazyLock<Value> = LazyLock::new(|| of_whole_scenario(file().clone()));

/// The schema of a file as it is written: a scenario, or a file that extends another or has a sweep.
pub fn file() -> &'static Value {
    &FILE
}

/// The schema of a scenario file (JSON Schema, draft 7), without references.
pub fn scenario() -> &'static Value {
    &SCENARIO
}

/// A part of the schema, and the keys and the kinds that it is about.
struct Kept {
    names: [Vec<String>; 2],
    part: Arc<Value>,
}

/// The part of the schema of a scenario file that is about `keys` and variants of these `kinds`, without its texts and
/// defaults. The last part is kept, because the points of a sweep have the same keys.
pub(crate) fn shape(keys: &BTreeSet<&str>, kinds: &BTreeSet<&str>) -> Arc<Value> {
    static LAST: Mutex<Option<Kept>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = [keys, kinds];
    let is_same = |kept: &Kept| kept.names.iter().zip(asked).all(|(a, b)| a.iter().eq(b));
    if let Some(kept) = last.as_ref().filter(|kept| is_same(kept)) {
        return Arc::clone(&kept.part);
    }
    let part = part_of(include_str!("schema/shape.jsonl"), keys, kinds);
    let part = Arc::new(part.expect("the file is a schema"));
    let names = asked.map(|names| names.iter().map(|&name| name.into()).collect());
    *last = Some(Kept { names, part: Arc::clone(&part) });
    part
}

/// The schema of a file without the keys that merge files, or make many scenarios of one.
fn of_whole_scenario(mut file: Value) -> Value {
    let forms = file.as_object_mut().and_then(|table| table.remove("anyOf"));
    if let Some(mut forms) = forms {
        file["required"] = forms[0]["required"].take();
    }
    let keys = file["properties"].as_object_mut().into_iter();
    keys.for_each(|keys| keys.retain(|key, _| !types::FILE_KEYS.contains(&key.as_str())));
    file
}

/// The limits of a number as text, unless they follow from its type.
pub fn limits(schema: &Value) -> String {
    let least =
        schema["minimum"].as_f64().filter(|least| *least > 0.0 || schema["maximum"].is_f64());
    let above = schema["exclusiveMinimum"].as_f64();
    let most = schema["maximum"].as_f64().filter(|most| *most < 60_000.0 && *most != 255.0);
    match (least, above, most) {
        (None, None, Some(most)) => format!(" from 0 to {most}"),
        (Some(least), _, Some(most)) => format!(" from {least} to {most}"),
        (_, Some(above), Some(most)) => format!(" above {above} and at most {most}"),
        (Some(least), ..) => format!(", at least {least}"),
        _ => String::new(),
    }
}
