// SPDX-License-Identifier: GPL-2.0-only
//! `lop reproduce`: published experiments, by id.

use crate::failure::{Failure, BAD_INPUT};
use crate::format::{print_list, Entry, TableFormat};
use crate::study::{self, StudyOptions};
use crate::suggested::Suggested;
use clap::Args;
use lop_report::published::{self, Table};
use lop_simulator::experiment::{self, Any};

const EXAMPLES: &str = "\
Examples:
  lop reproduce --list
  lop reproduce --list --format json
  lop reproduce compile-governors
  lop reproduce compile-parallelism --runs 20 --format json
  lop reproduce all                          all tables, and one report: lop-reproduce.html
  lop reproduce all --html studies.html
  lop reproduce --agreement > agreement.md   all published figures beside ours

Each experiment prints its results and, where figures were published, those beside
them with the error. An experiment file of your own runs with 'lop simulate
FILE.toml'.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Experiments by id, or 'all', which also writes a report to lop-reproduce.html unless --html names another file
    #[arg(value_name = "ID", required_unless_present_any = ["list", "agreement"], value_parser = Suggested::text(ids), hide_possible_values = true)]
    ids: Vec<String>,
    /// List the experiments and exit
    #[arg(long)]
    list: bool,
    /// Print only the published figures beside those computed here, with the error and the range over what is assumed, as Markdown: for these experiments, or for all
    #[arg(long, conflicts_with_all = ["format", "html", "perfetto", "verbose"])]
    agreement: bool,
    #[command(flatten)]
    study: StudyOptions,
}

fn ids() -> Vec<&'static str> {
    experiment::builtin_names().into_iter().chain(["all"]).collect()
}

/// The report of all studies, where no other file is named.
const REPORT_OF_ALL: &str = "lop-reproduce.html";

pub fn run(mut arguments: Arguments) -> Result<(), Failure> {
    if arguments.list {
        return list(arguments.study.format);
    }
    let published = published::builtin()?;
    let all = arguments.ids.iter().any(|id| id == "all");
    if arguments.agreement {
        let whole = all || arguments.ids.is_empty();
        let studies = published_studies(&published, &arguments.ids, whole)?;
        return study::agreement(&published, &studies, whole, &arguments.study);
    }
    if all {
        arguments.study.report_to(REPORT_OF_ALL);
    }
    study::run(chosen(&arguments.ids)?, &published, &arguments.study)
}

/// Studies that figures were published about, in the order of their file: those named, or all.
fn published_studies<'a>(published: &'a [Table], ids: &[String], all: bool) -> Result<Vec<&'a str>, Failure> {
    let mut studies: Vec<&str> = published.iter().map(|table| table.study.as_str()).collect();
    studies.dedup();
    if all {
        return Ok(studies);
    }
    if let Some(id) = ids.iter().find(|id| !studies.contains(&id.as_str())) {
        let known = format!("known: {}", studies.join(", "));
        return Err(Failure::new(BAD_INPUT, format!("'{id}': no figure was published about it")).hint(known));
    }
    studies.retain(|study| ids.iter().any(|id| id == study));
    Ok(studies)
}

fn list(format: TableFormat) -> Result<(), Failure> {
    let entry = |id: &str| {
        let (title, description) = match experiment::open_builtin(id)? {
            Any::Machine(experiment) => (experiment.title, experiment.description),
            Any::Fleet(experiment) => (experiment.title, experiment.description),
        };
        Ok(Entry {
            text: format!("{title}. {description}"),
            facts: vec![
                ("id", id.into()),
                ("title", title.into()),
                ("description", description.into()),
            ],
        })
    };
    let entries = experiment::builtin_names().into_iter().map(entry);
    print_list("experiments", &entries.collect::<Result<Vec<_>, Failure>>()?, format)
}

/// Each id once, in the order given.
fn chosen(ids: &[String]) -> Result<Vec<Any>, Failure> {
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
        .map(|name| experiment::open_builtin(name).map_err(Failure::from))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_report::published::{Figure, Point};
    use lop_report::PointValue;
    use lop_simulator::experiment::Experiment;

    /// Each figure that a study computes names a policy and values of sweeps that the study has.
    #[test]
    fn published_figures_are_about_results_that_are_there() {
        for table in published::builtin().unwrap() {
            for figure in &table.figures {
                let Some(selection) = &figure.selection else { continue };
                let place = format!("{}: {}", table.study, figure.what);
                let experiment = experiment::load_builtin(&table.study).expect(&place);
                let over = selection.over.as_ref();
                for policy in selection.policies() {
                    let named = |known: &lop_simulator::PolicyChoice| known.to_string() == policy;
                    assert!(experiment.policies.iter().any(named), "{place}: no policy {policy}");
                }
                let points = over.map(|over| &over.point).into_iter().chain([&selection.point]);
                points.for_each(|point| is_swept(&experiment, point, &place));
            }
        }
    }

    /// A figure that nothing was fitted to rests on an assumption, and its study says on which and how far it reaches.
    #[test]
    fn studies_with_predictions_have_ranges() {
        for table in published::builtin().unwrap() {
            let is_predicted =
                |figure: &Figure| !figure.is_fitted && figure.closed_form.is_none() && figure.selection.is_some();
            if table.figures.iter().any(is_predicted) {
                let experiment = experiment::load_builtin(&table.study).unwrap();
                assert!(!experiment.assumed.is_empty(), "{}: no [[assumed]]", table.study);
            }
        }
    }

    fn is_swept(experiment: &Experiment, point: &Point, place: &str) {
        for (name, values) in point {
            let sweep = experiment.sweeps.iter().find(|sweep| sweep.point == *name);
            let labels: Vec<String> = (sweep.iter())
                .flat_map(|sweep| sweep.values.iter().map(|value| value.label.to_string()))
                .collect();
            for value in values {
                let label = match value {
                    PointValue::Number(number) => number.to_string(),
                    PointValue::Text(text) => text.clone(),
                };
                assert!(labels.contains(&label), "{place}: no {name} = {label}");
            }
        }
    }
}
