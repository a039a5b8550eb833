"""The class as CSV: one row a student, one column an exercise."""

import csv
import io
from collections.abc import Sequence

from grader.escapes import named
from grader.model import Report

_BEGIN_FORMULAS = (*"=+-@\t\r", *"\uff1d\uff0b\uff0d\uff20")  # the last as wide as an ideograph


def summary_csv(reports: Sequence[Report]) -> str:
    """`student,score,max_score,<exercise>...`; a score that is not determined is left blank."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [exercise.name for exercise in reports[0].exercises] if reports else []
    writer.writerow(["student", "score", "max_score", *names])
    for report in reports:
        scores = [_cell(exercise.score) for exercise in report.exercises]
        student = no_formula(named(report.student))
        writer.writerow([student, _cell(report.score), f"{report.max_score:g}", *scores])
    return out.getvalue()


def _cell(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


def no_formula(text: str) -> str:
    """Text that a spreadsheet would take for a formula, made text; and no two texts the same."""
    return f"'{text}" if text.lstrip("'")[:1] in _BEGIN_FORMULAS else text
