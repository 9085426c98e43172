// SPDX-License-Identifier: MIT OR Apache-2.0
//! Experiment files: TOML to [`Experiment`].

use super::{
    Assumption, Axis, Change, Experiment, Origin, PointValue, Reference, Setting, SettingKey, Sweep, SweepValue,
};
use super::{DEFAULT_RUNS, MAX_POINTS, MAX_RUNS};
use lop_machine::{input, InputError};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: Spanned<String>,
    title: String,
    #[serde(default)]
    description: String,
    machine: Spanned<String>,
    workload: Spanned<String>,
    policies: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    seed: Option<Spanned<i64>>,
    #[serde(default)]
    runs: Option<Spanned<i64>>,
    #[serde(default)]
    every_placement: Option<Spanned<bool>>,
    classes: Option<Spanned<String>>,
    #[serde(default)]
    judge: Option<Spanned<String>>,
    vary: Option<Spanned<String>>,
    #[serde(default)]
    leave_out: Vec<Spanned<BTreeMap<String, Vec<String>>>>,
    #[serde(default)]
    set: BTreeMap<Spanned<String>, toml::Value>,
    #[serde(default)]
    sweep: Vec<SweepTable>,
    #[serde(default)]
    assumed: Vec<AssumedTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AssumedTable {
    what: String,
    source: String,
    low: Spanned<BTreeMap<String, toml::Value>>,
    high: Spanned<BTreeMap<String, toml::Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SweepTable {
    point: Spanned<String>,
    key: Spanned<String>,
    values: Spanned<Vec<Spanned<ValueEntry>>>,
}

/// A plain value, one with a label and further settings, or a range of plain ones.
#[derive(Deserialize)]
#[serde(untagged)]
enum ValueEntry {
    Range(RangeOfValues),
    Full(FullValue),
    Plain(toml::Value),
}

/// The whole numbers from one to the other, both included, or this text with each of them in place of `#`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RangeOfValues {
    from: i64,
    to: i64,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullValue {
    value: toml::Value,
    label: Option<toml::Value>,
    #[serde(default)]
    set: BTreeMap<String, toml::Value>,
}

/// What error messages need to name a place.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
    folder: Option<&'a Path>,
}

impl Source<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        let InputError { file, line, key, .. } = input::error_at(self.file, self.text, span, "");
        Origin { file, line, key }
    }
    fn error(&self, span: Range<usize>, message: impl Into<String>) -> InputError {
        input::error_at(self.file, self.text, span, message)
    }
}

/// Reads an experiment. `folder`: where its relative paths start; `None`: at the working directory.
///
/// # Errors
/// Invalid TOML, unknown or missing keys, wrong types, unknown policies, numbers out of range, too many sweep points; with file, line and key.
/// Machine and workload are opened later.
pub fn read(file: &str, text: &str, folder: Option<&Path>) -> Result<Experiment, InputError> {
    let source = Source { file, text, folder };
    let File {
        id,
        title,
        description,
        machine,
        workload,
        policies,
        seed,
        runs,
        every_placement,
        classes,
        judge,
        vary,
        leave_out,
        set,
        sweep,
        assumed,
    } = input::parse(file, text)?;
    let policies = policy_list(&source, &policies)?;
    if let Some(asked) = every_placement.as_ref().filter(|asked| *asked.get_ref()) {
        has_random(&source, asked, &policies)?;
    }
    let sweeps = sweeps(&source, &sweep)?;
    Ok(Experiment {
        id: checked_id(&source, &id)?,
        title,
        description,
        machine: reference(&source, machine.get_ref(), machine.span()),
        workload: reference(&source, workload.get_ref(), workload.span()),
        judged: judge.map(|name| judged(&source, &name, &policies)).transpose()?,
        left_out: left_out(&source, leave_out, &sweeps)?,
        varied: vary.map(|name| varied_sweep(&source, &name, &sweeps)).transpose()?,
        every_placement: every_placement.is_some_and(|asked| *asked.get_ref()),
        policies,
        seed: match &seed {
            Some(seed) => in_range(&source, seed, 0..=i64::MAX)? as u64,
            None => 1,
        },
        runs: match &runs {
            Some(runs) => in_range(&source, runs, 1..=i64::from(MAX_RUNS))? as u32,
            None => DEFAULT_RUNS,
        },
        settings: settings(&source, &set)?,
        classes: classes
            .map(|name| sweep_of_classes(&source, &name, &sweeps))
            .transpose()?,
        sweeps,
        last: Vec::new(),
        assumed: assumed
            .into_iter()
            .map(|table| assumption(&source, table))
            .collect::<Result<_, _>>()?,
    })
}

