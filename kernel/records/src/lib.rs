// SPDX-License-Identifier: GPL-2.0-only
//! Records that the BPF program and user space share, as the program's header describes them: those of its ring buffer, which the loader writes to a
//! log and the player of logs reads from there, and the hints that `lop hint` gives it.

#[allow(non_camel_case_types, dead_code, clippy::all, clippy::pedantic)]
mod ffi {
    include!(concat!(env!("OUT_DIR"), "/records.rs"));
}

/// `enum lop_record_kind`. In a log its words are joined by hyphens, as in "given-up".
pub use ffi::lop_record_kind as Kind;

/// A hint about a thread. Its flags are those of the policy (`lop_hint_flags`) and [`WITH_CHILDREN`].
pub use ffi::lop_hint_record as HintRecord;
pub use ffi::{LOP_HINT_VERSION as HINT_VERSION, LOP_HINT_WITH_CHILDREN as WITH_CHILDREN};

/// The header of a process's page; what names the page to the program, and the argument of the program that finds that out.
pub use ffi::{lop_hint_page as HintPage, lop_page_args as PageArguments, lop_page_key as PageKey};
/// How many pages there may be, and how many records each has.
pub use ffi::{
    LOP_HINT_MAGIC as HINT_MAGIC, LOP_PAGES as PAGES, LOP_PAGE_PROBES as PAGE_PROBES, LOP_PAGE_RECORDS as PAGE_RECORDS,
};

/// Bits of the value of [`Kind::Stopped`].
pub use ffi::{LOP_STOPPED_AHEAD as STOPPED_AHEAD, LOP_STOPPED_RUNNABLE as STOPPED_RUNNABLE};
/// Bits of the value of [`Kind::Wake`].
pub use ffi::{LOP_WOKEN_AHEAD as WOKEN_AHEAD, LOP_WOKEN_BRIEF as WOKEN_BRIEF, LOP_WOKEN_SYSTEM as WOKEN_SYSTEM};

use serde::{Deserialize, Serialize};

/// One record of the program (`struct lop_record`, `struct lop_record_of_cpus`). The header says what each kind has in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub kind: Kind,
    pub at_ns: u64,
    /// The kernel's number for a task, valid until the task is gone.
    pub task: u64,
    pub cpu: i32,
    pub value: u32,
    /// CPUs, one bit each; empty for most kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<u64>,
}

impl Record {
    /// From the ring buffer. `None`: too short, or of an unknown kind.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let raw: ffi::lop_record = read_front(bytes)?;
        let kind = Kind::from_repr(raw.kind)?;
        let words = match kind {
            Kind::Task | Kind::Allowed => read_front::<ffi::lop_record_of_cpus>(bytes)?.words.to_vec(),
            _ => Vec::new(),
        };
        Some(Self {
            kind,
            at_ns: raw.at_ns,
            task: raw.task,
            cpu: raw.cpu,
            value: raw.value,
            words,
        })
    }
}

impl Kind {
    /// Whether it asks something of the loader. All others are in the log of decisions.
    #[must_use]
    pub fn is_request(self) -> bool {
        self < Self::Exit
    }

    /// Whether it is a decision of the policy.
    #[must_use]
    pub fn is_decision(self) -> bool {
        (Self::Set..=Self::Leaves).contains(&self)
    }

    /// Whether it is a call of the policy, rather than about a task that calls name.
    #[must_use]
    pub fn is_call(self) -> bool {
        self > Self::Leaves && !matches!(self, Self::Task | Self::Allowed | Self::Gone)
    }
}

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
unsafe impl Integers for ffi::lop_record {}
unsafe impl Integers for ffi::lop_record_of_cpus {}
unsafe impl Integers for HintRecord {}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 bytes each: time, task; 4 bytes each: kind, CPU, value, unused.
    fn bytes(kind: u32, words: &[u64]) -> Vec<u8> {
        let numbers = [kind, 3, 1, 0].map(u32::to_le_bytes).concat();
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        [5u64.to_le_bytes(), 7u64.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(numbers)
            .chain(words)
            .collect()
    }

    #[test]
    fn a_record_is_read_and_logged() {
        let read = Record::from_bytes(&bytes(Kind::GoTo as u32, &[])).unwrap();
        let expected = Record {
            kind: Kind::GoTo,
            at_ns: 5,
            task: 7,
            cpu: 3,
            value: 1,
            words: Vec::new(),
        };
        assert_eq!(read, expected);
        let logged = r#"{"kind":"go-to","at_ns":5,"task":7,"cpu":3,"value":1}"#;
        assert_eq!(serde_json::to_string(&read).unwrap(), logged);
        assert_eq!(serde_json::from_str::<Record>(logged).unwrap(), expected);
    }

    #[test]
    fn cpus_follow_where_the_kind_has_them() {
        let words = [1, 0, 0, 0, 0, 0, 0, 1 << 63];
        let read = Record::from_bytes(&bytes(Kind::Task as u32, &words)).unwrap();
        assert_eq!(read.words, words);
        assert_eq!(Record::from_bytes(&bytes(Kind::Task as u32, &words[..7])), None);
    }

    #[test]
    fn what_is_no_record_is_none() {
        assert_eq!(Record::from_bytes(&bytes(Kind::Listed as u32 + 1, &[])), None);
        assert_eq!(Record::from_bytes(&bytes(0, &[])[..31]), None);
    }

    #[test]
    fn a_kind_is_a_request_a_decision_a_call_or_about_a_task() {
        let kinds = (0..).map_while(Kind::from_repr);
        let others = kinds.filter(|kind| !kind.is_request() && !kind.is_decision() && !kind.is_call());
        assert_eq!(
            others.collect::<Vec<_>>(),
            [Kind::Exit, Kind::Task, Kind::Allowed, Kind::Gone]
        );
        assert!(Kind::Isolated.is_request() && Kind::Set.is_decision() && Kind::Start.is_call());
    }
}
