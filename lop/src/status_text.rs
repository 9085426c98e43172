// SPDX-License-Identifier: GPL-2.0-only
//! The status for people: fits 80 columns, with 8 CPUs and with 128.

use lop_kernel::status::{ranges, Asked, Member, Reason, Status};
use std::time::{Duration, SystemTime};

const WIDTH: usize = 80;

/// Up to this many CPUs, each has a line of its own; more are grouped by set and reason.
const SINGLE_LINES: usize = 16;

/// Printed at the start: the policy, and what it found on this machine.
pub fn introduction(status: &Status) -> String {
    let mut facts = vec![("kernel", status.kernel.clone()), ("policy", policy(status))];
    facts.extend(goal(status).map(|line| ("goal", line)));
    facts.extend(status.enforced.iter().map(|line| ("enforced", line.clone())));
    facts.extend(status.handed_back.iter().map(|line| ("waits", line.clone())));
    facts.extend(status.lost.iter().map(|line| ("lost", line.clone())));
    if status.partial {
        facts.push(("partial", "tasks of the class SCHED_EXT only".to_string()));
    }
    facts.extend(status.machine.iter().map(|line| ("machine", line.clone())));
    facts.extend(status.rules.iter().map(|line| ("rules", line.clone())));
    facts.extend(status.watts.iter().map(|line| ("watts", line.clone())));
    let holders = status.lock_holders.iter();
    facts.extend(holders.map(|line| ("rules", format!("lock holders: {line}"))));
    facts.extend(status.speeds.iter().map(|line| ("speeds", line.clone())));
    facts.extend(status.plan.iter().map(|line| ("plan", line.clone())));
    let swaps = |line: &String| ("heat", format!("{} swaps; {line}", status.swaps));
    facts.extend(status.heat.iter().map(swaps));
    facts.extend(status.reserved.iter().map(|line| ("reserved", line.clone())));
    format!("Lopsided {}\n{}", status.version, lines(&facts))
}

/// The whole status at the time `now`.
pub fn page(status: &Status, now: SystemTime) -> String {
    let placed = &status.placements;
    let mut facts = vec![
        (
            "running",
            format!(
                "for {}, since {}, pid {}",
                duration(status.age(now)),
                status.since,
                status.pid
            ),
        ),
        (
            "demand",
            format!("{} active, target {} in the high set", status.active, status.target),
        ),
        (
            "changes",
            format!(
                "{} promotions, {} demotions, {} swaps, {} restarts",
                status.promotions, status.demotions, status.swaps, status.restarts
            ),
        ),
        (
            "placed",
            format!(
                "{} at once on an idle CPU, {} queued, {} pinned",
                placed.claimed, placed.queued, placed.pinned
            ),
        ),
    ];
    facts.extend(status.left_out.told().map(|line| ("left out", line)));
    facts.push(("high", set(status.sets.high.iter().map(|member| member.cpu), status)));
    if !status.sets.green.is_empty() {
        facts.push(("green", set(status.sets.green.iter().map(|member| member.cpu), status)));
    }
    facts.push(("low", set(status.sets.low.iter().copied(), status)));
    facts.extend(status.hints_told().map(|told| ("hints", told)));
    if !status.sets.offline.is_empty() {
        facts.push(("offline", set(status.sets.offline.iter().copied(), status)));
    }
    format!("{}{}\n{}", introduction(status), lines(&facts), members(status))
}

fn policy(status: &Status) -> String {
    let asked = match &status.asked_policy {
        Some(asked) => format!(" ({asked})"),
        None => String::new(),
    };
    let cap = match status.max_high {
        Some(cpus) => format!(", at most {cpus} high"),
        None => String::new(),
    };
    format!(
        "{}{asked}, spare {}, hold {} ms{cap}",
        status.policy, status.spare, status.hold_ms
    )
}

/// The goal, why, and what it changes; `None`: the policy has none.
pub fn goal(status: &Status) -> Option<String> {
    let (goal, why) = (status.goal.as_ref()?, status.goal_why.as_ref()?);
    Some(match status.goal_effects.as_slice() {
        [] => format!("{goal} ({why})"),
        effects => format!("{goal} ({why}): {}", effects.join("; ")),
    })
}

fn set(cpus: impl Iterator<Item = u32>, status: &Status) -> String {
    let mut cpus: Vec<u32> = cpus.collect();
    cpus.sort_unstable();
    match cpus.len() {
        0 => "none".to_string(),
        count => format!("{count} of {}: {}", status.cpu_count(), ranges(&cpus)),
    }
}

