// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locking rules of a task: it unlocks each mutex that it locked, once, and no other.

use super::draft::{Draft, Source};
use super::model::Step;
use lop_machine::InputError;

/// Largest number of mutexes held at once. More are taken for a mistake.
const MAX_HELD: usize = 64;

/// Mutexes held, with the step that took each.
type Held = Vec<(u32, usize)>;

/// Walks the steps of a program once; a `repeat` must leave the mutexes as it found them.
pub(super) fn check(draft: &Draft, source: &Source, program: usize) -> Result<(), InputError> {
    let steps = &draft.workload.programs[program].steps;
    let name = |mutex: u32| draft.workload.mutexes[mutex as usize].name.as_str();
    let fail = |step: usize, message: String| Err(draft.step_error(source, program, step, message));
    let mut held: Held = Vec::new();
    let mut open: Vec<Held> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let holds = |held: &Held, mutex: u32| held.iter().position(|&(m, _)| m == mutex);
        match *step {
            Step::Lock(mutex) => {
                if holds(&held, mutex).is_some() {
                    return fail(
                        index,
                        format!(
                            "mutex '{}' is locked while it is held; expected an unlock before",
                            name(mutex)
                        ),
                    );
                }
                if held.len() == MAX_HELD {
                    return fail(index, format!("expected at most {MAX_HELD} mutexes held at once"));
                }
                held.push((mutex, index));
            }
            Step::Unlock(mutex) => match holds(&held, mutex) {
                Some(at) => {
                    held.remove(at);
                }
                None => {
                    return fail(
                        index,
                        format!(
                            "mutex '{}' is unlocked without being held; expected a lock before",
                            name(mutex)
                        ),
                    )
                }
            },
            Step::Wait { mutex: Some(mutex), .. } if holds(&held, mutex).is_none() => {
                return fail(
                    index,
                    format!("mutex '{}' is not held; expected a lock before this wait", name(mutex)),
                );
            }
            Step::Repeat { .. } => open.push(held.clone()),
            Step::EndRepeat { start } => {
                let before = open.pop().unwrap_or_default();
                let once = matches!(steps[start as usize], Step::Repeat { times: Some(1), .. });
                if let (false, Some((mutex, at))) = (once, difference(&before, &held)) {
                    let message = format!("a pass of the repeat does not leave mutex '{}' as it found it; expected lock and unlock inside it", name(mutex));
                    return fail(at, message);
                }
            }
            _ => {}
        }
    }
    match held.first() {
        Some(&(mutex, at)) => fail(
            at,
            format!(
                "mutex '{}' is never unlocked by this task; expected an unlock",
                name(mutex)
            ),
        ),
        None => Ok(()),
    }
}

/// A mutex that is held in only one of two states.
fn difference(before: &Held, after: &Held) -> Option<(u32, usize)> {
    let missing = |of: &Held, from: &Held| of.iter().find(|(m, _)| !from.iter().any(|(n, _)| n == m)).copied();
    missing(after, before).or_else(|| missing(before, after))
}
