"""What this machine offers for checking and grading, a line for each thing."""

import platform
import sys
import time
from collections.abc import Iterator

from grader import catalogue
from grader.bubblewrap import missing_piece, program
from grader.confinement import Confinement
from grader.errors import GraderFault
from grader.grading import versions
from grader.model import Question
from grader.sandbox import Sandbox, Source


def findings() -> Iterator[str]:
    """Lines for a person: what is there, and advice for what is missing."""
    yield "versions: " + ", ".join(f"{name} {version}" for name, version in versions().items())
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        yield "  advice: the course is written for Python 3.11 to 3.13"
    yield f"system: {platform.system()} {platform.machine()}"
    keyed = [name for name in catalogue.names() if catalogue.has_key(name)]
    yield f"exercises: {', '.join(catalogue.names())}"
    if len(keyed) < len(catalogue.names()):
        yield "  keys: none here, so only public checks run (grading needs the instructor's clone)"
    else:
        yield "  keys: all here"
    yield from _isolation()


def _isolation() -> Iterator[str]:
    missing = missing_piece()
    if missing is None:
        yield f"isolation: bubblewrap ({program()}): students' code sees none of your files"
    else:
        yield f"isolation: process (limits alone), since {missing}"
        yield "  advice: grade strangers' code where bubblewrap works, or where nothing else is"
    confinement = Confinement("process" if missing else "bubblewrap")
    source = Source("probe.py", (("def one(features): return features.sum()", 1),), {}, {})
    started = time.perf_counter()
    try:
        with Sandbox(confinement=confinement) as sandbox:
            ready = time.perf_counter()
            worker = sandbox.load(source)
            worker.ask(Question("one", ([1.0, 2.0],)))
            worker.close()
            answered = time.perf_counter()
    except (GraderFault, OSError) as error:
        yield f"speed: students' code can't be run: {error}"
        return
    start, answer = ready - started, answered - ready
    yield f"speed: {start:.1f} s to start, {answer:.2f} s to a file's first answer"
