// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data in the page: JSON, compressed with gzip, in base64. A tenth of the size of the JSON itself.

use super::escape::escape;
use crate::error::ReportError;
use base64::{prelude::BASE64_STANDARD, Engine};
use flate2::{write::GzEncoder, Compression};
use std::io::Write;

/// A data island. Base64 cannot end or change the element.
pub(crate) fn island(id: &str, json: &str) -> Result<String, ReportError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json.as_bytes())?;
    let packed = BASE64_STANDARD.encode(encoder.finish()?);
    Ok(format!(
        "<script type=\"application/gzip\" id=\"{}\">{packed}</script>\n",
        escape(id)
    ))
}
