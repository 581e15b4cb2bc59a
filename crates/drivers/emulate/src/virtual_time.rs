//! Network time for programs on hosts if it runs slower than real time.

use crate::clock::Dilation;
use slotline_preload::{Now, PreloadError, SharedTime};
use std::ffi::OsString;
use std::path::Path;

/// The environment variables that programs need to see network time.
#[derive(Clone, Default, Debug)]
pub struct Environment(Vec<(String, OsString)>);

impl Environment {
    /// Writes the files that programs need into `folder`. Without dilation, programs need none.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn new(folder: &Path, dilation: Dilation) -> Result<Environment, PreloadError> {
        if dilation == Dilation::NONE {
            return Ok(Environment::default());
        }
        let library = slotline_preload::install(folder)?;
        let (numerator, denominator) = dilation.ratio();
        let factor = slotline_preload::Dilation::new(numerator, denominator)?;
        let time = SharedTime::create(&folder.join("time"), factor, Now::read())?;
        Ok(Environment(slotline_preload::environment(&library, Some(&time), None)))
    }

    /// Names and values.
    pub fn variables(&self) -> &[(String, OsString)] {
        &self.0
    }
}
