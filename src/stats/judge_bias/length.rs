//! Length bias: the slope of a judge's error on log length.

use std::collections::HashMap;

use crate::stats::special::t_two_sided;
use crate::stats::sum::{mean, sum};
use crate::stats::undefined::{Defined, Undefined};

/// The slope of judge − human on log length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthBias {
    /// Change of the judge's error per unit of log length.
    pub slope: f64,
    /// CR2 standard error, clustered by task.
    pub se: f64,
    /// Satterthwaite degrees of freedom.
    pub df: f64,
    /// Two-sided p of no slope.
    pub p: f64,
    /// Number of tasks.
    pub tasks: usize,
}

/// Slope of the judge's error on log length with CR2 errors by task, method id `length_bias_slope`.
///
/// `error` is judge − human, so true quality that comes with length is not counted as bias. Under
/// about ten tasks the degrees of freedom fall quickly; read them.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`, `too_few_units` under three tasks, `constant_length`,
/// `not_estimable` if the variance is 0 (the line fits every item, or one task carries all length),
/// `out_of_range` if lengths, slope or standard error are beyond floating point.
///
/// Source: Bell & McCaffrey 2002; Pustejovsky & Tipton 2018; Dubois et al. 2024.
pub fn length_bias_slope(error: &[f64], log_length: &[f64], task: &[u32]) -> Defined<LengthBias> {
    if error.len() != log_length.len() || error.len() != task.len() {
        return Err(Undefined("unequal_lengths"));
    }
    if error.iter().chain(log_length).any(|v| !v.is_finite()) {
        return Err(Undefined("not_finite"));
    }
    let tasks = tasks_of(task);
    if tasks.len() < 3 {
        return Err(Undefined("too_few_units"));
    }
    let unit = unit_of(error);
    let scaled: Vec<f64> = error.iter().map(|e| e / unit).collect();
    let fit = Fit::new(&scaled, log_length)?;
    let parts: Vec<Part> = tasks.iter().map(|members| fit.part(members)).collect();
    let variance = sum(parts.iter().map(|part| part.score * part.score));
    let df = satterthwaite(&parts);
    // The line is fitted in units of its own length scale, so the variance is on that scale too.
    let (slope, se) = (fit.slope / fit.scale, variance.sqrt() / fit.scale);
    let negligible = variance <= (1e-14 * fit.residual_scale).powi(2);
    if negligible || !(df.is_finite() && df > 0.0) {
        return Err(Undefined("not_estimable"));
    }
    let p = t_two_sided(slope / se, df);
    let (slope, se) = (slope * unit, se * unit);
    if !(slope.is_finite() && se.is_finite() && p.is_finite()) {
        return Err(Undefined("out_of_range"));
    }
    Ok(LengthBias {
        slope,
        se,
        df,
        p,
        tasks: tasks.len(),
    })
}

/// The power of two near the largest error. Errors in this unit have squares that neither overflow nor
/// vanish, and dividing by it costs no digits.
fn unit_of(error: &[f64]) -> f64 {
    let largest = error.iter().fold(0.0f64, |most, e| most.max(e.abs()));
    match largest > 0.0 {
        true => 2f64.powi(largest.log2().floor().max(-1000.0) as i32),
        false => 1.0,
    }
}

/// Item numbers of each task.
fn tasks_of(task: &[u32]) -> Vec<Vec<usize>> {
    let mut index: HashMap<u32, usize> = HashMap::new();
    let mut tasks: Vec<Vec<usize>> = vec![];
    for (item, &name) in task.iter().enumerate() {
        let next = tasks.len();
        let position = *index.entry(name).or_insert(next);
        if position == next {
            tasks.push(vec![]);
        }
        tasks[position].push(item);
    }
    tasks
}

/// Least squares in an orthonormal basis of intercept and length, where X'X is the identity.
struct Fit {
    basis: Vec<[f64; 2]>,
    residuals: Vec<f64>,
    slope: f64,
    /// Root of the summed squared lengths around their mean.
    scale: f64,
    /// Root of the summed squared errors around their mean.
    residual_scale: f64,
}

/// What one task contributes.
struct Part {
    /// Adjusted score of the slope.
    score: f64,
    /// Squared norm of the adjusted direction.
    norm: f64,
    /// The adjusted direction in the basis.
    direction: [f64; 2],
}

impl Fit {
    fn new(error: &[f64], length: &[f64]) -> Defined<Self> {
        let too_few = Undefined("too_few_units");
        let (centre, middle) = (mean(length).ok_or(too_few)?, mean(error).ok_or(too_few)?);
        let squares = |values: &[f64], c: f64| sum(values.iter().map(|v| (v - c).powi(2))).sqrt();
        let scale = squares(length, centre);
        if !scale.is_finite() {
            return Err(Undefined("out_of_range"));
        }
        if scale <= 1e-12 * centre.abs().max(1.0) {
            return Err(Undefined("constant_length"));
        }
        let intercept = 1.0 / (length.len() as f64).sqrt();
        let basis: Vec<[f64; 2]> = length
            .iter()
            .map(|v| [intercept, (v - centre) / scale])
            .collect();
        let slope = sum(basis.iter().zip(error).map(|(b, e)| b[1] * (e - middle)));
        let residuals = basis
            .iter()
            .zip(error)
            .map(|(b, e)| e - middle - slope * b[1])
            .collect();
        Ok(Self {
            basis,
            residuals,
            slope,
            scale,
            residual_scale: squares(error, middle),
        })
    }

