// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a study comes to, in a sentence or two, before any table.

use crate::model::{Report, RunResult};
use crate::rows::response_s;
use crate::sweep::{points, policies, PointGroup};

/// The policy that a verdict is about where it is among the others: the one in force where nobody names another.
const DEFAULT: &str = "auto";

/// What is compared: time or, where the clock sets the end, the mean response.
pub(crate) const TIME: &str = "time";
const RESPONSE: &str = "mean response";

/// Less than this is no difference in a figure of three digits.
const SAME: f64 = 0.0005;

/// A figure of one policy against the same figure of the first.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Change {
    Same,
    /// The 95 % confidence intervals overlap, or there is no ratio.
    Unknown,
    /// A share of the first policy's figure.
    Less(f64),
    More(f64),
}

impl Change {
    /// `half`: half-widths of the 95 % confidence intervals of both, where there are any.
    fn between(own: f64, first: f64, half: Option<[f64; 2]>) -> Self {
        let by = own / first - 1.0;
        match half {
            _ if own == first || by.abs() < SAME => Self::Same,
            // The first policy's figure is 0.
            _ if !by.is_finite() => Self::Unknown,
            Some([a, b]) if (own - first).abs() <= a + b => Self::Unknown,
            _ if by < 0.0 => Self::Less(-by),
            _ => Self::More(by),
        }
    }

    /// "33 % less time", "12 % longer mean response".
    fn text(self, what: &str) -> String {
        let (less, more) = if what == RESPONSE {
            ("shorter", "longer")
        } else {
            ("less", "more")
        };
        match self {
            Self::Same => format!("the same {what}"),
            Self::Unknown => format!("no clear difference in {what}"),
            Self::Less(by) => format!("{} {less} {what}", percent(by)),
            Self::More(by) => format!("{} {more} {what}", percent(by)),
        }
    }

    fn is_less(self) -> bool {
        matches!(self, Self::Less(_))
    }
    fn is_more(self) -> bool {
        matches!(self, Self::More(_))
    }
}

/// Two digits: "33 %", "4.2 %".
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent < 9.95 {
        true => format!("{percent:.1} %"),
        false => format!("{percent:.0} %"),
    }
}

/// What is compared of two results: time, or the mean response where the clock sets the end of the workload, energy, and their product.
pub(crate) struct Changes {
    pub what: &'static str,
    pub time: Change,
    pub energy: Change,
    pub product: Change,
}

impl Changes {
    fn of(own: &RunResult, first: &RunResult) -> Self {
        let half = |of: fn(&crate::model::Interval) -> f64| Some([of(own.ci95.as_ref()?), of(first.ci95.as_ref()?)]);
        let energies = [own.system_energy_j, first.system_energy_j];
        let energy = Change::between(energies[0], energies[1], half(|i| i.system_energy_j));
        match (response_s(own), response_s(first)) {
            // Nobody knows the interval of a response.
            (Some(a), Some(b)) => Self {
                what: RESPONSE,
                time: Change::between(a, b, None),
                energy,
                product: Change::between(a * energies[0], b * energies[1], None),
            },
            _ => Self {
                what: TIME,
                time: Change::between(own.time_s, first.time_s, half(|i| i.time_s)),
                energy,
                product: Change::between(own.edp_js, first.edp_js, half(|i| i.edp_js)),
            },
        }
    }

    /// Less of one and certainly not more of the other: where that is not known, the product has to be less.
    fn gains(&self) -> bool {
        self.all_of(Change::is_less, Change::is_more)
    }

    fn loses(&self) -> bool {
        self.all_of(Change::is_more, Change::is_less)
    }

    fn all_of(&self, is: fn(Change) -> bool, is_opposite: fn(Change) -> bool) -> bool {
        let both = [self.time, self.energy];
        let any = |of: fn(Change) -> bool| both.into_iter().any(of);
        any(is) && !any(is_opposite) && (!both.contains(&Change::Unknown) || is(self.product))
    }

    /// Whether that pays; a gain in one figure for a loss in the other is judged by their product. Empty where neither is known to differ.
    pub fn judgement(&self) -> String {
        if self.gains() {
            return "It pays.".to_string();
        }
        if self.loses() {
            return "It does not pay here.".to_string();
        }
        let product = match self.what {
            TIME => "Energy x time (EDP)",
            _ => "Energy x mean response",
        };
        match self.product {
            _ if [self.time, self.energy]
                .iter()
                .all(|change| !change.is_less() && !change.is_more()) =>
            {
                String::new()
            }
            Change::Less(by) => format!("{product} is {} lower: it pays by that measure.", percent(by)),
            Change::More(by) => format!("{product} is {} higher: it does not pay here.", percent(by)),
            Change::Same => format!("{product} does not differ: what is gained in one is lost in the other."),
            Change::Unknown => format!("{product} shows no clear difference: whether it pays cannot be told."),
        }
    }
}

/// One policy against the first, and which has the lowest product of energy and time. Empty where there is one policy.
pub(crate) fn verdicts(report: &Report) -> Vec<String> {
    let groups = points(report);
    let names = policies([report]);
    let Some((first, others)) = names.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    let subject = match others.contains(&DEFAULT) {
        true => DEFAULT,
        false => others
            .iter()
            .min_by(|a, b| mean_edp(report, a).total_cmp(&mean_edp(report, b)))
            .unwrap_or(first),
    };
    let all: Vec<Changes> = groups
        .iter()
        .filter_map(|group| changes(group, subject, first))
        .collect();
    let mut verdicts = match all.as_slice() {
        [] => return Vec::new(),
        [only] => vec![one_point(report, subject, first, only)],
        several => vec![several_points(report, subject, first, several)],
    };
    if others.len() > 1 {
        verdicts.extend(lowest(&groups, subject));
    }
    verdicts
}

