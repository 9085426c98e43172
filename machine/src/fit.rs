// SPDX-License-Identifier: MIT OR Apache-2.0
//! Power parameters from measurements: linear least squares over rows of (state, watts).
//!
//! The model is linear in its parameters: watts = sum over parameters of coefficient * parameter. Rows are fitted
//! by weighted least squares; fixed values and equations hold exactly.

use crate::check::Source;
use crate::input;
use crate::solve::{least_squares, Problem, SolveError};
use crate::InputError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

const MAX_PARAMETERS: usize = 64;
const MAX_ROWS: usize = 1024;
const MAX_COEFFICIENT: f64 = 1e6;

/// Outcome of a fit. `Display` prints it as aligned tables, in watts.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub title: String,
    pub parameters: Vec<FittedParameter>,
    pub rows: Vec<FittedRow>,
    /// The reason for each equation.
    pub equations: Vec<String>,
    /// Rows that were left out, with the reason.
    pub excluded: Vec<String>,
    /// Values for keys of the machine file, from the parameters.
    pub values: Vec<FittedValue>,
    /// Root of the weighted mean square of the residuals, W.
    pub rms_w: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FittedParameter {
    pub name: String,
    pub meaning: String,
    pub watts: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FittedRow {
    pub label: String,
    pub measured_w: f64,
    pub predicted_w: f64,
}

/// A key of the machine file (dotted, as for `--set`) and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedValue {
    pub key: String,
    pub watts: f64,
}

impl FittedRow {
    /// Measured less predicted, W.
    pub fn residual_w(&self) -> f64 {
        self.measured_w - self.predicted_w
    }
}

/// Coefficients by name of parameter.
type Terms = BTreeMap<String, Spanned<f64>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FitFile {
    title: Spanned<String>,
    /// Name of each parameter, and what it is.
    parameters: Spanned<BTreeMap<String, Spanned<String>>>,
    /// Parameters that are known, W.
    #[serde(default)]
    fixed: BTreeMap<String, Spanned<f64>>,
    #[serde(default)]
    equation: Vec<EquationFile>,
    row: Spanned<Vec<RowFile>>,
    #[serde(default)]
    excluded: Vec<Spanned<String>>,
    #[serde(default)]
    value: Vec<ValueFile>,
}

/// The sum of the terms equals `equals` W, for the reason given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EquationFile {
    reason: Spanned<String>,
    terms: Spanned<Terms>,
    #[serde(default)]
    equals: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    label: Spanned<String>,
    watts: Spanned<f64>,
    state: Spanned<Terms>,
    weight: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValueFile {
    key: Spanned<String>,
    terms: Spanned<Terms>,
}

/// Fits the parameters of a fit file. `file` is only named in errors.
///
/// # Errors
/// A fault in the file, with line and key; equations that contradict each other; the names of parameters that rows and equations
/// cannot tell apart.
pub fn fit(file: &str, text: &str) -> Result<Fit, InputError> {
    let parsed: FitFile = input::parse(file, text)?;
    let reader = Reader::new(Source { file, text }, &parsed)?;
    let problem = reader.problem(&parsed)?;
    let solution = least_squares(&problem).map_err(|e| reader.explain(&parsed, e))?;
    let fit = reader.fit(&parsed, &problem, &solution)?;
    match fit.parameters.iter().find(|parameter| parameter.watts < -NEGATIVE_W) {
        None => Ok(fit),
        Some(negative) => Err(Source { file, text }.error(
            parsed.parameters.span(),
            format!("parameters.{}", negative.name),
            format!(
                "comes out at {:.3} W, expected watts from 0: rows contradict one another, or a parameter is missing",
                negative.watts
            ),
        )),
    }
}

/// A negative power within rounding is 0.
const NEGATIVE_W: f64 = 1e-9;

