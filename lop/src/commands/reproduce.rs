//! `lop reproduce`: published experiments, by id.

use crate::failure::Failure;
use crate::study::{self, StudyOptions};
use crate::terminal;
use clap::Args;
use lop_simulator::experiment::{self, Experiment};

const EXAMPLES: &str = "\
Examples:
  lop reproduce --list
  lop reproduce compile-governors
  lop reproduce compile-parallelism --runs 20 --format json
  lop reproduce all                          all tables, and one report: lop-reproduce.html
  lop reproduce all --html studies.html

An experiment file of your own runs with 'lop simulate FILE.toml'.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Experiments by id, or 'all', which also writes a report: lop-reproduce.html where --html names no other
    #[arg(value_name = "ID", required_unless_present = "list")]
    ids: Vec<String>,
    /// List the experiments and do nothing
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    study: StudyOptions,
}

/// The report of all studies, where no other file is named.
const REPORT_OF_ALL: &str = "lop-reproduce.html";

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.list {
        return list();
    }
    if arguments.ids.iter().any(|id| id == "all") {
        arguments.study.report_to(REPORT_OF_ALL);
    }
    let experiments = chosen(&arguments.ids)?;
    let several = experiments.len() > 1;
    study::run(experiments, several, &arguments.study)
}

fn list() -> Result<(), Failure> {
    let rows = experiment::builtin_names().into_iter().map(|id| {
        let experiment = experiment::load_builtin(id)?;
        Ok((
            id.to_string(),
            format!("{}. {}", experiment.title, experiment.description),
        ))
    });
    terminal::print(&terminal::two_columns(&rows.collect::<Result<Vec<_>, Failure>>()?))
}

/// Each id once, in the order given.
fn chosen(ids: &[String]) -> Result<Vec<Experiment>, Failure> {
    let mut names: Vec<&str> = Vec::new();
    for id in ids {
        let named = if id == "all" {
            experiment::builtin_names()
        } else {
            vec![id.as_str()]
        };
        for name in named {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
        .into_iter()
        .map(|name| experiment::load_builtin(name).map_err(Failure::from))
        .collect()
}
