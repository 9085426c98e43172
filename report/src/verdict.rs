// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a study shows, in a sentence or two, before any table. Energy is judged, not energy times time: see [`Judgement`].

use crate::comparison::Estimate;
use crate::model::{PointValue, Report, RunResult};
use crate::rows::{geometric_mean, response_s};
use crate::sweep::{points, policies, value_text, PointGroup};

/// The policy that a verdict is about where it is among the others: the default of every command.
const DEFAULT: &str = "auto";

/// What is compared: time or, where the clock sets the end, the mean response.
pub(crate) const TIME: &str = "time";
const RESPONSE: &str = "mean response";

/// Less than this is no difference in a figure of three digits.
const SAME: f64 = 0.0005;
/// Work that takes this much of the first policy's time is not late.
const IN_TIME: f64 = 1.01;
/// The most points that are named as the ones with most energy.
const MOST_NAMED: usize = 3;

/// Two digits: "33 %", "4.2 %".
fn percent(share: f64) -> String {
    format!("{} %", digits(share))
}

fn digits(share: f64) -> String {
    let percent = 100.0 * share.abs();
    match percent < 9.95 {
        true => format!("{percent:.1}"),
        false => format!("{percent:.0}"),
    }
}

/// A ratio to the first policy's figure as text: "12 % less time (11 to 13)", or why it cannot be told.
pub(crate) fn change(what: &str, ratio: &Estimate) -> String {
    let (less, more) = match what {
        RESPONSE => ("shorter", "longer"),
        _ => ("less", "more"),
    };
    let by = ratio.value - 1.0;
    let text = |by: f64| format!("{} {}", percent(by), if by < 0.0 { less } else { more });
    match (ratio.interval, Sign::of(ratio)) {
        (_, Sign::Same) => format!("the same {what}"),
        // The first policy's figure is 0.
        _ if !by.is_finite() => format!("no known difference in {what}"),
        (None, _) => format!("{} {what}", text(by)),
        (Some((low, high)), Sign::Unknown) => format!(
            "no difference in {what} can be told ({} to {})",
            text(low - 1.0),
            text(high - 1.0)
        ),
        (Some((low, high)), _) => {
            let (least, most) = match by < 0.0 {
                true => (high - 1.0, low - 1.0),
                false => (low - 1.0, high - 1.0),
            };
            match (digits(least), digits(most)) {
                (least, most) if least == most => format!("{} {what}", text(by)),
                (least, most) => format!("{} {what} ({least} to {most})", text(by)),
            }
        }
    }
}

/// What is known of a ratio.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Same,
    Less,
    More,
    /// The 95 % interval covers 1, or there is none.
    Unknown,
}

impl Sign {
    fn of(ratio: &Estimate) -> Self {
        match ratio.interval {
            _ if (ratio.value - 1.0).abs() < SAME => Self::Same,
            Some((_, high)) if high < 1.0 => Self::Less,
            Some((low, _)) if low > 1.0 => Self::More,
            _ => Self::Unknown,
        }
    }
}

/// Whether a policy pays:
///
/// 1. Less energy, and no more than 1 % later at the upper end of the interval: it pays.
/// 2. Less energy otherwise: it saves, for time or perhaps for time.
/// 3. More energy for less time: it does not save. Only where speed was asked for it pays.
/// 4. More of one and less of neither: it does not pay.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Judgement {
    Pays,
    PaysInTime,
    SavesForTime,
    SavesPerhapsForTime,
    BuysTime,
    Quicker,
    QuickerPerhapsForEnergy,
    DoesNotPay,
    CannotTell,
    Same,
    /// There are no intervals: one run of each policy.
    OneRun,
}

