// SPDX-License-Identifier: GPL-2.0-only
//! `lop run` without sched_ext: the command's threads are restricted to CPUs.

use super::target::Target;
use super::{passed_on, refused};
use crate::commands::enforce::{self, Enforce};
use crate::commands::hint::tell_without_effect;
use crate::failure::{Failure, FAILED};
use crate::{signals, terminal};
use lop_agent::qos::Qos;
use lop_agent::{Affinity, AgentError, Report};
use lop_kernel::options::Options;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

pub fn run(
    options: &Options,
    qos: Option<Arc<Qos>>,
    run_dir: Option<PathBuf>,
    command: &[OsString],
) -> Result<(), Failure> {
    let mut affinity = Affinity::new(lop_agent::Options {
        sizes: enforce::sizes(options)?,
        intensity: options.intensity.clone(),
        qos: qos.clone(),
        root: options.root.clone(),
        run_dir,
        tell: terminal::note,
    })
    .map_err(|error| Failure::new(FAILED, error.to_string()))?;
    terminal::note(&enforce::loss(Enforce::Affinity, &affinity.lost()));
    let plans_by = affinity.plans_by();
    plans_by.iter().for_each(|by| terminal::note(&format!("plan: {by}")));
    match &qos {
        Some(_) if plans_by.is_none() => terminal::note(
            "--qos: without effect here: by affinity only profiles act, where the policy plans by them (spread, gather, specialise, auto) and the machine \
             has several memory domains or kinds of core",
        ),
        Some(qos) => tell_without_effect(qos, true),
        None => {}
    }
    let [program, arguments @ ..] = command else {
        return Err(Failure::new(FAILED, "no command"));
    };
    let target = Target::default();
    let passing_on = target.clone();
    let _signals = signals::on_ending(move |signal| {
        passing_on.pass_on(signal);
    })?;
    let mut program = Command::new(program);
    match affinity.run_with(program.args(arguments), |command| target.start(command)) {
        Ok(status) => {
            if options.verbose > 0 {
                terminal::note(&told(&affinity.report()));
            }
            passed_on(status)
        }
        Err(AgentError::Command(error)) => Err(refused(command, &error)),
        Err(AgentError::Setup(sentence)) => Err(Failure::new(FAILED, sentence)),
    }
}

fn told(report: &Report) -> String {
    let share = report.own_cpu.as_secs_f64() / report.wall.as_secs_f64().max(1e-9);
    format!(
        "looked {} times in {:.2} s, at most {:.0} ms apart; changed {} affinities; took {:.3} % of one CPU",
        report.looks,
        report.wall.as_secs_f64(),
        report.longest_wait.as_secs_f64() * 1000.0,
        report.changes,
        100.0 * share
    )
}
