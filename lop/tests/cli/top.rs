// SPDX-License-Identifier: GPL-2.0-only
//! `lop top`, in a pipe and on a terminal of its own.

use super::*;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

#[test]
fn one_screen_is_text_that_fits_80_by_24() {
    let folder = folder();
    let run_dir = folder.path().to_str().unwrap();
    let text = good(
        folder.path(),
        &["top", "--once", "--interval", "200ms", "--run-dir", run_dir],
    )
    .stdout;
    assert!(text.starts_with("lop top  "), "{text}");
    assert!(
        text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    assert!(
        text.contains(" %"),
        "the second sample knows how busy CPUs were: {text}"
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn without_a_terminal_the_error_names_what_works_in_a_pipe() {
    let folder = folder();
    let answer = answer(folder.path(), &["top"]);
    assert_eq!(answer.code, 1);
    assert!(answer.stderr.contains("lop top --once"), "{}", answer.stderr);
}

#[test]
fn the_meter_that_was_asked_for_is_the_one_that_is_named() {
    let folder = folder();
    for (option, value, named) in [
        ("--meter-cmd", "echo 5 W", "command 'echo 5 W'"),
        ("--meter", "none", "--meter none"),
    ] {
        let shown = good(folder.path(), &["top", "--once", "--interval", "200ms", option, value]).stdout;
        assert!(shown.contains(named), "{option}: {shown}");
    }
}

/// A model of one CPU says nothing of a machine with more.
#[test]
fn a_model_that_does_not_fit_is_an_error_and_not_left_aside() {
    let folder = folder();
    let model = good(folder.path(), &["machine", "show", "phenom-9750", "--toml"]).stdout;
    std::fs::write(folder.path().join("one.toml"), model.replace("cores = 4", "cores = 1")).unwrap();
    for arguments in [
        &["top", "--once", "--model", "one.toml"][..],
        &["compare", "--model", "one.toml", "touch ran"],
    ] {
        let answer = answer(folder.path(), arguments);
        assert_eq!(answer.code, 1, "{arguments:?}: {}", answer.stderr);
        assert!(
            answer.stderr.contains("it has 1 CPUs"),
            "{arguments:?}: {}",
            answer.stderr
        );
    }
    assert!(!folder.path().join("ran").exists());
}

#[test]
fn intervals_that_make_no_sense_are_refused() {
    let folder = folder();
    for interval in ["1ms", "2h", "soon"] {
        let answer = answer(folder.path(), &["top", "--once", "--interval", interval]);
        assert_eq!(answer.code, 2, "{interval}: {}", answer.stderr);
    }
}

/// What a program on a terminal has shown so far.
struct Screen {
    script: Child,
    shown: String,
    parts: std::sync::mpsc::Receiver<Vec<u8>>,
}

impl Screen {
    /// script(1) gives it a terminal.
    fn of(command: &str) -> Self {
        let mut script = Command::new("script")
            .args(["-qec", command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script(1): scripts/need.sh script installs it");
        let mut out = script.stdout.take().unwrap();
        let (send, parts) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut part) {
                // Who does not listen any more has failed already.
                let _ = send.send(part[..read].to_vec());
            }
        });
        Self {
            script,
            shown: String::new(),
            parts,
        }
    }

    fn wait_for(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.shown.contains(text) {
            match self.parts.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(part) => self.shown += &String::from_utf8_lossy(&part),
                Err(error) => panic!("no '{text}': {error}: {:?}", self.shown),
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(600);

/// `lop top` on a terminal, which says afterwards how it ended and whether the terminal is as before.
fn top_on_a_terminal(folder: &Path) -> Screen {
    let lop = assert_cmd::cargo::cargo_bin("lop");
    let mut screen = Screen::of(&format!(
        "stty rows 24 cols 80; before=$(stty -g); sh -c 'echo pid $$ is it; exec {} top --run-dir {}'; echo code $?; [ \"$before\" = \"$(stty -g)\" ] && echo as before",
        lop.display(),
        folder.display()
    ));
    // What is typed before it listens is nobody's. Blanks are not drawn.
    screen.wait_for("quits");
    screen
}

impl Screen {
    /// It is left as it was found.
    fn is_given_back(&mut self, code: i32) {
        self.wait_for(&format!("code {code}"));
        self.wait_for("as before");
        let (enter, leave) = ("\x1b[?1049h", "\x1b[?1049l");
        let shown = &self.shown;
        let left = shown
            .rfind(leave)
            .unwrap_or_else(|| panic!("the other screen is left: {shown:?}"));
        assert!(shown.find(enter).is_some_and(|entered| entered < left), "{shown:?}");
    }
}

#[test]
fn q_quits_and_gives_the_terminal_back() {
    let folder = folder();
    let mut screen = top_on_a_terminal(folder.path());
    screen.script.stdin.as_mut().unwrap().write_all(b"q").unwrap();
    screen.is_given_back(0);
}

/// 128 + 15.
#[test]
fn sigterm_ends_it_and_gives_the_terminal_back() {
    let folder = folder();
    let mut screen = top_on_a_terminal(folder.path());
    let (_, after) = screen.shown.split_once("pid ").unwrap();
    let pid = after.split_once(" is it").unwrap().0.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    screen.is_given_back(143);
}
