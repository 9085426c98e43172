// SPDX-License-Identifier: GPL-2.0-only
//! Turns signals into calls on a separate thread.

use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;

pub use libc::{
    SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGPWR, SIGQUIT, SIGSTKFLT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    SIGXFSZ,
};

/// Signals that ask a program to end: Ctrl-C, `kill`, a terminal that is gone, and all others that would end it before it could
/// restore anything. Not SIGPIPE, which Rust ignores from the start, nor signals from its own bugs (SIGABRT, SIGSEGV).
pub const ENDING: [i32; 14] = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR,
    SIGSTKFLT,
];

/// The program's parent may have ignored SIGCHLD, which is inherited, and then the exit codes of children are lost.
pub fn hear_of_children() {
    // SAFETY: the default action runs none of our code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Handles signals until this is dropped. Programs started meanwhile get the default actions.
pub struct SignalGuard {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Calls `action` with the number of each of these signals that arrives.
///
/// # Errors
/// The system refuses a handler.
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
