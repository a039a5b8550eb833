"""Grade many submissions: hand them to grading processes, keep what they report, lose nothing."""

from collections.abc import Callable, Sequence

import msgspec

from grader import catalogue
from grader.errors import UsageError
from grader.grading import checks_fingerprint, not_graded
from grader.layouts import Entry
from grader.model import Report
from grader.pool import Process, spread
from grader.results import ResultFiles
from grader.service import Job, Setup
from grader.submissions import Outline, read


def outlined(entry: Entry, setup: Setup) -> tuple[Job, Outline]:
    """The job that an entry of a class makes, and what will be read for it."""
    try:
        outline = read(entry.roots, setup.exercises, setup.sole, entry.student).outline()
    except UsageError:
        raise
    except Exception:  # the grader's own fault; grading it will say so, and go on with the others
        outline = Outline(entry.student, "", dict.fromkeys(setup.exercises, "not_graded"))
    return Job.of(entry), outline


def grade_class(
    jobs: Sequence[tuple[Job, Outline]],
    setup: Setup,
    results: ResultFiles,
    workers: int,
    done: Callable[[Report], None],
) -> list[Report]:
    """Grade what is not graded yet, `workers` at a time; all reports, sorted by student.

    `done` is called with each report as it comes, from one thread at a time. A grading process that
    dies costs the submission under way, and is replaced.
    """
    checks = checks_fingerprint(setup.exercises, setup.limits)
    wanted = {outline.student: f"{outline.fingerprint}-{checks}" for _, outline in jobs}
    reports = {
        report.student: report
        for report in results.trusted()
        if wanted.get(report.student) == report.fingerprint and report.score is not None
    }

    def keep(job: Job, report: Report | None, said: str) -> None:
        report = report or not_graded(job.student, setup.exercises, said)
        report = msgspec.structs.replace(report, fingerprint=wanted[report.student])
        reports[report.student] = report
        results.append(report)
        done(report)

    todo = [job for job, _ in jobs if job.student not in reports]
    for report in list(reports.values()):
        done(report)
    spread(todo, workers, lambda: grading_process(setup), keep)
    final = [reports[student] for student in sorted(reports)]
    results.finish(final)
    return final


def grading_process(setup: Setup) -> Process[Setup, Job, Report]:
    """One process that grades a submission at a time."""
    return Process("grader.service", setup, Report)


def exercise_names(wanted: Sequence[str]) -> list[str]:
    """The exercises asked for, each once and known; all of them when none is named."""
    for name in wanted:
        catalogue.exercise(name)
    return sorted(set(wanted)) or catalogue.names()
