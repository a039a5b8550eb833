"""The long run over the bounds: `python -m tests.exact.soak [DRAWS]`, a few minutes on two cores.

Prints, for each quantity and program, how many inputs it was asked and how near to the bound its
worst answer was; then how far wrong constants are outside. Exits 1 when a right program was outside
a bound somewhere, with the input, or a wrong constant inside where it should show.
"""

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from itertools import islice

import jax

from tests.exact.inputs import Case, cases, comparisons
from tests.exact.measuring import (
    DUE,
    WRONG_CONSTANTS,
    Table,
    measure,
    measure_constant_rates,
    merged,
    wrong_in_bounds,
)

DRAWS = 20_000
SLOW_EVERY = 10
CONSTANT_EACH = 130  # data sets for each of the 154 rates: 20,000 in all
PART = 500


def _some(job: tuple[str, int, int]) -> Table:
    """One part of the work, in a process of its own."""
    warnings.simplefilter("ignore")  # 1/0 and the like, in programs that are right all the same
    kind, seed, count = job
    if kind == "constant rates":
        table = measure_constant_rates(count, seed)
        jax.clear_caches()  # programs that won't run again take gigabytes
        return table
    if kind == "every comparison":
        whole = map(_comparing, comparisons()[seed * count : (seed + 1) * count])
        table = measure(whole, ["compare_rates"], slow_every=1, compiled_every=1)
        jax.clear_caches()
        return table
    drawn = cases(count, seed)
    everything = [quantity for quantity in DUE if quantity != "compare_rates"]
    table = measure(drawn, everything, slow_every=SLOW_EVERY, compiled_every=1)
    drawn = (case for case in cases(2 * count, seed) if not case.checked)
    wide = measure(drawn, ["compare_rates"], slow_every=SLOW_EVERY, compiled_every=1)
    return merged([table, wide])


def _comparing(compared: tuple[float, float, int, int]) -> Case:
    return Case((1.0,), (2.0,), 0.0, 0.5, 1, 2.0, compared, checked=True)


def right_programs(draws: int) -> Table:
    """Every right program, on so many inputs; `compare_rates` also on all that its checks ask."""
    size = -(-len(comparisons()) // 4)
    jobs = [("every comparison", seed, size) for seed in range(4)]
    jobs += [("constant rates", 0, max(1, CONSTANT_EACH * draws // DRAWS))]
    jobs += [("drawn", seed, PART) for seed in range(-(-draws // PART))]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        return merged(pool.imap_unordered(_some, jobs, chunksize=1))


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("draws", nargs="?", type=int, default=DRAWS)
    draws = parser.parse_args().draws
    started = time.monotonic()
    table = right_programs(draws)
    print(f"{'quantity':18}{'program':36}{'draws':>8}  largest error/bound")
    for quantity in DUE:
        for (about, name), line in table.items():
            if about == quantity:
                print(f"{quantity:18}{name:36}{line.draws:>8}  {line.largest:.3f}")
                quantity_shown = f"  {line.at}" if line.largest > 1 else ""
                print(quantity_shown, end="\n" if quantity_shown else "")
    outside = [key for key, line in table.items() if line.largest > 1]

    print(f"\n{'quantity':18}{'0.1 % off':24}{'typical':>8}  least error/bound{'all outside':>14}")
    inside = []
    for wrong in WRONG_CONSTANTS:
        checked = (case for case in cases(draws, 0) if case.checked)
        found = list(wrong_in_bounds(wrong, islice(checked, max(draws // 10, 1))))
        least = min(error for error, typical in found if typical)
        share = sum(error > 1 for error, _ in found) / len(found)
        count = sum(typical for _, typical in found)
        print(f"{wrong.quantity:18}{wrong.name:24}{count:>8}  {least:<17.1f}{share:>14.2%}")
        if least <= 1:
            inside.append(wrong)
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if outside or inside else 0


if __name__ == "__main__":
    sys.exit(main())
