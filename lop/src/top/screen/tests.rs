// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use crate::top::sample::{Cpu, Set};
use lop_kernel::hinted::Hinted;
use lop_kernel::status::{Asked, Member, Reason, Sets};
use ratatui::backend::TestBackend;
use ratatui::Terminal;
use std::time::{Duration, UNIX_EPOCH};

fn cpu(number: u32, set: Set, busy_permille: u16) -> Cpu {
    Cpu {
        number,
        memory_domain: (number / 4) as u16,
        online: true,
        set,
        awaited: false,
        busy_permille: Some(busy_permille),
        khz: Some(if set == Set::Low { 1_050_000 } else { 2_100_000 }),
    }
}

fn status(high: u32) -> Status {
    let member = |cpu| Member {
        cpu,
        reason: Reason::Busy,
        khz: None,
        asked: Asked::Top,
    };
    Status {
        policy: "highlow-spare".to_string(),
        asked_policy: Some("auto".to_string()),
        active: 3,
        sets: Sets {
            high: (0..high).map(member).collect(),
            ..Sets::default()
        },
        rules: vec!["fast cores: sequential phases, in turn".to_string()],
        awaited: vec![1],
        hinted: true,
        hints: Some(Hinted {
            threads: 3,
            spinning: 2,
            sequential: 1,
            ..Hinted::default()
        }),
        ..Status::default()
    }
}

fn view(cpus: Vec<Cpu>) -> View {
    let mut view = View::default();
    let sample = Sample {
        cpus,
        status: Some(status(4)),
        other: None,
    };
    let power = Power {
        watts: Some(31.25),
        source: "powercap package-0 + dram".to_string(),
        only_ratios: false,
    };
    view.add(
        sample.clone(),
        Power {
            watts: None,
            ..power.clone()
        },
    );
    view.add(sample, power);
    view
}

fn text(view: &View, width: usize, height: usize) -> Vec<String> {
    let now = UNIX_EPOCH + Duration::from_secs(182);
    view.lines(width, height, now).iter().map(ToString::to_string).collect()
}

fn eight() -> Vec<Cpu> {
    let mut cpus: Vec<Cpu> = (0..8)
        .map(|n| cpu(n, if n < 4 { Set::High } else { Set::Low }, 125 * n as u16))
        .collect();
    cpus[1].awaited = true;
    cpus[3].set = Set::Spare;
    cpus[7].online = false;
    cpus
}

#[test]
fn eight_cpus_in_two_domains_are_told_in_full_on_80_by_24() {
    let text = text(&view(eight()), 80, 24);
    let expected = [
        "lop top  auto (highlow-spare) for 3 min 2 s",
        "active 3                                                                      ▄▄",
        "high   4 of 8                                                                 ▅▅",
        "power  31.2 W                                                                  █",
        "       powercap package-0 + dram",
        "",
        "memory domain 0",
        "  0 high     2100 MHz              0 %   1!high     2100 MHz █▎          12 %",
        "  2 high     2100 MHz ██▌         25 %   3 spare    2100 MHz ███▊        37 %",
        "memory domain 1",
        "  4 low      1050 MHz █████       50 %   5 low      1050 MHz ██████▎     62 %",
        "  6 low      1050 MHz ███████▌    75 %   7 offline",
        "",
        "fast cores: sequential phases, in turn",
        "awaited by others: on CPU 1 (!)",
        "hints (lop hint): 3 threads: spinning 2, sequential 1",
    ];
    let shown: Vec<&str> = text.iter().map(|line| line.trim_end()).collect();
    assert_eq!(shown, expected, "\n{}", text.join("\n"));
}

/// However many CPUs: each has its place on 80 columns and 24 lines, up to 512.
#[test]
fn every_machine_fits_80_by_24() {
    for (count, in_domain) in [
        (1, 1),
        (2, 1),
        (16, 8),
        (40, 40),
        (64, 8),
        (128, 64),
        (256, 16),
        (512, 64),
        (512, 4),
        (512, 512),
    ] {
        let cpus: Vec<Cpu> = (0..count)
            .map(|n| Cpu {
                memory_domain: (n / in_domain) as u16,
                ..cpu(n, Set::High, 999)
            })
            .collect();
        let text = text(&view(cpus), 80, 24);
        assert!(
            text.len() <= 24 && text.iter().all(|line| line.chars().count() <= 80),
            "{count}: {}",
            text.join("\n")
        );
        assert!(
            !text.iter().any(|line| line.contains("rows more")),
            "{count}: {}",
            text.join("\n")
        );
    }
}

#[test]
fn what_does_not_fit_is_counted() {
    let cpus = (0..512).map(|n| cpu(n, Set::None, 0)).collect();
    let text = text(&view(cpus), 80, 18);
    assert_eq!(text.len(), 18);
    // Domains of four: (74 + 1) / 5 = 15 in a row, 9 rows for 128. Ten lines are others: 8 are left, 7 of them for rows.
    assert!(
        text.iter()
            .any(|line| line == "2 rows more: a higher terminal shows them"),
        "{}",
        text.join("\n")
    );
}

