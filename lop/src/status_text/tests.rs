// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use lop_kernel::options::Options;
use lop_kernel::status::{LeftOut, Placements, Sets};
use std::time::UNIX_EPOCH;

fn member(cpu: u32, reason: Reason) -> Member {
    Member {
        cpu,
        reason,
        khz: Some(2_100_000),
        asked: Asked::Top,
    }
}

fn on_eight_cpus() -> Status {
    Status {
        kernel: "6.18.15".to_string(),
        pid: 4711,
        since: "1970-01-01T00:00:10Z".to_string(),
        since_unix_ns: 10_000_000_000,
        machine: vec!["8 CPUs of one kind; 8 cores, 1 memory domain, 8 clock domains".to_string()],
        speeds: vec!["schedutil on CPUs 0-6: asked by the scheduler in the kernel".to_string()],
        sets: Sets {
            high: vec![
                member(0, Reason::Busy),
                member(2, Reason::Held { for_ms: 7 }),
                member(1, Reason::Held { for_ms: 2 }),
            ],
            low: vec![3, 4, 5, 6],
            offline: vec![7],
            ..Sets::default()
        },
        active: 1,
        target: 1,
        spare: 0,
        hold_ms: 10,
        promotions: 12,
        demotions: 9,
        placements: Placements {
            claimed: 1203,
            queued: 40,
            pinned: 3,
        },
        left_out: LeftOut {
            room: 4096,
            groups: 3,
            applications: 0,
        },
        policy: "auto".to_string(),
        watts: Some("measured (/etc/lopsided/machine.toml)".to_string()),
        goal: Some("balanced".to_string()),
        goal_why: Some("auto: on mains".to_string()),
        ..Status::begin(&Options::default())
    }
}

#[test]
fn eight_cpus_have_a_line_each() {
    let page = page(&on_eight_cpus(), UNIX_EPOCH + Duration::from_secs(100));
    let expected = format!(
        "\
Lopsided {}
kernel   6.18.15
policy   auto, spare 0, hold 10 ms
goal     balanced (auto: on mains)
machine  8 CPUs of one kind; 8 cores, 1 memory domain, 8 clock domains
watts    measured (/etc/lopsided/machine.toml)
speeds   schedutil on CPUs 0-6: asked by the scheduler in the kernel
running  for 1 min 30 s, since 1970-01-01T00:00:10Z, pid 4711
demand   1 active, target 1 in the high set
changes  12 promotions, 9 demotions, 0 swaps, 0 restarts
placed   1203 at once on an idle CPU, 40 queued, 3 pinned
left out no place 3 times for a group of tasks, 0 times for an application;
         there are 4096 for each
high     3 of 8: 0-2
low      4 of 8: 3-6
offline  1 of 8: 7

CPUs  set   why                  MHz  asked for
0     high  busy                2100  high speed
1     high  held for 2 ms more  2100  high speed
2     high  held for 7 ms more  2100  high speed
",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(page, expected);
}

#[test]
fn what_the_goal_changes_follows_it() {
    let status = Status {
        goal: Some("energy".to_string()),
        goal_why: Some("auto: profile power-saver".to_string()),
        goal_effects: vec![
            "spare 0".to_string(),
            "high CPUs at the speed of least energy per work".to_string(),
        ],
        ..on_eight_cpus()
    };
    let expected = "goal     energy (auto: profile power-saver): spare 0; high CPUs at the speed of\n         least energy per work\n";
    assert!(introduction(&status).contains(expected), "{}", introduction(&status));
}

#[test]
fn the_readme_shows_it_as_it_is() {
    let status = Status {
        since: "2026-11-26T09:00:10Z".to_string(),
        left_out: LeftOut::default(),
        ..on_eight_cpus()
    };
    let page = page(&status, UNIX_EPOCH + Duration::from_secs(100));
    let shown = include_str!("../../../README.md");
    assert!(shown.contains(&format!("```\n{page}```\n")), "{page}");
}

/// Every second CPU high, of each reason some: the longest that ranges can be.
fn on_128_cpus() -> Status {
    let reasons = [
        Reason::Busy,
        Reason::Pinned { tasks: 1 },
        Reason::Pinned { tasks: 12 },
        Reason::Held { for_ms: 3 },
        Reason::Held { for_ms: 59_000 },
        Reason::Spare,
    ];
    let high = (0..128).step_by(2).map(|cpu| Member {
        khz: Some(1_000_000 + u64::from(cpu) * 1000),
        ..member(cpu, reasons[cpu as usize / 2 % reasons.len()])
    });
    Status {
        sets: Sets {
            high: high.collect(),
            low: (0..128).skip(1).step_by(2).collect(),
            ..Sets::default()
        },
        machine: vec!["128 CPUs, ".to_string() + &"a long description of many domains, ".repeat(4)],
        ..on_eight_cpus()
    }
}

#[test]
fn a_hundred_and_twenty_eight_cpus_stay_readable() {
    let page = page(&on_128_cpus(), UNIX_EPOCH + Duration::from_secs(100));
    for line in page.lines() {
        assert!(
            line.chars().count() <= WIDTH,
            "{} columns: {line}",
            line.chars().count()
        );
    }
    assert!(page.lines().count() <= 60, "{page}");
    assert!(page.contains("pinned by 1 to 12 tasks"), "{page}");
    assert!(page.contains("held for 3 to 59000 ms more"), "{page}");
    assert!(page.contains("1000-1120"), "{page}");
    assert!(!page.contains("machine  \n"), "{page}");
}

#[test]
fn what_the_kernel_does_not_say_is_a_question_mark() {
    let mut status = on_eight_cpus();
    status.sets.high.truncate(1);
    status.sets.high[0].khz = None;
    status.sets.high[0].asked = Asked::Nothing;
    let page = page(&status, UNIX_EPOCH);
    assert!(page.ends_with("0     high  busy    ?  nothing\n"), "{page}");
}

#[test]
fn what_was_asked_for_and_a_power_cap_stand_beside_the_policy() {
    let mut status = Status {
        max_high: Some(2),
        policy: "highlow-spare".to_string(),
        asked_policy: Some("auto".to_string()),
        spare: 1,
        ..on_eight_cpus()
    };
    status.sets.high[2].reason = Reason::Spare;
    let page = page(&status, UNIX_EPOCH);
    for part in [
        "highlow-spare (auto), spare 1, hold 10 ms, at most 2 high\n",
        "1     high  spare               2100  high speed\n",
    ] {
        assert!(page.contains(part), "{page}");
    }
}

#[test]
fn an_idle_machine_has_no_members() {
    let mut status = on_eight_cpus();
    status.sets.high.clear();
    let page = page(&status, UNIX_EPOCH);
    assert!(page.contains("high     none\n"), "{page}");
    assert!(!page.contains("asked for"), "{page}");
}

#[test]
fn times_are_said_as_people_say_them() {
    for (seconds, expected) in [
        (0, "0 s"),
        (59, "59 s"),
        (182, "3 min 2 s"),
        (7980, "2 h 13 min"),
        (435_600, "5 d 1 h"),
    ] {
        assert_eq!(duration(Duration::from_secs(seconds)), expected);
    }
}

#[test]
fn long_facts_are_broken_between_words_and_numbers() {
    assert_eq!(wrapped("1,2,3,4", 4), ["1,2,", "3,4"]);
    assert_eq!(wrapped("of many words", 7), ["of many", "words"]);
    assert_eq!(wrapped("unbreakable", 4), ["unbreakable"]);
    assert_eq!(wrapped("", 4), [""]);
}
