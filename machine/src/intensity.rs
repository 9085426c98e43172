// SPDX-License-Identifier: MIT OR Apache-2.0
//! How programs use memory: cache misses and instructions, as `perf stat` recorded them on a machine whose CPU counts them.
//!
//! Each line is what `perf stat -a --per-thread -x, -e cache-misses,instructions` prints for one event of one thread, with or without `-I`:
//! `[SECONDS,]NAME-THREAD,COUNT,UNIT,EVENT,...`. Counts are added up over all threads of a name and over all intervals. Other events, empty
//! lines, lines with `#` and counts of threads that did not run (`<not counted>`) are ignored.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Largest recording that is read; a day of a busy machine is smaller.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// Most bytes of a thread's name, as the kernel keeps it.
const MAX_NAME: usize = 64;
/// How to make a recording.
const HOW: &str = "record what runs with 'perf stat -a --per-thread -x, -e cache-misses,instructions -o FILE sleep 60'";

/// The counts of all threads of a name, or of a cgroup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Misses of the last-level cache.
    pub misses: u64,
    pub instructions: u64,
}

impl Counts {
    /// Intensity: misses per thousand instructions.
    #[must_use]
    pub fn mpki(self) -> f64 {
        self.misses as f64 * 1000.0 / self.instructions as f64
    }
}

/// Counts by thread name. Each has instructions, and no more misses than instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intensities(BTreeMap<String, Counts>);

#[derive(Clone, Copy)]
enum Event {
    Misses,
    Instructions,
}

impl Event {
    /// `cache-misses`, `cache-misses:u`, `cpu_core/cache-misses/`; `None`: another one.
    fn named(name: &str) -> Option<Self> {
        let bare = name.split_once('/').map_or(name, |(_, rest)| rest);
        let bare = bare.split(['/', ':']).next().unwrap_or(bare);
        match bare {
            "cache-misses" => Some(Self::Misses),
            "instructions" => Some(Self::Instructions),
            _ => None,
        }
    }
}

impl Intensities {
    /// # Errors
    /// File, line and reason: it cannot be read, or is not such a recording.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| format!("{shown}: {error}"))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(format!(
                "{shown}: more than {} MiB: record for less long",
                MAX_FILE_BYTES >> 20
            ));
        }
        let text = String::from_utf8(bytes).map_err(|error| format!("{shown}: no text: {error}"))?;
        Self::parse(&shown.to_string(), &text)
    }

    /// `file` names the text in errors.
    ///
    /// # Errors
    /// File, line and reason.
    pub fn parse(file: &str, text: &str) -> Result<Self, String> {
        let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let refused = |why: String| format!("{file}:{}: {why}", index + 1);
            let Some((name, event, count)) = reading(line).map_err(refused)? else {
                continue;
            };
            let of = counts.entry(name.to_owned()).or_default();
            let sum = match event {
                Event::Misses => &mut of.misses,
                Event::Instructions => &mut of.instructions,
            };
            *sum = sum.saturating_add(count);
        }
        counts.retain(|_, of| of.instructions > 0);
        if let Some((name, of)) = counts.iter().find(|(_, of)| of.misses > of.instructions) {
            return Err(format!(
                "{file}: '{name}' misses the cache {} times in {} instructions, which no program does: {HOW}",
                of.misses, of.instructions
            ));
        }
        if counts.values().all(|of| of.misses == 0) {
            return Err(format!("{file}: no misses of any thread that ran: {HOW}"));
        }
        Ok(Self(counts))
    }

    /// The counts of threads of this name.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Counts> {
        self.0.get(name).copied()
    }

    /// How many names were recorded.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Always false: an empty recording is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Name of the thread, event and count of a line; `None` for any other line. The name may contain commas, so it is everything before the count.
fn reading(line: &str) -> Result<Option<(&str, Event, u64)>, String> {
    let line = line.trim();
    let fields: Vec<&str> = line.split(',').collect();
    let Some((at, event)) = (3..fields.len()).find_map(|at| Some((at, Event::named(fields[at])?))) else {
        return match line.is_empty() || line.starts_with('#') || fields.len() > 3 {
            true => Ok(None),
            false => Err(format!("expected NAME-NUMBER,COUNT,UNIT,EVENT, found '{line}': {HOW}")),
        };
    };
    let before: usize = fields[..at - 2].iter().map(|field| field.len() + 1).sum();
    let thread = without_seconds(&line[..before - 1]);
    let name = match thread.rsplit_once('-') {
        Some((name, number)) if !name.is_empty() && number.parse::<u32>().is_ok() => name,
        _ => return Err(format!("expected a thread as NAME-NUMBER, found '{thread}': {HOW}")),
    };
    if name.len() > MAX_NAME {
        return Err(format!("a name of {} bytes, at most {MAX_NAME}", name.len()));
    }
    match fields[at - 2] {
        "<not counted>" => Ok(None),
        "<not supported>" => Err(format!(
            "where this was recorded the CPU does not count {}: record on one that does",
            fields[at]
        )),
        count => match count.parse() {
            Ok(count) => Ok(Some((name, event, count))),
            Err(_) => Err(format!("expected a count of {}, found '{count}'", fields[at])),
        },
    }
}

