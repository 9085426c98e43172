// SPDX-License-Identifier: GPL-2.0-only
//! The description of a task: `nice=5,cpus=0+2-3,policy=batch,cgroup=a:100,session,threads=2,name=x`.

use super::pinned;
use crate::snapshot::parse_cpu_list;
use anyhow::{anyhow, bail, Context, Result};
use std::str::FromStr;

/// Scheduling policies by name, with the numbers of sched.h.
const POLICIES: [(&str, i32); 6] = [
    ("other", 0),
    ("fifo", 1),
    ("rr", 2),
    ("batch", 3),
    ("idle", 5),
    ("ext", 7),
];

/// The requested properties of a task; others stay unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskSpec {
    /// The words as given.
    pub text: String,
    pub nice: Option<i32>,
    /// Its number in sched.h.
    pub policy: Option<i32>,
    pub cpus: Vec<usize>,
    /// Name and cpu.weight of its own cgroup.
    pub cgroup: Option<(String, u32)>,
    /// Whether it starts a session, and so an autogroup.
    pub session: bool,
    /// Number of busy threads; 1 by default.
    pub threads: Option<usize>,
}

impl FromStr for TaskSpec {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut spec = TaskSpec {
            text: text.to_owned(),
            ..TaskSpec::default()
        };
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            spec.set(key, value)
                .map_err(|error| anyhow!("task `{text}`: `{word}`: {error:#}"))?;
        }
        Ok(spec)
    }
}

impl TaskSpec {
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "nice" => self.nice = Some(value.parse().context("a number from -20 to 19")?),
            "policy" => self.policy = Some(policy(value)?),
            "cpus" => {
                let cpus = parse_cpu_list(&value.replace('+', ","))?;
                anyhow::ensure!(!cpus.is_empty(), "at least one CPU, such as cpus=0+2-3");
                self.cpus = cpus.into_iter().map(|cpu| cpu as usize).collect();
            }
            "cgroup" => {
                let (name, weight) = value.split_once(':').context("write cgroup=NAME:WEIGHT")?;
                anyhow::ensure!(!name.is_empty() && !name.contains('/'), "a cgroup's name is one word");
                self.cgroup = Some((name.to_owned(), weight.parse().context("a weight from 1 to 10000")?));
            }
            "session" if value.is_empty() => self.session = true,
            "threads" => self.threads = Some(value.parse().context("a number of threads")?),
            "name" => {}
            _ => bail!("known: nice=, policy=, cpus=, cgroup=NAME:WEIGHT, session, threads=, name="),
        }
        Ok(())
    }

    /// Gives the calling process these properties, except for its cgroup. It must have one thread, so that each call acts on the whole process.
    ///
    /// # Errors
    /// The kernel refuses, because a privilege or a CPU is missing.
    pub fn apply(&self) -> Result<()> {
        if self.session {
            nix::unistd::setsid().context("start a session")?;
        }
        if let Some(nice) = self.nice {
            // SAFETY: plain numbers; 0 is the calling process.
            let code = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
            nix::errno::Errno::result(code).with_context(|| format!("nice {nice}"))?;
        }
        if let Some(policy) = self.policy {
            set_policy(policy)?;
        }
        if !self.cpus.is_empty() {
            pinned::pin(&self.cpus)?;
        }
        Ok(())
    }
}

/// The kernel's number of a scheduling policy.
///
/// # Errors
/// The name is unknown.
pub fn policy(name: &str) -> Result<i32> {
    match POLICIES.iter().find(|policy| policy.0 == name) {
        Some(policy) => Ok(policy.1),
        None => bail!("known: {}", POLICIES.map(|policy| policy.0).join(", ")),
    }
}

/// Gives the calling thread this policy, at the lowest priority if it is a real-time policy.
///
/// # Errors
/// The kernel refuses.
pub fn set_policy(policy: i32) -> Result<()> {
    let sched_priority = i32::from(policy == libc::SCHED_FIFO || policy == libc::SCHED_RR);
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    let code = unsafe { libc::sched_setscheduler(0, policy, &parameters) };
    nix::errno::Errno::result(code).with_context(|| format!("scheduling policy {policy}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_can_be_said() {
        let text = "nice=-5,cpus=0+2-3,policy=batch,cgroup=a:300,session,threads=2,name=x";
        let spec: TaskSpec = text.parse().unwrap();
        let expected = TaskSpec {
            text: text.to_owned(),
            nice: Some(-5),
            policy: Some(3),
            cpus: vec![0, 2, 3],
            cgroup: Some(("a".to_owned(), 300)),
            session: true,
            threads: Some(2),
        };
        assert_eq!(spec, expected);
        assert_eq!("".parse::<TaskSpec>().unwrap(), TaskSpec::default());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            ("nice=x", "`nice=x`: a number"),
            ("policy=fast", "known: other, fifo"),
            ("cpus=", "at least one CPU"),
            ("cgroup=a", "NAME:WEIGHT"),
            ("cgroup=a/b:1", "one word"),
            ("speed=1", "known: nice="),
            ("session=1", "known: nice="),
        ] {
            let error = format!("{:#}", text.parse::<TaskSpec>().unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
