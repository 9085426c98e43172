// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured, and the machine file that results.

use super::fitting::Fitted;
use super::{disturbance, text, Row, Setting};
use crate::capture::Draft;
use crate::live::{LiveCpu, LiveError, LiveMachine, Tree};
use crate::{Machine, Opp};
use std::collections::BTreeSet;
use std::fmt;

/// The kinds of cores of a machine, and the points at which each can be measured.
pub struct Plan {
    pub kinds: Vec<KindPlan>,
    draft: Draft,
}

pub struct KindPlan {
    pub name: String,
    /// The first CPU of each core that is online.
    pub cores: Vec<u32>,
    /// All CPUs that are online.
    pub cpus: Vec<u32>,
    /// Ascending, at least one.
    pub khz: Vec<u64>,
    /// Why no other speed can be set; then the present one is the only point.
    pub fixed: Option<String>,
}

/// The range of frequencies (kHz) at which CPUs can be held, or why they cannot.
pub type RangeOf<'a> = &'a dyn Fn(&[u32]) -> Result<(u64, u64), String>;

impl KindPlan {
    /// A kind whose CPUs are all offline has no cores: nothing is measured, and the captured figures stay.
    fn of(live: &LiveMachine, tier: u16, opps: &[Opp], range: RangeOf) -> Self {
        let of_kind: Vec<&LiveCpu> = live.cpus.iter().filter(|cpu| cpu.online && cpu.tier == tier).collect();
        let mut seen = BTreeSet::new();
        let firsts = of_kind.iter().filter(|cpu| seen.insert(cpu.core));
        let cores = firsts.map(|cpu| cpu.number).collect();
        let cpus: Vec<u32> = of_kind.iter().map(|cpu| cpu.number).collect();
        let (khz, fixed) = points(opps.iter().map(|opp| opp.khz).collect(), range(&cpus));
        Self {
            name: format!("kind-{tier}"),
            cores,
            cpus,
            khz,
            fixed,
        }
    }
}

impl Plan {
    /// Voltages, costs and, if nothing measures them, watts are those of `like`.
    ///
    /// # Errors
    /// The machine cannot be read, or a machine file cannot describe its shape.
    pub fn of(tree: &dyn Tree, like: &Machine, range: RangeOf) -> Result<Self, LiveError> {
        let mut draft = Draft::of(tree, like)?;
        let tiers = draft.tiers().zip(&draft.points);
        let kinds = tiers.map(|(tier, points)| KindPlan::of(&draft.live, tier, &points.opps, range));
        let kinds: Vec<KindPlan> = kinds.collect();
        for (points, kind) in draft.points.iter_mut().zip(&kinds) {
            points.opps.retain(|opp| kind.khz.contains(&opp.khz));
        }
        Ok(Self { kinds, draft })
    }

