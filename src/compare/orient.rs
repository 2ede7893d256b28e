//! Turning a raw contrast (B − A or B/A) so that positive means "B better".

pub use crate::model::metric::{Contrast, Direction};
use crate::stats::Limits;

/// θ's limits from the raw contrast's: logs of a ratio, exchanged and negated for losses.
///
/// A ratio of 0 or below has logarithm −∞.
pub fn theta(raw: Limits, contrast: Contrast, direction: Direction) -> Limits {
    let scale = |v: f64| match contrast {
        Contrast::Difference => v,
        Contrast::Ratio if v <= 0.0 => f64::NEG_INFINITY,
        Contrast::Ratio => v.ln(),
    };
    let (low, high) = (scale(raw.lower), scale(raw.upper));
    match direction {
        Direction::Gain => Limits {
            lower: low,
            upper: high,
        },
        Direction::Loss => Limits {
            lower: -high,
            upper: -low,
        },
    }
}

/// δ on θ's scale: log(1+r) for the margin r of a ratio.
pub fn theta_margin(margin: f64, contrast: Contrast) -> f64 {
    match contrast {
        Contrast::Difference => margin,
        Contrast::Ratio => margin.ln_1p(),
    }
}
