//! The colours of pages on paper, from their style sheet.

use crate::frame::STYLE;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The number of schemes with colours of their own.
pub const SCHEMES: usize = 8;

static COLOURS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    // The first rule has the colours of light screens and of paper.
    let light = STYLE.split_once('}').map_or(STYLE, |(light, _)| light);
    let pairs = light.split("--").skip(1).filter_map(|pair| {
        let (name, value) = pair.split_once(": ")?;
        Some((name, value.get(..7).filter(|value| value.starts_with('#'))?))
    });
    pairs.collect()
});

/// The colour that the style sheet calls `name`, as `#0072b2`; black if there is none.
pub fn named(name: &str) -> &'static str {
    COLOURS.get(name).copied().unwrap_or("#000000")
}

/// The colour of a scheme.
pub fn scheme(at: usize) -> &'static str {
    named(&format!("c{}", at % SCHEMES))
}