/// Turns `1.000123,stream-12` into `stream-12`: with `-I`, each line begins with the time.
fn without_seconds(thread: &str) -> &str {
    match thread.split_once(',') {
        Some((seconds, rest)) if seconds.contains('.') && seconds.parse::<f64>().is_ok() => rest,
        _ => thread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 misses in 1000 instructions in the first second, 10 in the next: 30 / 2000 are 15 MPKI. Two threads of a name count as one.
    #[test]
    fn counts_of_a_name_are_added() {
        let text = "\
# started on a day
     1.000123,stream-12,20,,cache-misses,1000,100.00,,
     1.000123,stream-12,1000,,instructions,1000,100.00,1.00,insn per cycle
     1.000123,stream-12,100.0,msec,task-clock,1000,100.00,0.9,CPUs utilized
     2.000123,stream-13,10,,cpu_core/cache-misses/,1000,100.00,,
     2.000123,stream-13,1000,,instructions:u,1000,100.00,,
     2.000123,lop-a-b-7,<not counted>,,cache-misses,0,0.00,,
     2.000123,lop-a-b-8,5000,,instructions,0,0.00,,
     2.000123,a,b.1,c-8,7,,instructions,0,0.00,,
     2.000123,#a-8,9,,instructions,0,0.00,,
sleeper-9,0,,cache-misses,0,100.00,,
sleeper-9,0,,instructions,0,100.00,,
";
        let found = Intensities::parse("perf.csv", text).unwrap();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found.of("a,b.1,c").unwrap().instructions, 7);
        assert_eq!(found.of("#a").unwrap().instructions, 9);
        assert_eq!(found.of("stream").unwrap().mpki(), 15.0);
        assert_eq!(
            found.of("lop-a-b"),
            Some(Counts {
                misses: 0,
                instructions: 5000
            })
        );
        assert_eq!(found.of("sleeper"), None);
    }

    #[test]
    fn what_is_no_recording_is_refused_with_file_line_and_reason() {
        for (text, expected) in [
            (
                "",
                "perf.csv: no misses of any thread that ran: record what runs with 'perf stat",
            ),
            (
                "\nhello",
                "perf.csv:2: expected NAME-NUMBER,COUNT,UNIT,EVENT, found 'hello'",
            ),
            (
                "a-x,1,,cache-misses",
                "perf.csv:1: expected a thread as NAME-NUMBER, found 'a-x'",
            ),
            ("-1,1,,cache-misses", "perf.csv:1: expected a thread as NAME-NUMBER"),
            (
                "a-1,-5,,cache-misses",
                "perf.csv:1: expected a count of cache-misses, found '-5'",
            ),
            (
                "a-1,<not supported>,,instructions",
                "the CPU does not count instructions",
            ),
            (
                "a-1,11,,cache-misses\na-1,10,,instructions",
                "'a' misses the cache 11 times in 10 instructions",
            ),
            ("a-1,0,,cache-misses\na-1,10,,instructions", "no misses of any thread"),
        ] {
            let error = Intensities::parse("perf.csv", text).unwrap_err();
            assert!(
                error.starts_with("perf.csv") && error.contains(expected),
                "{text}: {error}"
            );
        }
        let long = format!("{}-1,1,,cache-misses", "x".repeat(65));
        assert!(Intensities::parse("f", &long)
            .unwrap_err()
            .contains("a name of 65 bytes"));
    }

    #[test]
    fn a_file_that_is_not_there_or_no_text_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("perf.csv");
        assert!(Intensities::read(&path).unwrap_err().contains("perf.csv: No such file"));
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(Intensities::read(&path).unwrap_err().contains("perf.csv: no text"));
        std::fs::write(&path, "a-1,1,,cache-misses\na-1,10,,instructions\n").unwrap();
        assert_eq!(Intensities::read(&path).unwrap().of("a").unwrap().mpki(), 100.0);
    }
}
