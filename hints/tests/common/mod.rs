// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listens as a scheduler would, and reads what was written word by word, as the format says.

#![allow(dead_code)]

pub mod build;
pub mod program;

use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::fs::File;
use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// The memory of each process is a file `PID.hints` in the folder, so that it outlives the process.
///
/// # Panics
/// The folder has a socket already.
pub fn listen(folder: &Path) {
    give(folder, 4095, 0);
}

/// [`listen`], for pages of so many records, of which a thread may have so many.
///
/// # Panics
/// The folder has a socket already.
pub fn give(folder: &Path, nr_records: u32, probes: u32) {
    let header = [0x6870_6f6c, 2, 64, nr_records, 0, probes];
    let listener = UnixListener::bind(folder.join("socket")).unwrap();
    let folder = folder.to_path_buf();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            let process = rustix::net::sockopt::socket_peercred(&connection).unwrap().pid;
            let mut options = File::options();
            let options = options.read(true).write(true).create(true).truncate(true);
            let mut page = options.open(folder.join(format!("{process}.hints"))).unwrap();
            page.write_all(&header.map(u32::to_ne_bytes).concat()).unwrap();
            page.set_len(64 * (u64::from(nr_records) + 1)).unwrap();
            send(&connection, &page);
        }
    });
}

/// Sends one byte with this descriptor.
///
/// # Panics
/// Nobody is there.
pub fn send(connection: &UnixStream, file: &File) {
    let files = [file.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = SendAncillaryBuffer::new(&mut room);
    assert!(passed.push(SendAncillaryMessage::ScmRights(&files)));
    sendmsg(connection, &[IoSlice::new(&[0])], &mut passed, SendFlags::empty()).unwrap();
}

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
    /// The header has changed, or something stands behind the records that were taken.
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
