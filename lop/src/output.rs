// SPDX-License-Identifier: GPL-2.0-only
//! Output files: checked before any work is done, written whole at its end.

use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::terminal;
use std::path::{Path, PathBuf};

/// Nothing is compressed here, and a file should be what its name says.
const COMPRESSED: [&str; 5] = ["gz", "zst", "xz", "bz2", "zip"];
/// In place of a file: standard output.
const STDOUT: &str = "-";

/// A file that can be written, as far as a check beforehand can tell.
#[derive(Debug)]
pub struct OutputFile {
    /// With symbolic links followed, so that the link stays and its target is replaced.
    path: PathBuf,
    /// As it was typed.
    pub shown: PathBuf,
}

impl OutputFile {
    /// # Errors
    /// The folder does not exist or cannot be written to, or the path is not a regular file.
    pub fn check(option: &str, path: &Path) -> Result<Self, Failure> {
        let refuse = |message: String| Failure::new(BAD_INPUT, format!("{option}: {}: {message}", path.display()));
        if path == Path::new(STDOUT) {
            return Ok(Self {
                shown: path.to_path_buf(),
                path: path.to_path_buf(),
            });
        }
        if path.file_name().is_none() {
            return Err(refuse("expected the name of a file".into()));
        }
        if let Some(extension) = COMPRESSED
            .into_iter()
            .find(|known| path.extension() == Some(known.as_ref()))
        {
            return Err(refuse(format!(
                "would not be compressed; leave out '.{extension}', and compress the file afterwards"
            )));
        }
        match std::fs::metadata(path) {
            Ok(about) if !about.is_file() => return Err(refuse("exists and is no regular file; name another".into())),
            Ok(_) | Err(_) => {}
        }
        let shown = path.to_path_buf();
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let folder = folder_of(&path);
        if !folder.is_dir() {
            return Err(refuse(format!(
                "there is no folder '{}'; make it first",
                folder.display()
            )));
        }
        // The only sure test of a folder is to use it. The file has no name.
        match tempfile::tempfile_in(&folder) {
            Ok(_) => Ok(Self { shown, path }),
            Err(error) => Err(refuse(format!(
                "cannot write in '{}': {error}; name another folder",
                folder.display()
            ))),
        }
    }

    /// The same for a recording, which cannot be repeated: an existing one is kept unless there is `--force`.
    ///
    /// # Errors
    /// As [`OutputFile::check`], or the file exists.
    pub fn check_recording(option: &str, path: &Path, force: bool) -> Result<Self, Failure> {
        let file = Self::check(option, path)?;
        match path.exists() && !force {
            true => Err(Failure::new(BAD_INPUT, format!("{}: exists already", path.display()))
                .hint("--force overwrites it, -o names another file")),
            false => Ok(file),
        }
    }

    /// Whether this is the file at `path`.
    pub fn is(&self, path: &Path) -> bool {
        std::fs::canonicalize(path).is_ok_and(|path| path == self.path)
    }

    /// Replaces the file as a whole or leaves it as it was.
    ///
    /// # Errors
    /// The system's own, with the path.
    pub fn write(&self, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Failure> {
        if self.path == Path::new(STDOUT) {
            return terminal::print_bytes(contents.as_ref());
        }
        lop_report::write_file(&self.path, contents)
            .map_err(|error| Failure::new(FAILED, format!("{}: cannot be written: {error}", self.path.display())))
    }

    /// Prints a note, unless it went to standard output.
    pub fn tell_written(&self) {
        if self.path != Path::new(STDOUT) {
            terminal::note(&format!("wrote {}", self.shown.display()));
        }
    }

    /// # Errors
    /// Two options name the same file.
    pub fn check_distinct(files: &[&Self]) -> Result<(), Failure> {
        for (index, file) in files.iter().enumerate() {
            if files[..index].iter().any(|other| other.path == file.path) {
                let message = format!("{}: named for two outputs; give each its own file", file.path.display());
                return Err(Failure::new(BAD_INPUT, message));
            }
        }
        Ok(())
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_refused_beforehand() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| folder.path().join(name);
        for (path, expected) in [
            (inside("missing/report.html"), "there is no folder"),
            (folder.path().to_path_buf(), "no regular file"),
            (PathBuf::from("/dev/null"), "no regular file"),
            (PathBuf::from("/"), "name of a file"),
            (inside("report.json.gz"), "leave out '.gz'"),
        ] {
            let message = format!("{:?}", OutputFile::check("--html", &path).unwrap_err());
            assert!(message.contains(expected), "{path:?}: {message}");
        }
        OutputFile::check("--html", &inside("report.html")).unwrap();
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "the check leaves nothing behind"
        );
    }

    #[test]
    fn one_file_for_two_outputs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| OutputFile::check("--html", &folder.path().join(name)).unwrap();
        assert!(OutputFile::check_distinct(&[&file("a"), &file("a")]).is_err());
        OutputFile::check_distinct(&[&file("a"), &file("b")]).unwrap();
    }
}
