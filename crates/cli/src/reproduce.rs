//! `slotline reproduce`.

use crate::arguments::ReproduceOptions;
use anyhow::Result;
use std::process::ExitCode;

pub fn reproduce(_options: &ReproduceOptions) -> Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
