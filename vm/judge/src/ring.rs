// SPDX-License-Identifier: GPL-2.0-only
//! Pages of the kernel's trace ring buffer, as read from `trace_pipe_raw`.
//!
//! A page has a header (time of its first record, bytes in use) and records. A record begins with 32 bits: 5 for kind or
//! length, 27 for the time since the previous record.

use crate::format::{Field, Format};
use anyhow::{anyhow, bail, Context, Result};

const KIND_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
const KIND_PADDING: u32 = 29;
const KIND_TIME_EXTEND: u32 = 30;
const KIND_TIME_STAMP: u32 = 31;
/// An absolute time has 59 bits; the upper bits are those of the previous record.
const STAMP_MASK: u64 = (1 << STAMP_BITS) - 1;
const STAMP_BITS: u32 = 59;
/// Bit of `commit` if records were lost before this page.
const MISSED_EVENTS: u64 = 1 << 31;
/// Bits of `commit` with the length.
const LENGTH_MASK: u64 = (1 << 27) - 1;

/// Layout of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageLayout {
    commit: Field,
    data: Field,
}

impl PageLayout {
    /// From `events/header_page`.
    ///
    /// # Errors
    /// A field is missing.
    pub fn new(header_page: &Format) -> Result<Self> {
        let layout = PageLayout {
            commit: header_page.field("commit")?,
            data: header_page.field("data")?,
        };
        match layout.commit.size {
            8 => Ok(layout),
            size => bail!("the ring buffer counts in {size} bytes; only 64-bit kernels are read"),
        }
    }

    /// Bytes of a whole page.
    pub fn page_size(&self) -> usize {
        self.data.offset + self.data.size
    }

    /// Calls `each` with time in ns and payload of every record of `page`.
    ///
    /// # Errors
    /// Records were lost, the page is inconsistent, or `each` fails.
    pub fn records(&self, page: &[u8], mut each: impl FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        let time = read_u64(page, 0)?;
        let commit = read_u64(page, self.commit.offset)?;
        if commit & MISSED_EVENTS != 0 {
            bail!("the kernel lost events before this page");
        }
        let length = usize::try_from(commit & LENGTH_MASK)?;
        let data = page
            .get(self.data.offset..self.data.offset + length)
            .context("page is shorter than it says")?;
        let mut cursor = Cursor {
            data,
            at: 0,
            time_ns: time,
        };
        while let Some(payload) = cursor.next()? {
            each(cursor.time_ns, payload)?;
        }
        Ok(())
    }
}

struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
    time_ns: u64,
}

impl<'a> Cursor<'a> {
    /// Payload of the next record, `None` at the end; advances `time_ns`.
    fn next(&mut self) -> Result<Option<&'a [u8]>> {
        while self.at < self.data.len() {
            let head = self.word()?;
            let (kind, delta) = (head & ((1 << KIND_BITS) - 1), u64::from(head >> KIND_BITS));
            match kind {
                KIND_PADDING if delta == 0 => return Ok(None),
                KIND_PADDING => {
                    let length = self.word()? as usize;
                    self.at += length.checked_sub(4).context("padding shorter than its own head")?;
                    self.time_ns += delta;
                }
                KIND_TIME_EXTEND => self.time_ns += (u64::from(self.word()?) << DELTA_BITS) + delta,
                KIND_TIME_STAMP => {
                    let stamp = (u64::from(self.word()?) << DELTA_BITS) | delta;
                    self.time_ns = (self.time_ns & !STAMP_MASK) | stamp;
                }
                _ => {
                    self.time_ns += delta;
                    return self.payload(kind).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn payload(&mut self, kind: u32) -> Result<&'a [u8]> {
        let length = match kind {
            0 => (self.word()? as usize)
                .checked_sub(4)
                .context("record shorter than its own head")?,
            words => words as usize * 4,
        };
        let payload = self
            .data
            .get(self.at..self.at + length)
            .context("record reaches beyond its page")?;
        self.at += length.next_multiple_of(4);
        Ok(payload)
    }

    fn word(&mut self) -> Result<u32> {
        let bytes = self
            .data
            .get(self.at..self.at + 4)
            .context("page ends inside a record")?;
        self.at += 4;
        Ok(u32::from_ne_bytes(bytes.try_into()?))
    }
}

fn read_u64(page: &[u8], at: usize) -> Result<u64> {
    let bytes = page
        .get(at..at + 8)
        .ok_or_else(|| anyhow!("page of {} bytes has no header", page.len()))?;
    Ok(u64::from_ne_bytes(bytes.try_into()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> PageLayout {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        PageLayout::new(&Format::parse(header).unwrap()).unwrap()
    }

    fn page(time_ns: u64, words: &[u32], flags: u64) -> Vec<u8> {
        let mut page = time_ns.to_ne_bytes().to_vec();
        page.extend(((words.len() as u64 * 4) | flags).to_ne_bytes());
        words.iter().for_each(|word| page.extend(word.to_ne_bytes()));
        page.resize(4096, 0xaa);
        page
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << KIND_BITS
    }

    fn read(page: &[u8]) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut found = Vec::new();
        layout().records(page, |time, payload| {
            found.push((time, payload.to_vec()));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn every_kind_of_record() {
        let words = [
            head(1, 5),
            u32::from_ne_bytes(*b"abcd"),
            head(KIND_TIME_EXTEND, 3),
            2,
            head(0, 1),
            8,
            u32::from_ne_bytes(*b"efgh"),
            head(KIND_PADDING, 7),
            8,
            0,
            head(KIND_TIME_STAMP, 9),
            1,
            head(1, 0),
            u32::from_ne_bytes(*b"ijkl"),
            head(KIND_PADDING, 0),
            12345,
        ];
        let extended = 1005 + (2 << 27) + 3 + 1;
        let expected = [
            (1005, b"abcd".to_vec()),
            (extended, b"efgh".to_vec()),
            ((1 << 27) + 9, b"ijkl".to_vec()),
        ];
        assert_eq!(read(&page(1000, &words, 0)).unwrap(), expected);
        assert_eq!(layout().page_size(), 4096);
    }

    #[test]
    fn lost_records_and_broken_pages_are_errors() {
        for (page, expected) in [
            (page(0, &[head(1, 0), 0], MISSED_EVENTS), "lost events"),
            (page(0, &[head(5, 0), 0], 0), "beyond its page"),
            (page(0, &[head(KIND_TIME_EXTEND, 0)], 0), "ends inside"),
            (vec![0; 12], "no header"),
        ] {
            let error = read(&page).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
