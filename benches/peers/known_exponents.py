"""Lyapunov exponents of the systems of the package dysts (Gilpin 2021) by `trisolar map`, beside those that the package has.

Needs numpy, and dysts where this Python finds it; `pip install --no-deps dysts` is enough, because only its equations are run.
Usage: known_exponents.py TRISOLAR [NAME ...], which prints the rows of the table in docs/equations.md.
"""

import functools
import importlib.util
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy

# Starts of a system, whose first number is within a tenth of the package's.
STARTS = 64
# Periods of the system after which growth is measured: what comes before the first is not counted.
ENDS = 20, 120
# The most seconds for a run.
LIMIT = 100
# Exponents agree within this share.
NEAR = 0.05
# Steps in a period of the system, and starts, of the comparison by the package's own functions.
PERIOD_STEPS, OWN_STARTS = 400, 16
# Exponents in the literature, for the parameters that the package has.
LITERATURE = {
    "RabinovichFabrikant": (0.1981, "Sprott 2003"),
    "Rossler": (0.0714, "Sprott 2003"),
    **{
        f"Sprott{name}": (exponent, "Sprott 1994")
        for name, exponent in {
            "A": 0.014, "B": 0.210, "C": 0.163, "D": 0.103, "E": 0.078, "F": 0.117, "G": 0.034, "H": 0.117, "I": 0.012, "J": 0.076,
            "K": 0.038, "L": 0.061, "M": 0.044, "N": 0.076, "O": 0.049, "P": 0.087, "Q": 0.109, "R": 0.062, "S": 0.188,
        }.items()
    },
}
# The second one is used where the result is at odds with the published one.
TOLERANCES = "1e-8", "1e-11"


class Untranslated(Exception):
    """Equations that have no form as text."""


# The lines of the text of which the equations are made.
PARTS = []


class Symbol:
    """A number of the equations. Each operation on it is a line of the text."""

    def __init__(self, name):
        self.name = name

    @classmethod
    def made(cls, text):
        PARTS.append(f"p{len(PARTS)} = {text}")
        return cls(f"p{len(PARTS) - 1}")

    def __pow__(self, power):
        if isinstance(power, numpy.ndarray):
            return NotImplemented
        if isinstance(power, Symbol) or 2 * power != int(2 * power) or abs(power) > 100:
            return (self.log() * power).exp()
        root = self if power == int(power) else self.sqrt()
        whole = int(abs(power) if root is self else abs(2 * power))
        result = Symbol.made(f"{root.name}^{whole}")
        return result if power > 0 else 1 / result

    def __rpow__(self, base):
        return (self * math.log(base)).exp()

    def __neg__(self):
        return Symbol.made(f"-({self.name})")

    def __lt__(self, other):
        raise Untranslated("a condition")

    __bool__ = __gt__ = __lt__


def text(x):
    return x.name if isinstance(x, Symbol) else f"({float(x)!r})"


def operator(name, sign):
    def two(a, b):
        # An array does it for each of its elements.
        if isinstance(b, numpy.ndarray):
            return NotImplemented
        return Symbol.made(f"{text(a)} {sign} {text(b)}")

    setattr(Symbol, f"__{name}__", two)
    setattr(
        Symbol, f"__r{name}__", lambda a, b: Symbol.made(f"{text(b)} {sign} {text(a)}")
    )


def function(name, ours=None):
    return lambda *x: Symbol.made(f"{ours or name}({', '.join(map(text, x))})")


for pair in ("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"):
    operator(*pair)
# numpy calls these methods of the elements of arrays.
for name in "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt":
    setattr(Symbol, name, function(name))
Symbol.log, Symbol.__abs__ = function("ln"), function("abs")


class Numpy:
    """numpy with the functions that it has for numbers only."""

    sign = staticmethod(function("sign"))

    @staticmethod
    def heaviside(x, _):
        return (1 + Numpy.sign(x)) / 2

    @staticmethod
    def min(x, axis):
        least = function("min")
        return numpy.array([functools.reduce(least, row) for row in numpy.moveaxis(x, axis, -1)])

    def __getattr__(self, name):
        return getattr(numpy, name)