fn assumption(source: &Source, table: AssumedTable) -> Result<Assumption, InputError> {
    let end = |set: &Spanned<BTreeMap<String, toml::Value>>| {
        let origin = source.origin(set.span());
        let mut settings = Vec::new();
        for (key, value) in set.get_ref() {
            flatten(key, value, &origin, &mut settings)?;
        }
        match settings.is_empty() {
            true => Err(origin.error("expected at least one setting: what is assumed at this end of its range")),
            false => Ok(settings),
        }
    };
    let ends = [end(&table.low)?, end(&table.high)?];
    Ok(Assumption {
        what: table.what,
        source: table.source,
        ends,
    })
}

fn checked_id(source: &Source, id: &Spanned<String>) -> Result<String, InputError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if id.get_ref().is_empty() || !id.get_ref().chars().all(plain) {
        return Err(source.error(id.span(), "expected a name of letters, digits, '-', '_' and '.'"));
    }
    Ok(id.get_ref().clone())
}

fn reference(source: &Source, name: &str, span: Range<usize>) -> Reference {
    Reference::in_file(name, source.folder, source.origin(span))
}

fn policy_list(source: &Source, names: &Spanned<Vec<Spanned<String>>>) -> Result<Vec<crate::PolicyChoice>, InputError> {
    let list: Vec<&str> = names.get_ref().iter().map(|name| name.get_ref().as_str()).collect();
    super::policies(&list).map_err(|(index, message)| {
        let span = names.get_ref().get(index).map_or(names.span(), Spanned::span);
        InputError {
            key: Some("policies".into()),
            ..source.error(span, message)
        }
    })
}

/// Only `random` places by chance.
fn has_random(source: &Source, asked: &Spanned<bool>, policies: &[crate::PolicyChoice]) -> Result<(), InputError> {
    let random = crate::PolicyChoice::Placed(crate::Placing::Random);
    match policies.contains(&random) {
        true => Ok(()),
        false => Err(source.error(
            asked.span(),
            "true, expected 'random' among the policies, which it is about",
        )),
    }
}

fn judged(
    source: &Source,
    name: &Spanned<String>,
    policies: &[crate::PolicyChoice],
) -> Result<crate::PolicyChoice, InputError> {
    let named = policies.iter().find(|policy| policy.to_string() == *name.get_ref());
    let message = || format!("'{}', expected one of the policies of this experiment", name.get_ref());
    named.cloned().ok_or_else(|| source.error(name.span(), message()))
}

/// Each entry names sweeps and labels of their values. An unknown name is an error, as it would leave nothing out.
fn left_out(
    source: &Source,
    tables: Vec<Spanned<BTreeMap<String, Vec<String>>>>,
    sweeps: &[Sweep],
) -> Result<Vec<BTreeMap<String, Vec<String>>>, InputError> {
    for table in &tables {
        for (name, labels) in table.get_ref() {
            let Some(sweep) = sweeps.iter().find(|sweep| sweep.point == *name) else {
                return Err(source.error(table.span(), format!("'{name}', expected the name of a sweep")));
            };
            let known = |label: &&String| sweep.values.iter().any(|value| value.label.to_string() == **label);
            if let Some(label) = labels.iter().find(|label| !known(label)) {
                return Err(source.error(table.span(), format!("'{label}', expected a value of sweep '{name}'")));
            }
        }
    }
    Ok(tables.into_iter().map(Spanned::into_inner).collect())
}