impl Judgement {
    /// `is_speed_asked`: the goal is speed.
    pub fn of(time: &Estimate, energy: &Estimate, is_speed_asked: bool) -> Self {
        let (Some((_, latest)), Some(_)) = (time.interval, energy.interval) else {
            return Self::OneRun;
        };
        match (Sign::of(energy), Sign::of(time)) {
            (Sign::More, Sign::Less) | (Sign::Unknown, Sign::Less) if is_speed_asked => Self::PaysInTime,
            (Sign::Less, _) if latest <= IN_TIME => Self::Pays,
            (Sign::Less, Sign::More) => Self::SavesForTime,
            (Sign::Less, _) => Self::SavesPerhapsForTime,
            (Sign::More, Sign::Less) => Self::BuysTime,
            (Sign::More, _) | (Sign::Same, Sign::More) | (Sign::Unknown, Sign::More) => Self::DoesNotPay,
            (Sign::Same, Sign::Less) => Self::Quicker,
            (Sign::Unknown, Sign::Less) => Self::QuickerPerhapsForEnergy,
            (Sign::Same, Sign::Same) => Self::Same,
            (Sign::Same | Sign::Unknown, _) => Self::CannotTell,
        }
    }

    /// A sentence about one point. Empty where nothing is to be judged.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Pays => "It pays.",
            Self::PaysInTime => "It pays in time, which was asked for.",
            Self::SavesForTime => "It saves energy and costs time.",
            Self::SavesPerhapsForTime => "It saves energy; whether it costs time cannot be told.",
            Self::BuysTime => "It buys time with energy; it does not save.",
            Self::Quicker => "It saves time, not energy.",
            Self::QuickerPerhapsForEnergy => "It saves time; whether it costs energy cannot be told.",
            Self::DoesNotPay => "It does not pay here.",
            Self::CannotTell => "Whether it pays cannot be told.",
            Self::Same | Self::OneRun => "",
        }
    }

    /// The same of several points; how many follows.
    fn at(self) -> &'static str {
        match self {
            Self::Pays => "it pays at",
            Self::PaysInTime => "it pays in time at",
            Self::SavesForTime => "it saves energy and costs time at",
            Self::SavesPerhapsForTime => "it saves energy and may cost time at",
            Self::BuysTime => "it buys time with energy at",
            Self::Quicker => "it saves time, not energy, at",
            Self::QuickerPerhapsForEnergy => "it saves time and may cost energy at",
            Self::DoesNotPay => "it does not pay at",
            Self::CannotTell => "it cannot be told at",
            Self::Same => "nothing differs at",
            Self::OneRun => "one seed is too few at",
        }
    }

    /// In the order of sentences.
    const ALL: [Self; 11] = [
        Self::Pays,
        Self::PaysInTime,
        Self::SavesForTime,
        Self::SavesPerhapsForTime,
        Self::Quicker,
        Self::QuickerPerhapsForEnergy,
        Self::BuysTime,
        Self::DoesNotPay,
        Self::CannotTell,
        Self::Same,
        Self::OneRun,
    ];
}

/// One policy against the first at one point.
struct Changes<'a> {
    point: String,
    result: &'a RunResult,
    /// [`TIME`] or [`RESPONSE`].
    what: &'static str,
    time: Estimate,
    energy: Estimate,
    judgement: Judgement,
}

impl<'a> Changes<'a> {
    fn of(report: &Report, group: &PointGroup, own: &'a RunResult, first: &RunResult) -> Self {
        let range = own.relative_ci95.as_ref();
        let estimate = |value, interval: Option<[f64; 2]>| Estimate {
            value,
            interval: interval.map(|[low, high]| (low, high)),
        };
        let (what, time) = match (response_s(own), response_s(first)) {
            (Some(own), Some(first)) => (RESPONSE, estimate(own / first, range.and_then(|range| range.response))),
            _ => (TIME, estimate(own.relative.time, range.map(|range| range.time))),
        };
        let energy = estimate(own.relative.system_energy, range.map(|range| range.system_energy));
        Self {
            point: place(group),
            result: own,
            what,
            judgement: Judgement::of(&time, &energy, report.is_speed_asked()),
            time,
            energy,
        }
    }
}

