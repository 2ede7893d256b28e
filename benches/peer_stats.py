"""Reads our timings from stdin and sets scipy and krippendorff beside them on the same data."""

import json
import math
import sys
import time

UNITS, RATERS = 990, 70


def fraction(i, step):
    return (i * step) % 1.0


def rating(u, r):
    index = u * RATERS + r
    if index % 11 == 0:
        return math.nan
    base, noise = fraction(u, 0.618033988749895), fraction(index, math.sqrt(2))
    return 1.0 + math.floor(4.999 * (0.6 * base + 0.4 * noise))


def best(job, runs=5):
    """Best of some runs in milliseconds, and the answer."""
    fastest, answer = math.inf, None
    for _ in range(runs):
        start = time.perf_counter()
        answer = job()
        fastest = min(fastest, (time.perf_counter() - start) * 1e3)
    return fastest, answer


def scipy_jobs():
    import numpy
    from scipy.stats import bootstrap

    continuous = numpy.array([fraction(i, 0.618033988749895) - 0.4 for i in range(1000)])
    discrete = numpy.array([(i * 7919 % 7 - 3) / 3 for i in range(1000)])
    rng = numpy.random.default_rng(1)

    def bca(values):
        result = bootstrap((values,), numpy.mean, n_resamples=9999, method="BCa", rng=rng)
        return float(result.confidence_interval.low)

    return {"bca_discrete": best(lambda: bca(discrete)), "bca_continuous": best(lambda: bca(continuous))}


def krippendorff_jobs():
    import krippendorff
    import numpy

    ratings = numpy.array([[rating(u, r) for u in range(UNITS)] for r in range(RATERS)])
    counts = numpy.array([[(unit == v).sum() for v in range(1, 6)] for unit in ratings.T])
    rng = numpy.random.default_rng(1)

    def alpha(of):
        return krippendorff.alpha(value_counts=of, level_of_measurement="ordinal")

    def resampled(replicates=50):
        draws = (rng.integers(0, UNITS, UNITS) for _ in range(replicates))
        return float(numpy.quantile([alpha(counts[d]) for d in draws], 0.025))

    point = best(
        lambda: float(krippendorff.alpha(reliability_data=ratings, level_of_measurement="ordinal"))
    )
    ms, low = best(resampled, runs=2)
    # 50 replicates, scaled to 2,000.
    return {"alpha": point, "alpha_bootstrap_2000": (ms * 40, low)}


def main():
    ours = [json.loads(line) for line in sys.stdin if line.startswith("{")]
    peers = {}
    for name, jobs in (("scipy", scipy_jobs), ("krippendorff", krippendorff_jobs)):
        try:
            peers.update(jobs())
        except ImportError:
            print(f"{name} is not installed: its rows are left out", file=sys.stderr)
    print(f"{'job':24}{'ours ms':>10}{'peer ms':>12}{'times':>8}{'ours':>12}{'peer':>12}")
    for row in ours:
        line = f"{row['job']:24}{row['ms']:10.2f}"
        if row["job"] in peers:
            ms, answer = peers[row["job"]]
            line += f"{ms:12.1f}{ms / row['ms']:8.1f}{row['answer']:12.4f}{answer:12.4f}"
        print(line)


main()
