// SPDX-License-Identifier: MIT OR Apache-2.0
//! Complete comparisons of real commands, with a fake meter and a fake enforcement.

use lop_compare::analysis::analyse;
use lop_compare::enforcement::{Enforcement, EnforcementError, Nothing};
use lop_compare::gauge::Gauge;
use lop_compare::interrupt::Interrupt;
use lop_compare::journal::{self, End, Header, Journal};
use lop_compare::plan::{Combination, CommandLine, Rounds};
use lop_compare::process::{Input, Output, Streams};
use lop_compare::session::{measure, Ignored, SessionError, Settings, Tools};
use lop_compare::statistics::Method;
use lop_compare::surroundings::Surroundings;
use lop_machine::meter::{Meter, MeterError, MeterKind, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Always 10 W; vanishes after a number of readings.
struct TenWatts {
    source: Source,
    begin: Instant,
    left: usize,
    /// How long an answer takes; its value is from its end.
    takes: Duration,
    /// Longest time between two readings.
    within: Duration,
    answers: Arc<Mutex<Vec<Answer>>>,
}

/// A reading of the meter, and when it was asked and answered.
struct Answer {
    asked: Instant,
    at: Instant,
    total_uj: u64,
}

impl TenWatts {
    fn new(left: usize) -> Box<Self> {
        Box::new(Self {
            source: Source {
                kind: MeterKind::Powercap,
                name: "made up".into(),
                whole_system: true,
                update_period: None,
                only_ratios: false,
            },
            begin: Instant::now(),
            left,
            takes: Duration::ZERO,
            within: Duration::from_millis(20),
            answers: Arc::default(),
        })
    }
}

impl Meter for TenWatts {
    fn source(&self) -> &Source {
        &self.source
    }

    fn read_uj(&mut self) -> Result<u64, MeterError> {
        let asked = Instant::now();
        self.left = self.left.checked_sub(1).ok_or_else(|| MeterError {
            kind: MeterKind::Powercap,
            what: "energy_uj".into(),
            reason: "vanished".into(),
            mend: "plug it in".into(),
        })?;
        std::thread::sleep(self.takes);
        let at = Instant::now();
        let total_uj = ((at - self.begin).as_secs_f64() * 10e6) as u64;
        self.answers.lock().unwrap().push(Answer { asked, at, total_uj });
        Ok(total_uj)
    }

    fn read_within(&self) -> Option<Duration> {
        Some(self.within.max(self.takes * 4))
    }
}

/// Notes its calls and their times.
#[derive(Default)]
struct Notes(Vec<String>, Vec<Instant>);

impl Notes {
    fn note(&mut self, asked: String) {
        self.0.push(asked);
        self.1.push(Instant::now());
    }
}

impl Enforcement for Notes {
    fn name(&self) -> &str {
        "notes"
    }

    fn why(&self) -> &str {
        "a test asks for it"
    }

    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError> {
        self.note(format!("begin {policy}"));
        Ok(())
    }

    fn started(&mut self, pid: u32) -> Result<(), EnforcementError> {
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        self.note("started".into());
        Ok(())
    }

    fn end(&mut self) -> Result<(), EnforcementError> {
        self.note("end".into());
        Ok(())
    }
}

fn shell(line: &str) -> CommandLine {
    CommandLine::of(line, Some("sh")).unwrap()
}

fn combination(policy: &str, line: &str) -> Combination {
    Combination {
        policy: policy.into(),
        command: shell(line),
        name: line.into(),
        parameters: BTreeMap::new(),
        unit: 0,
        prepare: None,
        conclude: None,
        setup: None,
        cleanup: None,
    }
}

struct Bench {
    folder: TempDir,
    settings: Settings,
    enforcement: Notes,
    meter: Option<Box<dyn Meter>>,
    interrupt: Interrupt,
}

impl Bench {
    fn new(rounds: u32) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            settings: Settings {
                rounds: Rounds::Exactly(rounds),
                warmup: 0,
                ignored: Ignored::None,
                streams: Streams {
                    input: Input::Null,
                    output: Output::Null,
                },
                idle: Duration::from_millis(30),
            },
            enforcement: Notes::default(),
            meter: None,
            interrupt: Interrupt::by_hand().unwrap(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// The lines that commands added to a file.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    fn measure(&mut self, combinations: Vec<Combination>) -> (journal::Measured, Result<(), SessionError>) {
        let path = self.folder.path().join("journal");
        let mut journal = Journal::begin(&path, Header::new(7, combinations)).unwrap();
        let mut tools = Tools {
            gauge: Gauge::new(self.meter.take()),
            enforcement: &mut self.enforcement,
            interrupt: &self.interrupt,
            surroundings: Surroundings::new(Path::new("/")),
            progress: &mut |_, _| {},
        };
        let result = measure(&mut journal, &self.settings, &mut tools);
        let read = journal::read(&path).unwrap();
        let known = &journal.measured;
        assert_eq!(
            (&read.header, &read.end, read.runs.len()),
            (&known.header, &known.end, known.runs.len())
        );
        let near = |(on_disk, known): (&journal::Run, &journal::Run)| (on_disk.time_s - known.time_s).abs() < 1e-12;
        assert!(
            read.runs.iter().zip(&known.runs).all(near),
            "the file has what was measured"
        );
        (read, result)
    }
}

#[test]
fn every_round_runs_everything_once_with_its_preparations() {
    let mut bench = Bench::new(4);
    bench.settings.warmup = 1;
    let note = |what: &str| Some(shell(&format!("echo {what} >> {}", bench.path("log"))));
    let mut combinations = Vec::new();
    for name in ["a", "b"] {
        let mut one = combination("linux", &format!("echo {name} >> {}", bench.path("log")));
        (one.setup, one.prepare) = (note("setup"), note("prepare"));
        (one.conclude, one.cleanup) = (note("conclude"), note("cleanup"));
        combinations.push(one);
    }
    let (measured, result) = bench.measure(combinations);
    result.unwrap();
    let log = bench.lines("log");
    assert_eq!(log.first().unwrap(), "setup", "once for both policies of a command");
    assert_eq!(log.last().unwrap(), "cleanup");
    assert_eq!(
        log.iter().filter(|line| *line == "setup" || *line == "cleanup").count(),
        2
    );
    let runs: Vec<&[String]> = log[1..log.len() - 1].chunks(3).collect();
    assert_eq!(runs.len(), 10, "2 of warmup, 4 rounds of 2");
    assert!(
        runs.iter().all(|run| run[0] == "prepare" && run[2] == "conclude"),
        "{log:?}"
    );
    assert_eq!(measured.runs.len(), 8);
    for round in measured.runs.chunks(2) {
        assert_eq!(round[0].round, round[1].round);
        assert_ne!(round[0].combination, round[1].combination);
    }
    assert_eq!(measured.end, Some(End::Complete));
}

/// Below a page, and another one for each run, by the seed; what is not measured has none.
#[test]
fn the_environment_of_each_run_has_another_size() {
    let sizes = || {
        let mut bench = Bench::new(8);
        let note = |name: &str| format!("echo ${{LOP_PADDING-none}} | wc -c >> {}", bench.path(name));
        let mut noted = combination("linux", &note("runs"));
        noted.prepare = Some(shell(&note("helpers")));
        bench.measure(vec![noted]).1.unwrap();
        assert_eq!(
            bench.lines("helpers"),
            ["5"; 8],
            "the word none and the end of its line"
        );
        let lines = bench.lines("runs");
        lines
            .iter()
            .map(|line| line.trim().parse::<usize>().unwrap() - 1)
            .collect::<Vec<_>>()
    };
    let all = sizes();
    assert_eq!(all, sizes(), "the same seed");
    assert!(all.iter().all(|&size| size < 4096), "{all:?}");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 8, "{all:?}");
}

