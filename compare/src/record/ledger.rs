// SPDX-License-Identifier: MIT OR Apache-2.0
//! The accounts of a recording: what each task did between its stops. Independent of ptrace.

use super::proc_files::Usage;
use super::{Event, Process, Segment};
use std::collections::HashMap;

/// A task while it is recorded.
#[derive(Debug)]
struct Account {
    process: Process,
    /// Time neither running nor runnable since the last segment ended, without the time for which the recorder stopped the task.
    blocked_ns: u64,
    segment_start_ns: u64,
    usage_at_segment_start: Usage,
    last_usage: Usage,
    /// When it was last resumed; `None` while it is stopped.
    going_since_ns: Option<u64>,
    exiting: bool,
    dead: bool,
    /// Whether its fork has been reported.
    announced: bool,
}

/// Blocked time of a stretch: elapsed minus running minus runnable. The stop for the recorder at its end is one voluntary switch.
/// Without a second one the task did not block, and the apparent blocked time is the recorder's delay.
fn blocked_ns(elapsed_ns: u64, before: Usage, after: Usage) -> u64 {
    if after.voluntary_switches.saturating_sub(before.voluntary_switches) <= 1 {
        return 0;
    }
    let running_ns = after.cpu_ns.saturating_sub(before.cpu_ns);
    let runnable_ns = after.run_delay_ns.saturating_sub(before.run_delay_ns);
    elapsed_ns.saturating_sub(running_ns).saturating_sub(runnable_ns)
}

/// All tasks seen, by index in order of creation.
#[derive(Debug, Default)]
pub struct Ledger {
    accounts: Vec<Account>,
    /// The latest task of each number, including dead ones: a parent waits for its child after that has died.
    by_tid: HashMap<i32, usize>,
}

impl Ledger {
    /// Index of the living task of this number.
    pub fn living(&self, tid: i32) -> Option<usize> {
        self.latest(tid).filter(|&index| !self.accounts[index].dead)
    }

    /// Index of the latest task with this number.
    pub fn latest(&self, tid: i32) -> Option<usize> {
        self.by_tid.get(&tid).copied()
    }

    /// Opens an account; the task starts now, stopped.
    pub fn open(&mut self, tid: i32, now_ns: u64) -> usize {
        let index = self.accounts.len();
        self.accounts.push(Account {
            process: Process {
                tid,
                parent: None,
                thread: false,
                program: String::new(),
                input_pipe: None,
                output_pipe: None,
                start_ns: now_ns,
                end_ns: now_ns,
                cpu_ns: 0,
                segments: Vec::new(),
            },
            blocked_ns: 0,
            segment_start_ns: now_ns,
            usage_at_segment_start: Usage::default(),
            last_usage: Usage::default(),
            going_since_ns: None,
            exiting: false,
            dead: false,
            announced: false,
        });
        self.by_tid.insert(tid, index);
        index
    }

    /// Sets what the task had used before it became part of the recording.
    pub fn set_baseline(&mut self, index: usize, usage: Usage) {
        let account = &mut self.accounts[index];
        account.usage_at_segment_start = usage;
        account.last_usage = usage;
    }

    pub fn set_parent(&mut self, index: usize, parent: usize, thread: bool) {
        let program = self.accounts[parent].process.program.clone();
        let process = &mut self.accounts[index].process;
        process.parent = Some(parent);
        process.thread = thread;
        if process.program.is_empty() {
            process.program = program;
        }
    }

    /// The account of a task whose fork has not been reported yet. The task may have ended already, since its creator may get a CPU later.
    pub fn unannounced(&self, tid: i32) -> Option<usize> {
        self.latest(tid).filter(|&index| !self.accounts[index].announced)
    }

    /// Notes that its fork was reported.
    pub fn announce(&mut self, index: usize) {
        self.accounts[index].announced = true;
    }

