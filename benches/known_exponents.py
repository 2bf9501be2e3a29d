"""Lyapunov exponents of the systems of the package dysts (Gilpin 2021) by `trisolar map`, beside those that the package has.

Needs numpy, and dysts where this Python finds it; `pip install --no-deps dysts` is enough, because only its equations are run.
Usage: known_exponents.py TRISOLAR [NAME ...], which prints the rows of the table in docs/equations.md.
"""

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
    setattr(
        Symbol, f"__{name}__", lambda a, b: Symbol.made(f"{text(a)} {sign} {text(b)}")
    )
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

    def __getattr__(self, name):
        return getattr(numpy, name)


def classes(package):
    """The classes of the package's equations, without what integrates them."""
    source = (package / "flows.py").read_text()
    source = source.replace("import numpy as np", "").replace(
        "from .base import DynSys, DynSysDelay, staticjit", ""
    )
    names = {
        "np": Numpy(),
        "DynSys": object,
        "DynSysDelay": object,
        "staticjit": staticmethod,
        "max": function("max"),
        "min": function("min"),
    }
    exec(compile(source, "flows.py", "exec"), names)  # noqa: S102
    return names


def equations(kind, system):
    """The equations of a class as text, with its parameters as numbers."""
    if system["delay"]:
        raise Untranslated("a delay")
    PARTS.clear()
    values = {
        name: x if numpy.isscalar(x) else numpy.array(x)
        for name, x in system["parameters"].items()
    }
    state = [Symbol(f"x{k}") for k in range(len(system["initial_conditions"]))]
    try:
        if hasattr(kind, "rhs"):
            this = kind()
            this.__dict__.update(values)
            rates = this.rhs(numpy.array(state, dtype=object), Symbol("t"))
        else:
            rates = kind._rhs(*state, Symbol("t"), **values)
    except (AttributeError, TypeError, ValueError) as why:
        raise Untranslated(str(why)) from why
    return "; ".join(
        PARTS
        + [f"{x.name}' = {text(rate)}" for x, rate in zip(state, rates, strict=True)]
    )


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
            "--out",
            f"{folder}/found.npz",
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
        found = numpy.load(f"{folder}/found.npz")
        growth.append(
            numpy.where(found["outcome"] == 0, found["lyapunov"] * end, numpy.nan)
        )
    found = (growth[1] - growth[0]) / ((ENDS[1] - ENDS[0]) * system["period"])
    return found[numpy.isfinite(found)]


def row(name, system, found):
    """A row of the table: the package's two estimates, then ours with the errors of their means."""
    published, spectrum = (
        system["maximum_lyapunov_estimated"],
        system["lyapunov_spectrum_estimated"][0],
    )
    ours = [
        f"{r.mean():.4g} ± {r.std() / math.sqrt(len(r)):.1g}" if len(r) else "none"
        for r in found
    ]
    return f"| {name} | {published:.4g} | {spectrum:.4g} | {' | '.join((ours + [''])[:2])} | {100 * (found[0].mean() / published - 1):+.1f} % |"


def main():
    program, *wanted = sys.argv[1:]
    package = pathlib.Path(importlib.util.find_spec("dysts").origin).parent
    systems, kinds = (
        json.loads((package / "data/chaotic_attractors.json").read_text()),
        classes(package),
    )
    left_out = []
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted or systems:
            system = systems[name]
            try:
                ode = equations(kinds[name], system)
                rows = [exponents(program, system, ode, TOLERANCES[0], folder)]
                published = system["maximum_lyapunov_estimated"]
                if len(rows[0]) == 0:
                    raise Untranslated("no start reaches the end")
                if not abs(rows[0].mean() / published - 1) < 0.05:
                    rows.append(exponents(program, system, ode, TOLERANCES[1], folder))
            except (Untranslated, subprocess.TimeoutExpired) as why:
                left_out.append(f"{name}: {why}")
                continue
            print(row(name, system, rows), flush=True)
    print("Left out:", *left_out, sep="\n")


if __name__ == "__main__":
    main()
