// SPDX-License-Identifier: MIT OR Apache-2.0
//! The source of the files: a folder, or one text that lists them.

use crate::InputError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result as IoResult};
use std::path::{Path, PathBuf};

/// Files of sysfs have at most a page, a few that list CPUs more; `/proc/cpuinfo` has up to 2 KiB for each CPU.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Most files of a text; 512 CPUs need about 10,000.
const MAX_FILES: usize = 32_768;

/// A tree of small text files.
pub trait Tree {
    /// Contents of the file at `path`, which is relative (`sys/devices/system/cpu/present`).
    ///
    /// # Errors
    /// `NotFound` if there is none; anything else if it cannot be read.
    fn read(&self, path: &str) -> IoResult<String>;

    /// Names in a folder, sorted; empty if it is missing or cannot be read.
    fn list(&self, folder: &str) -> Vec<String>;

    /// `path` as a person would name it.
    fn shown(&self, path: &str) -> String;
}

/// A folder that holds `sys`.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
        }
    }
}

impl Tree for Folder {
    fn read(&self, path: &str) -> IoResult<String> {
        let path = self.root.join(path);
        // Checked before opening: opening a pipe waits for a writer.
        let about = std::fs::metadata(&path).map_err(|error| match error.kind() {
            // There is a file instead of a folder, so nothing is below it.
            ErrorKind::NotADirectory => Error::from(ErrorKind::NotFound),
            _ => error,
        })?;
        if !about.is_file() {
            return Err(Error::other("not a regular file"));
        }
        let mut text = String::new();
        File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::other(format!("more than {MAX_FILE_BYTES} bytes")));
        }
        Ok(text)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.root.join(folder)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .flatten()
            .flat_map(|entry| entry.file_name().into_string())
            .collect();
        names.sort();
        names
    }

    fn shown(&self, path: &str) -> String {
        self.root.join(path).display().to_string()
    }
}

/// A tree in the form of one text, for storing or sending a machine:
///
/// ```text
/// # a comment
/// [sys/devices/system/cpu]
/// present = 0-7
/// cpu{0-7}/topology/physical_package_id = 0
/// cpu{0-3}/topology/core_cpus_list = {n},{n+4}
/// ```
///
/// `[folder]` is the prefix of the paths that follow. A list of numbers in braces stands for one file each; in their contents
/// `{n}`, `{n+K}` and `{n-K}` are that number, plus K and minus K. If a file has several lines, the last one counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTree {
    name: String,
    files: BTreeMap<String, String>,
}

impl TextTree {
    /// Reads such a text; `name` is for errors.
    ///
    /// # Errors
    /// A line that has none of the forms above, with its number; more than 32,768 files.
    pub fn parse(name: &str, text: &str) -> Result<Self, InputError> {
        let mut files = BTreeMap::new();
        let mut folder = String::new();
        for (number, line) in text.lines().enumerate() {
            let refuse = |message: &str| InputError::new(name, message).at_line(number + 1);
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(inner) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                folder = format!("{}/", inner.trim_end_matches('/'));
                continue;
            }
            let (path, value) = line
                .split_once('=')
                .ok_or_else(|| refuse("expected '[folder]' or 'path = contents'"))?;
            let path = format!("{folder}{}", path.trim());
            if !is_plain(&path) {
                return Err(refuse("expected a relative path without '..'"));
            }
            for (path, value) in expanded(&path, value.trim()).map_err(|message| refuse(&message))? {
                files.insert(path, value);
            }
            if files.len() > MAX_FILES {
                return Err(refuse(&format!("expected at most {MAX_FILES} files")));
            }
        }
        Ok(Self {
            name: name.to_string(),
            files,
        })
    }

    /// Paths and contents, the latter without line ends.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, value)| (path.as_str(), value.as_str()))
    }
}

impl Tree for TextTree {
    fn read(&self, path: &str) -> IoResult<String> {
        let text = self.files.get(path).map(|text| format!("{text}\n"));
        text.ok_or_else(|| Error::from(ErrorKind::NotFound))
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let folder = format!("{folder}/");
        let below = self.files.keys().filter_map(|path| path.strip_prefix(&folder));
        let names: BTreeSet<_> = below.filter_map(|rest| rest.split('/').next()).collect();
        names.into_iter().map(str::to_string).collect()
    }

