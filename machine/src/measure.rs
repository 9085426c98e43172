// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measures the power of this machine: a known load on 1, 2, 4 and so on up to all cores of a kind, at each operating point that can be set,
//! with the other cores idle at their lowest; and one stretch without load at each point. The model of [`crate::steady_power_w`] is fitted to
//! the results by least squares:
//!
//! watts = base + (cores of the kind) * idle(point) + (busy cores) * busy(point)
//!
//! base: every core idle at its lowest point; idle: how much more an idle core draws at this point; busy: how much more a busy core draws than
//! an idle one. Voltage domains get no watts of their own: one meter for everything cannot separate them from those of idle cores.
//!
//! All access to the machine goes through [`World`], so that tests can measure one whose watts they know.

mod fitting;
mod host;
mod load;
mod plan;
#[cfg(test)]
mod tests;
mod text;

pub use fitting::Fitted;
pub use host::Host;
pub use plan::{How, KindPlan, Plan};
pub use text::table;

use crate::busy::CpuTimes;
use crate::meter::MeterError;
use crate::speed::SpeedError;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Time for clocks, caches and the meter to settle before each stretch, as a share of the stretch.
const SETTLE: f64 = 0.2;

/// CPUs' worth of other work that counts as a disturbance: more than the daemons of a quiet machine need.
const DISTURBED_CPUS: f64 = 0.25;

/// The machine that is measured.
pub trait World {
    /// Holds the CPUs of each kind at this frequency, kHz; `None` leaves them as they are.
    fn hold(&mut self, khz: &[Option<u64>]) -> Result<(), Trouble>;
    /// Puts the load on these CPUs, and on no others.
    fn load(&mut self, cpus: &[u32]) -> Result<(), Trouble>;
    fn pass(&mut self, time: Duration) -> Result<(), Trouble>;
    fn look(&mut self) -> Result<Look, Trouble>;
    /// Ends the load and restores every speed. May be called again.
    fn put_back(&mut self);
}

/// What a machine shows at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Since a fixed moment.
    pub at: Duration,
    /// What the present load has done, in seconds of the reference core.
    pub work_s: f64,
    /// Since a fixed moment; `None` if there is no meter.
    pub joules: Option<f64>,
    /// By CPU; empty if not known.
    pub cpu_times: BTreeMap<u32, CpuTimes>,
}

/// Why measuring ended early.
#[derive(Debug)]
pub enum Trouble {
    Speed(SpeedError),
    Meter(MeterError),
    /// A load that could not be started, and why.
    Load(String),
    /// The meter saw no energy in this time.
    TooShort(Duration),
    Interrupted,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Speed(error) => error.fmt(f),
            Self::Meter(error) => error.fmt(f),
            Self::Load(reason) => f.write_str(reason),
            Self::TooShort(time) => write!(
                f,
                "the meter saw no energy in {:.1} s, and nothing uses 0 J: give each point more time (--seconds)",
                time.as_secs_f64()
            ),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Trouble {}

/// What to measure: this many cores of a kind busy at one of its points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub kind: usize,
    /// Index of the frequency.
    pub point: usize,
    pub busy: usize,
}

/// The result for one setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub setting: Setting,
    /// Work per second of all busy cores together, in seconds of the reference core.
    pub work_per_s: f64,
    /// `None` if there is no meter.
    pub watts: Option<f64>,
    /// CPUs that other work kept busy, on average.
    pub disturbed_cpus: f64,
}

/// Measures every setting of the plan for `seconds` each, and restores everything whatever happens. Calls `done` after each.
///
/// # Errors
/// Speeds, the load or the meter fail, or the user interrupts.
pub fn measure(plan: &Plan, seconds: f64, world: &mut dyn World, done: &dyn Fn()) -> Result<Vec<Row>, Trouble> {
    let rows = plan.settings().into_iter().map(|setting| {
        let row = stretch(plan, setting, seconds, world);
        done();
        row
    });
    let rows = rows.collect();
    world.put_back();
    rows
}

fn stretch(plan: &Plan, setting: Setting, seconds: f64, world: &mut dyn World) -> Result<Row, Trouble> {
    world.load(&[])?;
    world.hold(&plan.khz_at(setting))?;
    world.load(&plan.kinds[setting.kind].cores[..setting.busy])?;
    world.pass(Duration::from_secs_f64(seconds * SETTLE))?;
    let before = world.look()?;
    world.pass(Duration::from_secs_f64(seconds))?;
    let after = world.look()?;
    let passed = after.at.saturating_sub(before.at);
    let rate = |before: f64, after: f64| (after - before) / passed.as_secs_f64();
    let watts = match (before.joules, after.joules) {
        (Some(before), Some(after)) if after > before => Some(rate(before, after)),
        (Some(_), _) => return Err(Trouble::TooShort(passed)),
        (None, _) => None,
    };
    Ok(Row {
        setting,
        work_per_s: rate(before.work_s, after.work_s),
        watts,
        disturbed_cpus: (busy_cpus(&before, &after) - setting.busy as f64).max(0.0),
    })
}

fn busy_cpus(before: &Look, after: &Look) -> f64 {
    let shares = after.cpu_times.iter().filter_map(|(cpu, times)| {
        let permille = times.busy_permille_since(before.cpu_times.get(cpu)?)?;
        Some(f64::from(permille) / 1e3)
    });
    shares.sum()
}

/// A sentence about the stretch that other work disturbed most; `None` if no stretch was disturbed.
pub fn disturbance(plan: &Plan, rows: &[Row]) -> Option<String> {
    let worst = rows
        .iter()
        .max_by(|a, b| a.disturbed_cpus.total_cmp(&b.disturbed_cpus))?;
    (worst.disturbed_cpus >= DISTURBED_CPUS).then(|| {
        let kind = &plan.kinds[worst.setting.kind];
        format!(
            "Something else kept {:.1} CPUs busy while {} cores of {} were measured at {} MHz: watts and work are of both; leave the machine alone and \
             measure again.",
            worst.disturbed_cpus,
            worst.setting.busy,
            kind.name,
            kind.khz[worst.setting.point] as f64 / 1e3
        )
    })
}
