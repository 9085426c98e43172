// SPDX-License-Identifier: GPL-2.0-only
//! Hints that the BPF program and user space share, as the program's header describes them. The records of its ring buffer are those of the policy
//! (`lop_policy::record`).

#[allow(non_camel_case_types, dead_code, clippy::all, clippy::pedantic)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/records.rs"));
}

/// A hint about a thread. Its flags are those of the policy (`lop_hint_flags`) and [`WITH_CHILDREN`].
pub use ffi::lop_hint_record as HintRecord;
pub use ffi::{LOP_HINT_VERSION as HINT_VERSION, LOP_HINT_WITH_CHILDREN as WITH_CHILDREN};

/// The header of a process's page; what names the page to the program, and the argument of the program that finds that out.
pub use ffi::{lop_hint_page as HintPage, lop_page_args as PageArguments, lop_page_key as PageKey};
/// How many pages there may be, and how many records each has.
pub use ffi::{
    LOP_HINT_MAGIC as HINT_MAGIC, LOP_PAGES as PAGES, LOP_PAGE_PROBES as PAGE_PROBES, LOP_PAGE_RECORDS as PAGE_RECORDS,
};

impl HintRecord {
    /// `None` if the record is empty or too short.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        read_front(bytes).filter(|record: &Self| record.version > 0)
    }
}

/// What the kernel is given.
pub fn bytes_of<T: Integers>(value: &T) -> &[u8] {
    // Integers without gaps.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), std::mem::size_of::<T>()) }
}

/// What the kernel may change.
pub fn bytes_of_mut<T: Integers>(value: &mut T) -> &mut [u8] {
    // Integers without gaps, of which any bytes are a valid one.
    unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(value).cast(), std::mem::size_of::<T>()) }
}

/// A record at the start of these bytes; `None` if they are too few.
fn read_front<T: Integers>(bytes: &[u8]) -> Option<T> {
    // Any bytes are a valid record, which need not be aligned.
    (bytes.len() >= std::mem::size_of::<T>()).then(|| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

/// Consists of integers only, without gaps.
///
/// # Safety
/// It does.
pub unsafe trait Integers: Copy {}
unsafe impl Integers for u32 {}
unsafe impl Integers for HintPage {}
unsafe impl Integers for PageKey {}
unsafe impl Integers for PageArguments {}
unsafe impl Integers for HintRecord {}
