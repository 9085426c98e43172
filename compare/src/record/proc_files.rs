// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads `/proc`. The parsers never panic: unexpected text yields `None`.

use super::CpuClock;
use std::fs;

/// What a task has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    pub cpu_ns: u64,
    /// Time spent runnable without a CPU; 0 if the system does not tell.
    pub run_delay_ns: u64,
    /// How often it gave up its CPU voluntarily: to block, or to stop for its tracer.
    pub voluntary_switches: u64,
}

/// CPU time and run delay in ns, from `/proc/TID/schedstat`: "CPU-ns run-delay-ns timeslices".
pub fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut fields = text.split_ascii_whitespace();
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// User and system time of `/proc/PID/task/TID/stat` in clock ticks (fields 14 and 15). The command name in field 2 is in
/// parentheses and may itself contain spaces and parentheses, so fields are counted from the last closing one.
pub fn parse_stat_ticks(text: &str) -> Option<u64> {
    let (_, after_name) = text.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

/// The number of a `key: number` line of `/proc/TID/status`.
pub fn parse_status_number(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok())
}

/// The processor's name in `/proc/cpuinfo`: `model name` on x86, `Model` or `cpu model` elsewhere.
pub fn parse_cpu_model(text: &str) -> Option<String> {
    let value_of = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key && !value.trim().is_empty()).then(|| value.trim().to_string())
        })
    };
    ["model name", "Model", "cpu model"].into_iter().find_map(value_of)
}

/// Reads CPU times of tasks from the best source of this system.
#[derive(Debug, Clone, Copy)]
pub struct CpuReader {
    pub clock: CpuClock,
    ns_per_tick: u64,
}

impl CpuReader {
    /// Kernels without scheduler statistics have no schedstat, or one with only zeros; others have counted at least one time slice
    /// of the caller.
    pub fn for_this_system() -> Self {
        let own = fs::read_to_string("/proc/thread-self/schedstat").ok();
        let counts = own.is_some_and(|text| text.split_ascii_whitespace().any(|field| field != "0"));
        // SAFETY: sysconf only reads its argument.
        let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Self {
            clock: if counts { CpuClock::Schedstat } else { CpuClock::Ticks },
            ns_per_tick: 1_000_000_000 / u64::try_from(ticks_per_second).unwrap_or(100).max(1),
        }
    }

    /// Usage of a living or zombie task; `None` if it is gone.
    pub fn usage(&self, tid: i32) -> Option<Usage> {
        let (cpu_ns, run_delay_ns) = self.times(tid)?;
        let status = fs::read(format!("/proc/{tid}/status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        Some(Usage {
            cpu_ns,
            run_delay_ns,
            voluntary_switches: parse_status_number(&status, "voluntary_ctxt_switches")?,
        })
    }

    /// CPU time and run delay of one task in ns.
    pub fn times(&self, tid: i32) -> Option<(u64, u64)> {
        match self.clock {
            CpuClock::Schedstat => parse_schedstat(&fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?),
            CpuClock::Ticks => {
                let stat = fs::read(format!("/proc/{tid}/task/{tid}/stat")).ok()?;
                let ticks = parse_stat_ticks(&String::from_utf8_lossy(&stat))?;
                Some((ticks.saturating_mul(self.ns_per_tick), 0))
            }
        }
    }
}

/// The process of a task and that process's parent, from `/proc/TID/status`.
pub fn process_and_parent(tid: i32) -> Option<(i32, i32)> {
    let text = String::from_utf8_lossy(&fs::read(format!("/proc/{tid}/status")).ok()?).into_owned();
    let number = |key| i32::try_from(parse_status_number(&text, key)?).ok();
    Some((number("Tgid")?, number("PPid")?))
}

/// The program a process has just executed, by the name used (`sh`, even if that is a link), cut to 15 bytes by the kernel.
pub fn program_of(tid: i32) -> Option<String> {
    let name = fs::read(format!("/proc/{tid}/comm")).ok()?;
    Some(String::from_utf8_lossy(&name).trim().to_string())
}

/// The number in `pipe:[NUMBER]`, as a link below `/proc/TID/fd` reads for a pipe.
pub fn parse_pipe_link(text: &str) -> Option<u64> {
    text.strip_prefix("pipe:[")?.strip_suffix(']')?.parse().ok()
}

/// The pipe that a file descriptor of a task is; `None` for anything else.
pub fn pipe_of(tid: i32, descriptor: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{tid}/fd/{descriptor}")).ok()?;
    parse_pipe_link(link.to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn schedstat_gives_cpu_and_delay() {
        assert_eq!(parse_schedstat("867650 12 1\n"), Some((867_650, 12)));
        assert_eq!(parse_schedstat("867650"), None);
        assert_eq!(parse_schedstat("-1 0 0"), None);
    }

    #[test]
    fn stat_counts_fields_after_the_last_parenthesis() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194560 1 0 0 0 25 17 0 0 20 0 1 0 5 0 0";
        assert_eq!(parse_stat_ticks(text), Some(42));
        assert_eq!(parse_stat_ticks("7 (a) S 1 7"), None);
    }

    #[test]
    fn status_key_must_match_whole() {
        let text = "Name:\tmake\nNSTgid:\t9\nTgid:\t5\nPPid:\t4\n";
        assert_eq!(parse_status_number(text, "Tgid"), Some(5));
        assert_eq!(parse_status_number(text, "PPid"), Some(4));
        assert_eq!(parse_status_number(text, "Pid"), None);
    }

    #[test]
    fn cpu_model_is_named_differently_by_architecture() {
        let x86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.4GHz\n";
        assert_eq!(parse_cpu_model(x86).as_deref(), Some("Some CPU @ 2.4GHz"));
        assert_eq!(
            parse_cpu_model("processor : 0\nModel : Board 4\n").as_deref(),
            Some("Board 4")
        );
        assert_eq!(parse_cpu_model("processor : 0\n"), None);
    }

    #[test]
    fn pipes_have_numbers() {
        assert_eq!(parse_pipe_link("pipe:[4711]"), Some(4711));
        assert_eq!(parse_pipe_link("socket:[4711]"), None);
        assert_eq!(parse_pipe_link("/dev/null"), None);
    }

    #[test]
    fn own_usage_grows() {
        let reader = CpuReader::for_this_system();
        // SAFETY: gettid has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        let before = reader.usage(tid).expect("own usage");
        let begin = std::time::Instant::now();
        while reader.usage(tid).expect("own usage").cpu_ns <= before.cpu_ns {
            assert!(
                begin.elapsed() < std::time::Duration::from_secs(600),
                "it does not grow"
            );
        }
    }

    proptest! {
        #[test]
        fn parsers_take_any_text(text in any::<String>(), key in "[A-Za-z]{0,6}") {
            let _ = parse_schedstat(&text);
            let _ = parse_stat_ticks(&text);
            let _ = parse_status_number(&text, &key);
            let _ = parse_cpu_model(&text);
            let _ = parse_pipe_link(&text);
        }

        #[test]
        fn stat_never_panics_on_numbers(name in ".{0,20}", fields in proptest::collection::vec(any::<i128>(), 0..30)) {
            let fields: Vec<String> = fields.iter().map(|field| field.to_string()).collect();
            let _ = parse_stat_ticks(&format!("1 ({name}) {}", fields.join(" ")));
        }
    }
}
