// SPDX-License-Identifier: GPL-2.0-only
//! Records in which threads of the command describe themselves (loads/hint.h): one file for each process in the folder that LOP_HINT_DIR names,
//! read at each look. Any process of the command may write there. So only flags, a length and a memory class are taken from them, and they are
//! read, not mapped: truncating a mapped file would kill its reader.

use crate::world::Hint;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The variable that names the folder to the command.
pub const VARIABLE: &str = "LOP_HINT_DIR";
const RECORD_BYTES: usize = 64;
const MOST_THREADS: usize = 4096;
const KNOWN_FLAGS: u32 = 7;
/// The first version with a length.
const WITH_LENGTH: u32 = 2;
/// The first version with a memory class.
const WITH_MEMORY: u32 = 3;

/// All records in a folder.
pub(crate) struct Hints {
    folder: PathBuf,
    files: BTreeMap<u32, File>,
    by_thread: BTreeMap<u32, Hint>,
    buffer: Vec<u8>,
}

impl Hints {
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            files: BTreeMap::new(),
            by_thread: BTreeMap::new(),
            buffer: vec![0; MOST_THREADS * RECORD_BYTES],
        }
    }

    /// To be called when processes or threads came or went: looks for files again.
    pub fn refresh(&mut self, pids: &BTreeSet<u32>) {
        self.files.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            let path = self.folder.join(format!("{pid}.hints"));
            if !self.files.contains_key(pid) {
                self.files.extend(File::open(path).ok().map(|file| (*pid, file)));
            }
        }
    }

    /// Reads the present records.
    pub fn look(&mut self) {
        self.by_thread.clear();
        for file in self.files.values() {
            let read = file.read_at(&mut self.buffer, 0).unwrap_or(0);
            self.by_thread
                .extend(self.buffer[..read].chunks_exact(RECORD_BYTES).filter_map(record));
        }
    }

    pub fn of(&self, tid: u32) -> Hint {
        self.by_thread.get(&tid).copied().unwrap_or_default()
    }
}

/// Words of a record: version, size, thread, flags, length, memory class. Version 0 is an empty record.
fn record(bytes: &[u8]) -> Option<(u32, Hint)> {
    let word = |n: usize| u32::from_ne_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]]);
    let (version, tid) = (word(0), word(2));
    let since = |first: u32, n: usize| if version >= first { word(n) } else { 0 };
    (version > 0).then(|| {
        let hint = Hint {
            flags: word(3) & KNOWN_FLAGS,
            length: since(WITH_LENGTH, 4),
            memory: u8::try_from(since(WITH_MEMORY, 5)).unwrap_or(0),
        };
        (tid, hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: [u32; 6]) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.resize(RECORD_BYTES, 0);
        bytes
    }

    #[test]
    fn records_are_read_by_version_and_what_nobody_wrote_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let records = [
            [1, 64, 7, 1, 360, 3],
            [2, 64, 8, 2 | 64, 300, 3],
            [0, 64, 9, 1, 5, 3],
            [3, 64, 10, 0, 0, 3],
        ];
        let records = records.map(words).concat();
        std::fs::write(folder.path().join("7.hints"), &records[..]).unwrap();
        let mut hints = Hints::new(folder.path());
        hints.refresh(&[7, 5].into());
        hints.look();
        let hint = |flags, length, memory| Hint { flags, length, memory };
        assert_eq!(hints.of(7), hint(1, 0, 0), "version 1 has no length");
        assert_eq!(hints.of(8), hint(2, 300, 0), "unknown flags are dropped");
        assert_eq!(hints.of(9), Hint::default());
        assert_eq!(hints.of(10), hint(0, 0, 3));
        std::fs::write(folder.path().join("7.hints"), &records[..100]).unwrap();
        hints.look();
        assert_eq!(hints.of(8), Hint::default(), "half a record");
    }
}
