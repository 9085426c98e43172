// SPDX-License-Identifier: GPL-2.0-only
//! The status of a running scheduler, as sent over the status socket.

use crate::goal::Aim;
use crate::hinted::Hinted;
use crate::options::Options;
use crate::support;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;

/// One instance at one moment. Counters count since `since`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of Lopsided.
    pub version: String,
    /// The running policy.
    pub policy: String,
    /// The requested policy, if it has another name (`auto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_policy: Option<String>,
    pub pid: u32,
    pub since_unix_ns: u64,
    /// The same in RFC 3339, in UTC.
    pub since: String,
    /// Release of the kernel.
    pub kernel: String,
    /// For people: how the policy is enforced, if not by the kernel's scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforced: Option<String>,
    /// For people: what is lost by that; in the kernel, also limits of CPU time (`cpu.max`), which `lop status` finds itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// For people: why the kernel's own scheduler is in charge for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handed_back: Option<String>,
    /// Whether only tasks of SCHED_EXT are scheduled.
    pub partial: bool,
    /// For people, one line each: kinds of CPUs, clock and memory domains.
    pub machine: Vec<String>,
    /// For people, one line each: who gets the fast cores, and which plans move threads.
    pub rules: Vec<String>,
    /// What a second is worth to `auto`: energy, balanced or speed. `None`: the policy has no goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<String>,
    /// For people: why it is that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal_why: Option<String>,
    /// For people: what is other than with goal balanced.
    pub goal_effects: Vec<String>,
    /// For people: where the watts come from that `auto` chooses its rules by. `None`: in user space nothing goes by watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watts: Option<String>,
    /// CPUs that run something which others wait for: a sequential phase, or the holder of a lock.
    pub awaited: Vec<u32>,
    /// Whether `lop hint` has given any hint since the start.
    pub hinted: bool,
    /// If so, how many threads have which hints. `None` if that cannot be read, or if there were no hints.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Hinted>,
    /// Processes that may give hints themselves, by the library.
    pub programs: usize,
    /// For people: whether holders of locks are seen in programs without hints, or why not. `None` if no rule uses them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_holders: Option<String>,
    pub sets: Sets,
    /// Active tasks: runnable and not spinning.
    pub active: u32,
    /// Target size of the high set.
    pub target: u32,
    /// High CPUs kept idle.
    pub spare: u32,
    /// Power cap: the most high CPUs. `None`: no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_high: Option<u32>,
    /// T_hold.
    pub hold_ms: u64,
    pub promotions: u64,
    pub demotions: u64,
    /// Hot CPUs that changed places with cool ones.
    pub swaps: u64,
    pub placements: Placements,
    pub left_out: LeftOut,
    /// For people, one line for each mechanism that sets speeds, or why none does.
    pub speeds: Vec<String>,
    /// The CPU that only runs the system's own work.
    pub reserved_cpu: Option<u32>,
    /// For people, one line each: the reserved core, or why there is none although one was requested.
    pub reserved: Vec<String>,
    /// For people: whether temperatures of cores are watched, or why not. `None` on a machine of one socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heat: Option<String>,
    /// For people, one line each: the basis of the policy's plans, and their effect.
    pub plan: Vec<String>,
    /// How often the scheduler was reloaded after CPUs came or went, or for a goal or governor that the running program cannot take.
    pub restarts: u32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sets {
    pub high: Vec<Member>,
    pub green: Vec<Member>,
    pub low: Vec<u32>,
    pub offline: Vec<u32>,
}

/// A CPU of a set on which work may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    pub cpu: u32,
    /// Why it is in the set.
    #[serde(flatten)]
    pub reason: Reason,
    /// Present speed; `None` if the kernel does not tell.
    pub khz: Option<u64>,
    pub asked: Asked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "lowercase")]
pub enum Reason {
    /// It runs a task.
    Busy,
    /// A task of a higher scheduling class runs there; another CPU replaces it.
    Taken,
    /// Kept idle for the next task.
    Spare,
    /// Active tasks may only run there.
    Pinned { tasks: u32 },
    /// Tasks that a clock paces, or light ones, run there, at the lowest speed that is fast enough.
    Home { tasks: u32 },
    /// Green, and no home: for work that nobody waits for.
    Background,
    /// Light work ran there last; any other may have it.
    Left,
    /// Surplus; leaves after this time.
    Held { for_ms: u64 },
    /// The last member: something ran less than a second ago.
    Recent,
}

/// The requested speed, if Lopsided requests any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    Top,
    /// The lowest that is fast enough for the tasks there.
    Green,
    Lowest,
    /// Speeds are left alone.
    Nothing,
}

