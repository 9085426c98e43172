// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the command with its filter, and holds it back until it is traced.

use super::RecordError;
use nix::sys::ptrace;
use nix::unistd::Pid;
use std::ffi::{CString, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;

/// `seccomp_data.arch` of this build (linux/audit.h: ELF machine | little endian | 64 bit).
const AUDIT_ARCH: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(62 | 0xC000_0000)
} else if cfg!(target_arch = "aarch64") {
    Some(183 | 0xC000_0000)
} else if cfg!(target_arch = "riscv64") {
    Some(243 | 0xC000_0000)
} else {
    None
};
const OFFSET_OF_NUMBER: u32 = 0;
const OFFSET_OF_ARCH: u32 = 4;

const STEP_FILTER: u8 = b'f';
const STEP_EXECUTE: u8 = b'x';

/// A started and traced command, which may or may not have been executed.
pub struct Launched {
    report: io::PipeReader,
    program: String,
}

impl Launched {
    /// Why the command was not executed; `None` if it was. To be called when its process has ended.
    pub fn failure(mut self) -> Option<RecordError> {
        let mut message = [0u8; 5];
        self.report.read_exact(&mut message).ok()?;
        let [step, code @ ..] = message;
        let error = io::Error::from_raw_os_error(i32::from_ne_bytes(code));
        Some(match step {
            STEP_EXECUTE => RecordError::Execute {
                program: self.program,
                error,
            },
            _ => RecordError::FilterDenied { error },
        })
    }
}

/// Everything the child needs, allocated before the fork: the child of a threaded process must not allocate.
struct Plan {
    arguments: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
    filter: Vec<libc::sock_filter>,
}

impl Plan {
    fn new(command: &[OsString]) -> Result<Self, RecordError> {
        let arguments = command
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>();
        let arguments = arguments.map_err(|_| RecordError::Execute {
            program: command
                .first()
                .map(|word| word.to_string_lossy().into_owned())
                .unwrap_or_default(),
            error: io::Error::new(io::ErrorKind::InvalidInput, "an argument contains a NUL byte"),
        })?;
        let mut pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Ok(Self {
            arguments,
            pointers,
            filter: wait_filter()?,
        })
    }
}

/// "Trace `wait4` and `waitid`, allow the rest", as classic BPF. System calls of another interface (32-bit programs) have
/// different numbers and are allowed untraced. Written by hand since the available filter builders kill on a foreign interface.
fn wait_filter() -> Result<Vec<libc::sock_filter>, RecordError> {
    let arch = AUDIT_ARCH.ok_or_else(|| RecordError::Unsupported {
        what: format!(
            "the recorder does not know processors of type {}",
            std::env::consts::ARCH
        ),
    })?;
    let instruction = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let equal = |k, jt, jf| instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, k);
    let answer = |k| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, k);
    Ok(vec![
        load(OFFSET_OF_ARCH),
        equal(arch, 0, 3),
        load(OFFSET_OF_NUMBER),
        equal(libc::SYS_wait4 as u32, 2, 0),
        equal(libc::SYS_waitid as u32, 1, 0),
        answer(libc::SECCOMP_RET_ALLOW),
        answer(libc::SECCOMP_RET_TRACE),
    ])
}

/// The events that the tracer wants; new tasks of the tree are traced in the same way.
fn trace_options() -> ptrace::Options {
    use ptrace::Options;
    Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEVFORKDONE
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACEEXIT
}

/// Forks a child that waits for a byte, traces it, calls `before_go`, then lets it execute the command.
///
/// The calling thread becomes the tracer. Errors: tracing is denied, or the processor is unknown. If the command cannot be
/// executed, [`Launched::failure`] tells later.
pub fn launch(command: &[OsString], before_go: impl FnOnce(i32)) -> Result<Launched, RecordError> {
    let program = command
        .first()
        .ok_or(RecordError::NoCommand)?
        .to_string_lossy()
        .into_owned();
    let plan = Plan::new(command)?;
    let (go_read, mut go_write) = io::pipe().map_err(|e| RecordError::system("make a pipe", e))?;
    let (report_read, report_write) = io::pipe().map_err(|e| RecordError::system("make a pipe", e))?;
    // SAFETY: the child only calls async-signal-safe functions, on memory allocated before.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => return Err(RecordError::system("fork", io::Error::last_os_error())),
        0 => run_child(
            &plan,
            go_read.as_raw_fd(),
            go_write.as_raw_fd(),
            report_write.as_raw_fd(),
        ),
        _ => {}
    }
    drop(report_write);
    if let Err(error) = ptrace::seize(Pid::from_raw(pid), trace_options()) {
        drop(go_write); // end of file on its pipe: the child exits
                        // SAFETY: reaps our own child; the status is not needed.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
        return Err(denied(error.into()));
    }
    before_go(pid);
    go_write
        .write_all(&[1])
        .map_err(|error| RecordError::system("start the command", error))?;
    Ok(Launched {
        report: report_read,
        program,
    })
}

fn denied(error: io::Error) -> RecordError {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    RecordError::TracingDenied {
        error,
        scope: scope.and_then(|text| text.trim().parse().ok()),
    }
}

/// The child until it executes its program. Never returns.
fn run_child(plan: &Plan, go: i32, go_other_end: i32, report: i32) -> ! {
    // SAFETY: only async-signal-safe calls; `plan` is memory of this process and outlives them.
    unsafe {
        libc::close(go_other_end);
        // A process that has changed its user may not be traced until told otherwise.
        libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        let mut byte = 0u8;
        loop {
            match libc::read(go, (&raw mut byte).cast(), 1) {
                1 => break,
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => libc::_exit(1),
            }
        }
        // Undoes what Rust changed for itself, which the command does not expect.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        let filter = libc::sock_fprog {
            len: plan.filter.len() as u16,
            filter: plan.filter.as_ptr().cast_mut(),
        };
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
        {
            report_and_exit(report, STEP_FILTER);
        }
        libc::execvp(plan.arguments[0].as_ptr(), plan.pointers.as_ptr());
        report_and_exit(report, STEP_EXECUTE)
    }
}

/// # Safety
/// For the child of a fork only: ends the process.
unsafe fn report_and_exit(report: i32, step: u8) -> ! {
    let code = unsafe { *libc::__errno_location() }.to_ne_bytes();
    let message = [step, code[0], code[1], code[2], code[3]];
    unsafe {
        libc::write(report, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}
