// SPDX-License-Identifier: MIT OR Apache-2.0
//! From rows of watts to the power model, by least squares.

use super::{Plan, Row, Setting};
use crate::solve::{least_squares, Problem, SolveError};

/// The fitted watts, and the prediction for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Every core idle at its lowest point.
    pub base_w: f64,
    /// By kind and point.
    pub points: Vec<Vec<PointWatts>>,
    /// By row.
    pub model_w: Vec<f64>,
    /// Root mean square of measured minus model.
    pub rms_w: f64,
    /// Parameters that came out negative and are set to 0.
    below_zero: Vec<Parameter>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointWatts {
    /// Of an idle core, above an idle core at the lowest point.
    pub idle_w: f64,
    /// Of a busy core, above an idle one.
    pub busy_w: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Base,
    Idle { kind: usize, point: usize },
    Busy { kind: usize, point: usize },
}

/// Values within this of 0 are rounding errors, not negative.
const ROUNDING_W: f64 = 1e-9;

impl Fitted {
    /// `None` if the rows have no watts, or if no core could be measured.
    pub fn of(plan: &Plan, rows: &[Row]) -> Option<Self> {
        let measured = rows.iter().map(|row| Some((row.setting, row.watts?)));
        let measured: Vec<(Setting, f64)> = measured.collect::<Option<_>>()?;
        let parameters = parameters(plan);
        let mut problem = Problem::new(parameters.len());
        for (setting, watts) in &measured {
            problem.observe(&coefficients(plan, &parameters, *setting), *watts, 1.0);
        }
        let (solution, below_zero) = from_zero_up(&mut problem, parameters.len()).ok()?;
        let find = |wanted: Parameter| {
            let index = parameters.iter().position(|parameter| *parameter == wanted);
            index.map_or(0.0, |index| solution[index].max(0.0))
        };
        let points = plan.kinds.iter().enumerate().map(|(kind, about)| {
            let of_point = |point| PointWatts {
                idle_w: find(Parameter::Idle { kind, point }),
                busy_w: find(Parameter::Busy { kind, point }),
            };
            (0..about.khz.len()).map(of_point).collect()
        });
        Some(Self {
            base_w: find(Parameter::Base),
            points: points.collect(),
            model_w: (0..measured.len()).map(|row| problem.predict(row, &solution)).collect(),
            rms_w: problem.rms(&solution),
            below_zero: below_zero.into_iter().map(|index| parameters[index]).collect(),
        })
    }

    /// For the notes of a machine file.
    pub(super) fn note(&self, plan: &Plan) -> String {
        let points: usize = plan.kinds.iter().map(|kind| kind.khz.len()).sum();
        format!(
            "Watts are fitted to {} stretches ({points} of kinds and operating points): rms residual {:.3} W. base_w is the machine with every core idle at its lowest \
             point, in the idle states that the kernel chose; idle_w is what an idle core draws more at a higher point; domain_w is 0, as one meter cannot \
             tell it from idle cores.",
            self.model_w.len(),
            self.rms_w
        )
    }

    /// A sentence for each parameter that came out negative.
    pub fn below_zero(&self, plan: &Plan) -> Vec<String> {
        let mhz = |kind: usize, point: usize| plan.kinds[kind].khz[point] as f64 / 1e3;
        let sentence = |parameter: &Parameter| match *parameter {
            Parameter::Base => "The base came out below 0 W and is taken as 0.".to_string(),
            Parameter::Idle { kind, point } => format!(
                "An idle core of {} came out cheaper at {} MHz than at its lowest point and is taken as equal.",
                plan.kinds[kind].name,
                mhz(kind, point)
            ),
            Parameter::Busy { kind, point } => format!(
                "A busy core of {} came out cheaper at {} MHz than an idle one and is taken as equal.",
                plan.kinds[kind].name,
                mhz(kind, point)
            ),
        };
        self.below_zero.iter().map(sentence).collect()
    }
}

fn parameters(plan: &Plan) -> Vec<Parameter> {
    let mut parameters = vec![Parameter::Base];
    for (kind, about) in plan
        .kinds
        .iter()
        .enumerate()
        .filter(|(_, about)| !about.cores.is_empty())
    {
        for point in 0..about.khz.len() {
            // An idle core at the lowest point is part of the base.
            parameters.extend((point > 0).then_some(Parameter::Idle { kind, point }));
            parameters.push(Parameter::Busy { kind, point });
        }
    }
    parameters
}

fn coefficients(plan: &Plan, parameters: &[Parameter], at: Setting) -> Vec<f64> {
    let here = |kind, point| (kind, point) == (at.kind, at.point);
    let coefficient = |parameter: &Parameter| match *parameter {
        Parameter::Base => 1.0,
        Parameter::Idle { kind, point } if here(kind, point) => plan.kinds[kind].cores.len() as f64,
        Parameter::Busy { kind, point } if here(kind, point) => at.busy as f64,
        Parameter::Idle { .. } | Parameter::Busy { .. } => 0.0,
    };
    parameters.iter().map(coefficient).collect()
}

/// The solution without negative values, and the parameters that are held at 0 for it. The most negative one is held first, until none is
/// negative.
fn from_zero_up(problem: &mut Problem, parameters: usize) -> Result<(Vec<f64>, Vec<usize>), SolveError> {
    let mut held = Vec::new();
    loop {
        let solution = least_squares(problem)?;
        let free = (0..parameters).filter(|index| !held.contains(index));
        let lowest = free.min_by(|a, b| solution[*a].total_cmp(&solution[*b]));
        match lowest.filter(|&index| solution[index] < -ROUNDING_W) {
            None => return Ok((solution, held)),
            Some(index) => {
                let unit: Vec<f64> = (0..parameters).map(|at| f64::from(u8::from(at == index))).collect();
                problem.constrain(&unit, 0.0);
                held.push(index);
            }
        }
    }
}
