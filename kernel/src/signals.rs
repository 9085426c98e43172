// SPDX-License-Identifier: GPL-2.0-only
//! Signals as calls on a thread of their own.

use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;

pub use libc::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGPWR, SIGQUIT, SIGSTKFLT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    SIGXFSZ,
};

/// What asks a program to end: Ctrl-C, `kill`, a terminal that is gone, and whatever else would end it without letting it put
/// anything back. Not SIGPIPE, which Rust has ignored from the start, nor what a defect of its own raises (SIGABRT, SIGSEGV).
pub const ENDING: [i32; 14] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR,
    SIGSTKFLT,
];

/// Who started this program may have ignored SIGCHLD, which is inherited, and then no child is left to be asked how it ended.
pub fn hear_of_children() {
    // SAFETY: the system's own handling runs no code of ours.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Signals are taken until this is dropped. Programs started meanwhile get the system's own handling.
pub struct SignalGuard {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Calls `action` with the number of each of these signals that comes.
///
/// # Errors
/// The system does not let a handler be installed.
pub fn on_signals(signals: &[i32], mut action: impl FnMut(i32) + Send + 'static) -> io::Result<SignalGuard> {
    let mut signals = Signals::new(signals)?;
    let handle = signals.handle();
    let thread = std::thread::Builder::new()
        .name("signals".to_string())
        .spawn(move || signals.forever().for_each(&mut action))?;
    Ok(SignalGuard {
        handle,
        thread: Some(thread),
    })
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
