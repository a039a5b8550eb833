"""`python -m grader.worker warm` (forks children on request) or `cold` (is the one child).

`--uid=N` gives up root for a user that owns nothing; `--guarded` refuses to students' code the
system calls that no right answer needs.
"""

import os
import sys


def give_up_root(options: list[str]) -> None:
    """Become the user that `--uid` names, if it is there, and nobody's group member."""
    for option in options:
        if option.startswith("--uid="):
            uid = int(option.removeprefix("--uid="))
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)


def main() -> None:
    """Start in the mode that the first argument names."""
    mode, *options = sys.argv[1:]
    give_up_root(options)
    import jax.numpy  # noqa: F401  # before any limit counts, as in a forked child
    import numpy  # noqa: F401

    from grader.worker import child, parent

    if mode == "warm":
        parent.serve(control=0, guarded="--guarded" in options)
        return
    child.die_with_parent()
    # The channel moves away from descriptors 0 and 1, which a student's code reads and writes.
    child.serve_and_exit(os.dup(0), os.dup(1), output=2)


main()
