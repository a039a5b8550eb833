"""`python -m grader.worker warm` (forks children on request) or `cold` (is the one child)."""

import os
import sys

import jax.numpy  # noqa: F401  # before any limit counts, as in a forked child
import numpy  # noqa: F401

from grader.worker import child, parent


def main() -> None:
    """Start in the mode that the first argument names."""
    if sys.argv[1] == "warm":
        parent.serve(control=0)
        return
    child.die_with_parent()
    # The channel moves away from descriptors 0 and 1, which a student's code reads and writes.
    child.serve_and_exit(os.dup(0), os.dup(1), output=2)


main()
