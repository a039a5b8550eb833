"""How far faithful programs and wrong ones are from the exact answer, in bounds."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from grader.exact import descent
from grader.exact.rounding import Rounded, rounded
from tests.exact.faithful import COMPILED, PROGRAMS, SLOW, constant_runs
from tests.exact.inputs import Case, Comparison, checked_vector, grid


def of_run(run: tuple[Rounded, list[descent.Row]]) -> list[Rounded]:
    """All numbers of a run: the final weight, then row by row."""
    final, rows = run
    return [final, *(number for row in rows for number in row)]


def run_of(case: Case) -> list[Rounded]:
    """The run on a case's data."""
    return of_run(descent.run(case.rate, case.steps, case.features, case.targets, case.weight))


def comparison_of(case: Case) -> list[Rounded]:
    """What `compare_rates` returns: a final weight, and the rows of another run."""
    stable, unstable, steps, n = case.compared
    ones, twos = [1.0] * n, [2.0] * n
    final, _ = descent.run(stable, steps, ones, twos)
    _, rows = descent.run(unstable, steps, ones, twos)
    return of_run((final, rows))


def _loss(case: Case) -> list[Rounded]:
    return [descent.loss(rounded(case.weight), case.features, case.targets)]


def _gradient(case: Case) -> list[Rounded]:
    return [descent.gradient(rounded(case.weight), case.features, case.targets)]


def _ceiling(case: Case) -> list[Rounded]:
    ceiling = descent.rate_ceiling(case.features)
    assert isinstance(ceiling, Rounded)  # no case has features that are all zero
    return [ceiling]


DUE: dict[str, Callable[[Case], list[Rounded]]] = {
    "curvature": lambda case: [descent.curvature(case.features)],
    "rate_ceiling": _ceiling,
    "error_multiplier": lambda case: [descent.error_multiplier(case.rate, case.features)],
    "growth_factor": lambda case: [descent.growth_factor(case.rate, case.features)],
    "loss": _loss,
    "gradient": _gradient,
    "run": run_of,
    "compare_rates": comparison_of,
}
"""The oracle's answer to a case, quantity by quantity."""


# --- right programs ---


@dataclass
class Line:
    """What is known of one program for one quantity."""

    draws: int = 0
    largest: float = 0.0
    at: Case | None = None

    def add(self, ratio: float, case: Case | None) -> None:
        """Count a draw."""
        self.draws += 1
        if ratio > self.largest or self.at is None:
            self.largest, self.at = max(ratio, self.largest), case

    def merge(self, other: "Line") -> "Line":
        """The line of both."""
        larger = max(self, other, key=lambda line: line.largest)
        return Line(self.draws + other.draws, larger.largest, larger.at)


Table: TypeAlias = dict[tuple[str, str], Line]


def error_in_bounds(got: list[Any], due: list[Rounded]) -> float:
    """The largest error over its bound; infinite for a wrong count, or what is not finite."""
    if len(got) != len(due):
        return math.inf
    return max(_in_bounds(float(g), d) for g, d in zip(got, due, strict=True))


def _in_bounds(got: float, due: Rounded) -> float:
    if not math.isfinite(got):
        return math.inf
    error = abs(Fraction(got) - due.value)
    if not error:
        return 0.0
    return float(error / due.bound) if due.bound else math.inf


def measure(
    cases: Iterable[Case], quantities: Iterable[str], *, slow_every: int, compiled_every: int
) -> Table:
    """Ask every program for these quantities at every case; some only at one case in so many."""
    every = dict.fromkeys(SLOW, slow_every) | {COMPILED: compiled_every}
    table: Table = {}
    for place, case in enumerate(cases):
        for quantity in quantities:
            due = DUE[quantity](case)
            for name, program in PROGRAMS[quantity].items():
                if place % every.get(name, 1) == 0 and (got := program(case)) is not None:
                    line = table.setdefault((quantity, name), Line())
                    line.add(error_in_bounds(got, due), case)
    return table


def measure_constant_comparisons(compared: Iterable[Comparison]) -> Table:
    """Comparisons compiled for their rates, one after the other."""
    line = Line()
    for arguments in compared:
        case = Case((1.0,), (2.0,), 0.0, 0.5, 1, 2.0, arguments, checked=True)
        got = PROGRAMS["compare_rates"][COMPILED](case)
        assert got is not None
        line.add(error_in_bounds(got, comparison_of(case)), case)
    return {("compare_rates", COMPILED): line}


