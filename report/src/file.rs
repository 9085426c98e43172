// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are written whole or not at all.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes `contents` to `path` by way of a temporary file beside it and a rename, so that an interrupted run leaves the old
/// file or none, never half of one. What is not a plain file (a pipe, /dev/stdout) is written to directly, since a rename would
/// put a file in its place. A symbolic link stays one: the file it points to is replaced.
///
/// # Errors
/// Those of the file system, with the path. Directories are not created.
pub fn write_file(path: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> io::Result<()> {
    replace(path, contents.as_ref()).map_err(|error| {
        let way_out = match error.kind() {
            io::ErrorKind::NotFound => "; create the directory first, or name another file",
            io::ErrorKind::PermissionDenied => "; name a file in a directory that you may write to",
            _ => "",
        };
        io::Error::new(
            error.kind(),
            format!("cannot write {}: {error}{way_out}", path.display()),
        )
    })
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory")),
        Ok(found) if !found.is_file() => return fs::OpenOptions::new().write(true).open(path)?.write_all(contents),
        _ => {}
    }
    let target = resolve(path);
    let folder = target
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // 0666 less the umask: what any other way of creating a file gives; the default of temporary files is 0600.
    let mut file = tempfile::Builder::new()
        .prefix(".lop-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(&target)?;
    Ok(())
}

/// Where a symbolic link leads; the path itself where there is none (or nothing yet).
fn resolve(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
