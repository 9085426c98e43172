// SPDX-License-Identifier: MIT OR Apache-2.0
//! data/published.toml: TOML to [`Table`].

use super::{closed_form, Change, Expected, Figure, Measure, Over, Pick, Point, Selection, Table, Unit};
use crate::model::PointValue;
use lop_machine::{input, InputError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: Vec<SourceTable>,
    table: Vec<TableTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    id: Spanned<String>,
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableTable {
    source: Spanned<String>,
    /// Tables of one source about one study that follow each other are one.
    study: String,
    /// What all its figures have in common.
    all: Option<Spanned<toml::Table>>,
    /// What those of a column have; without any, a row is a figure.
    #[serde(default)]
    columns: Vec<Spanned<toml::Table>>,
    rows: Spanned<Vec<Spanned<toml::Table>>>,
}

/// A part of a figure's description. Parts of the table, the row, the column and the cell itself apply in this order; the last one wins.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// Joined with commas where several parts have it.
    what: Option<String>,
    value: Option<f64>,
    at_least: Option<f64>,
    at_most: Option<f64>,
    class: Option<String>,
    unit: Option<Unit>,
    closed_form: Option<String>,
    measure: Option<Measure>,
    policy: Option<String>,
    #[serde(default)]
    point: BTreeMap<String, toml::Value>,
    over: Option<OverPart>,
    change: Option<Change>,
    pick: Option<Pick>,
    oddity: Option<String>,
    cause: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverPart {
    policy: Option<toml::Value>,
    #[serde(default)]
    point: BTreeMap<String, toml::Value>,
}

impl Part {
    fn with(mut self, later: Part) -> Self {
        self.what = match (self.what, later.what) {
            (Some(what), Some(more)) => Some(format!("{what}, {more}")),
            (what, more) => what.or(more),
        };
        self.point.extend(later.point);
        Self {
            what: self.what,
            point: self.point,
            value: later.value.or(self.value),
            at_least: later.at_least.or(self.at_least),
            at_most: later.at_most.or(self.at_most),
            class: later.class.or(self.class),
            unit: later.unit.or(self.unit),
            closed_form: later.closed_form.or(self.closed_form),
            measure: later.measure.or(self.measure),
            policy: later.policy.or(self.policy),
            over: later.over.or(self.over),
            change: later.change.or(self.change),
            pick: later.pick.or(self.pick),
            oddity: later.oddity.or(self.oddity),
            cause: later.cause.or(self.cause),
        }
    }
}

/// What an error needs to name its place.
struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

/// Reads published figures.
///
/// # Errors
/// What is no TOML, unknown or missing keys, wrong types, a source that is not there, a figure with none or several values, one
/// whose unit is not that of its measure, or a closed form that is no arithmetic: with file, line and key. Whether a study has the results that a figure is about is seen in [`super::compare`].
pub fn read(file: &str, text: &str) -> Result<Vec<Table>, InputError> {
    let reader = Reader { file, text };
    let parsed: File = input::parse(file, text)?;
    let mut sources = BTreeMap::new();
    for source in &parsed.source {
        if sources.insert(source.id.get_ref().as_str(), &source.title).is_some() {
            return Err(reader.error(source.id.span(), format!("'{}' is there twice", source.id.get_ref())));
        }
    }
    let mut tables: Vec<Table> = Vec::new();
    for table in &parsed.table {
        let (source, study) = (table.source.get_ref(), &table.study);
        let Some(title) = sources.get(source.as_str()) else {
            return Err(reader.error(table.source.span(), format!("'{source}', expected the id of a source")));
        };
        let figures = reader.figures(table)?;
        match tables
            .last_mut()
            .filter(|last| last.study == *study && last.source == **title)
        {
            Some(last) => last.figures.extend(figures),
            None => tables.push(Table {
                source: title.to_string(),
                study: study.clone(),
                figures,
            }),
        }
    }
    Ok(tables)
}

impl Reader<'_> {
    fn error(&self, span: Range<usize>, message: impl Into<String>) -> InputError {
        input::error_at(self.file, self.text, span, message)
    }

    fn part(&self, table: &toml::Table, span: Range<usize>) -> Result<Part, InputError> {
        let part = table.clone().try_into();
        part.map_err(|error: toml::de::Error| self.error(span, error.message().replace('\n', "; ")))
    }

    fn spanned(&self, table: &Spanned<toml::Table>) -> Result<Part, InputError> {
        self.part(table.get_ref(), table.span())
    }

    fn figures(&self, table: &TableTable) -> Result<Vec<Figure>, InputError> {
        let all = match &table.all {
            Some(all) => self.spanned(all)?,
            None => Part::default(),
        };
        let columns: Vec<Part> = (table.columns.iter())
            .map(|column| self.spanned(column))
            .collect::<Result<_, _>>()?;
        let mut figures = Vec::new();
        for row in table.rows.get_ref() {
            for part in self.cells(row, &columns)? {
                figures.push(self.figure(all.clone().with(part), row.span())?);
            }
        }
        match figures.is_empty() {
            true => Err(self.error(table.rows.span(), "expected at least one figure")),
            false => Ok(figures),
        }
    }

    /// A row as one figure, or with `values`, one for each column.
    fn cells(&self, row: &Spanned<toml::Table>, columns: &[Part]) -> Result<Vec<Part>, InputError> {
        let mut own = row.get_ref().clone();
        let values = match own.remove("values") {
            Some(toml::Value::Array(values)) => values,
            Some(_) => return Err(self.error(row.span(), "values: expected a list")),
            None => Vec::new(),
        };
        if values.len() != columns.len() {
            let message = format!(
                "{} values, expected one for each of {} columns",
                values.len(),
                columns.len()
            );
            return Err(self.error(row.span(), message));
        }
        let own = self.part(&own, row.span())?;
        if columns.is_empty() {
            return Ok(vec![own]);
        }
        let cell = |(column, value): (&Part, &toml::Value)| {
            let cell = self.cell(value, row.span())?;
            Ok(own.clone().with(column.clone()).with(cell))
        };
        columns.iter().zip(&values).map(cell).collect()
    }

    /// A number, the name of a class, or a table that says more.
    fn cell(&self, value: &toml::Value, span: Range<usize>) -> Result<Part, InputError> {
        let mut part = Part::default();
        match value {
            toml::Value::Integer(whole) => part.value = Some(*whole as f64),
            toml::Value::Float(real) => part.value = Some(*real),
            toml::Value::String(class) => part.class = Some(class.clone()),
            toml::Value::Table(table) => return self.part(table, span),
            other => {
                let message = format!("values: expected numbers, names or tables, found {}", other.type_str());
                return Err(self.error(span, message));
            }
        }
        Ok(part)
    }

    fn figure(&self, part: Part, span: Range<usize>) -> Result<Figure, InputError> {
        let error = |message: &str| self.error(span.clone(), message);
        let expected = expected(&part).map_err(error)?;
        let selection = self.selection(&part, &span)?;
        if let Some(selection) = &selection {
            if (selection.measure == Measure::Class) != matches!(expected, Expected::Class(_)) {
                return Err(error(
                    "expected the name of a class for measure 'class', and a number for any other",
                ));
            }
        }
        Ok(Figure {
            unit: unit(&part, selection.as_ref()).map_err(error)?,
            is_fitted: false,
            closed_form: (part.closed_form.as_deref().map(closed_form::value).transpose())
                .map_err(|reason| error(&format!("closed_form: {reason}")))?,
            what: part.what.ok_or_else(|| error("expected what the figure is: what"))?,
            expected,
            selection,
            oddity: part.oddity,
            cause: part.cause,
        })
    }

    fn selection(&self, part: &Part, span: &Range<usize>) -> Result<Option<Selection>, InputError> {
        let error = |message: &str| self.error(span.clone(), message);
        let measure = match part.measure {
            None => return Err(error("expected measure: what of a result it is, or 'none'")),
            Some(Measure::None) => return Ok(None),
            Some(measure) => measure,
        };
        if part.change.is_some() && part.over.is_none() {
            return Err(error("change: expected 'over', what it is more or less than"));
        }
        let over = part.over.as_ref().map(|over| self.over(over, span)).transpose()?;
        Ok(Some(Selection {
            measure,
            policy: part
                .policy
                .clone()
                .ok_or_else(|| error("expected policy, for a measure"))?,
            point: self.point(&part.point, span)?,
            over,
            change: part.change,
            pick: part.pick,
        }))
    }

    fn over(&self, over: &OverPart, span: &Range<usize>) -> Result<Over, InputError> {
        let policies = over.policy.iter().flat_map(listed);
        let name = |value: &toml::Value| match value.as_str() {
            Some(name) => Ok(name.to_string()),
            None => Err(self.error(span.clone(), "over.policy: expected a name, or a list of names")),
        };
        Ok(Over {
            policies: policies.map(name).collect::<Result<_, _>>()?,
            point: self.point(&over.point, span)?,
        })
    }

    fn point(&self, point: &BTreeMap<String, toml::Value>, span: &Range<usize>) -> Result<Point, InputError> {
        let value = |name: &str, value: &toml::Value| match value {
            toml::Value::Integer(whole) => Ok(PointValue::Number(*whole as f64)),
            toml::Value::Float(real) => Ok(PointValue::Number(*real)),
            toml::Value::String(text) => Ok(PointValue::Text(text.clone())),
            _ => Err(self.error(
                span.clone(),
                format!("point.{name}: expected a number, text, or a list of them"),
            )),
        };
        let values = |(name, given): (&String, &toml::Value)| {
            let values: Result<_, InputError> = listed(given).iter().map(|one| value(name, one)).collect();
            Ok((name.clone(), values?))
        };
        point.iter().map(values).collect()
    }
}

