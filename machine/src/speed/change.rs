// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to files, in an order in which the lower limit never passes the upper one.

use super::files::Files;

const MIN: &str = "scaling_min_freq";
const MAX: &str = "scaling_max_freq";

/// A value for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) value: String,
}

/// Folder and name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Whether the file holds a frequency.
pub(super) fn is_frequency(path: &str) -> bool {
    split(path).1.starts_with("scaling_")
}

/// Orders changes by folder, and of a policy's limits puts the widening one first. `now_khz`: present value of a limit.
pub(super) fn in_order(now_khz: impl Fn(&str) -> Option<u32>, mut changes: Vec<Change>) -> Vec<Change> {
    changes.sort_by_cached_key(|change| {
        let (folder, name) = split(&change.path);
        (folder.to_string(), rank(&now_khz, folder, name, &change.value))
    });
    changes
}

fn rank(now_khz: impl Fn(&str) -> Option<u32>, folder: &str, name: &str, value: &str) -> u8 {
    match name {
        MIN => 1,
        MAX => {
            let upper: Option<u32> = value.trim().parse().ok();
            let lower_now = now_khz(&format!("{folder}/{MIN}"));
            if upper < lower_now {
                2
            } else {
                0
            }
        }
        _ => 3,
    }
}

/// Whether this limit would cross the present value of the policy's other limit.
pub(super) fn crosses(files: &dyn Files, change: &Change) -> bool {
    let (folder, name) = split(&change.path);
    let value: Option<u32> = change.value.trim().parse().ok();
    let other = |name: &str| files.read_khz(&format!("{folder}/{name}"));
    match (name, value) {
        (MIN, Some(min)) => other(MAX).is_some_and(|max| min > max),
        (MAX, Some(max)) => other(MIN).is_some_and(|min| max < min),
        _ => false,
    }
}

/// Whether a lower limit is shown smaller than `written` because somebody, or heat, lowered the upper one. The kernel then shows
/// the smaller of the two but keeps what was written, which would come back when the upper limit rises.
pub(super) fn is_held_down(files: &dyn Files, path: &str, current: &str, written: &[String]) -> bool {
    let (folder, name) = split(path);
    let Ok(shown) = current.trim().parse::<u32>() else {
        return false;
    };
    name == MIN
        && files.read_khz(&format!("{folder}/{MAX}")) == Some(shown)
        && written
            .iter()
            .any(|value| value.parse::<u32>().is_ok_and(|khz| khz > shown))
}
