// SPDX-License-Identifier: MIT OR Apache-2.0
//! The system calls of the tracer: waiting for stops, resuming tasks, and reading the reason for a stop.

use super::RecordError;
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::Pid;

/// From linux/ptrace.h; `libc` only has it for some systems.
const PTRACE_LISTEN: libc::c_uint = 0x4208;

/// How a stopped task goes on.
pub enum Resume {
    /// To the next stop that the options name, with a signal delivered (0: none).
    Continue(i32),
    /// The same, or to the end of its system call.
    ToSyscallEnd,
    /// Stays stopped by its job control until a signal continues it.
    Listen,
}

/// A wait that a task is in.
#[derive(Debug, Clone, Copy)]
pub struct WaitCall {
    pub named: bool,
    /// `waitid` returns the child through memory: address of its `siginfo_t`, 0 for none.
    info_address: Option<u64>,
}

/// The next task with something to report, and whether it has ended; `None` if no task is left. Does not consume the report.
pub fn next_stop() -> Result<Option<(i32, bool)>, RecordError> {
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | libc::__WNOTHREAD;
    loop {
        // SAFETY: all zero is a valid siginfo_t; the kernel fills it in.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, flags) } == 0 {
            let ended = matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
            // SAFETY: waitid fills in the fields of a child signal.
            return Ok(Some((unsafe { info.si_pid() }, ended)));
        }
        match Errno::last() {
            Errno::EINTR => {}
            Errno::ECHILD => return Ok(None),
            error => return Err(RecordError::system("wait for the command", error)),
        }
    }
}

/// Consumes a task's report: its status, and the user plus system time of the task and the children it waited for.
pub fn take_status(tid: i32) -> Result<Option<(i32, u64)>, RecordError> {
    let mut status = 0;
    // SAFETY: all zero is a valid rusage; the kernel fills both in.
    let mut rusage: libc::rusage = unsafe { std::mem::zeroed() };
    let flags = libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG;
    match unsafe { libc::wait4(tid, &raw mut status, flags, &raw mut rusage) } {
        0 => Ok(None),
        -1 if Errno::last() == Errno::ECHILD => Ok(None),
        -1 => Err(RecordError::system("wait for the command", Errno::last())),
        _ => Ok(Some((
            status,
            timeval_ns(rusage.ru_utime) + timeval_ns(rusage.ru_stime),
        ))),
    }
}

fn timeval_ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

pub fn exit_code(status: i32) -> i32 {
    if libc::WIFSIGNALED(status) {
        128 + libc::WTERMSIG(status)
    } else {
        libc::WEXITSTATUS(status)
    }
}

/// Resumes a stopped task. It is not an error if it was killed meanwhile: its end will be reported.
pub fn let_go(tid: i32, resume: Resume) -> Result<(), RecordError> {
    let (request, signal) = match resume {
        Resume::Continue(signal) => (libc::PTRACE_CONT, signal),
        Resume::ToSyscallEnd => (libc::PTRACE_SYSCALL, 0),
        Resume::Listen => (PTRACE_LISTEN, 0),
    };
    // Not through nix, which lacks real-time signals. SAFETY: these requests take no addresses.
    let result = unsafe { libc::ptrace(request, tid, 0usize, signal as usize) };
    if result == 0 || Errno::last() == Errno::ESRCH {
        return Ok(());
    }
    Err(RecordError::system("continue a traced process", Errno::last()))
}

pub fn event_message(tid: i32) -> Option<i32> {
    ptrace::getevent(Pid::from_raw(tid))
        .ok()
        .and_then(|message| i32::try_from(message).ok())
}

/// The task's current system call. Not through nix: its version 0.30 passes no size, and then the kernel fills nothing in.
fn syscall_info(tid: i32) -> Option<libc::ptrace_syscall_info> {
    // SAFETY: all zero is a valid value of this plain structure; the kernel writes at most the size given.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = std::mem::size_of_val(&info);
    let written = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, &raw mut info) };
    (written > 0).then_some(info)
}

/// The wait that a task is about to make, if its call is one.
pub fn wait_call(tid: i32) -> Option<WaitCall> {
    let info = syscall_info(tid)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
        return None;
    }
    // SAFETY: `op` says which of the variants the kernel has filled in.
    let call = unsafe { info.u.seccomp };
    let [first, _, third, ..] = call.args;
    match call.nr as libc::c_long {
        libc::SYS_wait4 => Some(WaitCall {
            named: first as i32 > 0,
            info_address: None,
        }),
        libc::SYS_waitid => Some(WaitCall {
            named: matches!(first as libc::c_uint, libc::P_PID | libc::P_PIDFD),
            info_address: Some(third),
        }),
        _ => None,
    }
}

/// The child that a wait has returned.
pub fn wait_result(tid: i32, call: WaitCall) -> Option<i32> {
    let info = syscall_info(tid)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_EXIT {
        return None;
    }
    // SAFETY: `op` says which of the variants the kernel has filled in.
    let value = unsafe { info.u.exit.sval };
    match call.info_address {
        None => i32::try_from(value).ok().filter(|&child| child > 0),
        Some(0) => None,
        Some(address) if value == 0 => child_in_memory(tid, address),
        Some(_) => None,
    }
}

/// `si_pid` of a `siginfo_t` in the task's memory; on 64-bit systems it follows signal, error, code and padding, 16 bytes.
fn child_in_memory(tid: i32, address: u64) -> Option<i32> {
    let field = address.checked_add(16)? as ptrace::AddressType;
    let word = ptrace::read(Pid::from_raw(tid), field).ok()?;
    Some((word as u64 as u32).cast_signed()).filter(|&child| child > 0)
}
