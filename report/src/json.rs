// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports as JSON, for programs.

use crate::check::check_report;
use crate::error::ReportError;
use crate::model::Report;

/// One pretty-printed object with `results`, fields in the order of the model, ending with a newline.
///
/// # Errors
/// A number that is infinite or NaN, or a counter that is null: the contract has numbers only.
pub fn json(report: &Report) -> Result<String, ReportError> {
    check_report(report)?;
    Ok(serde_json::to_string_pretty(report)? + "\n")
}
