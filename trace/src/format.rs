// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file format: a line with format and version, a line of JSON ([`Header`]), and events of a few bytes each.
//!
//! Numbers in events are LEB128: seven bits a byte, the lowest first, with the eighth bit set if more follow. An event is a byte
//! for its kind, the time since the previous event in ns, the CPU, and its own numbers in the order of [`What`]. The end is a
//! separate event with the number of events, so that a truncated file is noticed.

use crate::event::{Event, Header, Trace, What, MAX_CPU, MAX_NAME, MAX_TASK, MAX_TIME_NS};
use lop_machine::InputError;
use std::io::Read;
use std::path::Path;

/// First line of every file that we write.
pub const MAGIC: &str = "lop-trace 2\n";
/// First line of older files, which lack the speed of their machine.
const FIRST: &str = "lop-trace 1\n";
/// The beginning of this line in every version.
const FAMILY: &[u8] = b"lop-trace ";
/// Larger files are refused unread.
pub const MAX_FILE_BYTES: u64 = 1 << 30;
/// Longest line of the header.
const MAX_HEADER: usize = 1 << 20;

/// Highest speed of a machine, in thousandths of the reference core.
const MAX_SPEED_PERMILLE: u32 = 1_000_000;

const END: u8 = 0;
const IN: u8 = 1;
const BLOCKED: u8 = 2;
const PREEMPTED: u8 = 3;
const FORK: u8 = 4;
const FORK_THREAD: u8 = 5;
const EXIT: u8 = 6;
const NAME: u8 = 7;
const NAME_EXEC: u8 = 8;
const WAKE: u8 = 9;

/// Whether a file begins like a recording of any version.
pub fn is_trace(path: &Path) -> bool {
    let mut start = [0; FAMILY.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == FAMILY
}

/// Reads the file at `path`.
///
/// # Errors
/// It cannot be read, is too large, or is malformed: see [`read`].
pub fn load(path: &Path) -> Result<Trace, InputError> {
    let file = path.display().to_string();
    let failed = |e: std::io::Error| InputError::new(&file, format!("cannot be read: {e}"));
    let about = std::fs::metadata(path).map_err(failed)?;
    if !about.is_file() {
        return Err(InputError::new(&file, "expected a regular file"));
    }
    if about.len() > MAX_FILE_BYTES {
        let message = format!("{} bytes, expected at most {MAX_FILE_BYTES}; record less", about.len());
        return Err(InputError::new(&file, message));
    }
    read(&file, &std::fs::read(path).map_err(failed)?)
}

/// The bytes of a recording. Events are written in their present order, with names cut to [`MAX_NAME`] bytes.
///
/// # Errors
/// The header cannot be written as JSON (because of a number that JSON lacks).
pub fn write(trace: &Trace) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = MAGIC.as_bytes().to_vec();
    bytes.extend(serde_json::to_vec(&trace.header)?);
    bytes.push(b'\n');
    let mut before_ns = 0;
    for event in &trace.events {
        put_event(&mut bytes, event, before_ns);
        before_ns = event.at_ns;
    }
    bytes.push(END);
    put(&mut bytes, trace.events.len() as u64);
    Ok(bytes)
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_event(bytes: &mut Vec<u8>, event: &Event, before_ns: u64) {
    let (code, numbers): (u8, [Option<u32>; 2]) = match event.what {
        What::In { task } => (IN, [Some(task), None]),
        What::Blocked { task } => (BLOCKED, [Some(task), None]),
        What::Preempted { task } => (PREEMPTED, [Some(task), None]),
        What::Fork { parent, child, thread } => (if thread { FORK_THREAD } else { FORK }, [Some(parent), Some(child)]),
        What::Exit { task } => (EXIT, [Some(task), None]),
        What::Name { task, exec, .. } => (if exec { NAME_EXEC } else { NAME }, [Some(task), None]),
        What::Wake { waker, woken } => (WAKE, [Some(waker), Some(woken)]),
    };
    bytes.push(code);
    put(bytes, event.at_ns.saturating_sub(before_ns));
    put(bytes, event.cpu.into());
    for number in numbers.into_iter().flatten() {
        put(bytes, number.into());
    }
    if let What::Name { name, .. } = &event.what {
        let name = &name[..name.floor_char_boundary(MAX_NAME)];
        put(bytes, name.len() as u64);
        bytes.extend(name.as_bytes());
    }
}

/// Reads what [`write`] writes. `file` is used in errors.
///
/// # Errors
/// The first fault: with its line if it is in the header, with the byte at which it begins if it is in an event.
pub fn read(file: &str, bytes: &[u8]) -> Result<Trace, InputError> {
    let wrong = |line: usize, message: String| InputError::new(file, message).at_line(line);
    if !bytes.starts_with(MAGIC.as_bytes()) && !bytes.starts_with(FIRST.as_bytes()) {
        let message = match bytes.starts_with(FAMILY) {
            true => "a recording of another version; expected version 1 or 2, so record again with this program",
            false => "not a recording; expected a file that 'lop record' wrote, which begins with 'lop-trace 2'",
        };
        return Err(wrong(1, message.into()));
    }
    let rest = &bytes[MAGIC.len()..];
    let end = rest.iter().take(MAX_HEADER).position(|&byte| byte == b'\n');
    let end = end.ok_or_else(|| wrong(2, "the header does not end; expected one line of JSON".into()))?;
    let header: Header = serde_json::from_slice(&rest[..end]).map_err(|error| {
        wrong(
            2,
            format!("bad header: {error}; expected one line of JSON, as 'lop record' writes it"),
        )
    })?;
    if header.wall_ns > MAX_TIME_NS || header.host.cpus == 0 || header.host.cpus > u32::from(MAX_CPU) + 1 {
        return Err(wrong(2, "a time or a number of CPUs that is out of range".into()));
    }
    if header
        .host
        .speed_permille
        .is_some_and(|speed| !(1..=MAX_SPEED_PERMILLE).contains(&speed))
    {
        let message = format!("host.speed_permille: expected 1 to {MAX_SPEED_PERMILLE}");
        return Err(wrong(2, message));
    }
    let mut events = Events {
        bytes,
        at: MAGIC.len() + end + 1,
        now_ns: 0,
    };
    let read = events.all();
    read.map(|events| Trace { header, events })
        .map_err(|(at, message)| InputError::new(file, format!("byte {at}: {message}")))
}

/// The byte at which a fault begins, and the message.
type Wrong = (usize, String);

struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
    now_ns: u64,
}

