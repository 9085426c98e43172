// SPDX-License-Identifier: MIT OR Apache-2.0
//! The names of policies for people: `linux` with what it stands for.

use crate::model::{Report, RunResult};

/// Where machines of one report ship differently.
const SEVERAL: &str = "what each machine ships";

/// The report with "linux (fair class, schedutil)" in place of `linux`.
pub(crate) fn labelled(report: &Report) -> Report {
    let mut shown = report.clone();
    let Some(linux) = report.results.iter().find(|result| result.stands_for.is_some()) else {
        return shown;
    };
    let label = label(report, linux);
    let rename = |name: &mut String| {
        if *name == linux.policy {
            name.clone_from(&label);
        }
    };
    shown.results.iter_mut().for_each(|result| rename(&mut result.policy));
    for cell in &mut shown.cells {
        rename(&mut cell.judged);
        rename(&mut cell.best);
    }
    shown.variations.iter_mut().for_each(|found| rename(&mut found.policy));
    shown
}

fn label(report: &Report, linux: &RunResult) -> String {
    let mut others = report.results.iter().filter(|result| result.policy == linux.policy);
    let is_one = others.all(|result| result.stands_for == linux.stands_for);
    match linux.stands_for.as_deref().filter(|_| is_one) {
        Some(text) => named(&linux.policy, Some(text)),
        None => named(&linux.policy, Some(SEVERAL)),
    }
}

/// "linux (fair class, schedutil)".
pub(crate) fn named(policy: &str, stands_for: Option<&str>) -> String {
    match stands_for {
        Some(text) => format!("{policy} ({text})"),
        None => policy.to_string(),
    }
}
