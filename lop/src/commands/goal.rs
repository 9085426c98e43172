// SPDX-License-Identifier: GPL-2.0-only
//! `lop goal`: the goal of the running scheduler, and another one.

use super::kernel::{goals, Place};
use super::status;
use crate::failure::{Failure, FAILED};
use crate::format::Format;
use crate::{status_text, terminal};
use clap::Args;
use lop_kernel::adapter::KernelError;
use lop_kernel::options::GoalChoice;
use lop_kernel::status::Status;
use lop_kernel::status_server;

pub const EXAMPLES: &str = "\
Examples:
  lop goal
  lop goal energy
  lop goal auto

Without GOAL it prints the goal of the running scheduler, where it comes from, and
what is other than with balanced. That needs no privileges.

With GOAL, which needs root, the running scheduler goes by that one until it ends;
auto follows the power profile or the supply again. 'lop start --goal' and
/etc/lopsided.toml are for the next start.

Exit code 1 if Lopsided is not running, or if its policy has no goal.";

#[derive(Args)]
pub struct Arguments {
    /// What a second is worth from now on, as with 'lop start --goal'
    #[arg(value_parser = goals())]
    goal: Option<GoalChoice>,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let now = status::fetch(&arguments.place, Format::Text)?;
    let mut line = status_text::goal(&now).ok_or_else(|| without_goal(&now))?;
    if let Some(choice) = arguments.goal {
        let changed = status_server::set_goal(&arguments.place.run_dir(), choice)?;
        let changed = changed.ok_or_else(|| KernelError::new("Lopsided has ended"))?;
        line = status_text::goal(&changed).ok_or_else(|| without_goal(&changed))?;
    }
    terminal::print(&format!("{line}\n"))
}

fn without_goal(status: &Status) -> Failure {
    let failure = Failure::new(FAILED, format!("{} has its rules whatever the goal", status.policy));
    match status.enforced {
        Some(_) => {
            failure.hint("a goal is followed in the kernel only; 'lop doctor' says what this machine lacks for it")
        }
        None => failure.hint("'lop stop', then 'lop start --policy auto' starts the policy that goes by one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_goal_the_next_step_is_named() {
        let said = |status: &Status| format!("{:?}", without_goal(status));
        let status = |enforced: Option<&str>| Status {
            policy: "highlow".to_string(),
            enforced: enforced.map(str::to_string),
            ..Status::default()
        };
        let in_kernel = said(&status(None));
        assert!(
            in_kernel.contains("highlow has its rules whatever the goal")
                && in_kernel.contains("'lop start --policy auto'"),
            "{in_kernel}"
        );
        assert!(said(&status(Some("from user space"))).contains("'lop doctor'"));
    }
}
