// SPDX-License-Identifier: MIT OR Apache-2.0
//! Least squares under linear constraints, by the null-space method.
//!
//! Minimise |W^(1/2) (A x - b)|^2 subject to C x = d. With x0 = C⁺ d and N a basis of the null space of C, every
//! allowed x is x0 + N z, and z is an unconstrained least-squares problem. (Golub & Van Loan, Matrix Computations,
//! section "Constrained least squares".)

use crate::jacobi::{dot, Decomposition, Matrix};

pub struct Problem {
    parameters: usize,
    /// Coefficients, right-hand side, weight.
    rows: Vec<(Vec<f64>, f64, f64)>,
    constraints: Vec<(Vec<f64>, f64)>,
}

#[derive(Debug, PartialEq)]
pub enum SolveError {
    /// Parameters (by index) that could change together without affecting any row or constraint.
    Undetermined(Vec<usize>),
    Contradiction,
    NoConvergence,
}

impl Problem {
    pub fn new(parameters: usize) -> Self {
        Self {
            parameters,
            rows: Vec::new(),
            constraints: Vec::new(),
        }
    }

    pub fn observe(&mut self, coefficients: &[f64], right: f64, weight: f64) {
        self.rows.push((coefficients.to_vec(), right, weight));
    }

    pub fn constrain(&mut self, coefficients: &[f64], right: f64) {
        self.constraints.push((coefficients.to_vec(), right));
    }

    /// The solution's prediction for a row.
    pub fn predict(&self, row: usize, solution: &[f64]) -> f64 {
        dot(&self.rows[row].0, solution)
    }

    /// Root of the weighted mean square residual.
    pub fn rms(&self, solution: &[f64]) -> f64 {
        let weights: f64 = self.rows.iter().map(|(_, _, weight)| weight).sum();
        let squares = self.rows.iter().enumerate().map(|(i, (_, right, weight))| {
            let residual = right - self.predict(i, solution);
            weight * residual * residual
        });
        if weights > 0.0 {
            (squares.sum::<f64>() / weights).sqrt()
        } else {
            0.0
        }
    }

    /// A and b, each row times the root of its weight.
    fn observations(&self) -> (Matrix, Vec<f64>) {
        let a = Matrix::from_fn(self.rows.len(), self.parameters, |i, j| {
            self.rows[i].0[j] * self.rows[i].2.sqrt()
        });
        let b = self.rows.iter().map(|(_, right, weight)| right * weight.sqrt());
        (a, b.collect())
    }

    /// C and d.
    fn fixed(&self) -> (Matrix, Vec<f64>) {
        let c = Matrix::from_fn(self.constraints.len(), self.parameters, |i, j| self.constraints[i].0[j]);
        (c, self.constraints.iter().map(|(_, right)| *right).collect())
    }
}

/// The one solution of the problem.
pub fn least_squares(problem: &Problem) -> Result<Vec<f64>, SolveError> {
    let (a, b) = problem.observations();
    let (c, d) = problem.fixed();
    let constraints = decompose(&c)?;
    let start = constraints.solve(&d);
    let miss = largest(&difference(&d, &c.times(&start)));
    if miss > 1e-6 * (1.0 + largest(&d)) {
        return Err(SolveError::Contradiction);
    }
    let free = constraints.null_space();
    let reduced = decompose(&a.product(&free))?;
    if reduced.rank() < free.ncols() {
        return Err(SolveError::Undetermined(named(&free.product(&reduced.null_space()))));
    }
    let z = reduced.solve(&difference(&b, &a.times(&start)));
    let along_free = free.times(&z);
    Ok(start.iter().zip(&along_free).map(|(x0, step)| x0 + step).collect())
}

fn decompose(matrix: &Matrix) -> Result<Decomposition, SolveError> {
    Decomposition::of(matrix).ok_or(SolveError::NoConvergence)
}