    pub fn has_parent(&self, index: usize) -> bool {
        self.accounts[index].process.parent.is_some()
    }

    pub fn set_program(&mut self, index: usize, program: String) {
        self.accounts[index].process.program = program;
    }

    /// Sets the pipes that are now its standard input and output; `None` keeps the known one.
    pub fn set_pipes(&mut self, index: usize, input: Option<u64>, output: Option<u64>) {
        let process = &mut self.accounts[index].process;
        process.input_pipe = input.or(process.input_pipe);
        process.output_pipe = output.or(process.output_pipe);
    }

    /// The task was resumed.
    pub fn go(&mut self, index: usize, now_ns: u64) {
        self.accounts[index].going_since_ns = Some(now_ns);
    }

    /// The task has stopped. `usage` is `None` if it could not be read; then nothing is added.
    pub fn stop(&mut self, index: usize, now_ns: u64, usage: Option<Usage>) {
        let account = &mut self.accounts[index];
        let Some(usage) = usage else {
            account.going_since_ns = None;
            return;
        };
        if let Some(since) = account.going_since_ns.take() {
            account.blocked_ns += blocked_ns(now_ns.saturating_sub(since), account.last_usage, usage);
        }
        account.last_usage = usage;
    }

    /// Ends the current segment of a stopped task.
    pub fn event(&mut self, index: usize, now_ns: u64, event: Event) {
        let account = &mut self.accounts[index];
        let cpu_ns = account
            .last_usage
            .cpu_ns
            .saturating_sub(account.usage_at_segment_start.cpu_ns);
        account.process.segments.push(Segment {
            start_ns: account.segment_start_ns,
            end_ns: now_ns,
            cpu_ns,
            blocked_ns: account.blocked_ns,
            event,
        });
        account.process.cpu_ns += cpu_ns;
        account.segment_start_ns = now_ns;
        account.usage_at_segment_start = account.last_usage;
        account.blocked_ns = 0;
    }

    /// The task begins to exit; from now on others may notice.
    pub fn begin_exit(&mut self, index: usize, now_ns: u64) {
        self.event(index, now_ns, Event::Exit);
        self.accounts[index].process.end_ns = now_ns;
        self.accounts[index].exiting = true;
    }

    /// The task is a zombie. What it used while exiting belongs to its last segment.
    pub fn end(&mut self, index: usize, now_ns: u64, usage: Option<Usage>) {
        self.stop(index, now_ns, usage);
        if !self.accounts[index].exiting {
            self.begin_exit(index, now_ns);
        }
        let account = &mut self.accounts[index];
        let rest_ns = account
            .last_usage
            .cpu_ns
            .saturating_sub(account.usage_at_segment_start.cpu_ns);
        if let Some(last) = account.process.segments.last_mut() {
            last.cpu_ns += rest_ns;
            account.process.cpu_ns += rest_ns;
        }
        account.usage_at_segment_start = account.last_usage;
        account.dead = true;
    }

    /// A thread other than the first has executed a program: it takes over the number and place of the first, which has exited.
    /// The account of the first continues, from `usage` of the thread that took its place.
    pub fn take_over(&mut self, first: usize, now_ns: u64, former_tid: i32, usage: Option<Usage>) {
        if let Some(former) = self.living(former_tid).filter(|&former| former != first) {
            self.end(former, now_ns, usage);
        }
        let account = &mut self.accounts[first];
        account.exiting = false;
        account.segment_start_ns = now_ns;
        account.blocked_ns = 0;
        if let Some(last) = account
            .process
            .segments
            .last_mut()
            .filter(|last| last.event == Event::Exit)
        {
            last.event = Event::Exec;
        }
        self.set_baseline(first, usage.unwrap_or_default());
    }

