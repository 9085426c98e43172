// SPDX-License-Identifier: GPL-2.0-only
//! The folder of one run: a lock that is released when its holder dies, the sets that threads were given, and the hints of the command's
//! threads. After `kill -9`, `lop restore` finds there which threads to restore.

use crate::cpus::Cpus;
use crate::hints;
use crate::proc;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const LOCK: &str = "lock";
const SETS: &str = "sets";
const PREFIX: &str = "affinity-";
const PROC: &str = "/proc";

/// Where this user's runs keep their folders: `asked`, else root's if the user is root, else the user's own.
#[must_use]
pub fn base(asked: Option<&Path>) -> PathBuf {
    let uid = rustix::process::geteuid();
    match (asked, std::env::var_os("XDG_RUNTIME_DIR")) {
        (Some(asked), _) => asked.to_path_buf(),
        (None, _) if uid.is_root() => PathBuf::from("/run/lopsided"),
        (None, Some(user)) => PathBuf::from(user).join("lopsided"),
        (None, None) => std::env::temp_dir().join(format!("lopsided-{}", uid.as_raw())),
    }
}

/// Removed when dropped.
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// # Errors
    /// It cannot be created, or belongs to another user.
    pub fn create(base: &Path, home: &Cpus) -> io::Result<(Self, File)> {
        if !base.exists() {
            fs::DirBuilder::new().recursive(true).mode(0o755).create(base)?;
        }
        let about = fs::symlink_metadata(base)?;
        if about.uid() != rustix::process::geteuid().as_raw() || !about.is_dir() {
            return Err(io::Error::other("it belongs to another user"));
        }
        // An absolute path, valid in any working directory of the processes.
        let path = base.canonicalize()?.join(format!("{PREFIX}{}", std::process::id()));
        // Left by an earlier process with this number.
        let _ = fs::remove_dir_all(&path);
        fs::DirBuilder::new().mode(0o700).create(&path)?;
        let lock = new_file(&path.join(LOCK))?;
        lock.lock()?;
        let mut sets = new_file(&path.join(SETS))?;
        sets.write_all(format!("{}\n{home}\n", boot_id()).as_bytes())?;
        Ok((Self { path, _lock: lock }, sets))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If it stays, it does no harm, and 'lop restore' removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).append(true).mode(0o600);
    let file = options.open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

pub(crate) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_string()
}

/// Writes a file as a whole; if that fails it is as before.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Restores the affinity of every thread of a killed run's command that still has a set which the run gave it. Returns how many those were, or
/// `None` if no dead run left anything.
///
/// # Errors
/// The first folder that cannot be read or removed, after all others were restored.
pub fn restore(base: &Path) -> io::Result<Option<u32>> {
    let base = base.canonicalize().unwrap_or_else(|_| base.to_path_buf());
    let runs = fs::read_dir(base).into_iter().flatten().flatten();
    let runs = runs.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let all: Vec<io::Result<Option<u32>>> = runs.map(|run| restore_run(&run.path())).collect();
    let threads: Vec<Option<u32>> = all.into_iter().collect::<io::Result<_>>()?;
    Ok(threads.into_iter().flatten().reduce(|sum, threads| sum + threads))
}

/// `None`: it is alive.
fn restore_run(run: &Path) -> io::Result<Option<u32>> {
    let restored = || {
        if !is_dead(run)? {
            return Ok(None);
        }
        let threads = give_back(run)?;
        fs::remove_dir_all(run).map(|()| Some(threads))
    };
    restored().map_err(|error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", run.display())))
}

fn is_dead(run: &Path) -> io::Result<bool> {
    match File::open(run.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(file) => lock(&file),
    }
}

/// False: another one has it.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn give_back(run: &Path) -> io::Result<u32> {
    let text = fs::read_to_string(run.join(SETS)).unwrap_or_default();
    let mut lines = text.lines();
    let same_boot = lines.next() == Some(&boot_id());
    let Some(home) = lines.next().and_then(Cpus::parse).filter(|_| same_boot) else {
        return Ok(0);
    };
    let given: BTreeSet<Cpus> = lines.filter_map(Cpus::parse).collect();
    let mut count = 0;
    for tid in processes_of(run)?
        .into_iter()
        .flat_map(|pid| proc::threads_of(Path::new(PROC), pid))
    {
        let is_ours = proc::affinity_of(tid).is_ok_and(|found| found != home && given.contains(&found));
        count += u32::from(is_ours && proc::bind(tid, &home).is_ok());
    }
    Ok(count)
}

/// Processes whose environment names the run's folder.
fn processes_of(run: &Path) -> io::Result<Vec<u32>> {
    let mark = mark(run);
    let entries = fs::read_dir(PROC)?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids
        .filter(|&pid| proc::has_in_environment(Path::new(PROC), pid, &mark))
        .collect())
}

/// The variable in the environment of a run's processes.
pub(crate) fn mark(run: &Path) -> String {
    format!("{}={}", hints::VARIABLE, run.display())
}
