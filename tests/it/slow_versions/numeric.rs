//! Numerical integration and bisection, and distributions by them.

use statrs::function::gamma::ln_gamma;

/// The point of \[low, high\] at which a rising function crosses `target`.
pub fn bisect(mut low: f64, mut high: f64, target: f64, rising: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if rising(middle) < target {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

/// Simpson's rule, for a smooth function that does not vanish at the ends.
pub fn simpson(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let steps = 3000;
    let h = (high - low) / f64::from(steps);
    let weight = |i: i32| {
        if i == 0 || i == steps {
            1.0
        } else if i % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    (0..=steps)
        .map(|i| weight(i) * f(low + h * f64::from(i)))
        .sum::<f64>()
        * h
        / 3.0
}

/// Φ by Simpson's rule on the density.
pub fn normal_cdf(x: f64) -> f64 {
    let density = |t: f64| (-0.5 * t * t).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 + x.signum() * simpson(0.0, x.abs(), density)
}

/// z at a two-sided level.
pub fn z(conf: f64) -> f64 {
    bisect(0.0, 9.0, 0.5 + conf / 2.0, normal_cdf)
}

/// The t quantile at a two-sided level, by Simpson's rule in the angle t = √ν tan(a).
pub fn t(conf: f64, df: f64) -> f64 {
    let constant =
        (ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0)).exp() / std::f64::consts::PI.sqrt();
    // With t = √ν tan(a) the density is proportional to cos(a)^(ν−1).
    let half = |a: f64| simpson(0.0, a, |a| constant * a.cos().powf(df - 1.0));
    let angle = bisect(0.0, std::f64::consts::FRAC_PI_2, conf / 2.0, half);
    df.sqrt() * angle.tan()
}

/// P(X ≤ x) for a beta variable, by Simpson's rule in the log-odds.
pub fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    let constant = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b);
    let density = |u: f64| {
        let (lx, ly) = (-(-u).exp().ln_1p(), -u.exp().ln_1p());
        (constant + a * lx + b * ly).exp()
    };
    let end = (x / (1.0 - x)).ln();
    let (low, high) = (-60.0 / a.min(1.0), 60.0 / b.min(1.0));
    if end <= low {
        return 0.0;
    }
    simpson(low.max(end - 40.0 / a.min(1.0)), end.min(high), density)
}

/// Clopper–Pearson with real arguments, by integration and bisection.
pub fn clopper_pearson(x: f64, n: f64, conf: f64) -> (f64, f64) {
    let tail = (1.0 - conf) / 2.0;
    let lower = if x <= 0.0 {
        0.0
    } else {
        bisect(0.0, 1.0, tail, |p| beta_cdf(x, n - x + 1.0, p))
    };
    let upper = if x >= n {
        1.0
    } else {
        bisect(0.0, 1.0, 1.0 - tail, |p| beta_cdf(x + 1.0, n - x, p))
    };
    (lower, upper)
}

/// P(X = k) for whole counts, by products.
pub fn binomial(k: u64, n: u64, p: f64) -> f64 {
    let ways: f64 = (0..k).map(|j| (n - j) as f64 / (j + 1) as f64).product();
    ways * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)
}

/// C(n, k) exactly.
pub fn choose(n: u64, k: u64) -> u128 {
    if k > n {
        return 0;
    }
    (0..k).fold(1u128, |ways, j| {
        ways * u128::from(n - j) / u128::from(j + 1)
    })
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub fn sd(values: &[f64]) -> f64 {
    let m = mean(values);
    let squares: f64 = values.iter().map(|v| (v - m).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

pub fn close(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}
