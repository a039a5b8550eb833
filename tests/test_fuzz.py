"""A short run of `tests/fuzz.py`, always the same; the long ones are run by hand."""

import pytest

from tests.fuzz import TARGETS, run


@pytest.mark.parametrize("target", TARGETS)
def test_a_mutated_hand_in_is_read_or_refused(target):
    counts = run(target, examples=200, number=4)
    assert counts.total() >= 200
    assert len(counts) > 1, "mutations that all end alike test nothing"
