"""The long run over the bounds: `python -m tests.exact.soak [DRAWS]`, ten minutes on two cores.

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

import jax

from tests.exact.inputs import cases, comparisons
from tests.exact.measuring import (
    DUE,
    WRONG_CONSTANTS,
    Table,
    measure,
    measure_constant_comparisons,
    measure_constant_runs,
    merged,
    wrong_in_bounds,
)

DRAWS = 30_000  # so that programs for two cases of three are asked 20,000 times, too
PART = 750  # draws that a process makes in one go
SLOW_EVERY = 10
DATA_SETS = 130  # for each rate that is a constant of a compiled run: above 20,000 in all
NEVER = sys.maxsize

Job = tuple[str, int, int]


def part_of(job: Job) -> Table:
    """One part of the work, in a process of its own: what to do, which part it is, how many."""
    kind, place, count = job
    warnings.simplefilter("ignore")  # 1/0 and the like, in programs that are right all the same
    if kind == "drawn":
        return measured(place, count)
    if kind == "constant comparisons":
        table = measure_constant_comparisons(comparisons()[place * count : (place + 1) * count])
    else:
        table = measure_constant_runs(count, seed=place)
    jax.clear_caches()  # programs that won't run again take gigabytes
    return table


def measured(seed: int, count: int) -> Table:
    """All quantities; comparisons at constant rates aside, which have a job of their own."""
    others = [quantity for quantity in DUE if quantity != "compare_rates"]
    return merged(
        measure(cases(count, seed), quantities, slow_every=SLOW_EVERY, compiled_every=every)
        for quantities, every in ((others, 1), (["compare_rates"], NEVER))
    )


def right_programs(draws: int) -> Table:
    """Every right program on so many inputs, in as many processes as there are cores."""
    size = -(-len(comparisons()) // 4)
    jobs: list[Job] = [("constant comparisons", place, size) for place in range(4)]
    jobs += [("constant runs", 0, max(1, DATA_SETS * draws // DRAWS))]
    jobs += [("drawn", seed, min(PART, draws)) for seed in range(-(-draws // PART))]
    tables = []
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for done, table in enumerate(pool.imap_unordered(part_of, jobs), start=1):
            tables.append(table)
            print(f"\r{done} of {len(jobs)} parts", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return merged(tables)


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
                if line.largest > 1:
                    print(f"  outside its bound at {line.at}")
    outside = any(line.largest > 1 for line in table.values())

    print(f"\n{'quantity':18}{'0.1 % off':24}{'typical':>8}  least error/bound{'outside':>10}")
    inside = False
    for wrong in WRONG_CONSTANTS:
        checked = (case for case in cases(max(draws // 10, 50), 0) if case.checked)
        found = list(wrong_in_bounds(wrong, checked))
        typical = [error for error, is_typical in found if is_typical]
        share = sum(error > 1 for error, _ in found) / len(found)
        print(
            f"{wrong.quantity:18}{wrong.name:24}{len(typical):>8}  "
            f"{min(typical):<17.1f}{share:>10.2%}"
        )
        inside = inside or min(typical) <= 1
    print(f"\n{time.monotonic() - started:.0f} s")
    return 1 if outside or inside else 0


if __name__ == "__main__":
    sys.exit(main())
