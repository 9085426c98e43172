// SPDX-License-Identifier: MIT OR Apache-2.0
//! Data in the page: JSON, compressed with gzip, in base64. A tenth of the size of the JSON itself.

use super::escape::escape;
use crate::error::ReportError;
use flate2::{write::GzEncoder, Compression};
use std::io::Write;

/// A data island. Base64 cannot end or change the element.
pub(crate) fn island(id: &str, json: &str) -> Result<String, ReportError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json.as_bytes())?;
    let packed = base64(&encoder.finish()?);
    Ok(format!(
        "<script type=\"application/gzip\" id=\"{}\">{packed}</script>\n",
        escape(id)
    ))
}

/// RFC 4648, section 4: each 3 bytes as 4 characters, the last padded with `=`.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| {
            bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0))
        });
        for place in 0..4 {
            let character = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() {
                char::from(character)
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_pads_the_last_bytes() {
        for (plain, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), text);
        }
    }
}