def classes(package, numbers, largest, least):
    """The classes of the package's equations, without what integrates them, for this numpy, `max` and `min`."""
    source = (package / "flows.py").read_text()
    source = source.replace("import numpy as np", "").replace(
        "from .base import DynSys, DynSysDelay, staticjit", ""
    )
    names = {
        "np": numbers,
        "DynSys": object,
        "DynSysDelay": object,
        "staticjit": staticmethod,
        "max": largest,
        "min": least,
    }
    exec(compile(source, "flows.py", "exec"), names)  # noqa: S102
    return names


def rates(kind, system, state, time):
    """The rates of change of a state by the package's function."""
    values = {
        name: x if numpy.isscalar(x) else numpy.array(x)
        for name, x in system["parameters"].items()
    }
    if hasattr(kind, "rhs"):
        this = kind()
        this.__dict__.update(values)
        return this.rhs(state, time)
    return kind._rhs(*state, time, **values)


def equations(kind, system):
    """The equations of a class as text, with its parameters as numbers."""
    if system["delay"]:
        raise Untranslated("a delay")
    PARTS.clear()
    state = [Symbol(f"x{k}") for k in range(len(system["initial_conditions"]))]
    try:
        found = rates(kind, system, numpy.array(state, dtype=object), Symbol("t"))
    except (AttributeError, TypeError, ValueError) as why:
        raise Untranslated(str(why)) from why
    return "; ".join(
        PARTS
        + [f"{x.name}' = {text(rate)}" for x, rate in zip(state, found, strict=True)]
    )


def own_exponents(kind, system):
    """The exponents by the package's own functions: RK4 and the distance of a neighbour, of half of the time."""
    start, period = numpy.array(system["initial_conditions"]), system["period"]
    step, small, rest = period / PERIOD_STEPS, 1e-8, 10
    state = numpy.repeat(start[:, None], OWN_STARTS, axis=1)
    around = abs(start[0]) * 0.1 or 0.1
    state[0] += around * numpy.linspace(-1, 1, OWN_STARTS)
    state = numpy.concatenate([state, state], axis=1)
    state[0, OWN_STARTS:] += small

    def rate(time, state):
        found = rates(kind, system, state, time)
        return numpy.array([numpy.broadcast_to(x, state.shape[1]) for x in found])

    first, last = (int(end * PERIOD_STEPS) for end in (ENDS[0], sum(ENDS) / 2))
    growth = numpy.zeros(OWN_STARTS)
    for n in range(last):
        time = n * step
        a = rate(time, state)
        b = rate(time + step / 2, state + step / 2 * a)
        c = rate(time + step / 2, state + step / 2 * b)
        d = rate(time + step, state + step * c)
        state = state + step / 6 * (a + 2 * (b + c) + d)
        if n % rest == rest - 1:
            one, other = state[:, :OWN_STARTS], state[:, OWN_STARTS:]
            size = numpy.sqrt(((other - one) ** 2).sum(axis=0))
            growth += numpy.log(size / small) * (n >= first)
            state = numpy.concatenate([one, one + (other - one) * (small / size)], axis=1)
    found = growth / ((last - first) * step)
    return found[numpy.isfinite(found)]