/// A round takes 1.5 s at least, whatever the command takes, so two of them are 3 s.
#[test]
fn preparations_count_towards_the_number_of_rounds() {
    let mut bench = Bench::new(1);
    bench.settings.rounds = Rounds::Between { min: 1, max: None };
    let mut prepared = combination("linux", "true");
    prepared.prepare = Some(shell("sleep 1.5"));
    let (measured, result) = bench.measure(vec![prepared]);
    result.unwrap();
    assert!(measured.runs.len() <= 2, "{} runs", measured.runs.len());
}

/// How long idle power is measured.
const REST: Duration = Duration::from_millis(300);

/// A comparison as seen by its meter and its enforcement.
struct Seen {
    measured: journal::Measured,
    answers: Vec<Answer>,
    /// For each run, when the policy began, when the command had started, and when the policy ended.
    runs: Vec<[Instant; 3]>,
    over: Instant,
}

/// Three runs of 50 ms at 10 W, with a meter that takes this long to answer.
fn sleeps_measured(takes: Duration) -> Seen {
    let mut bench = Bench::new(3);
    bench.settings.idle = REST;
    let mut meter = TenWatts::new(usize::MAX);
    meter.takes = takes;
    let answers = meter.answers.clone();
    bench.meter = Some(meter);
    let (measured, result) = bench.measure(vec![combination("highlow", "sleep 0.05")]);
    result.unwrap();
    let noted = bench.enforcement.1.chunks_exact(3);
    let answers = std::mem::take(&mut *answers.lock().unwrap());
    Seen {
        measured,
        answers,
        runs: noted.map(|run| [run[0], run[1], run[2]]).collect(),
        over: Instant::now(),
    }
}

