// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files are written whole or not at all.

use lop_report::write_file;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::Path;

fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn refused(path: &Path) -> Result<Error> {
    match write_file(path, "text") {
        Ok(()) => Err(Error::other(format!("{} was written", path.display()))),
        Err(error) => Ok(error),
    }
}

#[test]
fn writes_and_replaces() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("out.json");
    write_file(&path, "first, and longer")?;
    write_file(&path, "second")?;
    assert_eq!(fs::read_to_string(&path)?, "second");
    assert_eq!(names(folder.path())?, ["out.json"]);
    let plain = folder.path().join("plain");
    fs::write(&plain, "")?;
    let mode = |p: &Path| fs::metadata(p).map(|m| m.permissions().mode());
    assert_eq!(mode(&path)?, mode(&plain)?, "as readable as any other new file");
    Ok(())
}

#[test]
fn missing_directories_are_named_and_not_made() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("missing").join("out.html");
    let error = refused(&path)?;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    assert!(error.to_string().contains("create the directory first"), "{error}");
    assert!(names(folder.path())?.is_empty());
    Ok(())
}

#[test]
fn a_failed_rename_leaves_nothing_behind() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("taken");
    fs::create_dir(&path)?;
    let error = refused(&path)?;
    assert!(error.to_string().contains("it is a directory"), "{error}");
    // Longer than file systems allow: the temporary file is written, its rename fails.
    refused(&folder.path().join("x".repeat(300)))?;
    assert_eq!(names(folder.path())?, ["taken"]);
    Ok(())
}

#[test]
fn links_stay_links_and_devices_devices() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::write(&real, "old")?;
    symlink(&real, &link)?;
    write_file(&link, "new")?;
    assert_eq!(fs::read_to_string(&real)?, "new");
    assert!(fs::symlink_metadata(&link)?.is_symlink());
    write_file(Path::new("/dev/null"), "text")?;
    assert!(!fs::metadata("/dev/null")?.is_file());
    Ok(())
}