impl Events<'_> {
    fn all(&mut self) -> Result<Vec<Event>, Wrong> {
        let mut events = Vec::new();
        loop {
            let start = self.at;
            let code = self.byte()?;
            if code == END {
                self.end(start, events.len())?;
                return Ok(events);
            }
            events.push(self.event(start, code)?);
        }
    }

    fn end(&mut self, start: usize, events: usize) -> Result<(), Wrong> {
        let count = self.number("the number of events", u64::MAX)?;
        if count != events as u64 {
            return Err((start, format!("the end says {count} events, but there are {events}")));
        }
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err((self.at, "more after the end; expected nothing".into())),
        }
    }

    fn event(&mut self, start: usize, code: u8) -> Result<Event, Wrong> {
        if code > WAKE {
            return Err((start, format!("unknown event {code}; expected 0 to {WAKE}")));
        }
        self.now_ns += self.number("a time in ns", MAX_TIME_NS)?;
        if self.now_ns > MAX_TIME_NS {
            return Err((start, format!("later than {MAX_TIME_NS} ns after the beginning")));
        }
        let cpu = self.number("a CPU", MAX_CPU.into())? as u16;
        let task = self.task()?;
        let what = match code {
            IN => What::In { task },
            BLOCKED => What::Blocked { task },
            PREEMPTED => What::Preempted { task },
            FORK | FORK_THREAD => What::Fork {
                parent: task,
                child: self.task()?,
                thread: code == FORK_THREAD,
            },
            EXIT => What::Exit { task },
            NAME | NAME_EXEC => What::Name {
                task,
                exec: code == NAME_EXEC,
                name: self.name()?,
            },
            _ => What::Wake {
                waker: task,
                woken: self.task()?,
            },
        };
        Ok(Event {
            at_ns: self.now_ns,
            cpu,
            what,
        })
    }

    fn task(&mut self) -> Result<u32, Wrong> {
        Ok(self.number("a task", MAX_TASK.into())? as u32)
    }

    fn name(&mut self) -> Result<String, Wrong> {
        let length = self.number("a length of a name", MAX_NAME as u64)? as usize;
        let start = self.at;
        let bytes = self.bytes.get(start..start + length);
        let bytes = bytes.ok_or_else(|| self.cut_short())?;
        self.at += length;
        let name = std::str::from_utf8(bytes).map_err(|_| (start, "a name that is not UTF-8 text".to_string()))?;
        Ok(name.to_string())
    }

    fn byte(&mut self) -> Result<u8, Wrong> {
        let byte = self.bytes.get(self.at).copied().ok_or_else(|| self.cut_short())?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self, what: &str, most: u64) -> Result<u64, Wrong> {
        let start = self.at;
        let mut number = 0u64;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return match number <= most {
                    true => Ok(number),
                    false => Err((start, format!("{number}, expected {what} of at most {most}"))),
                };
            }
        }
        Err((start, format!("a number of more than 63 bits, expected {what}")))
    }

    fn cut_short(&self) -> Wrong {
        (
            self.bytes.len(),
            "the file ends here, without its end mark: it was cut short; copy all of it, or record again".into(),
        )
    }
}

#[cfg(test)]
mod tests;