def exponents(program, system, ode, tolerance, folder):
    """The exponents of all starts that have one."""
    start = system["initial_conditions"]
    around = abs(start[0]) * 0.1 or 0.1
    growth = []
    for periods in ENDS:
        end = periods * system["period"]
        options = [
            "--ode",
            ode,
            "--n",
            STARTS,
            "--draw",
            f"x0=uniform:{start[0] - around}:{start[0] + around}",
            "--value",
            "lyapunov,outcome",
        ]
        options += [
            "--set",
            ",".join(f"x{k}={x}" for k, x in enumerate(start) if k > 0),
            "--end",
            end,
            "--tolerance",
            tolerance,
        ]
        options += [
            "--method",
            "dop853",
            "--backend",
            "cpu",
            # Parts have no step check, which takes longer than the items.
            "--part",
            "1/1",
            "--out",
            f"{folder}/{tolerance}-{periods}.npz",
            "--quiet",
        ]
        ran = subprocess.run(
            [program, "map", *map(str, options)],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        if ran.returncode:
            raise Untranslated(ran.stderr.strip()[:150])
        # The columns of the items: outcome and exponent.
        found = numpy.fromfile(f"{folder}/{tolerance}-{periods}.npz.1-of-1.part", "<f8")
        outcome, exponent = found.reshape(STARTS, 2).T
        growth.append(numpy.where(outcome == 0, exponent * end, numpy.nan))
    found = (growth[1] - growth[0]) / ((ENDS[1] - ENDS[0]) * system["period"])
    return found[numpy.isfinite(found)]


def mean(found):
    """The mean of exponents with its error, as text."""
    return f"{found.mean():.4g} ± {error(found):.1g}"


def error(found):
    """The standard error of the mean of exponents."""
    return found.std() / math.sqrt(len(found))


def near(x, y):
    """Whether two exponents agree."""
    return abs(x - y) <= NEAR * abs(y)


def reason(name, system, kind, ours):
    """Why the mean is not near the published exponent; `None` if nothing says so."""
    x = ours.mean()
    published = system["maximum_lyapunov_estimated"]
    spectrum = (system["lyapunov_spectrum_estimated"] or [math.nan])[0]
    known, source = LITERATURE.get(name, (math.nan, ""))
    if near(x, published):
        return ""
    regular = int((ours < 0.25 * numpy.quantile(ours, 0.9)).sum())
    if near(x, known):
        return f"{known} is known ({source})"
    if near(x, spectrum):
        return f"{100 * abs(x / spectrum - 1):.0f} % from the package's spectrum" if spectrum else "as in the package's spectrum"
    if STARTS / 20 < regular < len(ours):
        return f"{regular} of {len(ours)} starts are regular"
    try:
        with numpy.errstate(all="ignore"):
            own = own_exponents(kind, system)
    except (AttributeError, TypeError, ValueError):
        own = numpy.empty(0)
    if len(own) > 1:
        both = 2 * math.hypot(error(own), error(ours))
        agrees = near(x, own.mean()) or abs(x - own.mean()) < both
        return f"the package's own functions have {mean(own)}{'' if agrees else ', which differs'}"
    return None


def row(name, system, why, found):
    """A row of the table: the package's two estimates, then ours with the errors of their means, and why they differ."""
    published = system["maximum_lyapunov_estimated"]
    spectrum = system["lyapunov_spectrum_estimated"]
    spectrum = f"{spectrum[0]:.4g}" if spectrum else ""
    ours = [mean(r) for r in found] + [""]
    if why is None:
        one, other = found[0], found[-1]
        converged = abs(one.mean() - other.mean()) < 2 * math.hypot(error(one), error(other))
        why = "both tolerances agree" if converged and len(found) > 1 else "the tolerances differ"
    if len(found[-1]) < STARTS:
        why = f"{why}; {len(found[-1])} of {STARTS} starts reach the end".removeprefix("; ")
    difference = f"{100 * (found[-1].mean() / published - 1):+.1f} %"
    return f"| {name} | {published:.4g} | {spectrum} | {ours[0]} | {ours[1]} | {difference} | {why} |"


def main():
    program, *wanted = sys.argv[1:]
    package = pathlib.Path(importlib.util.find_spec("dysts").origin).parent
    systems = json.loads((package / "data/chaotic_attractors.json").read_text())
    symbols = classes(package, Numpy(), function("max"), function("min"))
    numbers = classes(package, numpy, numpy.maximum, numpy.minimum)
    left_out = []
    for name in wanted or systems:
        system = systems[name]
        with tempfile.TemporaryDirectory() as folder:
            try:
                ode = equations(symbols[name], system)
                rows = [exponents(program, system, ode, TOLERANCES[0], folder)]
                if len(rows[0]) == 0:
                    raise Untranslated("no start reaches the end")
                why = reason(name, system, numbers[name], rows[0])
                if why is None or "differs" in why:
                    finer = exponents(program, system, ode, TOLERANCES[1], folder)
                    rows += [finer] if len(finer) else []
            except (Untranslated, subprocess.TimeoutExpired) as refused:
                left_out.append(f"{name}: {refused}")
                continue
            print(row(name, system, why, rows), flush=True)
    print("Left out:", *left_out, sep="\n")


if __name__ == "__main__":
    main()
