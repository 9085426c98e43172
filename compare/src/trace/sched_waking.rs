// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracepoint `sched:sched_waking`, which tells whom the task on a CPU wakes.

use super::bytes;
use std::path::PathBuf;

/// `common_flags` of a tracepoint: an interrupt runs, not the task on the CPU (`TRACE_FLAG_HARDIRQ`, `TRACE_FLAG_SOFTIRQ`).
const INTERRUPT: u8 = 0x08 | 0x10;

/// Number and layout of the tracepoint, from tracefs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedWaking {
    pub id: u64,
    flags_at: usize,
    woken_at: usize,
}

impl SchedWaking {
    /// `None` if tracefs is not mounted, or not accessible to this user.
    pub fn find() -> Option<Self> {
        let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let read = |root: &str, file: &str| {
            let path = PathBuf::from(root).join("events/sched/sched_waking").join(file);
            std::fs::read_to_string(path).ok()
        };
        roots
            .iter()
            .find_map(|root| Self::parse(&read(root, "id")?, &read(root, "format")?))
    }

    fn parse(id: &str, format: &str) -> Option<Self> {
        Some(Self {
            id: id.trim().parse().ok()?,
            flags_at: offset(format, "common_flags", 1)?,
            woken_at: offset(format, "pid", 4)?,
        })
    }

    /// The woken task in a sample's raw data, and whether an interrupt wakes it. `None` if the data are too short.
    pub fn woken(&self, raw: &[u8]) -> Option<(u32, bool)> {
        let flags = *raw.get(self.flags_at)?;
        Some((bytes::u32_at(raw, self.woken_at)?, flags & INTERRUPT != 0))
    }
}

/// Offset of a field of this size, from a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
fn offset(format: &str, name: &str, size: usize) -> Option<usize> {
    let mut fields = format.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    fields.find_map(|line| {
        let mut parts = line.split(';').map(str::trim);
        let declared = parts.next()?.rsplit(' ').next()?;
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let found = parts.next()?.strip_prefix("size:")?.parse::<usize>().ok()?;
        (declared == name && found == size).then_some(offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kernel 6.12 writes it.
    const FORMAT: &str = "name: sched_waking\nID: 321\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n";

    #[test]
    fn a_sample_says_whom_and_whether_an_interrupt_did_it() {
        let event = SchedWaking::parse("321\n", FORMAT).unwrap();
        let mut raw = [0u8; 36];
        raw[24..28].copy_from_slice(&4711u32.to_ne_bytes());
        assert_eq!(event.woken(&raw), Some((4711, false)));
        raw[2] = 0x08;
        assert_eq!(event.woken(&raw), Some((4711, true)));
        assert_eq!(event.woken(&raw[..26]), None);
    }

    #[test]
    fn another_layout_is_not_guessed() {
        assert_eq!(
            SchedWaking::parse("321", &FORMAT.replace("pid_t pid", "pid_t woken")),
            None
        );
        assert_eq!(SchedWaking::parse("321", &FORMAT.replace("size:1", "size:2")), None);
        assert_eq!(SchedWaking::parse("none", FORMAT), None);
    }
}
