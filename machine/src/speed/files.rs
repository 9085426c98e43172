// SPDX-License-Identifier: MIT OR Apache-2.0
//! The few operations on sysfs, so that tests can imitate a kernel (rounding, refusing).

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// No file of sysfs holds more than a page.
const MAX_FILE_BYTES: u64 = 65_536;

/// Files below a root, named by paths relative to it.
pub(super) trait Files: Send {
    fn root(&self) -> &Path;
    fn read(&self, path: &str) -> io::Result<String>;
    /// One write, as `echo` does; never creates a file.
    fn write(&self, path: &str, value: &str) -> io::Result<()>;
    /// Whether the file could be written; does not write.
    fn writable(&self, path: &str) -> io::Result<()>;
    /// Names in a folder, sorted; empty if the folder is missing.
    fn list(&self, folder: &str) -> io::Result<Vec<String>>;

    fn absolute(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }
    fn read_trimmed(&self, path: &str) -> io::Result<String> {
        self.read(path).map(|text| text.trim().to_string())
    }
    fn read_khz(&self, path: &str) -> Option<u32> {
        self.read_trimmed(path).ok()?.parse().ok()
    }
}

/// The real thing, or a folder that looks like it.
pub(super) struct Tree {
    root: PathBuf,
}

impl Tree {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }
}

impl Files for Tree {
    fn root(&self) -> &Path {
        &self.root
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(self.absolute(path))?
            .take(MAX_FILE_BYTES)
            .read_to_string(&mut text)?;
        Ok(text)
    }

    fn write(&self, path: &str, value: &str) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.absolute(path))?;
        file.write_all(value.as_bytes())
    }

    fn writable(&self, path: &str) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.absolute(path))?;
        // Without a write bit, sysfs refuses even root; other file systems don't.
        if file.metadata()?.permissions().mode() & 0o222 == 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(())
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.absolute(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }
}

/// CPUs of a list as the kernel writes it: `0-3,8` or `0 1 2 3`. `None` if it is not such a list.
pub(super) fn parse_cpus(text: &str) -> Option<Vec<usize>> {
    const MAX_CPU: usize = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.split([',', ' ', '\n']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Formats sorted CPU numbers as `0-3,8`.
pub(super) fn format_cpus(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let text = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(",")
}

/// The number that follows the word in `cpu12`, `policy3` or `state0`.
pub(super) fn number_after(name: &str, word: &str) -> Option<usize> {
    let digits = name.strip_prefix(word)?;
    let plain = !digits.is_empty() && digits.len() <= 6 && digits.bytes().all(|b| b.is_ascii_digit());
    // Each number has only one form: `cpu01` is not a CPU.
    (plain && (digits == "0" || !digits.starts_with('0'))).then(|| digits.parse().ok())?
}
