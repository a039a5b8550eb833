"""`python -m grader.worker warm` (forks children on request) or `cold` (is the one child).

`--uid=N` gives up root for a user that owns nothing; `--guarded` refuses to students' code the
system calls that no right answer needs.
"""

import contextlib
import functools
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


def share_ir_context() -> None:
    """Have JAX lower all programs of a process in one MLIR context, not in a new one for each.

    Making a context costs more than lowering a small program in it. It changes no program. Where
    JAX has no such function any more, all is right and slower (`tests/test_compiled.py` tells).
    """
    with contextlib.suppress(ImportError, AttributeError):
        from jax._src.interpreters import mlir

        mlir.make_ir_context = functools.cache(mlir.make_ir_context)


def main() -> None:
    """Start in the mode that the first argument names."""
    mode, *options = sys.argv[1:]
    give_up_root(options)
    import jax.numpy  # noqa: F401  # before any limit counts, as in a forked child
    import numpy  # noqa: F401

    from grader.worker import child, parent

    share_ir_context()
    if mode == "warm":
        parent.serve(control=0, guarded="--guarded" in options)
        return
    child.die_with_parent()
    # The channel moves away from descriptors 0 and 1, which a student's code reads and writes.
    child.serve_and_exit(os.dup(0), os.dup(1), output=2)


main()
