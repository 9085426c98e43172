// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use lop_kernel::adapter::Exit;
use lop_kernel::instance;
use lop_kernel::requests::Inbox;
use lop_kernel::signals::{on_signals, SIGHUP, SIGINT, SIGUSR1};
use rustix::process::Signal;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

/// Attaches, and detaches on request.
fn obedient(options: &Options, inbox: &Inbox, observer: &mut dyn Observer) -> Result<Exit, KernelError> {
    observer.attached(&Status::begin(options))?;
    while !inbox.stop_wanted() {
        inbox.wait().map_err(|error| KernelError::new(error.to_string()))?;
        inbox.answer(Status::default);
    }
    Ok(Exit::default())
}

/// Signals go to the whole process: while one test receives them, no other may run a command.
static ALONE: Mutex<()> = Mutex::new(());

/// The exit code of `command` under `scheduler`.
fn code_under(scheduler: &mut Run, command: &[&str], sent: Option<i32>) -> u8 {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (sender, arrived) = channel();
    let _watching = on_signals(&[SIGINT, SIGHUP, SIGUSR1], move |signal| sender.send(signal).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::new(folder.path());
    let command: Vec<OsString> = command.iter().map(OsString::from).collect();
    let result = run_under(scheduler, &Options::default(), &dir, &command);
    assert_eq!(instance::running(&dir), Ok(None));
    // A signal belongs to the test that sent it, and must arrive before the next test begins.
    if let Some(signal) = sent {
        assert_eq!(arrived.recv(), Ok(signal));
    }
    result.map_or_else(|failure| failure.code, |()| 0)
}

#[test]
fn the_exit_code_of_the_command_is_passed_on() {
    for (command, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["sh", "-c", "kill -KILL $$"], 128 + 9),
        (&["/no/such/command"], NOT_FOUND),
        (&["/etc/passwd"], NOT_EXECUTABLE),
    ] {
        assert_eq!(code_under(&mut obedient, command, None), code, "{command:?}");
    }
}

/// The thread that watches for the scheduler runs above others, and the kernel resets the nice value of everything that such a thread starts. (Without
/// the right to rise, the command starts as it is.)
#[test]
fn the_nice_value_of_the_command_is_that_of_who_asked_for_it() {
    let mut risen = |options: &Options, inbox: &Inbox, observer: &mut dyn Observer| {
        let _ = lop_agent::run_above_others();
        obedient(options, inbox, observer)
    };
    let code = std::thread::scope(|scope| {
        let nicer = scope.spawn(|| {
            // SAFETY: passes no memory, and is about this thread only.
            assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) }, 0);
            code_under(&mut risen, &["sh", "-c", "exit $(nice)"], None)
        });
        nicer.join().unwrap()
    });
    assert_eq!(code, 7);
}

#[test]
fn a_command_is_not_run_without_a_scheduler() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran");
    let mut refusing = |_: &Options, _: &Inbox, _: &mut dyn Observer| Err(KernelError::new("refused by the verifier"));
    assert_eq!(
        code_under(&mut refusing, &["touch", file.to_str().unwrap()], None),
        FAILED
    );
    assert!(!file.exists());
}

/// The command outlives a scheduler that fails, and its exit code is still passed on.
#[test]
fn a_command_goes_on_when_the_scheduler_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran");
    let script = format!("echo done > '{}'; exit 3", file.display());
    let mut failing = |options: &Options, _: &Inbox, observer: &mut dyn Observer| -> Result<Exit, KernelError> {
        observer.attached(&Status::begin(options))?;
        Err(KernelError::new("ejected by the watchdog"))
    };
    assert_eq!(code_under(&mut failing, &["sh", "-c", &script], None), 3);
    assert!(file.exists());
}

/// A signal to `lop run` alone ends the command, which ends the run.
#[test]
fn a_signal_to_the_run_reaches_the_command() {
    reaches_the_command(SIGHUP, Signal::HUP);
    reaches_the_command(SIGUSR1, Signal::USR1);
}

fn reaches_the_command(number: i32, signal: Signal) {
    let mut signalled = |options: &Options, inbox: &Inbox, observer: &mut dyn Observer| {
        observer.attached(&Status::begin(options))?;
        let own = rustix::process::getpid();
        rustix::process::kill_process(own, signal).map_err(|error| KernelError::new(error.to_string()))?;
        while !inbox.stop_wanted() {
            inbox.wait().map_err(|error| KernelError::new(error.to_string()))?;
        }
        Ok(Exit::default())
    };
    let code = code_under(&mut signalled, &["sleep", "600"], Some(number));
    assert_eq!(i32::from(code), 128 + number);
}

/// Ctrl-C reaches the command from the terminal; the run itself goes on until the command ends.
#[test]
fn an_interrupt_does_not_end_the_run_before_its_command() {
    let own = std::process::id();
    let script = format!("kill -INT {own}; exit 5");
    assert_eq!(code_under(&mut obedient, &["sh", "-c", &script], Some(SIGINT)), 5);
}
