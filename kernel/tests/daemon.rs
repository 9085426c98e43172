// SPDX-License-Identifier: GPL-2.0-only
//! Going into the background with a scheduler that leaves the kernel alone. `launch` starts its own program again, so this test has
//! its own `main`: with arguments it is the daemon, without arguments the test.

use lop_kernel::adapter::{Exit, KernelError, Observer};
use lop_kernel::daemon::{launch, leave_terminal, Log};
use lop_kernel::instance::{self, RunDir};
use lop_kernel::options::Options;
use lop_kernel::requests::Inbox;
use lop_kernel::service::Service;
use lop_kernel::signals::{on_signals, ENDING};
use lop_kernel::status::Status;
use lop_kernel::{status_server, stop};
use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

/// Longer than any machine needs; the test only waits this long if something is broken.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [role, dir] if role == "obeys" || role == "fails" => daemon(role, &RunDir::new(dir)),
        _ => {
            it_detaches_when_it_is_attached();
            it_passes_failure_on();
            println!("test result: ok. 2 passed; 0 failed");
            ExitCode::SUCCESS
        }
    }
}

struct Detaches(Log);

impl Observer for Detaches {
    fn attached(&mut self, _: &Status) -> Result<(), KernelError> {
        println!("attached");
        self.0.detach()?;
        println!("for the log");
        Ok(())
    }

    fn note(&mut self, _: &str) {}
}

fn daemon(role: &str, dir: &RunDir) -> ExitCode {
    leave_terminal().unwrap();
    let service = Service::open(dir).unwrap();
    let requests = service.requests();
    let _signals = on_signals(&ENDING, move |_| requests.stop()).unwrap();
    let mut scheduler = |options: &Options, inbox: &Inbox, observer: &mut dyn Observer| {
        if role == "fails" {
            println!("trying");
            return Err(KernelError::new("refused by the verifier"));
        }
        let status = Status::begin(options);
        observer.attached(&status)?;
        while !inbox.stop_wanted() {
            inbox.wait().map_err(|error| KernelError::new(error.to_string()))?;
            inbox.answer(|| status.clone());
        }
        Ok(Exit::default())
    };
    let log = Log::open(dir).unwrap();
    match service.run(&Options::default(), &mut scheduler, &mut Detaches(log)) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(7),
    }
}

/// Launches this program in a role. Returns its exit code, and its messages to the starter.
fn launched(role: &str, dir: &RunDir) -> (u8, String) {
    let mut said = Vec::new();
    let arguments = [OsString::from(role), dir.path().into()];
    let code = launch(&arguments, &mut said).unwrap();
    (code, String::from_utf8(said).unwrap())
}

fn it_detaches_when_it_is_attached() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::new(folder.path().join("run"));
    assert_eq!(launched("obeys", &dir), (0, "attached\n".to_string()));

    let status = answered(&dir);
    assert_eq!(instance::running(&dir), Ok(Some(status.pid)));
    assert_ne!(status.pid, std::process::id());
    // If there is a journal, the log is there instead.
    if let Ok(log) = std::fs::read_to_string(dir.log()) {
        assert_eq!(log, "for the log\n");
    }
    assert_eq!(stop::stop(&dir, PATIENCE), Ok(status.pid));
    assert_eq!(instance::running(&dir), Ok(None));
}

/// An instance has two seconds to answer, which may be too short on a busy machine, so it is asked again.
fn answered(dir: &RunDir) -> Status {
    loop {
        match status_server::fetch(dir) {
            Ok(status) => return status.unwrap(),
            Err(error) => assert!(
                ["did not answer in time", "does not answer"]
                    .iter()
                    .any(|late| error.to_string().contains(late)),
                "{error}"
            ),
        }
    }
}

fn it_passes_failure_on() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::new(folder.path().join("run"));
    assert_eq!(launched("fails", &dir), (7, "trying\n".to_string()));
    assert_eq!(instance::running(&dir), Ok(None));
}