fn in_range(source: &Source, number: &Spanned<i64>, range: std::ops::RangeInclusive<i64>) -> Result<i64, InputError> {
    if range.contains(number.get_ref()) {
        return Ok(*number.get_ref());
    }
    let message = format!(
        "{}, expected a whole number from {} to {}",
        number.get_ref(),
        range.start(),
        range.end()
    );
    Err(source.error(number.span(), message))
}

fn settings(source: &Source, set: &BTreeMap<Spanned<String>, toml::Value>) -> Result<Vec<Setting>, InputError> {
    let mut all = Vec::new();
    for (key, value) in set {
        flatten(key.get_ref(), value, &source.origin(key.span()), &mut all)?;
    }
    Ok(all)
}

/// A key in quotes (`"machine.park.w" = 1`) is one setting whatever its value; nested tables (`machine.park.w = 1`) are
/// walked to their values.
fn flatten(key: &str, value: &toml::Value, origin: &Origin, all: &mut Vec<Setting>) -> Result<(), InputError> {
    walk(key, key.contains('.'), value, origin, all)
}

fn walk(
    path: &str,
    whole: bool,
    value: &toml::Value,
    origin: &Origin,
    all: &mut Vec<Setting>,
) -> Result<(), InputError> {
    if let (false, toml::Value::Table(table)) = (whole, value) {
        for (key, value) in table {
            walk(&format!("{path}.{key}"), key.contains('.'), value, origin, all)?;
        }
        return Ok(());
    }
    let origin = Origin {
        key: Some(format!("set.{path}")),
        ..origin.clone()
    };
    all.push(Setting::new(path, &value.to_string(), origin)?);
    Ok(())
}

fn sweeps(source: &Source, tables: &[SweepTable]) -> Result<Vec<Sweep>, InputError> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    let mut points = 1usize;
    for table in tables {
        let sweep = sweep(source, table)?;
        if sweeps
            .iter()
            .any(|other| other.point == sweep.point || other.axis == sweep.axis)
        {
            return Err(source.error(table.point.span(), "swept twice; give each sweep its own point and key"));
        }
        points = points
            .checked_mul(sweep.values.len())
            .filter(|&n| n <= MAX_POINTS)
            .ok_or_else(|| {
                source.error(
                    table.values.span(),
                    format!("more than {MAX_POINTS} points; sweep fewer values"),
                )
            })?;
        sweeps.push(sweep);
    }
    Ok(sweeps)
}

/// The name is that of a sweep of several values.
fn varied_sweep(source: &Source, name: &Spanned<String>, sweeps: &[Sweep]) -> Result<String, InputError> {
    match sweeps.iter().find(|sweep| sweep.point == *name.get_ref()) {
        Some(sweep) if sweep.values.len() > 1 => Ok(sweep.point.clone()),
        _ => Err(source.error(
            name.span(),
            format!(
                "'{}', expected the point of a sweep: its first value, and others that stand in its place",
                name.get_ref()
            ),
        )),
    }
}

/// The name is that of a sweep, which has three values.
fn sweep_of_classes(source: &Source, name: &Spanned<String>, sweeps: &[Sweep]) -> Result<String, InputError> {
    match sweeps.iter().find(|sweep| sweep.point == *name.get_ref()) {
        Some(sweep) if sweep.values.len() == 3 => Ok(sweep.point.clone()),
        _ => Err(source.error(
            name.span(),
            format!(
                "'{}', expected the point of a sweep of three values: all cores fast, half of them, all slow",
                name.get_ref()
            ),
        )),
    }
}

