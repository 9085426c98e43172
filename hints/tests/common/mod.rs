// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the file of a process as the format says, word by word.

use std::path::Path;

pub type Words = [u32; 16];

/// Header and records.
pub struct Page(pub Words, pub Vec<Words>);

impl Page {
    /// # Panics
    /// There is no such file, or it is no whole number of records.
    pub fn read(folder: &Path, pid: u32) -> Self {
        let bytes = std::fs::read(folder.join(format!("{pid}.hints"))).unwrap();
        assert_eq!(bytes.len() % 64, 0);
        let word = |at: &[u8]| u32::from_ne_bytes(at.try_into().unwrap());
        let words = |record: &[u8]| std::array::from_fn(|i| word(&record[4 * i..4 * i + 4]));
        let mut all = bytes.chunks_exact(64).map(words);
        Self(all.next().unwrap(), all.collect())
    }
    /// The records that were ever taken.
    ///
    /// # Panics
    /// The header is not as documented, or something stands behind the records that were taken.
    pub fn used(&self) -> &[Words] {
        let nr_used = self.0[4];
        assert_eq!(self.0, row([0x6870_6f6c, 2, 64, 4095, nr_used, 0, 0]));
        assert_eq!(self.1.len(), 4095);
        let (used, rest) = self.1.split_at(nr_used as usize);
        assert!(rest.iter().all(|record| *record == [0; 16]));
        used
    }
}

/// Version, flags, length, next length, parallelism, memory, thread; the rest is 0.
pub fn row(first: [u32; 7]) -> Words {
    std::array::from_fn(|i| first.get(i).copied().unwrap_or(0))
}