/// How tasks were placed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Placements {
    /// Woken tasks that started at once on an idle member of the set.
    pub claimed: u64,
    /// Tasks that were queued, because they woke with no member idle or used up a slice.
    pub queued: u64,
    /// Kernel threads that may run on one CPU only, and started there.
    pub pinned: u64,
}

/// The counters of a status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    promotions: u64,
    demotions: u64,
    swaps: u64,
    placements: Placements,
}

/// How often there was no place for data that rules need, since the scheduler was last loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// There are places for this many groups, and as many applications, at a time.
    pub room: u32,
    /// Groups of tasks (cgroups, sessions) without a place; their tasks count in the nearest enclosing group that has one.
    pub groups: u64,
    /// Applications without a place; rules about applications ignore their threads.
    pub applications: u64,
}

impl LeftOut {
    /// For people; `None` if there was a place for all.
    #[must_use]
    pub fn told(self) -> Option<String> {
        (self.groups + self.applications > 0).then(|| {
            format!(
                "no place {} times for a group of tasks, {} times for an application; there are {} for each",
                self.groups, self.applications, self.room
            )
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("busy"),
            Self::Taken => f.write_str("taken by a higher class"),
            Self::Spare => f.write_str("spare"),
            Self::Pinned { tasks: 1 } => f.write_str("pinned by 1 task"),
            Self::Pinned { tasks } => write!(f, "pinned by {tasks} tasks"),
            Self::Home { tasks: 1 } => f.write_str("home of 1 task"),
            Self::Home { tasks } => write!(f, "home of {tasks} tasks"),
            Self::Background => f.write_str("for work that nobody waits for"),
            Self::Left => f.write_str("left by light work"),
            Self::Held { for_ms } => write!(f, "held for {for_ms} ms more"),
            Self::Recent => f.write_str("last ran something less than 1 s ago"),
        }
    }
}

impl Status {
    /// The status of an instance that starts now with these options; the scheduler fills in sets and counters.
    #[must_use]
    pub fn begin(options: &Options) -> Self {
        Self::begin_at(options, SystemTime::now())
    }

    fn begin_at(options: &Options, now: SystemTime) -> Self {
        let since_unix_ns = now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        Self {
            version: env!("CARGO_PKG_VERSION").to_string(),
            policy: options.policy.to_string(),
            pid: std::process::id(),
            since_unix_ns,
            since: rfc3339(since_unix_ns),
            kernel: support::release(&options.root),
            partial: options.partial,
            ..Self::default()
        }
    }

    pub fn aim_at(&mut self, aim: Option<&Aim>) {
        self.goal = aim.map(|aim| aim.goal.to_string());
        self.goal_why = aim.map(|aim| aim.why.clone());
    }

    /// The kernel's own scheduler is in charge for now: what the program decided no longer holds.
    pub fn hand_back(&mut self, why: String) {
        (self.sets, self.active, self.target) = (Sets::default(), 0, 0);
        (self.speeds, self.plan) = (Vec::new(), Vec::new());
        (self.reserved, self.reserved_cpu, self.heat) = (Vec::new(), None, None);
        (self.rules, self.goal_effects) = (Vec::new(), Vec::new());
        self.handed_back = Some(why);
    }

    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            promotions: self.promotions,
            demotions: self.demotions,
            swaps: self.swaps,
            placements: self.placements,
        }
    }

    /// Adds the counts of earlier loads of the program; each load's counters begin at 0.
    pub fn add(&mut self, former: &Counts) {
        self.promotions += former.promotions;
        self.demotions += former.demotions;
        self.swaps += former.swaps;
        self.placements.claimed += former.placements.claimed;
        self.placements.queued += former.placements.queued;
        self.placements.pinned += former.placements.pinned;
    }

    /// For people: how many threads have which hints of root's, and how many programs give their own. `None` if there were no hints since the
    /// start.
    #[must_use]
    pub fn hints_told(&self) -> Option<String> {
        let of_root = self.hinted.then(|| match &self.hints {
            Some(hints) => hints.to_string(),
            None => "given, but of how many threads cannot be read here".to_string(),
        });
        let own = (self.programs > 0).then(|| match self.programs {
            1 => "1 process may give its own".to_string(),
            processes => format!("{processes} processes may give their own"),
        });
        let told: Vec<String> = of_root.into_iter().chain(own).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// How long it has been running, by wall-clock time.
    #[must_use]
    pub fn age(&self, now: SystemTime) -> Duration {
        let since = UNIX_EPOCH + Duration::from_nanos(self.since_unix_ns);
        now.duration_since(since).unwrap_or_default()
    }

    /// The CPUs of all sets, and the offline ones.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        let sets = &self.sets;
        sets.high.len() + sets.green.len() + sets.low.len() + sets.offline.len()
    }
}

