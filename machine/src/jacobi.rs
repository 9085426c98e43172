// SPDX-License-Identifier: MIT OR Apache-2.0
//! Singular value decomposition of small dense matrices by one-sided Jacobi rotations.
//!
//! Rotations of pairs of columns make all columns of A V orthogonal; their lengths are the singular values, and V is
//! orthogonal whatever the rank of A. (Golub & Van Loan, Matrix Computations, section "One-sided Jacobi".)

/// Singular values below this share of the largest count as 0.
const RANK_TOLERANCE: f64 = 1e-9;
/// Columns count as orthogonal when the cosine between them is below this.
const ORTHOGONAL: f64 = 1e-14;
/// A generous limit: convergence is quadratic, and ten sweeps are already many.
const MAX_SWEEPS: usize = 100;

/// A dense matrix, column by column.
pub struct Matrix {
    nrows: usize,
    columns: Vec<Vec<f64>>,
}

impl Matrix {
    pub fn from_fn(nrows: usize, ncols: usize, entry: impl Fn(usize, usize) -> f64) -> Self {
        let column = |j| (0..nrows).map(|i| entry(i, j)).collect();
        Self {
            nrows,
            columns: (0..ncols).map(column).collect(),
        }
    }

    pub fn nrows(&self) -> usize {
        self.nrows
    }

    pub fn ncols(&self) -> usize {
        self.columns.len()
    }

    /// Matrix times vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; self.nrows];
        for (column, factor) in self.columns.iter().zip(vector) {
            add_scaled(&mut product, column, *factor);
        }
        product
    }

    /// Matrix times matrix.
    pub fn product(&self, right: &Matrix) -> Matrix {
        Matrix {
            nrows: self.nrows,
            columns: right.columns.iter().map(|column| self.times(column)).collect(),
        }
    }

    /// Largest magnitude in a row, 0 without columns.
    pub fn largest_in_row(&self, row: usize) -> f64 {
        self.columns
            .iter()
            .fold(0.0, |most, column| column[row].abs().max(most))
    }
}

/// A = U S V^T, held as the columns of U S and of V, largest singular value first.
pub struct Decomposition {
    scaled_left: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
    rank: usize,
}

impl Decomposition {
    /// `None` when the rotations do not converge (entries that are not finite).
    pub fn of(matrix: &Matrix) -> Option<Self> {
        let n = matrix.ncols();
        let mut scaled_left = matrix.columns.clone();
        let mut right = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j))).columns;
        // A column shorter than this is rounding error, and its direction means nothing.
        let size = scaled_left.iter().map(|c| dot(c, c)).sum::<f64>().sqrt();
        let negligible = (size * f64::EPSILON).powi(2);
        let converged = (0..MAX_SWEEPS).any(|_| !sweep(&mut scaled_left, &mut right, negligible));
        if !converged || !size.is_finite() {
            return None;
        }
        let mut pairs: Vec<_> = scaled_left.into_iter().zip(right).collect();
        pairs.sort_by(|a, b| dot(&b.0, &b.0).total_cmp(&dot(&a.0, &a.0)));
        let (scaled_left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let lengths: Vec<f64> = scaled_left.iter().map(|c| dot(c, c).sqrt()).collect();
        let least = lengths.first().map_or(0.0, |longest| longest * RANK_TOLERANCE);
        let rank = lengths.iter().filter(|&&length| length > least).count();
        Some(Self {
            scaled_left,
            right,
            rank,
        })
    }

    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Shortest solution of least squares: sum over singular values of v (u . b) / s.
    pub fn solve(&self, right_side: &[f64]) -> Vec<f64> {
        let mut solution = vec![0.0; self.right.len()];
        for (left, right) in self.scaled_left.iter().zip(&self.right).take(self.rank) {
            add_scaled(&mut solution, right, dot(left, right_side) / dot(left, left));
        }
        solution
    }

    /// Orthonormal columns that the matrix maps to 0.
    pub fn null_space(&self) -> Matrix {
        Matrix {
            nrows: self.right.len(),
            columns: self.right[self.rank..].to_vec(),
        }
    }
}

