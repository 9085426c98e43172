// SPDX-License-Identifier: GPL-2.0-only
//! Runs each command with the affinities that a policy chooses, from user space.

use crate::commands::kernel::Place;
use crate::terminal;
use lop_agent::{reaction, AgentError, Follower, Options, Report};
use lop_compare::enforcement::{Enforcement, EnforcementError};
use lop_policy::PolicyName;
use std::path::PathBuf;

pub struct ByAffinity {
    root: PathBuf,
    run_dir: Option<PathBuf>,
    why: String,
    follower: Option<Follower>,
}

impl ByAffinity {
    /// `why`: the reason for this way, as a clause.
    pub fn new(place: &Place, why: &str) -> Self {
        Self {
            root: place.root.clone(),
            run_dir: place.asked(),
            why: format!("{why}; it reacts in 10 ms or more, and speeds are left to their governor"),
            follower: None,
        }
    }
}

/// Of enforcement from user space.
pub fn reaction_s(policy: &str) -> Option<f64> {
    Some(reaction(policy.parse::<PolicyName>().ok()?.policy).as_secs_f64())
}

fn refused(policy: &str, error: &dyn std::fmt::Display) -> EnforcementError {
    EnforcementError(format!("policy {policy}: {error}"))
}

fn of_agent(error: AgentError) -> EnforcementError {
    EnforcementError(error.to_string())
}

impl Enforcement for ByAffinity {
    fn name(&self) -> &str {
        "affinity of the command's threads"
    }

    fn why(&self) -> &str {
        &self.why
    }

    fn reaction_s(&self, policy: &str) -> Option<f64> {
        reaction_s(policy)
    }

    fn begin(&mut self, policy: &str) -> Result<(), EnforcementError> {
        let rules: PolicyName = policy.parse().map_err(|error: String| refused(policy, &error))?;
        let options = Options {
            root: self.root.clone(),
            run_dir: self.run_dir.clone(),
            tell: terminal::note,
            ..Options::new(rules)
        };
        let follower = Follower::begin(options).map_err(|error| refused(policy, &error))?;
        self.follower = Some(follower);
        Ok(())
    }

    fn variable(&self) -> Option<(String, PathBuf)> {
        let (name, folder) = self.follower.as_ref()?.variable();
        Some((name.to_string(), folder.to_path_buf()))
    }

    fn started(&mut self, pid: u32) -> Result<(), EnforcementError> {
        match &self.follower {
            Some(follower) => follower.started(pid).map_err(of_agent),
            None => Err(EnforcementError("nothing is in force for the command".to_string())),
        }
    }

    fn end(&mut self) -> Result<(), EnforcementError> {
        let ended = self.follower.take().map(Follower::end).transpose();
        ended.map(|_: Option<Report>| ()).map_err(of_agent)
    }
}
