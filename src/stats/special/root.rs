//! Newton's method on the logarithm of a tail.

/// The logarithm of a tail probability at a point, and its derivative there.
pub(super) struct LogTail {
    pub(super) ln: f64,
    pub(super) slope: f64,
}

/// Solves ln tail(u) = `target` within ±`bound`.
///
/// The log-odds of a beta and the logarithm of a gamma variable have log-concave densities, hence
/// log-concave tails. On a concave function Newton's steps cannot cycle: after at most one
/// overshoot they approach the root from one side. No bracket is needed.
pub(super) fn solve(start: f64, bound: f64, target: f64, tail: impl Fn(f64) -> LogTail) -> f64 {
    let mut u = start.clamp(-bound, bound);
    let mut last = f64::INFINITY;
    for _ in 0..200 {
        let here = tail(u);
        let step = (target - here.ln) / here.slope;
        if !step.is_finite() {
            // A flat tail: everything lies on the other side, so go where the tail is thin.
            u = if here.slope >= 0.0 { -bound } else { bound };
            if last == 0.0 {
                break;
            }
            last = 0.0;
            continue;
        }
        let next = (u + step).clamp(-bound, bound);
        let moved = (next - u).abs();
        u = next;
        let rounding = 4.0 * f64::EPSILON * u.abs().max(1.0);
        if moved <= rounding || (moved < 1e-12 * u.abs().max(1.0) && moved >= last) {
            break;
        }
        last = moved;
    }
    u
}
