//! Least squares under linear constraints, by the null-space method.
//!
//! Minimise |W^(1/2) (A x - b)|^2 subject to C x = d. With x0 = C⁺ d and N a basis of the null space of C, every
//! allowed x is x0 + N z, and z is an unconstrained least-squares problem. (Golub & Van Loan, Matrix Computations,
//! section "Constrained least squares".)

use nalgebra::{DMatrix, DVector};

/// Singular values below this share of the largest count as 0.
const RANK_TOLERANCE: f64 = 1e-9;
/// Far more iterations than a well-scaled problem of this size needs.
const MAX_ITERATIONS: usize = 10_000;

pub struct Problem {
    parameters: usize,
    /// Coefficients, right-hand side, weight.
    rows: Vec<(Vec<f64>, f64, f64)>,
    constraints: Vec<(Vec<f64>, f64)>,
}

#[derive(Debug, PartialEq)]
pub enum SolveError {
    /// Parameters (by index) that could change together without any row or constraint noticing.
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

    /// What the solution gives for a row.
    pub fn predict(&self, row: usize, solution: &[f64]) -> f64 {
        self.rows[row].0.iter().zip(solution).map(|(c, x)| c * x).sum()
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

    fn observations(&self) -> (DMatrix<f64>, DVector<f64>) {
        let a = DMatrix::from_fn(self.rows.len(), self.parameters, |i, j| {
            self.rows[i].0[j] * self.rows[i].2.sqrt()
        });
        let b = DVector::from_fn(self.rows.len(), |i, _| self.rows[i].1 * self.rows[i].2.sqrt());
        (a, b)
    }

    fn fixed(&self) -> (DMatrix<f64>, DVector<f64>) {
        let c = DMatrix::from_fn(self.constraints.len(), self.parameters, |i, j| self.constraints[i].0[j]);
        let d = DVector::from_fn(self.constraints.len(), |i, _| self.constraints[i].1);
        (c, d)
    }
}

/// The one solution of the problem.
pub fn least_squares(problem: &Problem) -> Result<Vec<f64>, SolveError> {
    let (a, b) = problem.observations();
    let (c, d) = problem.fixed();
    let constraints = Decomposition::of(&c)?;
    let start = constraints.solve(&d);
    let miss = (&c * &start - &d).amax();
    if c.nrows() > 0 && miss > 1e-6 * (1.0 + d.amax()) {
        return Err(SolveError::Contradiction);
    }
    let free = constraints.null_space();
    let reduced = Decomposition::of(&(&a * &free))?;
    if reduced.rank < free.ncols() {
        return Err(SolveError::Undetermined(named(&(&free * reduced.null_space()))));
    }
    let z = reduced.solve(&(&b - &a * &start));
    Ok((start + free * z).iter().copied().collect())
}

/// Parameters that take part in any of the directions (columns).
fn named(directions: &DMatrix<f64>) -> Vec<usize> {
    let share = |i: usize| directions.row(i).amax();
    let largest = (0..directions.nrows()).map(share).fold(0.0, f64::max);
    (0..directions.nrows()).filter(|&i| share(i) > 1e-6 * largest).collect()
}

/// Singular value decomposition with all right singular vectors.
struct Decomposition {
    u: DMatrix<f64>,
    values: DVector<f64>,
    v_transposed: DMatrix<f64>,
    rank: usize,
    nrows: usize,
}

impl Decomposition {
    fn of(matrix: &DMatrix<f64>) -> Result<Self, SolveError> {
        let (nrows, ncols) = matrix.shape();
        if ncols == 0 {
            let empty = || DMatrix::zeros(0, 0);
            return Ok(Self {
                u: DMatrix::zeros(nrows, 0),
                values: DVector::zeros(0),
                v_transposed: empty(),
                rank: 0,
                nrows,
            });
        }
        // Padding with empty rows makes the thin decomposition hold the whole null space.
        let padded = matrix.clone().resize(nrows.max(ncols), ncols, 0.0);
        let svd = padded
            .try_svd(true, true, f64::EPSILON, MAX_ITERATIONS)
            .ok_or(SolveError::NoConvergence)?;
        let (Some(u), Some(v_transposed)) = (svd.u, svd.v_t) else {
            return Err(SolveError::NoConvergence);
        };
        let values = svd.singular_values;
        let least = values.amax() * RANK_TOLERANCE;
        let rank = values.iter().filter(|&&v| v > least).count();
        Ok(Self {
            u,
            values,
            v_transposed,
            rank,
            nrows,
        })
    }

    /// Shortest solution of least squares. Singular values come sorted, largest first.
    fn solve(&self, right: &DVector<f64>) -> DVector<f64> {
        let mut x = DVector::zeros(self.v_transposed.ncols());
        for k in 0..self.rank {
            let share = self.u.column(k).rows(0, self.nrows).dot(right) / self.values[k];
            x += self.v_transposed.row(k).transpose() * share;
        }
        x
    }

    /// Orthonormal columns that the matrix maps to 0.
    fn null_space(&self) -> DMatrix<f64> {
        let n = self.v_transposed.ncols();
        self.v_transposed.rows(self.rank, n - self.rank).transpose()
    }
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