    pub fn into_processes(self) -> Vec<Process> {
        self.accounts.into_iter().map(|account| account.process).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usage of a task that blocks in every stretch.
    fn usage(cpu_ns: u64, run_delay_ns: u64) -> Option<Usage> {
        Some(Usage {
            cpu_ns,
            run_delay_ns,
            voluntary_switches: cpu_ns,
        })
    }

    #[test]
    fn a_segment_is_cpu_delay_and_the_rest_blocked() {
        let mut ledger = Ledger::default();
        let task = ledger.open(7, 100);
        ledger.go(task, 100);
        ledger.stop(task, 1_100, usage(300, 200)); // a signal: no event
        ledger.go(task, 5_000); // stopped in between
        ledger.stop(task, 6_000, usage(900, 250));
        ledger.event(task, 6_000, Event::WaitBegin);
        ledger.go(task, 6_010);
        ledger.end(task, 6_500, usage(950, 250));
        let processes = ledger.into_processes();
        let segments = &processes[0].segments;
        assert_eq!((segments[0].cpu_ns, segments[0].blocked_ns), (900, 2_000 - 900 - 250));
        assert_eq!((segments[1].cpu_ns, segments[1].blocked_ns), (50, 440));
        assert_eq!(
            (processes[0].cpu_ns, processes[0].start_ns, processes[0].end_ns),
            (950, 100, 6_500)
        );
    }

    #[test]
    fn without_a_voluntary_switch_nothing_was_blocked() {
        let at = |cpu_ns, voluntary_switches| Usage {
            cpu_ns,
            run_delay_ns: 0,
            voluntary_switches,
        };
        assert_eq!(blocked_ns(5_000, at(0, 3), at(1_000, 4)), 0);
        assert_eq!(blocked_ns(5_000, at(0, 3), at(1_000, 5)), 4_000);
    }

    #[test]
    fn cpu_after_the_exit_stop_counts_and_its_time_does_not() {
        let mut ledger = Ledger::default();
        let task = ledger.open(7, 0);
        ledger.go(task, 0);
        ledger.stop(task, 1_000, usage(1_000, 0));
        ledger.begin_exit(task, 1_000);
        ledger.go(task, 1_000);
        ledger.end(task, 9_000, usage(1_400, 0));
        let process = &ledger.into_processes()[0];
        assert_eq!(
            (process.cpu_ns, process.end_ns, process.segments.len()),
            (1_400, 1_000, 1)
        );
        assert_eq!((process.segments[0].cpu_ns, process.segments[0].blocked_ns), (1_400, 0));
    }

    #[test]
    fn a_number_may_be_used_again() {
        let mut ledger = Ledger::default();
        let first = ledger.open(7, 0);
        ledger.end(first, 10, usage(5, 0));
        assert_eq!((ledger.living(7), ledger.latest(7)), (None, Some(first)));
        let second = ledger.open(7, 20);
        assert_eq!(ledger.living(7), Some(second));
    }

    /// Its creator had no CPU meanwhile.
    #[test]
    fn a_task_that_ended_before_its_fork_was_told_has_one_account() {
        let mut ledger = Ledger::default();
        let first = ledger.open(7, 0);
        ledger.end(first, 10, usage(5, 0));
        assert_eq!(ledger.unannounced(7), Some(first));
        ledger.announce(first);
        assert_eq!(
            ledger.unannounced(7),
            None,
            "the next fork of that number is another task's"
        );
    }

    #[test]
    fn a_thread_that_executes_goes_on_in_the_first_account() {
        let mut ledger = Ledger::default();
        let first = ledger.open(7, 0);
        let thread = ledger.open(8, 0);
        ledger.stop(first, 100, usage(60, 0));
        ledger.begin_exit(first, 100);
        ledger.stop(thread, 100, usage(40, 0));
        ledger.take_over(first, 200, 8, usage(90, 0));
        ledger.end(first, 300, usage(100, 0));
        let processes = ledger.into_processes();
        assert_eq!((processes[first].cpu_ns, processes[thread].cpu_ns), (60 + 10, 90));
    }
}