/// The session reads the clock between two known moments, however busy the machine is. So the power must lie, up to rounding, between the values for
/// the longest and for the shortest possible time.
fn lies_between(told_w: f64, first: &Answer, last: &Answer, longest: Duration, shortest: Duration) {
    let energy_j = (last.total_uj - first.total_uj) as f64 / 1e6;
    let [least_w, most_w] = [longest, shortest].map(|time| energy_j / time.as_secs_f64());
    assert!(
        least_w - 1e-6 <= told_w && told_w <= most_w + 1e-6,
        "{told_w} W, expected {least_w} to {most_w}"
    );
}

/// Even if the meter takes twice as long to answer as the run itself, before and after it.
#[test]
fn energy_is_that_of_the_run() {
    for takes in [Duration::ZERO, Duration::from_millis(100)] {
        let seen = sleeps_measured(takes);
        assert_eq!((seen.measured.runs.len(), seen.runs.len()), (3, 3));
        for (run, &[_, started, ended]) in seen.measured.runs.iter().zip(&seen.runs) {
            let answered_by = |time: Instant| seen.answers.iter().rfind(|answer| answer.at <= time).unwrap();
            let (first, last) = (answered_by(started), answered_by(ended));
            let watts = run.energy_j.unwrap() / run.time_s;
            lies_between(watts, first, last, ended - first.at, last.at - started);
        }
    }
}

#[test]
fn idle_power_is_measured_before_and_after() {
    let takes = Duration::from_millis(30);
    let seen = sleeps_measured(takes);
    let (begun, ended) = (seen.runs[0][0], seen.runs[2][2]);
    let before: Vec<&Answer> = seen.answers.iter().filter(|answer| answer.at <= begun).collect();
    let after: Vec<&Answer> = seen.answers.iter().filter(|answer| answer.asked >= ended).collect();
    let idle = &seen.measured.idle;
    for (told_w, answers, over) in [(idle.before_w, before, begun), (idle.after_w, after, seen.over)] {
        let (first, last) = (answers[0], answers[answers.len() - 1]);
        lies_between(told_w.unwrap(), first, last, over - first.at, REST + takes);
    }
    assert!(analyse(&seen.measured, Method::Student).rows[0].net_energy_j.is_some());
}

/// If the meter fails in the middle of a run, no energy is invented, and earlier measurements stay.
#[test]
fn a_meter_that_vanishes_ends_the_comparison() {
    let mut bench = Bench::new(50);
    let mut meter = TenWatts::new(80);
    // The meter is only read before and after each run, however long a run takes.
    meter.within = Duration::from_secs(3600);
    bench.meter = Some(meter);
    let (measured, result) = bench.measure(vec![combination("linux", "true")]);
    assert!(result.unwrap_err().to_string().contains("vanished; plug it in"));
    assert!(!measured.runs.is_empty());
    assert!(measured.runs.iter().all(|run| run.energy_j.is_some()));
    assert!(matches!(measured.end, Some(End::Failed(_))));
}

#[test]
fn policies_are_in_force_around_each_run_and_linux_needs_nobody() {
    let mut bench = Bench::new(2);
    bench
        .measure(vec![combination("linux", "true"), combination("highlow", "true")])
        .1
        .unwrap();
    assert_eq!(
        bench.enforcement.0,
        ["begin highlow", "started", "end", "begin highlow", "started", "end"]
    );
    Nothing.begin("highlow").unwrap_err();
}

#[test]
fn a_failure_ends_the_comparison_with_its_code_and_takes_the_policy_back() {
    let mut bench = Bench::new(3);
    let mut failing = combination("highlow", "exit 3");
    failing.cleanup = Some(shell(&format!("echo cleanup >> {}", bench.path("log"))));
    let (measured, result) = bench.measure(vec![failing]);
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 3);
    assert!(error.to_string().contains("--ignore-failure"), "{error}");
    assert_eq!(measured.runs.len(), 1, "the failed run is told");
    assert_eq!(measured.runs[0].exit_code, 3);
    assert_eq!(bench.enforcement.0.last().unwrap(), "end");
    assert_eq!(bench.lines("log"), ["cleanup"]);
}

