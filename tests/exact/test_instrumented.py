"""What `instrumented_run` rests on: how far the updates of right runs may be off, and ratios.

INSTRUMENTED_DRAWS=1500 takes a minute or two, and `pytest -s` prints the largest errors. Seen in
1500 draws, in bounds: 0.19 for updates, 0.23 for weights, 0.12 for gradients, 0.07 for losses, and
0.32 for ratios.
"""

import os
import warnings
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from grader.exact import instrumented
from grader.exact.rounding import Rounded
from tests.exact.measuring import error_in_bounds
from tests.exact.test_clipped import PROGRAMS, Case, drawn, flat, single

DRAWS = int(os.environ.get("INSTRUMENTED_DRAWS", "100"))
NO_CLIP = 1e37


def due(case: Case) -> instrumented.Record:
    clip = None if case.clip == NO_CLIP else case.clip
    return instrumented.record(case.rate, case.steps, case.features, case.targets, case.start, clip)


def columns(case: Case, run: tuple[Any, Any], exact: instrumented.Record) -> dict[str, list[Any]]:
    """A program's record; its updates as differences, and as products."""
    final, rows = run
    weights = [*(row[0] for row in rows), final]
    signs = [1 if number.value > 0 else -1 for number in exact["gradient"]]
    pairs = zip(rows, signs, exact["gradient"], strict=True)
    return {
        "weight": weights[:-1],
        "loss": [row[1] for row in rows],
        "gradient": [sign * row[2] for row, sign in zip(rows, signs, strict=True)],
        "next_weight": weights[1:],
        "update, as a difference": list(np.diff(np.array(weights))),
        "update, as a product": [
            -(type(row[3])(case.rate) if isinstance(row[3], float) else single(case.rate))
            * sign
            * row[3]
            if abs(slope.value) > slope.bound
            else None
            for row, sign, slope in pairs
        ],
    }


def test_no_right_record_is_outside_its_bounds():
    largest: dict[str, float] = defaultdict(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, clipped_case in enumerate(drawn(DRAWS, seed=31)):
            case = replace(clipped_case, clip=NO_CLIP) if place % 2 else clipped_case
            exact = due(case)
            for name, program in PROGRAMS.items():
                for column, found in columns(case, program(case), exact).items():
                    numbers = exact[column.partition(",")[0]]
                    pairs = [(x, d) for x, d in zip(found, numbers, strict=True) if x is not None]
                    error = error_in_bounds([x for x, _ in pairs], [d for _, d in pairs])
                    assert error <= 1, (name, column, error, case)
                    largest[column] = max(largest[column], error)
    print(*(f"{error:.3f} {name}" for name, error in sorted(largest.items())), sep="\n")
    assert min(largest.values()) > 0.03


def test_an_update_that_is_off_by_a_thousandth_is_outside_its_bound():
    asked = 0
    for case in drawn(300, seed=32):
        first = due(case)["update"][0]
        pairs = [
            (Fraction(x), Fraction(y)) for x, y in zip(case.features, case.targets, strict=True)
        ]
        square, cross = sum(x * x for x, _ in pairs), sum(abs(x * y) for x, y in pairs)
        if square and abs(first.value) > (abs(Fraction(case.start)) + cross / square) / 32:
            assert abs(first.value) / 1000 > first.bound, case
            asked += 1
    assert asked > 100


def test_a_plain_run_is_that_of_no_clip():
    for case in drawn(50, seed=33):
        plain = due(replace(case, clip=NO_CLIP))
        wide = instrumented.record(
            case.rate, case.steps, case.features, case.targets, case.start, 1e37
        )
        assert plain == wide


def test_the_page_s_case_is_exact():
    record = instrumented.record(Fraction(3, 10), 3, [2], [2])

    def values(name: str) -> list[Fraction]:
        return [number.value for number in record[name]]

    def decimals(*texts: str) -> list[Fraction]:
        return [Fraction(text) for text in texts]

    assert values("weight") == decimals("0", "2.4", "-0.96")
    assert values("loss") == decimals("4", "7.84", "15.3664")
    assert values("gradient") == decimals("-8", "11.2", "-15.68")
    assert values("update") == decimals("2.4", "-3.36", "4.704")
    assert values("next_weight") == decimals("2.4", "-0.96", "3.744")
    limited = instrumented.record(Fraction(3, 10), 2, [2], [2], 0, 10)
    assert [number.value for number in limited["update"]] == decimals("2.4", "-3")
    assert [number.value for number in limited["gradient"]] == decimals("-8", "11.2")


def test_ratios_are_within_their_bound():
    rng, largest = np.random.default_rng(34), 0.0
    for _ in range(2_000):
        update, weight = (float(v) for v in rng.choice([-1, 1], 2) * 2 ** rng.uniform(-10, 10, 2))
        exact = instrumented.ratio(update, weight)
        assert isinstance(exact, Rounded)
        u, w = single(update), single(weight)
        ways = [
            abs(u / w),
            abs(u) / abs(w),
            abs(u) * (1 / abs(w)),
            abs(update / weight),
            np.sqrt(u * u / (w * w)),
            np.exp(np.log(abs(u)) - np.log(abs(w))),
        ]
        largest = max(largest, error_in_bounds(ways, [exact] * len(ways)))
    print(f"{largest:.3f}")
    assert 0.03 < largest <= 1
    assert instrumented.ratio(0, 0) == Rounded(Fraction(0))
    assert instrumented.ratio(1, 0) == float("inf")


def test_a_record_has_a_number_a_step():
    for case in drawn(20, seed=35):
        exact = due(case)
        assert {len(column) for column in exact.values()} == {case.steps}
        assert flat(([], [list(column) for column in exact.values()]))
