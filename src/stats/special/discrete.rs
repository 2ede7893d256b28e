//! Binomial and hypergeometric tails, without overflow at any count.

use super::beta::lower;
use super::positive_p;
use super::saddle::ln_binomial;

/// P(X = k) for X ~ Binomial(n, p).
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if k > n || n == 0 {
        return if k == n { 1.0 } else { 0.0 };
    }
    let (k, rest, n) = (k as f64, (n - k) as f64, n as f64);
    if k == 0.0 {
        (n * (-p).ln_1p()).exp()
    } else if rest == 0.0 {
        (n * p.ln()).exp()
    } else {
        ln_binomial(k, rest, p, 1.0 - p).exp()
    }
}

/// P(X ≤ k) for X ~ Binomial(n, p), accurate in the lower tail.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    lower((n - k) as f64, k as f64 + 1.0, 1.0 - p, p)
}

/// P(X ≥ k) for X ~ Binomial(n, p), accurate in the upper tail.
pub fn binomial_sf(k: u64, n: u64, p: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n {
        return 0.0;
    }
    lower(k as f64, (n - k) as f64 + 1.0, p, 1.0 - p)
}

/// The exact two-sided binomial p-value: the probability of all counts at most as probable as `k`.
///
/// Ties are forgiven a relative 1e-7, as in R. Never 0.
pub fn binomial_two_sided(k: u64, n: u64, p: f64) -> f64 {
    let bar = binomial_pmf(k, n, p) * (1.0 + 1e-7);
    let centre = n as f64 * p;
    if k as f64 == centre {
        return 1.0;
    }
    // The probability falls away from the centre on either side, so the other tail is found by
    // bisection.
    let total = if (k as f64) < centre {
        let other = partition(centre.ceil() as u64, n + 1, |j| {
            binomial_pmf(j, n, p) <= bar
        });
        binomial_cdf(k, n, p) + binomial_sf(other, n, p)
    } else {
        let beyond = partition(0, centre.floor() as u64 + 1, |j| {
            binomial_pmf(j, n, p) > bar
        });
        let other = if beyond == 0 {
            0.0
        } else {
            binomial_cdf(beyond - 1, n, p)
        };
        binomial_sf(k, n, p) + other
    };
    positive_p(total.min(1.0))
}

/// The first number in low..high for which a monotone condition holds, or `high`.
fn partition(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle
        } else {
            low = middle + 1
        }
    }
    low
}

/// Drawing without replacement: how many marked items are among those drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Items in all.
    pub total: u64,
    /// Marked items.
    pub marked: u64,
    /// Items drawn.
    pub drawn: u64,
}

impl Draw {
    /// The smallest possible count.
    pub fn min(self) -> u64 {
        (self.marked + self.drawn).saturating_sub(self.total)
    }

    /// The largest possible count.
    pub fn max(self) -> u64 {
        self.marked.min(self.drawn)
    }

    /// ln P(H = k), by Loader's ratio of three binomials with p = drawn/total.
    fn ln_pmf(self, k: u64) -> f64 {
        let other = self.total - self.marked;
        if self.drawn == 0 || self.drawn == self.total {
            return 0.0;
        }
        let p = self.drawn as f64 / self.total as f64;
        let q = (self.total - self.drawn) as f64 / self.total as f64;
        let ln = |k: u64, n: u64| -> f64 {
            let (k, rest) = (k as f64, (n - k) as f64);
            match (k == 0.0, rest == 0.0) {
                (true, true) => 0.0,
                (true, false) => rest * q.ln(),
                (false, true) => k * p.ln(),
                (false, false) => ln_binomial(k, rest, p, q),
            }
        };
        ln(k, self.marked) + ln(self.drawn - k, other) - ln(self.drawn, self.total)
    }

    /// P(H = k+1)/P(H = k).
    fn ratio(self, k: u64) -> f64 {
        let [n, m, d, k] = [self.total, self.marked, self.drawn, k].map(|v| v as f64);
        (m - k) * (d - k) / ((k + 1.0) * (n - m - d + k + 1.0))
    }
}

/// P(H ≤ k) for the hypergeometric count of a [`Draw`].
///
/// The terms are summed from k downwards until they no longer count.
pub fn hypergeometric_cdf(k: u64, draw: Draw) -> f64 {
    if k < draw.min() {
        return 0.0;
    }
    if k >= draw.max() {
        return 1.0;
    }
    let mode = mode(draw);
    if k > mode {
        // The upper tail is the smaller one: the same draw, counted from the other end.
        let other = Draw {
            marked: draw.total - draw.marked,
            ..draw
        };
        return 1.0 - hypergeometric_cdf(draw.drawn - k - 1, other);
    }
    let (mut term, mut total) = (1.0, 1.0);
    for j in (draw.min()..k).rev() {
        term /= draw.ratio(j);
        total += term;
        if term < total * 1e-17 {
            break;
        }
    }
    (draw.ln_pmf(k).exp() * total).min(1.0)
}

fn mode(draw: Draw) -> u64 {
    let wide = (u128::from(draw.drawn) + 1) * (u128::from(draw.marked) + 1);
    ((wide / (u128::from(draw.total) + 2)) as u64).clamp(draw.min(), draw.max())
}

/// Fisher's exact two-sided p-value: the sum over all counts that are at most as probable as `k`.
///
/// Ties are forgiven a relative 1e-7, as in R. Takes time in proportion to the width of the
/// distribution (some standard deviations), not to the counts. 0 only for an impossible count.
pub fn fisher_two_sided(k: u64, draw: Draw) -> f64 {
    if k < draw.min() || k > draw.max() {
        return 0.0;
    }
    let top = mode(draw);
    let bar = draw.ln_pmf(k) - draw.ln_pmf(top) + 1e-7;
    if bar >= 0.0 {
        return 1.0;
    }
    let bar = bar.exp();
    let (mut all, mut extreme) = (0.0, 0.0);
    let mut count = |weight: f64| {
        all += weight;
        if weight <= bar {
            extreme += weight;
        }
        weight > 0.0 && weight > bar * 1e-17
    };
    let mut weight = 1.0;
    for j in top..=draw.max() {
        if !count(weight) {
            break;
        }
        weight *= draw.ratio(j);
    }
    weight = 1.0;
    for j in (draw.min()..top).rev() {
        weight /= draw.ratio(j);
        if !count(weight) {
            break;
        }
    }
    positive_p((extreme / all).min(1.0))
}
