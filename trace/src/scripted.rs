// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hand-written recordings for tests: one event a line, with times in us.

use crate::event::{Event, Header, Host, Trace, What};

/// Lines of the form `US CPU EVENT TASK [TASK|NAME]`, such as `120 0 fork 1 2`.
pub fn scripted(text: &str) -> Trace {
    let events: Vec<Event> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(event)
        .collect();
    Trace {
        header: Header {
            command: vec!["trial".into()],
            began_unix_s: 0,
            wall_ns: events.last().map_or(0, |event| event.at_ns),
            exit_code: Some(0),
            rusage_ns: None,
            wakers: text.contains(" wake "),
            host: Host {
                cpu_model: "a model".into(),
                cpus: 2,
                speed_permille: None,
                max_khz: None,
                kernel: "6.12".into(),
            },
        },
        events,
    }
}

fn event(line: &str) -> Event {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let task = number(3);
    let what = match words[2] {
        "in" => What::In { task },
        "blocked" => What::Blocked { task },
        "preempted" => What::Preempted { task },
        "fork" | "thread" => What::Fork {
            parent: task,
            child: number(4),
            thread: words[2] == "thread",
        },
        "exit" => What::Exit { task },
        "exec" | "name" => What::Name {
            task,
            exec: words[2] == "exec",
            name: words[4].into(),
        },
        "wake" => What::Wake {
            waker: task,
            woken: number(4),
        },
        other => panic!("{other}"),
    };
    Event {
        at_ns: u64::from(number(0)) * 1000,
        cpu: number(1) as u16,
        what,
    }
}
