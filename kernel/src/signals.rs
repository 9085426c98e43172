//! Signals as calls on a thread of their own.

use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread::JoinHandle;

pub use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// What asks a program to end: Ctrl-C, `kill`, a terminal that is gone.
pub const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

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
