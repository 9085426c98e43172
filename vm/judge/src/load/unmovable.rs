// SPDX-License-Identifier: GPL-2.0-only
//! Time that a thread spends in the kernel with migration disabled, as every program with a seccomp filter or a BPF program does.

use anyhow::{Context, Result};
use libbpf_rs::libbpf_sys as sys;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

/// Calls between two looks at the clock.
const CALLS: usize = 20;
/// Runs of the BPF program in one call; some milliseconds.
const RUNS: u32 = 20_000;

/// Gives the calling thread a seccomp filter that compares an argument of each call, so that the kernel cannot answer from its table of calls that are
/// always allowed. The filter is long enough that the thread is often preempted in it.
///
/// # Errors
/// The kernel refuses it.
pub fn filter_calls() -> Result<()> {
    const ARGUMENT: u32 = 16; // of struct seccomp_data: args[0]
    const LENGTH: usize = 4000;
    let step = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let mut steps = Vec::with_capacity(LENGTH + 1);
    while steps.len() < LENGTH {
        steps.push(step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, ARGUMENT));
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, u32::MAX));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog {
        len: u16::try_from(steps.len()).context("length of the filter")?,
        filter: steps.as_mut_ptr(),
    };
    // The kernel copies the filter.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, ptr::from_ref(&filter)) != 0
    };
    match refused {
        true => Err(std::io::Error::last_os_error()).context("a seccomp filter"),
        false => Ok(()),
    }
}

/// Some calls that do nothing, past the C library, which answers some itself.
pub fn call() {
    for _ in 0..CALLS {
        unsafe { libc::syscall(libc::SYS_getppid) };
    }
}

/// # Errors
/// The caller may not have this nice value.
pub fn set_nice(nice: i32) -> Result<()> {
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()).context("nice value"),
    }
}

/// A BPF program that returns 0.
pub struct Program(OwnedFd);

impl Program {
    /// # Errors
    /// The kernel does not load it.
    pub fn load() -> Result<Self> {
        let instruction = |code: u32| sys::bpf_insn {
            code: code as u8,
            ..Default::default()
        };
        // r0 = 0; exit
        let instructions = [
            instruction(sys::BPF_ALU64 | sys::BPF_MOV | sys::BPF_K),
            instruction(sys::BPF_JMP | sys::BPF_EXIT),
        ];
        let fd = unsafe {
            sys::bpf_prog_load(
                sys::BPF_PROG_TYPE_SCHED_CLS,
                c"lop_load".as_ptr(),
                c"GPL".as_ptr(),
                instructions.as_ptr(),
                instructions.len() as u64,
                ptr::null_mut(),
            )
        };
        anyhow::ensure!(fd >= 0, "a BPF program: {}", std::io::Error::from_raw_os_error(-fd));
        // The kernel has just opened it for this process.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Runs it many times in one call.
    pub fn run(&self) {
        let packet = [0_u8; 64];
        let mut options = sys::bpf_test_run_opts {
            sz: std::mem::size_of::<sys::bpf_test_run_opts>() as u64,
            data_in: packet.as_ptr().cast(),
            data_size_in: packet.len() as u32,
            repeat: RUNS as i32,
            ..Default::default()
        };
        unsafe { sys::bpf_prog_test_run_opts(self.0.as_raw_fd(), &raw mut options) };
    }
}