/// As many hints as there are kinds fit, and are all there.
#[test]
fn every_hint_is_told_with_its_number_of_threads() {
    let mut view = view(eight());
    let hints = Hinted {
        threads: 4000,
        spinning: 1001,
        sequential: 1002,
        lock_holder: 1003,
        background: 1011,
        length: 1004,
        next_length: 1005,
        parallelism: 1006,
        with_children: 1007,
        memory_very_low: 1008,
        memory_moderate: 1009,
        memory_intensive: 1010,
    };
    let told = |view: &View| {
        text(view, 80, 24)
            .iter()
            .map(|line| line.trim().to_string())
            .collect::<Vec<_>>()
    };
    let set = |view: &mut View, hints| view.sample.as_mut().unwrap().status.as_mut().unwrap().hints = hints;
    set(&mut view, Some(hints));
    let all = told(&view).join(" ");
    assert!(
        all.contains(
            "hints (lop hint): 4000 threads: spinning 1001, sequential 1002, lock holder 1003, background 1011, length 1004, next length 1005, parallelism 1006, with \
             children 1007, memory very low 1008, memory moderate 1009, memory intensive 1010"
        ),
        "{all}"
    );
    set(&mut view, Some(Hinted::default()));
    assert!(told(&view).contains(&"hints (lop hint): none now".to_string()));
    set(&mut view, None);
    assert!(
        told(&view).iter().any(|line| line.contains("cannot be read here")),
        "{:?}",
        told(&view)
    );
}

/// Rules are wrapped, and beyond a third of the screen counted where CPUs need the rest.
#[test]
fn rules_are_read_to_their_end_or_counted() {
    let long = |name: &str| format!("{name}: {} the end of {name}", "word ".repeat(40));
    let with = |rules: Vec<String>, cpus: Vec<Cpu>| {
        let mut view = view(cpus);
        let status = view.sample.as_mut().unwrap().status.as_mut().unwrap();
        (status.rules, status.awaited, status.hinted) = (rules, Vec::new(), false);
        text(&view, 80, 24)
    };
    // Three lines each, and 12 lines of others: all of them fit.
    let few = with(vec![long("first"), long("second")], eight());
    assert!(
        few.join(" ").contains("the end of first") && few.last().unwrap().contains("the end of second"),
        "{few:?}"
    );
    let cpus = (0..512).map(|n| cpu(n, Set::High, 500)).collect();
    let many = with((0..8).map(|n| long(&n.to_string())).collect(), cpus);
    assert_eq!(many.len(), 24, "{}", many.join("\n"));
    // 24 lines of rules; title, graphs, nine rows of CPUs and two blank lines leave 8, of which one counts.
    assert_eq!(
        many.last().unwrap(),
        "17 lines more: lop status has them",
        "{}",
        many.join("\n")
    );
    assert!(
        !many.join(" ").contains("rows more"),
        "CPUs have their place: {}",
        many.join("\n")
    );
}

#[test]
fn without_the_scheduler_there_are_cpus_and_who_is_in_charge() {
    let mut view = View::default();
    view.add(
        Sample {
            cpus: vec![cpu(0, Set::None, 500)],
            status: None,
            other: None,
        },
        Power {
            watts: None,
            source: "no meter".to_string(),
            only_ratios: false,
        },
    );
    let text = text(&view, 80, 24);
    assert!(
        text[0].contains("the kernel's own scheduler is in charge (see lop doctor)"),
        "{text:?}"
    );
    assert!(!text.iter().any(|line| line.starts_with("high")), "{text:?}");
    assert!(text.iter().any(|line| line.contains("50 %")), "{text:?}");
}

#[test]
fn a_long_reason_why_there_is_no_meter_is_read_to_its_end() {
    let mut view = view(eight());
    let source = "powercap /sys/class/powercap/intel-rapl:0: permission denied; sudo chmod a+r /sys/class/powercap/intel-rapl:0/energy_uj".to_string();
    view.power = Power {
        source,
        ..Power::default()
    };
    let shown = text(&view, 80, 24).join(" ");
    assert!(
        shown.contains("a+r") && shown.contains("intel-rapl:0/energy_uj"),
        "{shown}"
    );
}

#[test]
fn the_terminal_shows_the_lines_and_how_to_quit() {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&view(eight()), frame)).unwrap();
    let shown = terminal.backend().to_string();
    assert!(shown.contains("q quits"), "{shown}");
    assert!(shown.contains("memory domain 1"), "{shown}");
    for (width, height) in [(1, 1), (7, 3), (20, 2), (300, 100)] {
        Terminal::new(TestBackend::new(width, height))
            .unwrap()
            .draw(|frame| draw(&view(eight()), frame))
            .unwrap();
    }
}