#[test]
fn failures_can_be_ignored() {
    let mut bench = Bench::new(3);
    bench.settings.ignored = Ignored::All;
    let (measured, result) = bench.measure(vec![combination("linux", "kill -9 $$")]);
    result.unwrap();
    let row = &analyse(&measured, Method::Student).rows[0];
    assert_eq!((row.exit_codes.as_slice(), row.time_s), ([137; 3].as_slice(), None));
}

#[test]
fn preparations_that_fail_end_the_comparison() {
    let mut bench = Bench::new(3);
    let mut one = combination("linux", "true");
    one.prepare = Some(shell("exit 9"));
    let (measured, result) = bench.measure(vec![one]);
    let error = result.unwrap_err();
    assert_eq!((error.exit_code(), measured.runs.len()), (1, 0));
    assert!(
        error.to_string().contains("--prepare: 'exit 9' failed with code 9"),
        "{error}"
    );
}

#[test]
fn commands_that_are_not_there_have_the_code_of_shells() {
    let mut missing = combination("linux", "true");
    missing.command = CommandLine::of("/nowhere/at-all", None).unwrap();
    let error = Bench::new(3).measure(vec![missing]).1.unwrap_err();
    assert_eq!(error.exit_code(), 127);
    assert!(error.to_string().contains("/nowhere/at-all: cannot be run"), "{error}");
}

/// The signal arrives in the third run, a shell with a child. The shell obeys SIGTERM, the child ignores it.
#[test]
fn an_interrupt_ends_the_whole_tree_keeps_what_was_measured_and_takes_the_policy_back() {
    let mut bench = Bench::new(50);
    let marker = bench.path("marker");
    let child = bench.path("child");
    let line = format!("echo >> {marker}; [ $(wc -l < {marker}) -lt 3 ] || {{ (trap \"\" TERM; exec sleep 600) & echo $! > {child}; wait; }}");
    let mut one = combination("highlow", &line);
    one.conclude = Some(shell(&format!("echo >> {}", bench.path("concluded"))));
    let raise = bench.interrupt.try_clone().unwrap();
    let waiting = std::thread::spawn(move || {
        let pid = within(|| {
            std::fs::read_to_string(&child)
                .ok()?
                .strip_suffix('\n')?
                .parse::<u32>()
                .ok()
        });
        raise.raise(15).unwrap();
        pid
    });
    let begin = Instant::now();
    let (measured, result) = bench.measure(vec![one]);
    let child = waiting.join().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(300), "it was not waited for");
    assert_eq!(result.unwrap_err().exit_code(), 128 + 15);
    assert_eq!((measured.runs.len(), measured.end), (2, Some(End::Interrupted(15))));
    assert_eq!(bench.enforcement.0.last().unwrap(), "end");
    assert_eq!(bench.lines("concluded").len(), 3);
    within(|| has_ended(child).then_some(()));
}

/// Whether it is gone or a zombie. If process 1 does not reap orphans, it may stay a zombie.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
}

/// Retries until there is a value.
fn within<T>(mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(600);
    loop {
        match found() {
            Some(found) => return found,
            None if Instant::now() > end => panic!("nothing after a minute"),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// A last line truncated by SIGKILL or a full disk is left out; an earlier broken line is an error.
#[test]
fn a_journal_is_readable_whatever_ended_it() {
    let mut bench = Bench::new(2);
    let (measured, _) = bench.measure(vec![combination("linux", "true")]);
    let path = bench.folder.path().join("journal");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "a header, two runs, an end");
    std::fs::write(&path, format!("{}\n{}\n{}", lines[0], lines[1], &lines[2][..20])).unwrap();
    let cut = journal::read(&path).unwrap();
    assert_eq!(
        (cut.runs.len(), cut.runs[0].round, &cut.end),
        (1, measured.runs[0].round, &None)
    );
    std::fs::write(&path, format!("{}\n{}\n{}\n", lines[0], &lines[1][..20], lines[2])).unwrap();
    assert!(journal::read(&path).unwrap_err().to_string().starts_with("line 2: "));
    std::fs::write(&path, text.replace(r#","reference":null"#, "")).unwrap();
    assert_eq!(
        journal::read(&path).unwrap(),
        measured,
        "from a 'lop' without references"
    );
    std::fs::write(&path, text.replace(r#""reference":null"#, r#""reference":7"#)).unwrap();
    assert!(journal::read(&path)
        .unwrap_err()
        .to_string()
        .contains("combination 7, does not exist"));
    std::fs::write(&path, "{}\n").unwrap();
    assert!(journal::read(&path).unwrap_err().to_string().contains("not a journal"));
    Journal::begin(&path, Header::new(1, Vec::new()))
        .err()
        .expect("no file is overwritten");
}
