//! Capital that neither overflows nor is lost for good.

use std::f64::consts::LN_2;

/// A positive product of many factors, kept with an exponent of its own.
///
/// A long run multiplies capital beyond any double, or below it and back again; a plain product would
/// stay at infinity or 0. Scaling is by powers of two, so that it costs no digits.
///
/// # Examples
///
/// ```
/// use assize::stats::sequential::NonInferiority;
/// let mut test = NonInferiority::new(0.5, 0.025).unwrap();
/// let capital = (0..3000).map(|_| test.observe(1.0).unwrap()).last().unwrap();
/// assert_eq!(capital.amount(), None);
/// assert!(capital.ln() > 2000.0 && test.p() > 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capital {
    product: f64,
    /// How often the product was divided by [`Capital::high`].
    scale: i32,
}

/// Binary digits per step of the scale.
const DIGITS: i32 = 512;

impl Capital {
    /// What a bettor starts with, 1.
    pub(super) const START: Self = Self {
        product: 1.0,
        scale: 0,
    };

    fn high() -> f64 {
        2f64.powi(DIGITS)
    }

    /// Multiplies by a positive factor of ordinary size.
    pub(super) fn multiply(&mut self, factor: f64) {
        self.product *= factor;
        // Both bounds are powers of two.
        if self.product > Self::high() {
            self.product *= 2f64.powi(-DIGITS);
            self.scale += 1;
        } else if self.product < 2f64.powi(-DIGITS) {
            self.product *= Self::high();
            self.scale -= 1;
        }
    }

    pub(super) fn halved(self) -> Self {
        Self {
            product: 0.5 * self.product,
            ..self
        }
    }

    pub(super) fn larger(self, other: Self) -> Self {
        let less = match self.scale == other.scale {
            true => self.product < other.product,
            false => self.ln() < other.ln(),
        };
        if less { other } else { self }
    }

    /// Whether it is at least a finite positive `bar`.
    pub(super) fn reaches(self, bar: f64) -> bool {
        self.nearest() >= bar
    }

    /// The natural logarithm, finite always.
    pub fn ln(self) -> f64 {
        self.product.ln() + f64::from(self.scale) * f64::from(DIGITS) * LN_2
    }

    /// The capital; `None` where it is larger or smaller than a double can hold with all its digits.
    pub fn amount(self) -> Option<f64> {
        Some(self.nearest()).filter(|amount| amount.is_normal())
    }

    /// The capital, infinite or 0 beyond a double.
    fn nearest(self) -> f64 {
        match self.scale {
            0 => self.product,
            // In two steps, as the whole may be beyond a double where the result is not.
            -2..=2 => {
                let half = 2f64.powi(DIGITS / 2 * self.scale);
                self.product * half * half
            }
            3.. => f64::INFINITY,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(factors: &[(f64, u32)]) -> Capital {
        let mut capital = Capital::START;
        for &(factor, times) in factors {
            (0..times).for_each(|_| capital.multiply(factor));
        }
        capital
    }

    #[test]
    fn what_leaves_the_range_comes_back_with_all_digits() {
        for out in [2.0, 0.5] {
            let away = after(&[(1.7, 1), (out, 50_000)]);
            assert_eq!(away.amount(), None);
            assert!((away.ln() - 1.7f64.ln() - 50_000.0 * out.ln()).abs() < 1e-7);
            let back = after(&[(1.7, 1), (out, 50_000), (1.0 / out, 50_000)]);
            assert_eq!(back.amount(), Some(1.7));
        }
    }

    #[test]
    fn the_whole_range_of_a_double_is_an_amount() {
        for power in [-1022, -1000, -600, -513, -512, 0, 512, 513, 900, 1023] {
            let factor = if power < 0 { 0.5 } else { 2.0 };
            let got = after(&[(factor, i32::unsigned_abs(power))]);
            assert_eq!(got.amount(), Some(2f64.powi(power)), "{power}");
        }
        assert_eq!(after(&[(2.0, 1024)]).amount(), None);
        assert_eq!(after(&[(0.5, 1023)]).amount(), None);
    }

    #[test]
    fn order_is_kept_across_scales() {
        let sizes = [after(&[(0.5, 3000)]), Capital::START, after(&[(2.0, 3000)])];
        for (i, a) in sizes.iter().enumerate() {
            for b in &sizes[i..] {
                assert_eq!((a.larger(*b), b.larger(*a)), (*b, *b));
            }
        }
        assert!(sizes[2].reaches(1e300) && !sizes[0].reaches(1e-300));
    }
}
