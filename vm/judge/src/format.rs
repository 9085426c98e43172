// SPDX-License-Identifier: GPL-2.0-only
//! The format files of tracefs: the place of each field in a record.

use anyhow::{anyhow, bail, Context, Result};
use std::collections::HashMap;

/// The place of a field, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
}

/// Layout of one kind of event, or of a page header.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Format {
    /// `common_type` of such records; 0 for a page header.
    pub id: u16,
    fields: HashMap<String, Field>,
}

impl Format {
    /// Reads `events/*/*/format` or `events/header_page`.
    ///
    /// # Errors
    /// A line differs from the kernel's format; the error has the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut format = Format::default();
        for line in text.lines().map(str::trim) {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().with_context(|| format!("format line `{line}`"))?;
            } else if let Some(rest) = line.strip_prefix("field:") {
                let (name, field) = parse_field(rest).with_context(|| format!("format line `{line}`"))?;
                format.fields.insert(name, field);
            }
        }
        Ok(format)
    }

    /// The place of the field `name`.
    ///
    /// # Errors
    /// This kernel's event has no such field.
    pub fn field(&self, name: &str) -> Result<Field> {
        self.fields
            .get(name)
            .copied()
            .ok_or_else(|| anyhow!("this kernel's event has no field `{name}`"))
    }

    /// The integer `name` of `record`, sign-extended.
    ///
    /// # Errors
    /// There is no such field, the record is too short, or the field is not an integer.
    pub fn integer(&self, record: &[u8], name: &str) -> Result<i64> {
        let bytes = self.bytes(record, name)?;
        Ok(match *bytes {
            [a] => i64::from(a as i8),
            [a, b] => i64::from(i16::from_ne_bytes([a, b])),
            [a, b, c, d] => i64::from(i32::from_ne_bytes([a, b, c, d])),
            [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
            _ => bail!("field `{name}` has {} bytes and is no integer", bytes.len()),
        })
    }

    /// The text `name` of `record`, up to its NUL.
    ///
    /// # Errors
    /// There is no such field, or the record is too short.
    pub fn text(&self, record: &[u8], name: &str) -> Result<String> {
        let bytes = self.bytes(record, name)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn bytes<'a>(&self, record: &'a [u8], name: &str) -> Result<&'a [u8]> {
        let field = self.field(name)?;
        record
            .get(field.offset..field.offset + field.size)
            .ok_or_else(|| anyhow!("record ends inside field `{name}`"))
    }
}

/// `char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;`
fn parse_field(text: &str) -> Result<(String, Field)> {
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next().unwrap_or("");
    let last = declaration
        .split_whitespace()
        .last()
        .ok_or_else(|| anyhow!("no name"))?;
    let name = last.split('[').next().unwrap_or(last).to_owned();
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = Some(value.parse()?),
            Some(("size", value)) => size = Some(value.parse()?),
            _ => {}
        }
    }
    let field = Field {
        offset: offset.context("no offset")?,
        size: size.context("no size")?,
    };
    Ok((name, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\nprint fmt: \"field: %d\"\n";

    #[test]
    fn fields_of_a_record() {
        let format = Format::parse(SAMPLE).unwrap();
        let mut record = [0u8; 40];
        record[8..14].copy_from_slice(b"a b=>c");
        record[24..28].copy_from_slice(&(-5i32).to_ne_bytes());
        record[32..40].copy_from_slice(&256i64.to_ne_bytes());
        assert_eq!(format.id, 316);
        assert_eq!(format.text(&record, "prev_comm").unwrap(), "a b=>c");
        assert_eq!(format.integer(&record, "prev_pid").unwrap(), -5);
        assert_eq!(format.integer(&record, "prev_state").unwrap(), 256);
    }

    #[test]
    fn what_is_not_there_is_said() {
        let format = Format::parse(SAMPLE).unwrap();
        assert!(format
            .integer(&[0; 40], "next_pid")
            .unwrap_err()
            .to_string()
            .contains("next_pid"));
        assert!(format
            .integer(&[0; 30], "prev_state")
            .unwrap_err()
            .to_string()
            .contains("record ends"));
        assert!(format
            .integer(&[0; 40], "prev_comm")
            .unwrap_err()
            .to_string()
            .contains("no integer"));
        assert!(Format::parse("\tfield:int x;\tsize:4;").is_err());
    }
}