/// Reads terms against the list of parameters.
struct Reader<'a> {
    source: Source<'a>,
    names: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn new(source: Source<'a>, file: &'a FitFile) -> Result<Self, InputError> {
        let within = |count: usize, most: usize, place: std::ops::Range<usize>, key: &str| {
            if count == 0 || count > most {
                return Err(source.error(place, key, format!("{count} entries, expected 1 to {most}")));
            }
            Ok(())
        };
        let parameters = file.parameters.get_ref();
        within(parameters.len(), MAX_PARAMETERS, file.parameters.span(), "parameters")?;
        within(file.row.get_ref().len(), MAX_ROWS, file.row.span(), "row")?;
        for (list, key) in [(file.equation.len(), "equation"), (file.value.len(), "value")] {
            within(list.max(1), MAX_ROWS, 0..0, key)?;
        }
        for (name, meaning) in parameters {
            source.line(meaning, &format!("parameters.{name}"), 200)?;
        }
        let names = parameters.keys().map(String::as_str).collect();
        Ok(Self { source, names })
    }

    fn problem(&self, file: &FitFile) -> Result<Problem, InputError> {
        let mut problem = Problem::new(self.names.len());
        for (name, value) in &file.fixed {
            let key = format!("fixed.{name}");
            let watts = self.source.number(value, &key, 0.0..=crate::read::MAX_W, "W")?;
            problem.constrain(&self.unit(name, value.span(), &key)?, watts);
        }
        for (i, equation) in file.equation.iter().enumerate() {
            self.source
                .line(&equation.reason, &format!("equation.{i}.reason"), 500)?;
            let right = match &equation.equals {
                Some(value) => {
                    let range = -MAX_COEFFICIENT..=MAX_COEFFICIENT;
                    self.source.number(value, &format!("equation.{i}.equals"), range, "W")?
                }
                None => 0.0,
            };
            problem.constrain(&self.terms(&equation.terms, &format!("equation.{i}.terms"))?, right);
        }
        for (i, row) in file.row.get_ref().iter().enumerate() {
            self.add_row(&mut problem, i, row)?;
        }
        Ok(problem)
    }

    fn add_row(&self, problem: &mut Problem, i: usize, row: &RowFile) -> Result<(), InputError> {
        let key = |name: &str| format!("row.{i}.{name}");
        self.source.line(&row.label, &key("label"), 60)?;
        let watts = self
            .source
            .number(&row.watts, &key("watts"), 0.0..=crate::read::MAX_W, "W")?;
        let weight = match &row.weight {
            Some(weight) => self.source.positive(weight, &key("weight"), MAX_COEFFICIENT, "")?,
            None => 1.0,
        };
        problem.observe(&self.terms(&row.state, &key("state"))?, watts, weight);
        Ok(())
    }

    fn index(&self, name: &str, place: std::ops::Range<usize>, key: &str) -> Result<usize, InputError> {
        self.names.iter().position(|known| *known == name).ok_or_else(|| {
            let known = self.names.join(", ");
            self.source.error(
                place,
                key,
                format!("unknown parameter '{name}', expected one of: {known}"),
            )
        })
    }

    fn unit(&self, name: &str, place: std::ops::Range<usize>, key: &str) -> Result<Vec<f64>, InputError> {
        let mut coefficients = vec![0.0; self.names.len()];
        coefficients[self.index(name, place, key)?] = 1.0;
        Ok(coefficients)
    }

    fn terms(&self, terms: &Spanned<Terms>, key: &str) -> Result<Vec<f64>, InputError> {
        let mut coefficients = vec![0.0; self.names.len()];
        if terms.get_ref().is_empty() {
            return Err(self
                .source
                .error(terms.span(), key, "empty, expected { parameter = coefficient }"));
        }
        for (name, value) in terms.get_ref() {
            let key = format!("{key}.{name}");
            let range = -MAX_COEFFICIENT..=MAX_COEFFICIENT;
            coefficients[self.index(name, value.span(), &key)?] = self.source.number(value, &key, range, "")?;
        }
        Ok(coefficients)
    }

    fn explain(&self, file: &FitFile, error: SolveError) -> InputError {
        let (place, key, message) = match error {
            SolveError::Undetermined(parameters) => {
                let names: Vec<_> = parameters.iter().map(|&p| self.names[p]).collect();
                let message = format!(
                    "rows and equations cannot tell apart: {}; expected more rows, a fixed value or an equation that ties them",
                    names.join(", ")
                );
                (file.parameters.span(), "parameters", message)
            }
            SolveError::Contradiction => {
                let place = file.equation.last().map_or(0..0, |e| e.reason.span());
                let message = "fixed values and equations contradict each other, expected at least one solution";
                (place, "equation", message.to_string())
            }
            SolveError::NoConvergence => {
                let message = "no solution found, expected coefficients of similar size".to_string();
                (file.row.span(), "row", message)
            }
        };
        self.source.error(place, key, message)
    }

    fn fit(&self, file: &FitFile, problem: &Problem, solution: &[f64]) -> Result<Fit, InputError> {
        let rows = file.row.get_ref().iter().enumerate().map(|(i, row)| FittedRow {
            label: row.label.get_ref().clone(),
            measured_w: *row.watts.get_ref(),
            predicted_w: problem.predict(i, solution),
        });
        Ok(Fit {
            title: self.source.line(&file.title, "title", 200)?.to_string(),
            parameters: self.parameters(file, solution),
            rows: rows.collect(),
            equations: file.equation.iter().map(|e| e.reason.get_ref().clone()).collect(),
            excluded: self.excluded(file)?,
            values: self.values(file, solution)?,
            rms_w: problem.rms(solution),
        })
    }

    fn parameters(&self, file: &FitFile, solution: &[f64]) -> Vec<FittedParameter> {
        let parameters = file.parameters.get_ref().iter().zip(solution);
        parameters
            .map(|((name, meaning), &watts)| FittedParameter {
                name: name.clone(),
                meaning: meaning.get_ref().clone(),
                watts,
            })
            .collect()
    }

    fn excluded(&self, file: &FitFile) -> Result<Vec<String>, InputError> {
        let lines = file.excluded.iter().enumerate();
        lines
            .map(|(i, text)| Ok(self.source.line(text, &format!("excluded.{i}"), 500)?.to_string()))
            .collect()
    }

    fn values(&self, file: &FitFile, solution: &[f64]) -> Result<Vec<FittedValue>, InputError> {
        let values = file.value.iter().enumerate();
        values
            .map(|(i, value)| {
                let terms = self.terms(&value.terms, &format!("value.{i}.terms"))?;
                Ok(FittedValue {
                    key: self
                        .source
                        .line(&value.key, &format!("value.{i}.key"), 100)?
                        .to_string(),
                    watts: terms.iter().zip(solution).map(|(c, p)| c * p).sum(),
                })
            })
            .collect()
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let width = column(self.parameters.iter().map(|p| p.name.as_str()), "parameter");
        writeln!(f, "{:width$}  {:>10}  meaning", "parameter", "W")?;
        for p in &self.parameters {
            writeln!(f, "{:width$}  {:>10.3}  {}", p.name, p.watts, p.meaning)?;
        }
        let width = column(self.rows.iter().map(|r| r.label.as_str()), "row");
        writeln!(
            f,
            "\n{:width$}  {:>10}  {:>11}  {:>10}",
            "row", "measured W", "predicted W", "residual W"
        )?;
        for r in &self.rows {
            let residual = clean_zero(r.residual_w());
            writeln!(
                f,
                "{:width$}  {:>10.1}  {:>11.1}  {residual:>10.1}",
                r.label, r.measured_w, r.predicted_w
            )?;
        }
        writeln!(f, "\nrms residual: {:.2} W over {} rows", self.rms_w, self.rows.len())?;
        list(f, "held exactly:", &self.equations)?;
        list(f, "left out:", &self.excluded)?;
        if !self.values.is_empty() {
            let width = column(self.values.iter().map(|v| v.key.as_str()), "key of the machine file");
            writeln!(f, "\n{:width$}  {:>10}", "key of the machine file", "W")?;
            for v in &self.values {
                writeln!(f, "{:width$}  {:>10.2}", v.key, clean_zero(v.watts))?;
            }
        }
        Ok(())
    }
}

fn list(f: &mut fmt::Formatter<'_>, heading: &str, lines: &[String]) -> fmt::Result {
    if !lines.is_empty() {
        writeln!(f, "\n{heading}")?;
    }
    lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
}

fn column<'a>(cells: impl Iterator<Item = &'a str>, heading: &str) -> usize {
    cells.map(|c| c.chars().count()).max().unwrap_or(0).max(heading.len())
}

/// What would print as `-0.0` prints as `0.0`.
fn clean_zero(value: f64) -> f64 {
    if value.abs() < 5e-4 {
        0.0
    } else {
        value
    }
}