/// Parameters that take part in any of the directions (columns).
fn named(directions: &Matrix) -> Vec<usize> {
    let shares: Vec<f64> = (0..directions.nrows()).map(|i| directions.largest_in_row(i)).collect();
    let least = 1e-6 * largest(&shares);
    (0..shares.len()).filter(|&i| shares[i] > least).collect()
}

fn difference(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(l, r)| l - r).collect()
}

/// Largest magnitude, 0 for none.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_rows_give_the_parameters_back() {
        let mut problem = Problem::new(2);
        for n in [0.0, 1.0, 2.0, 4.0] {
            problem.observe(&[1.0, n], 100.0 + 7.5 * n, 1.0);
        }
        let solution = least_squares(&problem).unwrap();
        assert!(
            (solution[0] - 100.0).abs() < 1e-9 && (solution[1] - 7.5).abs() < 1e-9,
            "{solution:?}"
        );
        assert!(problem.rms(&solution) < 1e-9);
    }

    #[test]
    fn line_through_noise_by_hand() {
        // y = 1, 2, 4 at x = 0, 1, 2: slope 3/2, intercept 5/6.
        let mut problem = Problem::new(2);
        for (x, y) in [(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)] {
            problem.observe(&[1.0, x], y, 1.0);
        }
        let solution = least_squares(&problem).unwrap();
        assert!(
            (solution[0] - 5.0 / 6.0).abs() < 1e-9 && (solution[1] - 1.5).abs() < 1e-9,
            "{solution:?}"
        );
    }

    #[test]
    fn weight_counts_like_repetition() {
        let (mut weighted, mut repeated) = (Problem::new(1), Problem::new(1));
        weighted.observe(&[1.0], 1.0, 3.0);
        weighted.observe(&[1.0], 5.0, 1.0);
        for value in [1.0, 1.0, 1.0, 5.0] {
            repeated.observe(&[1.0], value, 1.0);
        }
        let one = least_squares(&weighted).unwrap();
        assert!((one[0] - 2.0).abs() < 1e-12);
        assert!((one[0] - least_squares(&repeated).unwrap()[0]).abs() < 1e-12);
    }

    #[test]
    fn constraints_hold_exactly_and_separate_what_rows_cannot() {
        let mut problem = Problem::new(2);
        problem.observe(&[1.0, 1.0], 10.0, 1.0);
        assert_eq!(least_squares(&problem), Err(SolveError::Undetermined(vec![0, 1])));
        problem.constrain(&[1.0, -4.0], 0.0);
        let solution = least_squares(&problem).unwrap();
        assert!(
            (solution[0] - 8.0).abs() < 1e-9 && (solution[1] - 2.0).abs() < 1e-9,
            "{solution:?}"
        );
    }

    #[test]
    fn only_the_parameters_that_mix_are_named() {
        let mut problem = Problem::new(4);
        problem.observe(&[1.0, 0.0, 0.0, 0.0], 10.0, 1.0);
        problem.observe(&[1.0, 1.0, 2.0, 0.0], 20.0, 1.0);
        problem.observe(&[0.0, 0.0, 0.0, 1.0], 5.0, 1.0);
        assert_eq!(least_squares(&problem), Err(SolveError::Undetermined(vec![1, 2])));
    }

    #[test]
    fn contradicting_constraints_are_refused() {
        let mut problem = Problem::new(1);
        problem.constrain(&[1.0], 1.0);
        problem.constrain(&[1.0], 2.0);
        assert_eq!(least_squares(&problem), Err(SolveError::Contradiction));
    }

    #[test]
    fn constraints_alone_may_determine_everything() {
        let mut problem = Problem::new(1);
        problem.constrain(&[2.0], 6.0);
        problem.observe(&[1.0], 4.0, 1.0);
        let solution = least_squares(&problem).unwrap();
        assert!((solution[0] - 3.0).abs() < 1e-9);
        assert!((problem.rms(&solution) - 1.0).abs() < 1e-9);
    }
}
