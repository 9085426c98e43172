// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tells the scheduler Lopsided what it cannot see of a program: which thread the others wait for, which has more work, which only waits in a loop.
//!
//! Hints are about the calling thread and end with it; nothing depends on them but speed. No call fails or prints, and where no scheduler listens none
//! does anything. `lopsided.h` says when a call may be made, and what a forked process has.
//!
//! ```
//! lopsided::length(7); // this thread has 7 files to compile, others have more or fewer
//! {
//!     let _alone = lopsided::sequential();
//!     // what the other threads wait for
//! }
//! ```

use std::ffi::c_uint;
use std::marker::PhantomData;

extern "C" {
    fn lop_version() -> c_uint;
    fn lop_parallelism(threads: c_uint);
    fn lop_length(length: c_uint);
    fn lop_next_length(length: c_uint);
    fn lop_memory(memory: c_uint);
    fn lop_sequential_begin();
    fn lop_sequential_end();
    fn lop_lock_holder_begin();
    fn lop_lock_holder_end();
    fn lop_spinning_begin();
    fn lop_spinning_end();
    fn lop_background_begin();
    fn lop_background_end();
}

/// How much a thread asks of cache and memory: misses of the last-level cache per thousand instructions. The values are those of
/// `enum lop_memory_class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u32)]
pub enum Memory {
    #[default]
    Unknown,
    /// Below 0.1.
    VeryLow,
    Moderate,
    /// Above 1.
    Intensive,
}

/// `LOP_VERSION` of the C library inside.
#[must_use]
pub fn version() -> u32 {
    unsafe { lop_version() }
}

/// How many threads of the process want to run at the same time, from 1; 0: not known. The last thread to say so counts, until it ends.
pub fn parallelism(threads: u32) {
    unsafe { lop_parallelism(threads) }
}

/// The work of the calling thread, in any unit that is the same for all threads of the program; 0: not known.
pub fn length(length: u32) {
    unsafe { lop_length(length) }
}

/// The same for the next process that the calling thread forks. A thread that `std` starts says its [`length`] itself.
pub fn next_length(length: u32) {
    unsafe { lop_next_length(length) }
}

pub fn memory(memory: Memory) {
    unsafe { lop_memory(memory as c_uint) }
}

/// A hint that lasts until this is dropped, which only its own thread can do.
#[must_use = "the hint ends when this is dropped"]
#[derive(Debug)]
pub struct Hint {
    end: unsafe extern "C" fn(),
    of_this_thread: PhantomData<*const ()>,
}

impl Hint {
    fn new(begin: unsafe extern "C" fn(), end: unsafe extern "C" fn()) -> Self {
        unsafe { begin() };
        Self {
            end,
            of_this_thread: PhantomData,
        }
    }
}

impl Drop for Hint {
    fn drop(&mut self) {
        unsafe { (self.end)() }
    }
}

/// All other threads of the program wait for this one.
pub fn sequential() -> Hint {
    Hint::new(lop_sequential_begin, lop_sequential_end)
}

/// Others wait, or soon will, for a lock that the thread holds.
pub fn lock_holder() -> Hint {
    Hint::new(lop_lock_holder_begin, lop_lock_holder_end)
}

/// The thread waits in a loop: whoever needs its core may have it.
pub fn spinning() -> Hint {
    Hint::new(lop_spinning_begin, lop_spinning_end)
}

/// Nobody waits for what the thread does: it may be done on the cheapest core, as slowly as that is.
pub fn background() -> Hint {
    Hint::new(lop_background_begin, lop_background_end)
}
