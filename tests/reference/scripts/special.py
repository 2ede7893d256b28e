"""Reference values for src/stats/special: scipy 1.17.1 and mpmath 1.3 (50 digits).

Run: python special.py > ../special.json
mpmath decides; scipy is printed to stderr where it differs by more than 1e-11.
"""
import json, sys
import mpmath as mp
import scipy, scipy.stats as st, scipy.special as sp

mp.mp.dps = 60
cases = []

def add(f, args, value, other):
    value = float(value)
    if abs(value - other) > 1e-11 * max(abs(value), 1e-300):
        print(f, args, value, other, file=sys.stderr)
    cases.append({"f": f, "args": args, "value": value})

def betacdf(a, b, x):
    """I_x(a, b) by the continued fraction, in 60 digits."""
    a, b, x = mp.mpf(a), mp.mpf(b), mp.mpf(x)
    def tail(a, b, x):
        front = mp.exp(a * mp.log(x) + b * mp.log1p(-x) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b))
        c, d = mp.mpf(1), 1 / (1 - (a + b) * x / (a + 1))
        h = d
        for m in range(1, 200000):
            for an in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                       -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
                d = 1 / (1 + an * d)
                c = 1 + an / c
                h *= d * c
            if abs(d * c - 1) < mp.mpf(10) ** -40:
                break
        return front * h / a
    return tail(a, b, x) if x < (a + 1) / (a + b + 2) else 1 - tail(b, a, 1 - x)

def betainv(p, a, b):
    x = mp.mpf(float(sp.betaincinv(a, b, p)))
    p, a, b = mp.mpf(p), mp.mpf(a), mp.mpf(b)
    for _ in range(60):
        pdf = mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) + mp.loggamma(a + b) - mp.loggamma(a) - mp.loggamma(b))
        F = betacdf(a, b, x)
        step = (mp.log(F) - mp.log(p)) * F / pdf if p < 0.5 else -(mp.log(1 - F) - mp.log(1 - p)) * (1 - F) / pdf
        new = x - step
        if new <= 0: new = x / 2
        if new >= 1: new = (1 + x) / 2
        if abs(new - x) < mp.mpf(10) ** -30 * x: break
        x = new
    return new

def chi2inv(p, df, start):
    """The chi-square quantile by Newton on ln F in ln x; F by its series, in 60 digits."""
    a, v = mp.mpf(df) / 2, mp.log(mp.mpf(start) / 2)
    for _ in range(100):
        x = mp.exp(v)
        term = total = mp.mpf(1)
        k = a
        while term > total * mp.mpf(10) ** -40:
            k += 1
            term *= x / k
            total += term
        ln_front = a * v - x - mp.loggamma(a)
        ln_f = ln_front - mp.log(a) + mp.log(total)
        step = (mp.log(mp.mpf(p)) - ln_f) * mp.exp(ln_f - ln_front)
        v += step
        if abs(step) < mp.mpf(10) ** -25:
            break
    return 2 * mp.exp(v)

for x in (-37.0, -8.5, -1.0, 0.3, 1.96, 6.0, 12.0):
    add("normal_cdf", [x], mp.ncdf(x), st.norm.cdf(x))
for p in (1e-300, 1e-20, 1e-5, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9999999):
    add("normal_quantile", [p], mp.findroot(lambda t: mp.log(mp.ncdf(t)) - mp.log(mp.mpf(p)), st.norm.ppf(p)), st.norm.ppf(p))
shapes = [(0.01, 0.9), (0.05, 7.0), (0.5, 0.5), (1.0, 5.0), (3.3, 1.7), (7.32, 4.14), (40.0, 0.2),
          (200.5, 3.25), (2500.0, 2501.0), (1e5, 37.0), (1e7, 2.0), (5e6, 5e6 + 1), (9.5e6, 5e5)]
for a, b in shapes:
    for p in (1e-8, 0.025, 0.3, 0.5, 0.975):
        v = betainv(p, a, b)
        if v > mp.mpf(10) ** -280:
            add("beta_quantile", [p, a, b], v, sp.betaincinv(a, b, p))
    x = (a + 0.3) / (a + b + 0.9)
    add("beta_cdf", [a, b, x], betacdf(a, b, x), sp.betainc(a, b, x))
for df in (0.7, 1.0, 2.81188, 3.41056, 7.0, 49.5, 1234.5, 1e7):
    for p in (0.3, 0.6, 0.9, 0.975, 0.9995):
        # P(|T| > t) = I_y(df/2, 1/2) with y = df/(df+t^2).
        y = betainv(float(2 * (1 - mp.mpf(p))) if p > 0.5 else float(2 * mp.mpf(p)), df / 2, 0.5)
        t = mp.sqrt(df * (1 - y) / y) * (1 if p > 0.5 else -1)
        add("t_quantile", [p, df], t, st.t.ppf(p, df))
    for t in (0.01, 1.0, 4.5, 40.0):
        y = mp.mpf(df) / (mp.mpf(df) + mp.mpf(t) ** 2)
        add("t_two_sided", [t, df], betacdf(df / 2, 0.5, y), 2 * st.t.sf(t, df))
for df in (0.02, 0.6, 2.0, 9.3, 120.0, 2e4, 2e7):
    for p in (1e-6, 0.025, 0.4, 0.8, 0.975):
        v = st.chi2.ppf(p, df)
        if v > 1e-250:
            add("chi2_quantile", [p, df], chi2inv(p, df, v), v)
def choose(n, k): return mp.binomial(n, k)
for k, n, p in ((0, 10, 0.5), (6, 22, 0.5), (500, 1100, 0.5), (9, 10, 0.9), (4999000, 10000000, 0.5), (3, 10000000, 1e-6)):
    if n <= 2000:
        v = sum(choose(n, j) * mp.mpf(p) ** j * (1 - mp.mpf(p)) ** (n - j) for j in range(k + 1))
    else:
        v = betacdf(n - k, k + 1, 1 - mp.mpf(p))
    add("binomial_cdf", [k, n, p], v, st.binom.cdf(k, n, p))
    w = mp.exp(mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1) + k * mp.log(mp.mpf(p)) + (n - k) * mp.log1p(-mp.mpf(p)))
    add("binomial_pmf", [k, n, p], w, st.binom.pmf(k, n, p))
for k, N, M, d in ((0, 10, 5, 5), (4, 14, 11, 6), (5, 20, 9, 10), (40, 500, 100, 250), (60, 500, 100, 250), (3000, 2000000, 6200, 1000000)):
    terms = [mp.exp(mp.loggamma(M+1)-mp.loggamma(j+1)-mp.loggamma(M-j+1)+mp.loggamma(N-M+1)-mp.loggamma(d-j+1)-mp.loggamma(N-M-d+j+1)
             -mp.loggamma(N+1)+mp.loggamma(d+1)+mp.loggamma(N-d+1)) for j in range(max(0, M + d - N), min(M, d) + 1)]
    lo = max(0, M + d - N)
    add("hypergeometric_cdf", [k, N, M, d], sum(terms[:k - lo + 1]), st.hypergeom.cdf(k, N, M, d))
    bar = terms[k - lo] * (1 + mp.mpf(10) ** -7)
    two = sum(t for t in terms if t <= bar)
    add("fisher_two_sided", [k, N, M, d], two, st.fisher_exact([[k, M - k], [d - k, N - M - d + k]])[1])
json.dump({"scipy": scipy.__version__, "mpmath": mp.__version__, "cases": cases}, sys.stdout, indent=0)