    /// With H the hat matrix of the task, (I − H)^{-1/2} Z = Z V diag((1 − λ)^{-1/2}) V', where V and
    /// λ diagonalise the two-by-two Z'Z.
    fn part(&self, members: &[usize]) -> Part {
        let mut gram = [[0.0; 2]; 2];
        let mut moment = [0.0; 2];
        for &item in members {
            let z = self.basis[item];
            for ((row, sum), a) in gram.iter_mut().zip(&mut moment).zip(z) {
                *sum += a * self.residuals[item];
                row.iter_mut().zip(z).for_each(|(cell, b)| *cell += a * b);
            }
        }
        let mut adjusted = [0.0; 2];
        for (value, vector) in eigen(gram) {
            // A task that alone decides a direction has no residual there: pseudo-inverse.
            let left = 1.0 - value;
            let stretch = if left > 1e-10 { 1.0 / left.sqrt() } else { 0.0 };
            (0..2).for_each(|r| adjusted[r] += stretch * vector[1] * vector[r]);
        }
        let direction = gram.map(|row| dot(row, adjusted));
        Part {
            score: dot(adjusted, moment),
            norm: dot(adjusted, direction),
            direction,
        }
    }
}

/// Degrees of freedom of Σ score² when errors are independent with one variance.
fn satterthwaite(parts: &[Part]) -> f64 {
    let own = |part: &Part| dot(part.direction, part.direction);
    let trace = sum(parts.iter().map(|part| part.norm - own(part)));
    let mut gram = [[0.0; 2]; 2];
    for part in parts {
        for (row, a) in gram.iter_mut().zip(part.direction) {
            row.iter_mut()
                .zip(part.direction)
                .for_each(|(cell, b)| *cell += a * b);
        }
    }
    let shared: f64 = gram.iter().flatten().map(|cell| cell * cell).sum();
    let diagonal = parts
        .iter()
        .map(|part| part.norm * (part.norm - 2.0 * own(part)));
    trace * trace / (sum(diagonal) + shared)
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

/// Eigenvalues and unit eigenvectors of a symmetric two-by-two matrix (one Jacobi rotation).
fn eigen(m: [[f64; 2]; 2]) -> [(f64, [f64; 2]); 2] {
    let angle = 0.5 * (2.0 * m[0][1]).atan2(m[0][0] - m[1][1]);
    let (s, c) = angle.sin_cos();
    let value = |v: [f64; 2]| dot(v, m.map(|row| dot(row, v)));
    [[c, s], [-s, c]].map(|v| (value(v), v))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let m = [[0.3, -0.1], [-0.1, 0.05]];
        let pairs = eigen(m);
        for r in 0..2 {
            for c in 0..2 {
                let back: f64 = pairs.iter().map(|(l, v)| l * v[r] * v[c]).sum();
                assert!((back - m[r][c]).abs() < 1e-15);
            }
        }
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let code = |e: &[f64], l: &[f64], t: &[u32]| length_bias_slope(e, l, t).unwrap_err().code();
        assert_eq!(code(&[0.1, 0.2], &[1.0, 2.0], &[1, 2]), "too_few_units");
        assert_eq!(
            code(&[0.1, 0.2, 0.3], &[2.0; 3], &[1, 2, 3]),
            "constant_length"
        );
        assert_eq!(
            code(&[0.1, 0.2, 0.3, 0.4], &[1.0, 2.0, 3.0, 4.0], &[1, 2, 3, 4]),
            "not_estimable"
        );
        assert_eq!(code(&[0.1], &[1.0, 2.0], &[1]), "unequal_lengths");
    }

    #[test]
    fn a_huge_error_keeps_its_p() {
        let length = [4.1, 3.9, 5.0, 5.6, 3.5, 4.0, 5.2, 4.6];
        let task = [1, 1, 2, 2, 3, 3, 4, 4];
        let with = |huge: f64, length: &[f64]| {
            let error = [huge, 0.0, 0.2, 0.3, -0.1, 0.0, 0.25, 0.1];
            length_bias_slope(&error, length, &task)
        };
        let (large, huge) = (with(1e15, &length).unwrap(), with(1e200, &length).unwrap());
        assert!((large.p - huge.p).abs() < 1e-9 && huge.p > 0.01, "{huge:?}");
        assert!((huge.se / large.se / 1e185 - 1.0).abs() < 1e-9);
        let far = length.map(|l| l * 1e200);
        assert_eq!(with(0.1, &far), Err(Undefined("out_of_range")));
        let near = length.map(|l| l * 1e-3);
        assert_eq!(with(1.7e308, &near), Err(Undefined("out_of_range")));
    }

    #[test]
    fn the_unit_of_length_only_rescales() {
        let error = [0.1, 0.0, 0.2, 0.3, -0.1, 0.0, 0.25, 0.1];
        let length = [4.1, 3.9, 5.0, 5.6, 3.5, 4.0, 5.2, 4.6];
        let task = [1, 1, 2, 2, 3, 3, 4, 4];
        let plain = length_bias_slope(&error, &length, &task).unwrap();
        let wide: Vec<f64> = length.iter().map(|v| v * 10.0 + 500.0).collect();
        let wide = length_bias_slope(&error, &wide, &task).unwrap();
        assert!((plain.slope / wide.slope - 10.0).abs() < 1e-9);
        assert!((plain.df - wide.df).abs() < 1e-9 && (plain.p - wide.p).abs() < 1e-12);
    }
}
