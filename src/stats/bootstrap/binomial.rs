//! Binomial variates that do not change when a library is upgraded.

use crate::base::seed::Stream;

/// One draw from the binomial distribution of `n` trials with success probability `p`.
///
/// Sequential search below a mean of 10, transformed rejection above it, so the cost does not grow
/// with `n`. The draw depends on the stream alone.
///
/// `p` outside [0, 1] is moved to the nearer end.
///
/// Source: Kachitvichyanukul & Schmeiser 1988 (BINV); Hörmann 1993 (BTRS).
pub fn binomial(stream: &mut Stream, n: u32, p: f64) -> u32 {
    if n == 0 || p <= 0.0 {
        return 0;
    }
    if p >= 1.0 {
        return n;
    }
    if p > 0.5 {
        return n - binomial(stream, n, 1.0 - p);
    }
    if f64::from(n) * p < 10.0 {
        by_search(stream, n, p)
    } else {
        by_rejection(stream, n, p)
    }
}

/// Walks up the distribution function; about n·p + 1 steps.
fn by_search(stream: &mut Stream, n: u32, p: f64) -> u32 {
    let odds = p / (1.0 - p);
    let start = (f64::from(n) * (-p).ln_1p()).exp();
    loop {
        let (mut rest, mut mass) = (stream.unit(), start);
        for k in 0..=n {
            if rest < mass {
                return k;
            }
            rest -= mass;
            mass *= odds * f64::from(n - k) / f64::from(k + 1);
        }
        // Rounding left a sliver above the last mass: draw again.
    }
}

/// Transformed rejection with squeeze; accepts with probability above 0.86.
fn by_rejection(stream: &mut Stream, n: u32, p: f64) -> u32 {
    let trials = f64::from(n);
    let odds = p / (1.0 - p);
    let spread = (trials * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let squeeze = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * spread;
    let mode = ((trials + 1.0) * p).floor();
    loop {
        let u = stream.unit() - 0.5;
        let v = stream.unit();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + trials * p + 0.5).floor();
        if us >= 0.07 && v <= squeeze {
            return k as u32;
        }
        if k < 0.0 || k > trials || us <= 0.0 {
            continue;
        }
        let ratio = (mode + 0.5) * ((mode + 1.0) / (odds * (trials - mode + 1.0))).ln()
            + (trials + 1.0) * ((trials - mode + 1.0) / (trials - k + 1.0)).ln()
            + (k + 0.5) * (odds * (trials - k + 1.0) / (k + 1.0)).ln()
            + stirling(mode)
            + stirling(trials - mode)
            - stirling(k)
            - stirling(trials - k);
        if (v * alpha / (a / (us * us) + b)).ln() <= ratio {
            return k as u32;
        }
    }
}

/// ln k! minus Stirling's main term.
fn stirling(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.081_061_466_795_327_26,
        0.041_340_695_955_409_29,
        0.027_677_925_684_998_34,
        0.020_790_672_103_765_09,
        0.016_644_691_189_821_19,
        0.013_876_128_823_070_75,
        0.011_896_709_945_891_77,
        0.010_411_265_261_972_09,
        0.009_255_462_182_712_733,
        0.008_330_563_433_362_87,
    ];
    if let Some(&value) = FIRST.get(k as usize) {
        return value;
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    /// Probability of k by the recurrence from the mode, in logs.
    fn mass(n: u32, p: f64) -> Vec<f64> {
        let mut logs = vec![f64::from(n) * (1.0 - p).ln()];
        for k in 0..n {
            let step = (f64::from(n - k) / f64::from(k + 1)).ln() + (p / (1.0 - p)).ln();
            logs.push(logs[k as usize] + step);
        }
        logs.iter().map(|l| l.exp()).collect()
    }

    #[test]
    fn draws_follow_the_distribution() {
        for (n, p) in [
            (5, 0.3),
            (40, 0.9),
            (200, 0.04),
            (60, 0.4),
            (1000, 0.37),
            (1000, 0.995),
        ] {
            let expected = mass(n, p);
            let draws = 200_000;
            let mut seen = vec![0u32; n as usize + 1];
            let mut stream = Seed(3).nth("binomial", u64::from(n)).stream();
            for _ in 0..draws {
                seen[binomial(&mut stream, n, p) as usize] += 1;
            }
            let (mut chi, mut cells) = (0.0, 0.0);
            for (k, mass) in expected.iter().enumerate() {
                let e = mass * f64::from(draws);
                if e >= 10.0 {
                    chi += (f64::from(seen[k]) - e).powi(2) / e;
                    cells += 1.0;
                }
            }
            // Five standard deviations above the mean of a chi-square.
            assert!(
                chi < cells + 5.0 * (2.0_f64 * cells).sqrt(),
                "n {n} p {p}: {chi} in {cells}"
            );
        }
    }

    #[test]
    fn ends_are_certain() {
        let mut stream = Seed(1).stream();
        assert_eq!(binomial(&mut stream, 9, 0.0), 0);
        assert_eq!(binomial(&mut stream, 9, 1.0), 9);
        assert_eq!(binomial(&mut stream, 0, 0.5), 0);
    }
}
