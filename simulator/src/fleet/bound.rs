// SPDX-License-Identifier: MIT OR Apache-2.0
//! What no placement can beat.
//!
//! ```text
//! response >= mean over applications of alone
//! E        >= sum over applications of min over machines of cores * alone * min over n of (P(n) - off) / n
//!             + machines * off * max over applications of (arrival + alone)
//! ```
//!
//! Beside others an application takes no less time than alone. Until the last one ends every machine draws what it draws when off, and with n cores
//! busy at least n times the least of (P(n) - off) / n more, so the watts of a machine that is on are shared by as many cores as possible.

use super::application::Application;
use super::Fleet;
use crate::outcome::Bounds;

/// Time alone, in ns, on the machine that is fastest for the application.
pub(super) fn alone_ns(fleet: &Fleet, application: &Application) -> f64 {
    let each = times(fleet, application).map(|(ns, _)| ns);
    each.fold(f64::INFINITY, f64::min)
}

/// On each kind of machine with a domain that is large enough: time alone, in ns, and least watts of a busy core.
fn times<'a>(fleet: &'a Fleet, application: &'a Application) -> impl Iterator<Item = (f64, f64)> + 'a {
    let large_enough = |domains: &[u32]| domains.iter().any(|&cores| cores >= application.cores);
    let kinds = fleet.models.iter();
    kinds.filter(move |model| large_enough(&model.domains)).map(|model| {
        let pace = model.alone(application.memory_use, application.cores);
        (application.work / pace.rate, model.least_w_per_core(fleet.setup.off_w))
    })
}

/// `alone_ns`: of each application.
pub(super) fn bounds(fleet: &Fleet, applications: &[Application], alone_ns: &[f64]) -> Bounds {
    let energy = |application: &Application| {
        let each = times(fleet, application).map(|(ns, watts)| f64::from(application.cores) * ns * watts);
        each.fold(f64::INFINITY, f64::min)
    };
    let ends = applications
        .iter()
        .zip(alone_ns)
        .map(|(a, alone_ns)| a.arrives_ns as f64 + alone_ns);
    let end_ns = ends.fold(0.0, f64::max);
    let off_w = f64::from(fleet.setup.machines) * fleet.setup.off_w;
    Bounds {
        time_s: alone_ns.iter().sum::<f64>() / alone_ns.len().max(1) as f64 / 1e9,
        system_energy_j: (applications.iter().map(energy).sum::<f64>() + off_w * end_ns) / 1e9,
    }
}