    fn shown(&self, path: &str) -> String {
        format!("{}: {path}", self.name)
    }
}

fn is_plain(path: &str) -> bool {
    let usual = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    path.split('/').all(usual)
}

/// The files that a line stands for.
fn expanded(path: &str, value: &str) -> Result<Vec<(String, String)>, String> {
    let Some((before, rest)) = path.split_once('{') else {
        return Ok(vec![(path.to_string(), value.to_string())]);
    };
    let (list, after) = rest.split_once('}').ok_or("'{' without '}'")?;
    let numbers = super::cpulist::parse(list).ok_or("expected a list such as {0-3,8}")?;
    let file = |n: u32| Ok((format!("{before}{n}{after}"), with_number(value, n)?));
    numbers.into_iter().map(file).collect()
}

/// `value` with `{n}`, `{n+K}` and `{n-K}` replaced.
fn with_number(value: &str, n: u32) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, from)) = rest.split_once('{') {
        let (term, after) = from.split_once('}').ok_or("'{' without '}'")?;
        let number =
            term_value(term, n).ok_or_else(|| format!("found {{{term}}}, expected {{n}}, {{n+K}} or {{n-K}}"))?;
        text += before;
        text += &number.to_string();
        rest = after;
    }
    Ok(text + rest)
}

fn term_value(term: &str, n: u32) -> Option<u32> {
    let offset = term.strip_prefix('n')?;
    if offset.is_empty() {
        return Some(n);
    }
    match (offset.strip_prefix('+'), offset.strip_prefix('-')) {
        (Some(k), _) => n.checked_add(k.parse().ok()?),
        (_, Some(k)) => n.checked_sub(k.parse().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_for_files() {
        let text = "# two cores\n[sys/cpu]\npresent = 0-3\n\ncpu{0,1}/siblings = {n},{n+2}\ncpu{2-3}/siblings={n-2},{n}\n[proc]\nempty =\n";
        let tree = TextTree::parse("t", text).unwrap();
        let files: Vec<_> = tree.files().collect();
        assert_eq!(
            files,
            [
                ("proc/empty", ""),
                ("sys/cpu/cpu0/siblings", "0,2"),
                ("sys/cpu/cpu1/siblings", "1,3"),
                ("sys/cpu/cpu2/siblings", "0,2"),
                ("sys/cpu/cpu3/siblings", "1,3"),
                ("sys/cpu/present", "0-3"),
            ]
        );
        assert_eq!(tree.read("sys/cpu/present").unwrap(), "0-3\n");
        assert_eq!(tree.read("sys/cpu").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(tree.list("sys/cpu"), ["cpu0", "cpu1", "cpu2", "cpu3", "present"]);
    }

    #[test]
    fn other_lines_are_refused_with_their_number() {
        for (line, expected) in [
            ("present", "expected '[folder]'"),
            ("/etc/passwd = x", "relative path"),
            ("a/../b = x", "relative path"),
            ("= x", "relative path"),
            ("cpu{0-3 = x", "without '}'"),
            ("cpu{x} = 1", "a list such as"),
            ("cpu{0-8192} = 1", "a list such as"),
            ("cpu{0} = {m}", "found {m}"),
            ("cpu{0} = {n-1}", "found {n-1}"),
            ("cpu{0} = {n", "without '}'"),
        ] {
            let error = TextTree::parse("t.sysfs", &format!("\n{line}\n"))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with("t.sysfs:2: "), "{line}: {error}");
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn a_folder_gives_regular_files_of_bounded_size() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("good", b"0-3\n");
        write("long", &vec![b'0'; MAX_FILE_BYTES as usize + 1]);
        write("binary", &[0xff, 0xfe]);
        let tree = Folder::new(folder.path());
        assert_eq!(tree.read("good").unwrap(), "0-3\n");
        assert_eq!(tree.list("."), ["binary", "good", "long"]);
        assert_eq!(tree.list("missing"), [""; 0]);
        assert_eq!(tree.read("good/below").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(tree.read("missing").unwrap_err().kind(), ErrorKind::NotFound);
        for name in ["long", "binary", "."] {
            assert_ne!(tree.read(name).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        }
    }
}