def measure_constant_runs(each: int, seed: int, steps: int = 4, n: int = 3) -> Table:
    """Runs compiled for one rate after the other, each on so many data sets at once."""
    rng = np.random.default_rng(seed)
    line = Line()
    for rate in grid(1, 99):
        data = [
            (checked_vector(rng, n), checked_vector(rng, n), checked_vector(rng, 1)[0])
            for _ in range(each)
        ]
        x, y, start = (np.array(part, np.float32) for part in zip(*data, strict=True))
        finals, rows = (np.asarray(part) for part in constant_runs(rate, steps, x, y, start))
        for final, table, (features, targets, weight) in zip(finals, rows, data, strict=True):
            case = Case(features, targets, weight, rate, steps, None, (0, 0, 0, 0), checked=True)
            line.add(error_in_bounds([final, *table.ravel()], run_of(case)), case)
    return {("run", f"{COMPILED}, vmapped"): line}


def merged(tables: Iterable[Table]) -> Table:
    """All tables in one."""
    whole: Table = {}
    for table in tables:
        for key, line in table.items():
            whole[key] = whole[key].merge(line) if key in whole else line
    return whole


# --- wrong programs ---

OFF = Fraction(1001, 1000)
"""0.1 % off."""


@dataclass(frozen=True)
class WrongConstant:
    """A formula with a constant that is 0.1 % off, and the cases in which that is to be seen."""

    quantity: str
    name: str
    answer: Callable[[Case], list[Fraction]]
    typical: Callable[[Case], bool] = field(default=lambda case: True)


def _values(numbers: Iterable[Rounded]) -> list[Fraction]:
    return [number.value for number in numbers]


def _change(case: Case) -> Fraction:
    """2*r*q: what a step changes, relative to the error."""
    return Fraction(case.rate) * descent.curvature(case.features).value


def _few_digits_cancel(quantity: str) -> Callable[[Case], bool]:
    """Whether some number of the answer is at least a hundredth of what it is made from."""
    return lambda case: any(100 * abs(due.value) >= due.size > 0 for due in DUE[quantity](case))


def _scaled(quantity: str) -> Callable[[Case], list[Fraction]]:
    return lambda case: [OFF * due.value for due in DUE[quantity](case)]


def _at_rate(case: Case) -> list[Fraction]:
    """The run at a rate (or with a gradient) that is 0.1 % off."""
    run = descent.run(
        Fraction(case.rate) * OFF, case.steps, case.features, case.targets, case.weight
    )
    return _values(of_run(run))


def _to_target(case: Case) -> list[Fraction]:
    """The comparison with targets that are 0.1 % off."""
    stable, unstable, steps, n = case.compared
    ones, targets = [1.0] * n, [2 * OFF] * n
    final, _ = descent.run(stable, steps, ones, targets)
    return _values(of_run((final, descent.run(unstable, steps, ones, targets)[1])))


def _compared_at_rates(case: Case) -> list[Fraction]:
    """The comparison at rates that are 0.1 % off."""
    stable, unstable, steps, n = case.compared
    compared = (Fraction(stable) * OFF, Fraction(unstable) * OFF, steps, n)
    return _values(comparison_of(replace(case, compared=compared)))


WRONG_CONSTANTS = [
    WrongConstant("curvature", "2.002*q", _scaled("curvature")),
    WrongConstant("rate_ceiling", "1.001/q", _scaled("rate_ceiling")),
    WrongConstant(
        "error_multiplier",
        "1 - 2.002*r*q",
        lambda case: [1 - OFF * _change(case)],
        lambda case: _change(case) >= Fraction(1, 16),
    ),
    WrongConstant(
        "growth_factor",
        "1.001*m**2",
        _scaled("growth_factor"),
        _few_digits_cancel("growth_factor"),
    ),
    WrongConstant(
        "growth_factor",
        "(1 - 2.002*r*q)**2",
        lambda case: [(1 - OFF * _change(case)) ** 2],
        lambda case: _change(case) >= Fraction(1, 16) and _few_digits_cancel("growth_factor")(case),
    ),
    WrongConstant("loss", "1.001*L", _scaled("loss"), _few_digits_cancel("loss")),
    WrongConstant("gradient", "2.002*...", _scaled("gradient"), _few_digits_cancel("gradient")),
    WrongConstant("run", "1.001*L", _scaled("run"), _few_digits_cancel("run")),
    WrongConstant(
        "run",
        "1.001*r",
        _at_rate,
        lambda case: _change(case) >= Fraction(1, 16) and _few_digits_cancel("gradient")(case),
    ),
    WrongConstant("compare_rates", "targets 2.002", _to_target),
    WrongConstant("compare_rates", "1.001*r", _compared_at_rates),
]


def wrong_in_bounds(wrong: WrongConstant, cases: Iterable[Case]) -> Iterator[tuple[float, bool]]:
    """For each case: the error in bounds (of the number with most), and whether it is typical."""
    for case in cases:
        due, got = DUE[wrong.quantity](case), wrong.answer(case)
        errors = [
            float(abs(g - d.value) / d.bound) for g, d in zip(got, due, strict=True) if d.bound
        ]
        yield max(errors, default=0.0), wrong.typical(case)
