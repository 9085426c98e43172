// SPDX-License-Identifier: MIT OR Apache-2.0
//! The complete drawing of a small machine.

use lop_machine::{draw, read};

const SMALL: &str = r#"
name = "small"
description = "one socket, two kinds"
notes = ["Assumed: everything."]
sockets = 1
clock_domain = "kind"
voltage_domain = "machine"
memory_domain = "kind"
cache_mib = 0.5
base_w = 5
[memory]
latency_ns = 62.5
bandwidth_mb_s = 9000
[cpufreq]
transition_us = 50
ondemand_period_ms = 80
schedutil_rate_limit_us = 500
[cost]
context_switch_us = 1.5
migration_us = 3
memory_domain_us = 10
[[kind]]
name = "big"
cores = 1
smt = 2
smt_speedup = 1.25
smt_power = 0.5
speed = 2
opp = [
  { mhz = 1000, mv = 800, idle_w = 1, busy_w = 2 },
  { mhz = 2000, mv = 1000, idle_w = 2, busy_w = 6, domain_w = 3 },
]
idle = [{ name = "C1", exit_us = 1, residency_us = 0 }, { name = "C6", exit_us = 90, residency_us = 300, w = 0.25 }]
[[kind]]
name = "little"
cores = 2
speed = 0.5
opp = [{ mhz = 1000, mv = 800, idle_w = 0.25, busy_w = 0.5 }]
idle = [{ name = "C1", exit_us = 1, residency_us = 0 }]
"#;

/// Power by hand. All idle: 5 + 1 + 2 * 0.25 = 6.5; deepest: 5 + 0.25 + 0.5 = 5.75. Voltage 1.0 V instead of 0.8 V makes
/// a little core draw 1.5625 times as much: one busy 5 + 3 + 6 + 2 * 0.390625 = 14.78; all busy, the big one with both
/// threads: 5 + 3 + (2 + 4 * 1.5) + 2 * 0.78125 = 17.56.
const DRAWN: &str = "\
small: one socket, two kinds
1 socket, 1 node, 3 cores, 4 CPUs, 2 clock domains, 1 voltage domain, 2 memory domains

┌ socket 0 · voltage 0 ───────────────────┐
│ ┌ memory 0 · cache 0.5 MiB · clock 0 ─┐ │
│ │ [0+3 big]                           │ │
│ └─────────────────────────────────────┘ │
│ ┌ memory 1 · cache 0.5 MiB · clock 1 ─┐ │
│ │ [1 little] [2 little]               │ │
│ └─────────────────────────────────────┘ │
└─────────────────────────────────────────┘

1 × big: 2.000 times the speed of the reference core (phenom-9750 at 2400 MHz); 2 threads a core:
  +25 % throughput with all busy, +50 % power for each further one
       MHz        V    speed    idle W    busy W  domain W   J per ref. s
      1000    0.800    1.000     1.000     2.000     0.000          2.000
      2000    1.000    2.000     2.000     6.000     3.000          3.000
  idle: C1 after 0 us, exit 1 us, idle W of the operating point; C6 after 300 us, exit 90 us, 0.25 W

2 × little: 0.500 times the speed of the reference core (phenom-9750 at 2400 MHz)
       MHz        V    speed    idle W    busy W  domain W   J per ref. s
      1000    0.800    0.500     0.250     0.500     0.000          1.000
  idle: C1 after 0 us, exit 1 us, idle W of the operating point

ships    fair class, schedutil (assumed, as the file has no [ships])
power    base 5.00 W; memory 0.00 W idle, 0.00 W for each core that waits for it
cpufreq  transition 50 us; ondemand samples every 80 ms; schedutil at most every 500 us
cost     context switch 1.5 us; migration 3 us, to another memory domain 10 us more
misses   62.5 ns; 9000 MB/s for each memory domain

Whole machine, modelled
  all idle at the lowest point, first idle state                    6.50 W
  all idle at the lowest point, deepest idle state                  5.75 W
  one busy at its highest point, the rest idle at the lowest       14.78 W
  all busy at the highest point, all threads                       17.56 W

Where the figures come from
- Assumed: everything.
";

/// The figure for all busy is that of the operating point which all may have: 5 + (1 + 1 * 1.5) + 2 * 0.5.
#[test]
fn turbo_and_power_limits_are_drawn() {
    let turbo = "cores = 1\nturbo = [{ cores = 1, mhz = 1500 }]\nsmt = 2";
    let limited = SMALL.replace(
        "base_w = 5",
        "base_w = 5\npower_limit = [{ w = 7, window_s = 28 }, { w = 9.5, window_s = 0.01 }]",
    );
    let drawn = draw(&read("small.toml", &limited.replace("cores = 1\nsmt = 2", turbo)).unwrap());
    assert!(
        drawn.contains("\nlimit    cores and voltage domains 7 W over 28 s, 9.5 W over 0.01 s\n"),
        "{drawn}"
    );
    assert!(drawn.contains("\n  turbo: 1000 MHz with up to 1 busy\n"), "{drawn}");
    assert!(drawn.contains("all threads                        8.50 W"), "{drawn}");
}

#[test]
fn small_machine() {
    let machine = read("small.toml", SMALL).unwrap();
    assert_eq!(draw(&machine), DRAWN);
}
