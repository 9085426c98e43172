// SPDX-License-Identifier: GPL-2.0-only
//! Ends the running instance, whoever started it.

use crate::adapter::KernelError;
use crate::instance::{self, RunDir};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
use std::time::{Duration, Instant};

/// Asks the instance to end and waits until it has ended; returns its process id.
///
/// # Errors
/// None runs, it belongs to another user, or it has not ended within `patience`.
pub fn stop(dir: &RunDir, patience: Duration) -> Result<u32, KernelError> {
    let Some((pid, process)) = instance_process(dir)? else {
        return Err(KernelError::new("Lopsided is not running, so there is nothing to stop"));
    };
    match pidfd_send_signal(&process, Signal::TERM) {
        // It ended by itself meanwhile.
        Ok(()) | Err(Errno::SRCH) => {}
        Err(Errno::PERM) => {
            return Err(KernelError::new(format!("Lopsided (pid {pid}) was started by root")).mend("run it with sudo"))
        }
        Err(error) => return Err(KernelError::new(format!("pid {pid} cannot be signalled: {error}"))),
    }
    if ended(&process, patience) {
        return Ok(pid);
    }
    Err(KernelError::new(format!(
        "Lopsided (pid {pid}) has not ended within {} s",
        patience.as_secs()
    ))
    .mend(format!("wait, or 'kill -9 {pid}' and then 'lop restore'")))
}

/// The instance's process id, and a handle that stays with that process even if the id is reused.
fn instance_process(dir: &RunDir) -> Result<Option<(u32, OwnedFd)>, KernelError> {
    let Some(number) = instance::running(dir)? else {
        return Ok(None);
    };
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(instance::starts_or_ends)?;
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(None),
        Err(error) => return Err(KernelError::new(format!("pid {pid}: {error}"))),
    };
    // If the instance still runs now, the handle belongs to it.
    let same = instance::running(dir)? == Some(number);
    Ok(same.then_some((number, process)))
}

fn ended(process: &OwnedFd, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(process, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => return false,
            Ok(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Instance;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    const DIR: &str = "LOP_TEST_INSTANCE_DIR";
    const PATIENCE: Duration = Duration::from_secs(600);

    /// Not a test itself: the tests below start this program again to run it, and stop that process.
    #[test]
    fn the_process_to_stop() {
        let Some(dir) = std::env::var_os(DIR) else { return };
        let _instance = Instance::acquire(&RunDir::new(dir)).unwrap();
        let deaf = std::env::var_os("LOP_TEST_DEAF")
            .map(|_| crate::signals::on_signals(&[crate::signals::SIGTERM], |_| {}).unwrap());
        println!("\nready");
        std::thread::park();
        drop(deaf);
    }

    fn instance(dir: &RunDir, deaf: bool) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "stop::tests::the_process_to_stop", "--nocapture"]);
        command.env(DIR, dir.path()).stdout(Stdio::piped());
        if deaf {
            command.env("LOP_TEST_DEAF", "1");
        }
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "ready"));
        child
    }

    #[test]
    fn nothing_to_stop_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let error = stop(&RunDir::new(folder.path()), Duration::ZERO).unwrap_err();
        assert!(error.message.contains("not running"), "{error}");
    }

    #[test]
    fn an_instance_without_a_number_starts_or_ends() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let _instance = Instance::acquire(&dir).unwrap();
        std::fs::write(folder.path().join("lock"), "").unwrap();
        let error = stop(&dir, Duration::ZERO).unwrap_err().to_string();
        assert!(error.contains("just starting or ending: try again"), "{error}");
    }

    #[test]
    fn stop_returns_when_the_instance_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let mut child = instance(&dir, false);
        assert_eq!(stop(&dir, PATIENCE), Ok(child.id()));
        assert_eq!(instance::running(&dir), Ok(None));
        child.wait().unwrap();
        assert!(
            stop(&dir, PATIENCE).is_err(),
            "a process number without the lock is not an instance"
        );
    }

    #[test]
    fn an_instance_that_does_not_end_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::new(folder.path());
        let mut child = instance(&dir, true);
        let error = stop(&dir, Duration::from_millis(20)).unwrap_err().to_string();
        assert!(error.contains(&format!("kill -9 {}", child.id())), "{error}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(instance::running(&dir), Ok(None), "death frees the lock");
    }
}
