// SPDX-License-Identifier: GPL-2.0-only
//! Any bytes as what a process sends to the socket for hints, and writes into the page that it gets: only flags that are known come from that, and
//! nothing about other processes.
#![no_main]
use libfuzzer_sys::fuzz_target;
use lop_agent::{receive, Hints};
use rustix::fs::{fcntl_lock, FlockOperation};
use std::cell::RefCell;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

thread_local! {
    static AGENT: RefCell<(Hints, tempfile::TempDir)> = RefCell::new({
        let folder = tempfile::tempdir().expect("there is room for a folder");
        (Hints::new(folder.path(), |_| ()).expect("a new folder has no socket"), folder)
    });
}

fuzz_target!(|bytes: &[u8]| AGENT.with_borrow_mut(|(hints, folder)| {
    let mut client = UnixStream::connect(folder.path().join("socket")).expect("it is served");
    // The agent reads nothing and may have closed the connection already.
    let _ = client.write(bytes);
    let page = receive(&client).expect("a page for this process");
    page.write_all_at(bytes, 0)
        .expect("a page has room for the longest input");
    fcntl_lock(&page, FlockOperation::NonBlockingLockExclusive).expect("nobody else has the page");
    hints.look();
    let own = std::process::id();
    for word in bytes.chunks_exact(4) {
        let thread = u32::from_ne_bytes(word.try_into().expect("four bytes"));
        assert!(hints.of(own, thread).is_none_or(|hint| hint.flags < 16));
        assert!(!hints.has(thread) || thread == own);
    }
}));