/// One policy against the first, and whether another one saves more. Empty where there is one policy.
pub(crate) fn verdicts(report: &Report) -> Vec<String> {
    let groups = points(report);
    let names = policies([report]);
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let all_of = |policy: &str| changes_of(report, &groups, policy, first);
    let subject = match others.contains(&DEFAULT) {
        true => DEFAULT,
        false => others
            .iter()
            .min_by(|a, b| mean_energy(&all_of(a)).total_cmp(&mean_energy(&all_of(b))))
            .unwrap_or(first),
    };
    let mut verdicts = match all_of(subject).as_slice() {
        [] => return Vec::new(),
        [only] => vec![one_point(report, subject, first, only)],
        several => vec![several_points(report, subject, first, several)],
    };
    if others.len() > 1 {
        let all = names.iter().map(|name| all_of(name)).collect::<Vec<_>>();
        verdicts.extend(least_energy(&all, subject, first));
    }
    verdicts
}

/// By point, where both have a result.
fn changes_of<'a>(report: &Report, groups: &[PointGroup<'a>], policy: &str, first: &str) -> Vec<Changes<'a>> {
    let at = |group: &PointGroup<'a>| {
        let of = |name: &str| group.results.iter().copied().find(|result| result.policy == name);
        Some(Changes::of(report, group, of(policy)?, of(first)?))
    };
    groups.iter().filter_map(at).collect()
}

/// Relative to the first policy: the geometric mean over points.
fn mean_energy(all: &[Changes]) -> f64 {
    geometric_mean(all, |changes| changes.energy.value)
}

/// Instead of a judgement, where ratios have no interval.
fn not_judged(report: &Report) -> &'static str {
    match report.runs {
        1 => "One seed does not tell whether it pays; --runs 3 does.",
        _ => "Ratios have no intervals here, so whether it pays cannot be told.",
    }
}

/// "auto: 33 % less time (32 to 34), 27 % more energy (26 to 28) than linux:performance (modelled). It buys time with energy; it does not save."
fn one_point(report: &Report, subject: &str, first: &str, changes: &Changes) -> String {
    let source = &report.energy_source;
    if changes.judgement == Judgement::Same {
        return format!("{subject}: the same {} and energy as {first} ({source}).", changes.what);
    }
    let sentence = match changes.judgement {
        Judgement::OneRun => not_judged(report),
        judgement => judgement.sentence(),
    };
    format!(
        "{subject}: {}, {} {} {first} ({source}). {sentence}",
        change(changes.what, &changes.time),
        change("energy", &changes.energy),
        if Sign::of(&changes.energy) == Sign::Same {
            "as"
        } else {
            "than"
        },
    )
}

/// "auto against linux:performance at 6 points (modelled): time 5.0 to 33 % less, energy from 5.0 % less to 27 % more. It pays at 5, it buys time with
/// energy at 1. Most energy: jobs = 2, 27 % more."
fn several_points(report: &Report, subject: &str, first: &str, all: &[Changes]) -> String {
    let what = match all.iter().all(|changes| changes.what == all[0].what) {
        true => all[0].what,
        false => "time or mean response",
    };
    let count = |judgement| all.iter().filter(|changes| changes.judgement == judgement).count();
    let counts: Vec<String> = (Judgement::ALL.iter().filter(|judgement| count(**judgement) > 0))
        .map(|judgement| format!("{} {}", judgement.at(), count(*judgement)))
        .collect();
    let judged = match count(Judgement::OneRun) {
        0 => capitalised(&counts.join(", ")) + ".",
        _ => not_judged(report).to_string(),
    };
    format!(
        "{subject} against {first} at {} points ({}): {}, {}. {judged}{}",
        all.len(),
        report.energy_source,
        range(what, all.iter().map(|changes| &changes.time)),
        range("energy", all.iter().map(|changes| &changes.energy)),
        most_energy(all)
    )
}