fn listed(value: &toml::Value) -> &[toml::Value] {
    match value {
        toml::Value::Array(values) => values,
        one => std::slice::from_ref(one),
    }
}

fn expected(part: &Part) -> Result<Expected, &'static str> {
    let (at_least, at_most) = (part.at_least, part.at_most);
    let expected = match (part.value, at_least.or(at_most), &part.class) {
        (Some(value), None, None) => Expected::Value(value),
        (None, Some(_), None) => Expected::Within { at_least, at_most },
        (None, None, Some(class)) => Expected::Class(class.clone()),
        _ => return Err("expected one of value, at_least and at_most, and class"),
    };
    let numbers = [part.value, at_least, at_most];
    match numbers.iter().flatten().all(|number| number.is_finite()) {
        true => Ok(expected),
        false => Err("expected a finite number"),
    }
}

/// The unit of the measure, unless another one is given.
fn unit(part: &Part, selection: Option<&Selection>) -> Result<Unit, &'static str> {
    let known: &[Unit] = match (selection, part.change) {
        (_, Some(_)) => &[Unit::Percent],
        (None, None) => return Ok(part.unit.unwrap_or(Unit::One)),
        (Some(selection), None) if selection.over.is_some() => &[Unit::One],
        (Some(selection), None) => match selection.measure {
            Measure::Time | Measure::ApplicationTime | Measure::WorstApplicationTime => &[Unit::Seconds],
            Measure::Power => &[Unit::Watts],
            Measure::Energy => &[Unit::Joules, Unit::WattHours],
            Measure::Edp => &[Unit::JouleSeconds],
            Measure::ApplicationSpeed | Measure::Class | Measure::None => &[Unit::One],
        },
    };
    let unit = part.unit.unwrap_or(known[0]);
    known
        .contains(&unit)
        .then_some(unit)
        .ok_or("unit: expected that of the measure, or none")
}
