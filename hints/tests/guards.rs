// SPDX-License-Identifier: MIT OR Apache-2.0
//! The crate's calls, read from this process's own page.

mod common;

use common::{listen, row, Page};
use lopsided::Memory;

#[test]
fn each_call_and_guard_makes_the_c_call_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    listen(folder.path());
    // Read at the first call, which only this test makes.
    std::env::set_var("LOP_HINT_DIR", folder.path());
    assert_eq!(lopsided::version(), 1);
    lopsided::parallelism(4);
    lopsided::length(7);
    lopsided::next_length(9);
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    let thread = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
    let says = |flags, memory| {
        let page = Page::read(folder.path(), std::process::id());
        assert_eq!(page.used(), [row([2, flags, 7, 9, 4, memory, thread])]);
    };
    let guards = [
        lopsided::spinning,
        lopsided::sequential,
        lopsided::lock_holder,
        lopsided::background,
    ];
    for (bit, guard) in guards.into_iter().enumerate() {
        let hint = guard();
        says(1 << bit, 0);
        {
            let _nested = guard();
        }
        says(1 << bit, 0);
        drop(hint);
        says(0, 0);
    }
    for (class, memory) in [Memory::Unknown, Memory::VeryLow, Memory::Moderate, Memory::Intensive]
        .into_iter()
        .enumerate()
    {
        lopsided::memory(memory);
        says(0, class as u32);
    }
}
