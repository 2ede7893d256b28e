//! Slow independent versions of the judge statistics: direct enumeration, dense matrices, numerical
//! integration and derivatives. They agree with the library on generated inputs.

mod agreement;
mod bias;
mod correction;
mod exact_bootstrap;
mod properties;
mod resampling;
mod time;

/// Whether two numbers agree to a relative tolerance, or an absolute one near 0.
fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// Central difference of a function of one coordinate.
fn derivative(f: impl Fn(f64) -> f64, at: f64) -> f64 {
    let h = 1e-5;
    (f(at + h) - f(at - h)) / (2.0 * h)
}

/// Simpson's rule on an even number of pieces.
fn integral(f: impl Fn(f64) -> f64, from: f64, to: f64, pieces: usize) -> f64 {
    let h = (to - from) / pieces as f64;
    let inner = (1..pieces).map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * f(from + h * i as f64));
    h / 3.0 * (f(from) + inner.sum::<f64>() + f(to))
}

/// The x at which a rising function reaches 0.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}