/// The members of the sets that work runs on, with reason and speed.
fn members(status: &Status) -> String {
    let single = status.cpu_count() <= SINGLE_LINES;
    let mut rows = vec![["CPUs", "set", "why", "MHz", "asked for"].map(str::to_string)];
    for (name, members) in [("high", &status.sets.high), ("green", &status.sets.green)] {
        rows.extend(groups(members, single).iter().map(|group| row(name, group)));
    }
    match rows.len() {
        1 => String::new(),
        _ => table(&rows),
    }
}

/// Members in the order of their first CPU: each alone, or grouped by reason.
fn groups(members: &[Member], single: bool) -> Vec<Vec<&Member>> {
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_unstable_by_key(|member| member.cpu);
    let mut groups: Vec<Vec<&Member>> = Vec::new();
    for member in sorted {
        match groups.iter_mut().find(|group| !single && alike(group[0], member)) {
            Some(group) => group.push(member),
            None => groups.push(vec![member]),
        }
    }
    groups
}

fn alike(a: &Member, b: &Member) -> bool {
    std::mem::discriminant(&a.reason) == std::mem::discriminant(&b.reason) && a.asked == b.asked
}

fn row(set: &str, group: &[&Member]) -> [String; 5] {
    let cpus: Vec<u32> = group.iter().map(|member| member.cpu).collect();
    let reasons: Vec<Reason> = group.iter().map(|member| member.reason).collect();
    let mhz: Vec<u64> = group
        .iter()
        .filter_map(|member| member.khz)
        .map(|khz| khz / 1000)
        .collect();
    let asked = group.first().map_or("", |member| match member.asked {
        Asked::Top => "high speed",
        Asked::Green => "green speed",
        Asked::Lowest => "lowest speed",
        Asked::Nothing => "nothing",
    });
    [
        ranges(&cpus),
        set.to_string(),
        reason(&reasons),
        span(&mhz, "-").unwrap_or_else(|| "?".to_string()),
        asked.to_string(),
    ]
}

/// One reason as it is; several of a kind with the range of their numbers.
fn reason(reasons: &[Reason]) -> String {
    let numbers: Vec<u64> = reasons
        .iter()
        .filter_map(|reason| match reason {
            Reason::Pinned { tasks } | Reason::Home { tasks } => Some(u64::from(*tasks)),
            Reason::Held { for_ms } => Some(*for_ms),
            Reason::Busy | Reason::Taken | Reason::Spare | Reason::Background | Reason::Left | Reason::Recent => None,
        })
        .collect();
    let (Some(first), several) = (reasons.first(), numbers.iter().any(|number| *number != numbers[0])) else {
        return String::new();
    };
    match (first, span(&numbers, " to ")) {
        (Reason::Pinned { .. }, Some(span)) if several => format!("pinned by {span} tasks"),
        (Reason::Home { .. }, Some(span)) if several => format!("home of {span} tasks"),
        (Reason::Held { .. }, Some(span)) if several => format!("held for {span} ms more"),
        _ => first.to_string(),
    }
}

/// `5`, or `3 to 5`; `None` without numbers.
fn span(numbers: &[u64], between: &str) -> Option<String> {
    let (least, most) = (numbers.iter().min()?, numbers.iter().max()?);
    Some(match least == most {
        true => least.to_string(),
        false => format!("{least}{between}{most}"),
    })
}

/// Columns as wide as their widest entry. A first entry that is too long gets lines of its own above the row.
fn table(rows: &[[String; 5]]) -> String {
    const FIRST: usize = 12;
    let widths: [usize; 5] = std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    let first = widths[0].min(FIRST);
    let mut text = String::new();
    for row in rows {
        let mut parts = wrapped(&row[0], first);
        let last = parts.pop().unwrap_or_default();
        parts.iter().for_each(|part| text += &format!("{part}\n"));
        let [_, set, why, mhz, asked] = row;
        let [_, set_width, why_width, mhz_width, _] = widths;
        let line = format!("{last:first$}  {set:set_width$}  {why:why_width$}  {mhz:>mhz_width$}  {asked}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// `name  text`, the text broken at 80 columns.
fn lines(facts: &[(&str, String)]) -> String {
    const NAME: usize = 9;
    let mut text = String::new();
    for (name, fact) in facts {
        for (index, part) in wrapped(fact, WIDTH - NAME).iter().enumerate() {
            let name = if index == 0 { name } else { "" };
            text += &format!("{name:NAME$}{part}\n");
        }
    }
    text
}

/// Breaks after spaces and commas; a longer word stays whole.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive([' ', ',']) {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + word.trim_end().chars().count() > width {
            lines.push(String::new());
        }
        let last = lines.len() - 1;
        lines[last].push_str(word);
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

/// A time as people say it: `45 s`, `3 min 2 s`, `2 h 13 min`, `5 d 1 h`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests;