/// Relative to the first policy: the geometric mean over points.
fn mean_edp(report: &Report, policy: &str) -> f64 {
    let own = report.results.iter().filter(|result| result.policy == policy);
    let (sum, count) = own.fold((0.0, 0), |(sum, count), r| (sum + r.relative.edp.ln(), count + 1));
    sum / f64::from(count)
}

fn result<'a>(group: &PointGroup<'a>, policy: &str) -> Option<&'a RunResult> {
    group.results.iter().copied().find(|result| result.policy == policy)
}

fn changes(group: &PointGroup, subject: &str, first: &str) -> Option<Changes> {
    Some(Changes::of(result(group, subject)?, result(group, first)?))
}

/// "auto: 33 % less time, 27 % more energy than linux:performance (modelled). Energy x time (EDP) is 15 % lower: it pays by that measure."
fn one_point(report: &Report, subject: &str, first: &str, changes: &Changes) -> String {
    let source = &report.energy_source;
    if changes.time == Change::Same && changes.energy == Change::Same {
        return format!("{subject}: the same {} and energy as {first} ({source}).", changes.what);
    }
    let text = format!(
        "{subject}: {}, {} than {first} ({source}). {}",
        changes.time.text(changes.what),
        changes.energy.text("energy"),
        changes.judgement()
    );
    text.trim_end().to_string()
}

/// "auto against linux:performance at 6 points (modelled): time 5.0 to 33 % less, energy from 5.0 % less to 27 % more. By energy x time where they
/// disagree, it pays at 5, it does not pay at 1."
fn several_points(report: &Report, subject: &str, first: &str, all: &[Changes]) -> String {
    let what = match all.iter().all(|changes| changes.what == all[0].what) {
        true => all[0].what,
        false => "time or mean response",
    };
    let pays = |changes: &&Changes| changes.gains() || !changes.loses() && changes.product.is_less();
    let costs = |changes: &&Changes| changes.loses() || !changes.gains() && changes.product.is_more();
    let (pays, costs) = (all.iter().filter(pays).count(), all.iter().filter(costs).count());
    let counts = [
        ("it pays at", pays),
        ("it does not pay at", costs),
        ("there is no clear difference at", all.len() - pays - costs),
    ];
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(what, count)| format!("{what} {count}")).collect();
    format!(
        "{subject} against {first} at {} points ({}): {}, {}. By energy x time where they disagree, {}.",
        all.len(),
        report.energy_source,
        range(what, all.iter().map(|changes| changes.time)),
        range("energy", all.iter().map(|changes| changes.energy)),
        counts.join(", ")
    )
}

/// From the lowest to the highest.
fn range(what: &str, changes: impl Iterator<Item = Change>) -> String {
    let signed = |change: Change| match change {
        Change::Same | Change::Unknown => 0.0,
        Change::Less(by) => -by,
        Change::More(by) => by,
    };
    let extremes = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = changes
        .map(signed)
        .fold(extremes, |(low, high), by: f64| (low.min(by), high.max(by)));
    let text = |by: f64| match by {
        by if by < 0.0 => format!("{} less", percent(-by)),
        by if by > 0.0 => format!("{} more", percent(by)),
        _ => "the same".to_string(),
    };
    let number = |by: f64| percent(by.abs()).replace(" %", "");
    match (text(low), text(high)) {
        (low, high) if low == high => format!("{what} {low}"),
        (least, _) if high < 0.0 => format!("{what} {} to {least}", number(high)),
        (_, most) if low > 0.0 => format!("{what} {} to {most}", number(low)),
        (least, most) => format!("{what} from {least} to {most}"),
    }
}

/// Who has the lowest energy-delay product, where the subject has not. `None`: the clock sets the end somewhere, so that it says little.
fn lowest(groups: &[PointGroup], subject: &str) -> Option<String> {
    if groups
        .iter()
        .flat_map(|group| &group.results)
        .any(|result| response_s(result).is_some())
    {
        return None;
    }
    let lowest = |group: &PointGroup| {
        let own = result(group, subject)?.edp_js;
        let best = group.results.iter().min_by(|a, b| a.edp_js.total_cmp(&b.edp_js))?;
        Some((best.policy.clone(), 1.0 - best.edp_js / own))
    };
    let found: Vec<(String, f64)> = groups.iter().filter_map(lowest).collect();
    let beaten: Vec<&(String, f64)> = found.iter().filter(|(_, by)| *by >= SAME).collect();
    Some(match (found.as_slice(), beaten.as_slice()) {
        (_, []) => "No other policy here has a lower EDP.".to_string(),
        ([_], [(policy, by)]) => format!(
            "{policy} has the lowest EDP here, {} below that of {subject}.",
            percent(*by)
        ),
        (all, beaten) => {
            let most = beaten.iter().fold(0.0, |most: f64, (_, by)| most.max(*by));
            format!(
                "At {} of {} points another policy has a lower EDP, by up to {}.",
                beaten.len(),
                all.len(),
                percent(most)
            )
        }
    })
}

#[cfg(test)]
mod tests;