fn sweep(source: &Source, table: &SweepTable) -> Result<Sweep, InputError> {
    if table.point.get_ref().is_empty() {
        return Err(source.error(table.point.span(), "expected a name for what is swept"));
    }
    if table.values.get_ref().is_empty() {
        return Err(source.error(table.values.span(), "expected at least one value"));
    }
    let axis = match table.key.get_ref().as_str() {
        "machine" => Axis::Machine,
        "workload" => Axis::Workload,
        key => Axis::Setting(SettingKey::parse(key).map_err(|message| {
            source.error(
                table.key.span(),
                format!("{message}, or machine or workload as a whole"),
            )
        })?),
    };
    let values = table
        .values
        .get_ref()
        .iter()
        .map(|entry| sweep_values(source, table, &axis, entry));
    let values = values.collect::<Result<Vec<_>, _>>()?.concat();
    let mut labels = BTreeSet::new();
    if let Some(twice) = values
        .iter()
        .map(|value| value.label.to_string())
        .find(|label| !labels.insert(label.clone()))
    {
        return Err(source.error(table.values.span(), format!("value '{twice}' is given twice")));
    }
    Ok(Sweep {
        point: table.point.get_ref().clone(),
        axis,
        values,
        origin: source.origin(table.point.span()),
    })
}

fn sweep_values(
    source: &Source,
    table: &SweepTable,
    axis: &Axis,
    entry: &Spanned<ValueEntry>,
) -> Result<Vec<SweepValue>, InputError> {
    let origin = Origin {
        key: Some("sweep.values".into()),
        ..source.origin(entry.span())
    };
    let (values, label, set) = match entry.get_ref() {
        ValueEntry::Plain(value) => (vec![value.clone()], None, None),
        ValueEntry::Full(full) => (vec![full.value.clone()], full.label.as_ref(), Some(&full.set)),
        ValueEntry::Range(range) => (values_of(range).map_err(|message| origin.error(message))?, None, None),
    };
    let mut settings = Vec::new();
    for (key, value) in set.into_iter().flatten() {
        flatten(key, value, &origin, &mut settings)?;
    }
    let value = |value: &toml::Value| {
        Ok(SweepValue {
            label: label_of(label.unwrap_or(value)).map_err(|message| origin.error(message))?,
            change: change(source, table, axis, value, origin.clone())?,
            settings: settings.clone(),
        })
    };
    values.iter().map(value).collect()
}

fn values_of(range: &RangeOfValues) -> Result<Vec<toml::Value>, String> {
    let (from, to) = (range.from, range.to);
    if !(0..MAX_POINTS as i128).contains(&(i128::from(to) - i128::from(from))) {
        return Err(format!("from {from} to {to}, expected 1 to {MAX_POINTS} values"));
    }
    let value = |number: i64| match &range.text {
        None => Ok(number.into()),
        Some(text) if text.contains('#') => Ok(text.replace('#', &number.to_string()).into()),
        Some(text) => Err(format!("'{text}', expected a text with #, which stands for the number")),
    };
    (from..=to).map(value).collect()
}

fn change(
    source: &Source,
    table: &SweepTable,
    axis: &Axis,
    value: &toml::Value,
    origin: Origin,
) -> Result<Change, InputError> {
    let name = |what: &str| match value.as_str() {
        Some(name) => Ok(Reference::in_file(name, source.folder, origin.clone())),
        None => Err(origin.error(format!("expected the name of a {what} as text, found {value}"))),
    };
    Ok(match axis {
        Axis::Machine => Change::Machine(name("machine")?),
        Axis::Workload => Change::Workload(name("workload")?),
        Axis::Setting(_) => {
            let key = table.key.get_ref();
            Change::Setting(Setting::new(
                key,
                &value.to_string(),
                Origin {
                    key: Some(key.clone()),
                    ..origin
                },
            )?)
        }
    })
}

/// The name of a value in results: its label, or else the value itself.
fn label_of(value: &toml::Value) -> Result<PointValue, String> {
    let number = |number: f64| match number.is_finite() {
        true => Ok(PointValue::Number(number)),
        false => Err(format!("{number}, expected a finite number")),
    };
    match value {
        toml::Value::Integer(whole) => number(*whole as f64),
        toml::Value::Float(real) => number(*real),
        toml::Value::String(text) => Ok(PointValue::Text(text.clone())),
        toml::Value::Boolean(truth) => Ok(PointValue::Text(truth.to_string())),
        other => Err(format!(
            "expected a number, text, true or false, {{ value = .., label = \"..\" }} or {{ from = .., to = .. }}, found {}",
            other.type_str()
        )),
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
