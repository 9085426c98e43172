// SPDX-License-Identifier: GPL-2.0-only
//! What a scheduler did in an interval, with names and descriptions for the tools of sched_ext.

use crate::status::Status;
use scx_stats_derive::{stat_doc, Stats};
use serde::{Deserialize, Serialize};

/// Counts of an interval, and sets and demand at its end.
#[stat_doc]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Stats)]
#[serde(default)]
#[stat(
    top,
    desc = "Lopsided: sets and demand now, decisions since the last answer",
    _om_prefix = "lopsided_"
)]
pub struct Statistics {
    #[stat(desc = "active tasks, runnable and not spinning: now")]
    pub active: u32,
    #[stat(desc = "target size of the high set: now")]
    pub target: u32,
    #[stat(desc = "CPUs of the high set that should be idle beyond the active tasks: now")]
    pub spare: u32,
    #[stat(desc = "CPUs of the high set: now")]
    pub high: u32,
    #[stat(desc = "CPUs of the green set: now")]
    pub green: u32,
    #[stat(desc = "CPUs of the low set: now")]
    pub low: u32,
    #[stat(desc = "CPUs that are offline: now")]
    pub offline: u32,
    #[stat(desc = "CPUs that run something which others wait for: now")]
    pub awaited: u32,
    #[stat(desc = "woken tasks that started at once on an idle CPU of the set: of the interval")]
    pub claimed: u64,
    #[stat(
        desc = "tasks that were queued, because they woke with no CPU of the set idle or used up a slice: of the interval"
    )]
    pub queued: u64,
    #[stat(desc = "woken threads of the kernel that may run on one CPU only: of the interval")]
    pub pinned: u64,
    #[stat(desc = "CPUs that joined the high set: of the interval")]
    pub promotions: u64,
    #[stat(desc = "CPUs that left the high set: of the interval")]
    pub demotions: u64,
    #[stat(desc = "hot CPUs that changed places with cool ones: of the interval")]
    pub swaps: u64,
    #[stat(desc = "reloads of the program after CPUs changed: of the interval")]
    pub restarts: u64,
}

impl Statistics {
    /// The statistics of the interval from one status to a later one. If the former is from another instance, the later one's counters began at 0 within
    /// the interval.
    #[must_use]
    pub fn between(before: &Status, now: &Status) -> Self {
        let instance = |status: &Status| (status.pid, status.since_unix_ns);
        let is_same = instance(before) == instance(now);
        let counted = |count: fn(&Status) -> u64| {
            let before = if is_same { count(before) } else { 0 };
            count(now).saturating_sub(before)
        };
        let sets = &now.sets;
        Self {
            active: now.active,
            target: now.target,
            spare: now.spare,
            high: size(&sets.high),
            green: size(&sets.green),
            low: size(&sets.low),
            offline: size(&sets.offline),
            awaited: size(&now.awaited),
            claimed: counted(|status| status.placements.claimed),
            queued: counted(|status| status.placements.queued),
            pinned: counted(|status| status.placements.pinned),
            promotions: counted(|status| status.promotions),
            demotions: counted(|status| status.demotions),
            swaps: counted(|status| status.swaps),
            restarts: counted(|status| status.restarts.into()),
        }
    }
}

fn size<T>(cpus: &[T]) -> u32 {
    u32::try_from(cpus.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{Asked, Member, Placements, Reason, Sets};
    use scx_stats::Meta;

    fn member(cpu: u32) -> Member {
        Member {
            cpu,
            reason: Reason::Busy,
            khz: None,
            asked: Asked::Top,
        }
    }

    fn before() -> Status {
        Status {
            pid: 4711,
            since_unix_ns: 10,
            active: 7,
            promotions: 100,
            demotions: 98,
            swaps: 3,
            placements: Placements {
                claimed: 5000,
                queued: 40,
                pinned: 6,
            },
            restarts: 1,
            ..Status::default()
        }
    }

    /// Eight CPUs, three of them high, one green and one offline. Two woken tasks started at once, one waited; a CPU joined and two left.
    fn now() -> Status {
        Status {
            active: 2,
            target: 3,
            spare: 1,
            awaited: vec![0],
            promotions: 101,
            demotions: 100,
            placements: Placements {
                claimed: 5002,
                queued: 41,
                pinned: 6,
            },
            sets: Sets {
                high: vec![member(0), member(1), member(4)],
                green: vec![member(5)],
                low: vec![2, 3, 6],
                offline: vec![7],
            },
            ..before()
        }
    }

    const BY_HAND: Statistics = Statistics {
        active: 2,
        target: 3,
        spare: 1,
        high: 3,
        green: 1,
        low: 3,
        offline: 1,
        awaited: 1,
        claimed: 2,
        queued: 1,
        pinned: 0,
        promotions: 1,
        demotions: 2,
        swaps: 0,
        restarts: 0,
    };

    #[test]
    fn counts_are_differences_and_sets_are_as_they_are() {
        assert_eq!(Statistics::between(&before(), &now()), BY_HAND);
    }

    /// With a new instance between two requests, all its counts belong to the interval.
    #[test]
    fn another_instance_counted_from_0() {
        let another = Status {
            since_unix_ns: 20,
            ..now()
        };
        let statistics = Statistics::between(&before(), &another);
        let counted = |s: &Statistics| {
            [
                s.claimed,
                s.queued,
                s.pinned,
                s.promotions,
                s.demotions,
                s.swaps,
                s.restarts,
            ]
        };
        assert_eq!(counted(&statistics), [5002, 41, 6, 101, 100, 3, 1]);
        assert_eq!(Statistics::between(&Status::default(), &now()).claimed, 5002);
    }

    /// Tools that do not know the struct rely on this.
    #[test]
    fn every_number_has_a_description_and_a_name_of_its_own() {
        let meta = Statistics::meta();
        assert!(meta.attrs.top.is_some());
        let json = serde_json::to_value(BY_HAND).unwrap();
        assert_eq!(meta.fields.len(), json.as_object().unwrap().len());
        for (name, field) in &meta.fields {
            let described = field.attrs.desc.as_ref().unwrap();
            assert!(json[name].is_u64(), "{name}");
            assert!(
                described.ends_with(": now") || described.ends_with(": of the interval"),
                "{name}: {described}"
            );
        }
    }
}