    /// The stretch without load at the lowest point occurs once, since it is the same for every kind.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for (kind, about) in self.kinds.iter().enumerate() {
            for point in 0..about.khz.len() {
                let quiet = (point > 0 || settings.is_empty()).then_some(0);
                let busy = quiet.into_iter().chain(doubled(about.cores.len()));
                settings.extend(busy.map(|busy| Setting { kind, point, busy }));
            }
        }
        settings
    }

    /// Frequencies by kind: this one at its point, the others at their lowest.
    pub fn khz_at(&self, setting: Setting) -> Vec<Option<u64>> {
        let of_kind = |(kind, about): (usize, &KindPlan)| {
            let point = if kind == setting.kind { setting.point } else { 0 };
            about.fixed.is_none().then_some(about.khz[point])
        };
        self.kinds.iter().enumerate().map(of_kind).collect()
    }

    /// A sentence for each kind whose speed cannot be set.
    pub fn notes(&self) -> Vec<String> {
        let fixed = self.kinds.iter().filter_map(|kind| {
            let mhz = kind.khz[0] as f64 / 1e3;
            let reason = kind.fixed.as_ref()?;
            Some(format!(
                "speeds of {} cannot be set, so only its present point, {mhz} MHz, is measured: {reason}",
                kind.name
            ))
        });
        fixed.collect()
    }

    /// The machine file.
    pub fn toml(mut self, name: &str, like: &Machine, rows: &[Row], fitted: Option<&Fitted>, how: &How) -> String {
        let mut notes = vec![how.to_string()];
        notes.extend(self.notes().into_iter().map(|note| text::sentence(&note)));
        match fitted {
            Some(fitted) => {
                self.draft.base_uw = crate::read::watts(fitted.base_w);
                for (points, watts) in self.draft.points.iter_mut().zip(&fitted.points) {
                    for (opp, watts) in points.opps.iter_mut().zip(watts) {
                        opp.idle_uw = crate::read::watts(watts.idle_w);
                        opp.busy_uw = crate::read::watts(watts.idle_w + watts.busy_w);
                        opp.domain_uw = 0;
                    }
                }
                notes.push(fitted.note(&self));
                notes.extend(fitted.below_zero(&self));
                notes.push(format!(
                    "Voltages are assumed: those of {} at the same share of the highest frequency.",
                    like.name
                ));
            }
            None => notes.push(self.draft.take_watts(like)),
        }
        notes.extend(self.take_speeds(rows));
        notes.extend(disturbance(&self, rows));
        self.draft.first_notes = notes;
        self.draft.text(name, "as measured", like)
    }

    /// Takes the speed of one busy core at the highest point. A file lists its fastest kind first; a measurement that contradicts this is reported.
    fn take_speeds(&mut self, rows: &[Row]) -> Option<String> {
        let mut note = None;
        let mut limit = f64::INFINITY;
        for (kind, about) in self.kinds.iter().enumerate() {
            let highest = Setting {
                kind,
                point: about.khz.len() - 1,
                busy: 1,
            };
            let Some(row) = rows.iter().find(|row| row.setting == highest) else {
                continue;
            };
            let speed = (row.work_per_s * 1e3).round().max(1.0) / 1e3;
            if speed > limit {
                note = Some(format!(
                    "{} was measured at {speed} times the reference core, faster than the kind before it; the file gives both the same speed.",
                    about.name
                ));
            }
            limit = speed.min(limit);
            self.draft.speeds[kind] = limit;
        }
        note
    }
}

/// The frequencies within the range; the highest if the clock is fixed.
fn points(khz: Vec<u64>, range: Result<(u64, u64), String>) -> (Vec<u64>, Option<String>) {
    let highest = vec![khz[khz.len() - 1]];
    match range {
        Ok((least, most)) => {
            let within: Vec<u64> = khz.into_iter().filter(|khz| (least..=most).contains(khz)).collect();
            match within.is_empty() {
                false => (within, None),
                true => {
                    let (least, most) = (least / 1000, most / 1000);
                    let reason = format!("none is within the present limits, {least} and {most} MHz; widen them");
                    (highest, Some(reason))
                }
            }
        }
        Err(reason) => (highest, Some(reason)),
    }
}

/// 1, 2, 4 and so on, and all.
fn doubled(cores: usize) -> impl Iterator<Item = usize> {
    let below = std::iter::successors(Some(1), |n| Some(n * 2)).take_while(move |n| *n < cores);
    below.chain((cores > 0).then_some(cores))
}

/// How the machine was measured, for the notes of its file.
pub struct How {
    pub seconds: f64,
    /// The meter's name; `None` if nothing measures watts here.
    pub meter: Option<String>,
    /// Whether it sees the whole system.
    pub whole_system: bool,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let seconds = self.seconds;
        write!(
            f,
            "Measured by 'lop machine measure': a loop of integer multiplications on 1 to all cores of a kind, {seconds} s each; "
        )?;
        match &self.meter {
            None => f.write_str("speeds only, no meter works here."),
            Some(meter) if self.whole_system => write!(f, "watts by {meter}."),
            Some(meter) => write!(
                f,
                "watts by {meter}, which sees the processor and its memory only: what else the machine draws is not in base_w."
            ),
        }
    }
}