fn capitalised(text: &str) -> String {
    text[..1].to_uppercase() + &text[1..]
}

/// The points with most energy over the first policy, with a space before them. Empty: it is not known to take more anywhere.
fn most_energy(all: &[Changes]) -> String {
    let mut dear: Vec<&Changes> = (all.iter())
        .filter(|changes| Sign::of(&changes.energy) == Sign::More)
        .collect();
    dear.sort_by(|a, b| b.energy.value.total_cmp(&a.energy.value));
    let named = |changes: &&Changes| {
        let time = change(changes.what, &changes.time);
        format!("{} ({}, {time})", changes.point, change("energy", &changes.energy))
    };
    let named: Vec<String> = dear.iter().take(MOST_NAMED).map(named).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!(" Most energy: {}.", named.join("; ")),
    }
}

/// "phone-2024, jobs = 4": a number needs its name, a text does not.
fn place(group: &PointGroup) -> String {
    let part = |(name, value): (&String, &PointValue)| match value {
        PointValue::Number(_) => format!("{name} = {}", value_text(value)),
        PointValue::Text(text) => text.clone(),
    };
    group.point.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// From the lowest to the highest, whatever their intervals.
fn range<'a>(what: &str, ratios: impl Iterator<Item = &'a Estimate>) -> String {
    let by = |ratio: &Estimate| match Sign::of(ratio) {
        Sign::Same => 0.0,
        _ => ratio.value - 1.0,
    };
    let extremes = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = ratios
        .map(by)
        .fold(extremes, |(low, high), by: f64| (low.min(by), high.max(by)));
    let text = |by: f64| match by {
        by if by < 0.0 => format!("{} less", percent(by)),
        by if by > 0.0 => format!("{} more", percent(by)),
        _ => "the same".to_string(),
    };
    match (text(low), text(high)) {
        (low, high) if low == high => format!("{what} {low}"),
        (least, _) if high < 0.0 => format!("{what} {} to {least}", digits(high)),
        (_, most) if low > 0.0 => format!("{what} {} to {most}", digits(low)),
        (least, most) => format!("{what} from {least} to {most}"),
    }
}

/// Which policy uses the least energy of those that are not later than the first by more than 1 %, where it is not the subject. `all`: by policy, by
/// point. Means count here, as a hint at what else to try.
fn least_energy(all: &[Vec<Changes>], subject: &str, first: &str) -> Option<String> {
    let points = all[0].len();
    if all.iter().any(|changes| changes.len() != points) {
        return None;
    }
    let best_at = |point: usize| {
        let at = all.iter().map(|changes| &changes[point]);
        let in_time = at.clone().filter(|changes| changes.time.value <= IN_TIME);
        let best = in_time.min_by(|a, b| a.energy.value.total_cmp(&b.energy.value))?;
        let own = at.clone().find(|changes| changes.result.policy == subject)?;
        let is_beaten = own.time.value > IN_TIME || best.energy.value < (1.0 - SAME) * own.energy.value;
        Some((best, is_beaten))
    };
    let found: Vec<(&Changes, bool)> = (0..points).filter_map(best_at).collect();
    let beaten: Vec<&Changes> = (found.iter().filter(|(_, is_beaten)| *is_beaten))
        .map(|(best, _)| *best)
        .collect();
    Some(match (points, beaten.as_slice()) {
        (_, []) => format!("No other policy here that is no later than {first} uses less energy."),
        (1, [best]) if best.result.policy == first => {
            format!("{first} itself uses the least energy of those that are no later.")
        }
        (1, [best]) => format!(
            "Of those no later than {first}, {} uses the least energy: {} less.",
            best.result.policy,
            percent(best.energy.value - 1.0)
        ),
        (_, beaten) => format!(
            "At {} of {points} points another policy that is no later than {first} uses less energy.",
            beaten.len()
        ),
    })
}

#[cfg(test)]
mod tests;
