"""`grader check`: a student's own files against the public checks, in a process of their own."""

from collections.abc import Callable, Sequence
from pathlib import Path

from grader import catalogue, submissions
from grader.errors import UsageError
from grader.escapes import one_line
from grader.grading import grade_exercise
from grader.model import ExerciseReport
from grader.reports.text import exercise_text
from grader.sandbox import Sandbox
from grader.suite import Suite, with_suite


def check_paths(
    paths: Sequence[Path],
    exercises: Sequence[str],
    say: Callable[[str], None],
    hints: bool = False,
) -> bool:
    """Check the files at `paths` and say what was found; whether every check passed.

    With `hints`, the page's own hint follows where something does not pass.

    `exercises` limits what is looked for; with one of them, a single file is taken for it.
    UsageError when there is nothing to check.
    """
    names = sorted(set(exercises)) or catalogue.names()
    for name in names:
        catalogue.exercise(name)
    passed, found_any = True, False
    notes: list[str] = []
    with Sandbox() as sandbox:

        def body(suite: Suite) -> None:
            nonlocal passed, found_any
            for path in paths:
                sole = names[0] if exercises and len(names) == 1 else None
                submission = submissions.read(path, names, sole)
                notes.extend(f"\n{one_line(note)}" for note in submission.notes)
                for name in names:
                    found = submission.found[name]
                    if found.status == "missing":
                        continue
                    report = grade_exercise(found, name, suite, sandbox)
                    found_any = True
                    passed = passed and _passed(report)
                    say(exercise_text(report, for_student=True) + "\n")
                    if hints and not _passed(report):
                        say(f"hint for {name}:\n\n{catalogue.exercise(name).hint}\n")

        with_suite(names, body, hidden=False)
    if not found_any:
        where = ", ".join(str(path) for path in paths)
        told = "".join(notes)
        raise UsageError(f"no file of {', '.join(names)} was found in {where}{told}")
    return passed


def _passed(report: ExerciseReport) -> bool:
    return report.status == "graded" and all(
        check.outcome in ("passed", "needs_person") for check in report.checks
    )


def watch(
    paths: Sequence[Path],
    exercises: Sequence[str],
    say: Callable[[str], None],
    hints: bool = False,
) -> None:
    """Check again whenever one of the files changes, until interrupted."""
    import watchfiles

    for _ in watchfiles.watch(*paths):
        try:
            check_paths(paths, exercises, say, hints)
        except UsageError as error:
            say(str(error))
