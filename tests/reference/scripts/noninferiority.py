"""Reference values for betting_noninferiority: METHODS 7 written out in plain Python (3.11), no package.

Run: python noninferiority.py > ../own/noninferiority.json
Each running mean and variance is taken anew from the values, with exact fractions where the text allows.
"""
import json, math, random
from fractions import Fraction

def capital(differences, margin, one_sided):
    m = (1 - Fraction(str(margin))) / 2
    x = [(Fraction(str(d)) + 1) / 2 for d in differences]
    path, now = [], 1.0
    for i in range(1, len(x) + 1):
        # Variance of what came before, started by one imagined observation of 1/2 with spread 1/4.
        squares = Fraction(1, 4)
        for k in range(1, i):
            mean = min(Fraction(1), (Fraction(1, 2) + sum(x[:k])) / (k + 1))
            squares += (x[k - 1] - mean) ** 2
        stake = math.sqrt(2 * math.log(1 / one_sided) / (float(squares) * math.log(i + 1)))
        limit = math.inf if m == 0 else float(Fraction(1, 2) / m)
        now *= 1 + min(stake, limit) * float(x[i - 1] - m)
        path.append(now)
    return path

def case(name, differences, margin, one_sided=0.025):
    path = capital(differences, margin, one_sided)
    highest = max([1.0] + path)
    return {"id": name, "method": "betting_noninferiority",
            "params": {"margin": margin, "alpha_one_sided": one_sided},
            "input": {"task_differences": differences},
            "expected": {"capital_final": path[-1], "capital_path": path,
                         "p_anytime": min(1.0, 1 / highest), "shown": highest >= 1 / one_sided},
            "tolerance": {"abs": 1e-12, "rel": 1e-11}}

random.seed(7)
print(json.dumps([
    case("noninf-ties", [0] * 40, 0.1),
    case("noninf-ties-enough", [0] * 90, 0.1),
    case("noninf-one-break", [0] * 20 + [-1] + [0] * 20, 0.1),
    case("noninf-gains", [0.2, 0, 0.4, 0, 0, 1, 0.2, 0, 0, 0.6, 0, 0.2] * 3, 0.05),
    case("noninf-losses", [0, -0.5, 0, -1, 0, 0, -0.25, 0] * 4, 0.05, 0.05),
    case("noninf-mixed", [round(random.uniform(-1, 1), 3) for _ in range(30)], 0.2),
    case("noninf-whole-scale", [0, -1, 1, 0, 0], 1.0),
    case("noninf-shown-then-lost", [1] * 12 + [-1] * 10, 0.3),
], indent=1))
