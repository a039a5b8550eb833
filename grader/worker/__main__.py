"""`python -m grader.worker warm` (forks children on request) or `cold` (is the one child)."""

import os
import sys

from grader.worker import child, parent


def main() -> None:
    """Start in the mode that the first argument names."""
    if sys.argv[1] == "warm":
        parent.serve(control=0)
    else:
        # The channel moves away from descriptors 0 and 1, which a student's code reads and writes.
        requests, replies = os.dup(0), os.dup(1)
        child.serve(requests, replies, output=2)


main()