pub fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

fn add_scaled(sum: &mut [f64], vector: &[f64], factor: f64) {
    sum.iter_mut().zip(vector).for_each(|(s, v)| *s += factor * v);
}

/// Rotates every pair of columns that is not orthogonal yet; false when there was none.
fn sweep(left: &mut [Vec<f64>], right: &mut [Vec<f64>], negligible: f64) -> bool {
    let mut rotated = false;
    for p in 0..left.len() {
        for q in p + 1..left.len() {
            let (pp, qq) = (dot(&left[p], &left[p]), dot(&left[q], &left[q]));
            let pq = dot(&left[p], &left[q]);
            if pp <= negligible || qq <= negligible || pq.abs() <= ORTHOGONAL * (pp * qq).sqrt() {
                continue;
            }
            let (cosine, sine) = rotation(pp, qq, pq);
            rotate(left, p, q, cosine, sine);
            rotate(right, p, q, cosine, sine);
            rotated = true;
        }
    }
    rotated
}

/// Cosine and sine of the smaller angle that makes two columns orthogonal.
fn rotation(pp: f64, qq: f64, pq: f64) -> (f64, f64) {
    let zeta = (qq - pp) / (2.0 * pq);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    (cosine, cosine * tangent)
}

/// Rotates columns `p` < `q`.
fn rotate(columns: &mut [Vec<f64>], p: usize, q: usize, cosine: f64, sine: f64) {
    let (head, tail) = columns.split_at_mut(q);
    for (a, b) in head[p].iter_mut().zip(&mut tail[0]) {
        (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed matrix without structure.
    fn scrambled(nrows: usize, ncols: usize) -> Matrix {
        Matrix::from_fn(nrows, ncols, |i, j| ((i * 7919 + j * 104_729 + 13) % 101) as f64 - 50.0)
    }

    #[test]
    fn singular_values_by_hand() {
        // [[3, 0], [4, 5]] has singular values 3 sqrt 5 and sqrt 5.
        let matrix = Matrix::from_fn(2, 2, |i, j| [[3.0, 0.0], [4.0, 5.0]][i][j]);
        let decomposition = Decomposition::of(&matrix).unwrap();
        let lengths: Vec<f64> = decomposition.scaled_left.iter().map(|c| dot(c, c).sqrt()).collect();
        assert!((lengths[0] - 45.0_f64.sqrt()).abs() < 1e-12, "{lengths:?}");
        assert!((lengths[1] - 5.0_f64.sqrt()).abs() < 1e-12, "{lengths:?}");
    }

    #[test]
    fn right_vectors_are_orthonormal_and_null_space_is_mapped_to_nothing() {
        for (nrows, ncols) in [(9, 4), (4, 9), (1, 6), (0, 3), (64, 64)] {
            let matrix = scrambled(nrows, ncols);
            let decomposition = Decomposition::of(&matrix).unwrap();
            for (i, v) in decomposition.right.iter().enumerate() {
                for (j, w) in decomposition.right.iter().enumerate() {
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot(v, w) - expected).abs() < 1e-12, "{nrows} x {ncols}");
                }
            }
            let null = decomposition.null_space();
            assert_eq!(null.ncols(), ncols - decomposition.rank());
            assert!(decomposition.rank() <= nrows);
            let mapped = matrix.product(&null);
            assert!((0..nrows).all(|i| mapped.largest_in_row(i) < 1e-6), "{nrows} x {ncols}");
        }
    }

    #[test]
    fn a_square_system_is_solved() {
        let matrix = Matrix::from_fn(3, 3, |i, j| [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]][i][j]);
        let solution = Decomposition::of(&matrix)
            .unwrap()
            .solve(&matrix.times(&[1.0, -2.0, 3.0]));
        for (found, expected) in solution.iter().zip([1.0, -2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{solution:?}");
        }
    }

    #[test]
    fn what_is_not_finite_has_no_decomposition() {
        assert!(Decomposition::of(&Matrix::from_fn(2, 2, |_, _| f64::NAN)).is_none());
    }
}
