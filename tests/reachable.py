"""A view of this machine in which every user can reach this Python, for tests that change user.

Where Python lies in a folder that only root may enter, that folder is replaced, for the command
alone, by one that holds nothing but Python.
"""

import os
import subprocess
import sys
from pathlib import Path

from grader import bubblewrap, confinement

USER = 65534


def run_python(code: str, *, user: int | None = None, root: Path) -> subprocess.CompletedProcess:
    """`python -c code` in `root`, as `user` where that can be chosen (by root alone)."""
    if user is not None and os.geteuid() == 0:
        change = f"os.setgroups([]); os.setresgid(*[{user}] * 3); os.setresuid(*[{user}] * 3)"
        code = f"import os\n{change}\nos.environ['HOME'] = '/nowhere'\n{code}"
    command = [*_opened(), sys.executable, "-B", "-c", code]
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=root, env=environment
    )


def _opened() -> list[str]:
    closed = confinement.closed_to_others() if os.geteuid() == 0 else None
    if closed is None:
        return []
    program = bubblewrap.program()
    assert program is not None
    command = [program, "--dev-bind", "/", "/", "--perms", "0755", "--tmpfs", str(closed)]
    for folder in sorted(bubblewrap.interpreter()):
        if folder.is_relative_to(closed):
            for parent in reversed(folder.relative_to(closed).parents[:-1]):
                command += ["--perms", "0755", "--dir", str(closed / parent)]
            command += ["--ro-bind", str(folder), str(folder)]
    return command
