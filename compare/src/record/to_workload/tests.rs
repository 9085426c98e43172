// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::record::{Event, Process, Segment};
use std::time::UNIX_EPOCH;

fn recording(command: &str, program: &str) -> Recording {
    let segment = Segment {
        start_ns: 0,
        end_ns: 2_000_000,
        cpu_ns: 1_234_567,
        blocked_ns: 0,
        event: Event::Exit,
    };
    Recording {
        command: vec![command.into()],
        started: UNIX_EPOCH + std::time::Duration::from_secs(951_782_400),
        wall_ns: 2_000_000,
        cpu_ns: 1_234_567,
        rusage_cpu_ns: 1_234_567,
        exit_code: 0,
        processes: vec![Process {
            tid: 1,
            parent: None,
            thread: false,
            program: program.into(),
            input_pipe: None,
            output_pipe: None,
            start_ns: 0,
            end_ns: 2_000_000,
            cpu_ns: 1_234_567,
            segments: vec![segment],
        }],
        killed_leftovers: 0,
        clock: CpuClock::Schedstat,
        cpus: 2,
        cpu_model: "Some \"CPU\"".into(),
    }
}

#[test]
fn one_process() {
    let text = to_workload(&recording("true", "true"), "small");
    assert!(
        text.ends_with(
            "\n[task]\np0-true = { count = 1, steps = [{ run_ms = 1.235 }] } # process, 0.000 s to 0.002 s\n"
        ),
        "{text}"
    );
    assert!(text.contains("# Date: 2000-02-29 (UTC)\n"), "{text}");
}

#[test]
fn strange_names_and_commands_stay_toml() {
    let command = "a \"b\"\nc = 1 \\ '\u{7}`";
    let text = to_workload(&recording(command, "g++ [x].y\"\u{e9}"), "na\"me");
    let read: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(read["name"].as_str(), Some("na\"me"));
    assert!(read["description"].as_str().is_some_and(|text| text.contains("c = 1")));
    assert!(read["task"].get("p0-g____x__y__").is_some(), "{text}");
    assert!(!read.contains_key("c"));
}