/// Rounded to the second, which is enough for a start time.
fn rfc3339(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(0);
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .and_then(|time| time.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// CPU numbers as ranges: `0-3,8,10-11`. The numbers must be in order.
#[must_use]
pub fn ranges(cpus: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => runs.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Named;

    #[test]
    fn cpus_are_written_as_ranges() {
        for (cpus, expected) in [
            (&[][..], ""),
            (&[5], "5"),
            (&[0, 1, 2, 3], "0-3"),
            (&[0, 1, 3, 8, 9], "0-1,3,8-9"),
            (&[0, 2, 4], "0,2,4"),
        ] {
            assert_eq!(ranges(cpus), expected);
        }
    }

    #[test]
    fn a_beginning_names_itself() {
        let day = UNIX_EPOCH + Duration::from_millis(86_400_500);
        let status = Status::begin_at(&Options::default(), day);
        assert_eq!(status.policy, "auto");
        assert_eq!(status.asked_policy, None, "what it stands for the machine decides");
        assert_eq!(status.since, "1970-01-02T00:00:00Z");
        assert_eq!(status.pid, std::process::id());
        assert_eq!(status.age(day + Duration::from_secs(3)), Duration::from_secs(3));
        assert_eq!(status.age(UNIX_EPOCH), Duration::ZERO, "a clock that was set back");

        let plain = Options {
            policy: Named::Highlow.into(),
            ..Options::default()
        };
        assert_eq!(Status::begin(&plain).asked_policy, None);
    }

    #[test]
    fn json_has_reasons_beside_the_cpu_and_is_read_back() {
        let member = |cpu, reason| Member {
            cpu,
            reason,
            khz: Some(2_100_000),
            asked: Asked::Top,
        };
        let status = Status {
            sets: Sets {
                high: vec![
                    member(0, Reason::Busy),
                    member(3, Reason::Pinned { tasks: 2 }),
                    member(4, Reason::Held { for_ms: 7 }),
                ],
                ..Sets::default()
            },
            ..Status::begin(&Options::default())
        };
        let json = serde_json::to_value(&status).unwrap();
        assert_eq!(
            json["sets"]["high"][1],
            serde_json::json!({"cpu": 3, "reason": "pinned", "tasks": 2, "khz": 2_100_000, "asked": "top"})
        );
        assert_eq!(json["sets"]["high"][2]["for_ms"], 7);
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), status);
    }

    /// Of what the program decided only the counts and the goal stay, which the next load goes by.
    #[test]
    fn nothing_of_the_program_is_shown_while_another_scheduler_is_in_charge() {
        let lines = || vec!["a line".to_string()];
        let mut status = Status {
            promotions: 3,
            goal: Some("energy".to_string()),
            rules: lines(),
            goal_effects: lines(),
            sets: Sets {
                low: vec![1],
                ..Sets::default()
            },
            active: 1,
            target: 2,
            speeds: lines(),
            plan: lines(),
            heat: Some("a line".to_string()),
            reserved: lines(),
            reserved_cpu: Some(0),
            ..Status::default()
        };
        status.hand_back("a group has a limit".to_string());
        let expected = Status {
            promotions: 3,
            goal: Some("energy".to_string()),
            handed_back: Some("a group has a limit".to_string()),
            ..Status::default()
        };
        assert_eq!(status, expected);
    }

    #[test]
    fn counters_go_on_where_the_former_life_ended() {
        let life = |count| Status {
            promotions: count,
            demotions: count + 1,
            swaps: count + 2,
            placements: Placements {
                claimed: count + 3,
                queued: count + 4,
                pinned: count + 5,
            },
            ..Status::default()
        };
        let mut second = life(10);
        second.add(&life(100).counts());
        assert_eq!((second.promotions, second.demotions, second.swaps), (110, 112, 114));
        assert_eq!(
            second.placements,
            Placements {
                claimed: 116,
                queued: 118,
                pinned: 120
            }
        );
    }

    /// Client and service may be of different versions.
    #[test]
    fn unknown_and_absent_fields_do_no_harm() {
        let status: Status = serde_json::from_str(r#"{"policy": "highlow", "invented_later": 1}"#).unwrap();
        assert_eq!(status.policy, "highlow");
        assert_eq!(status.promotions, 0);
    }
}
