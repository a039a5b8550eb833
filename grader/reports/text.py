"""Reports as plain text: one submission for its student, a class as a table."""

import textwrap
from collections.abc import Mapping, Sequence

from grader.escapes import named, one_line, plain
from grader.model import CheckReport, ExerciseReport, Report

WIDTH = 88
SHOWN_STUDENTS = 40
SHOWN_PRINTED = 20  # lines of what a page printed
MAX_PRINTED = 200  # characters of each
MARKS = {
    "passed": "ok",
    "failed": "WRONG",
    "not_attempted": "to do",
    "timed_out": "TIME UP",
    "crashed": "CRASHED",
    "needs_person": "read by a person",
    "not_determined": "not graded",
}


def points(score: float | None) -> str:
    """A score as people write it: 7, 7.5, or a dash where it is not determined."""
    return "-" if score is None else f"{score:g}"


def exercise_text(report: ExerciseReport, *, for_student: bool) -> str:
    """One exercise: its table of checks, then what is to be said about each that did not pass."""
    score = f"{points(report.score)} of {points(report.max_score)} points"
    lines = [
        f"{report.name}: {score}" + ("" if report.status == "graded" else f" ({report.status})")
    ]
    lines += [
        f"  {line}" for note in report.notes for line in _wrapped(f"note: {one_line(note)}", 2)
    ]
    if report.status == "missing":
        return "\n".join(lines)  # every check is the same
    for check in report.checks:
        worth = "" if not check.points else f"{points(check.score)}/{points(check.points)}"
        lines.append(f"  {MARKS[check.outcome]:<8} {worth:>7}  {check.function}: {check.title}")
    told: set[tuple[str, str | None]] = set()
    for check in report.checks:
        if check.outcome == "passed" and check.message:
            told_why = f"{check.function}: {check.title}: {check.message}"
            lines += ["", *(f"  {line}" for line in _wrapped(told_why, 2))]
        if check.outcome in ("passed", "not_attempted", "needs_person"):
            continue
        lines += ["", *_failure(check, for_student, (check.function, check.misconception) in told)]
        if check.misconception:
            told.add((check.function, check.misconception))
    if report.output.strip():
        lines += ["", "  it printed:"]
        printed = report.output.splitlines()
        lines += [f"    | {_printed(line)}" for line in printed[:SHOWN_PRINTED]]
        if len(printed) > SHOWN_PRINTED:
            lines.append(f"    ... and {len(printed) - SHOWN_PRINTED} more lines")
    return "\n".join(lines)


def _printed(line: str) -> str:
    text = plain(line[: MAX_PRINTED + 1])
    return text if len(text) <= MAX_PRINTED else f"{text[: MAX_PRINTED - 3]}..."


def _failure(check: CheckReport, for_student: bool, told: bool) -> list[str]:
    lines = [f"  {check.function}: {check.title}"]
    found = check.counterexample
    if found is not None:
        arguments = ", ".join(f"{name}={_value(value)}" for name, value in found.arguments.items())
        function = f"jax.grad({check.function})" if found.gradient else check.function
        call = f"{function}({arguments})" if found.arguments else function
        lines += [f"    {line}" for line in _wrapped(f"input: {call}", 4)]
        lines += [f"    {line}" for line in _wrapped(f"got:   {found.got}", 4)]
        if found.due and not (for_student and check.visibility == "hidden"):
            within = f" (within {found.bound})" if found.bound else ""
            lines += [f"    {line}" for line in _wrapped(f"due:   {found.due}{within}", 4)]
    message = check.message
    if check.misconception and told:
        message = f"as above ({check.misconception})"
    elif check.misconception:
        message = f"{check.misconception}: {message}"
    lines += [f"    {line}" for line in _wrapped(message, 4)]
    return lines


def _value(value: object) -> str:
    if isinstance(value, dict):
        items = (f"{name!r}: {_value(item)}" for name, item in value.items())
        return str(value["formula"]) if "formula" in value else "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


def _wrapped(text: str, indent: int) -> list[str]:
    """A text in lines. Those of its own are marked, or they could look like the report's."""
    first, *more = plain(text).splitlines() or [""]
    return [
        piece
        for line in (first, *(f"| {line}" for line in more))
        for piece in textwrap.wrap(line, WIDTH - indent, subsequent_indent="  ") or [""]
    ]


def student_text(report: Report, *, for_student: bool = True) -> str:
    """One submission, for its student (without what hidden checks expect) or its instructor."""
    total = f"{points(report.score)} of {points(report.max_score)} points"
    lines = [f"{named(report.student)}: {total}"]
    lines += [piece for note in report.notes for piece in _wrapped(f"note: {one_line(note)}", 0)]
    parts = [exercise_text(exercise, for_student=for_student) for exercise in report.exercises]
    return "\n\n".join(["\n".join(lines), *parts]) + "\n"


def found_table(
    layout: str,
    exercises: Sequence[str],
    students: Sequence[tuple[str, Mapping[str, str]]],
    left_out: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """What was recognised, before anything is graded: the layout, each student's files, what is
    taken for no student's, and notes on the class."""
    lines = [f"layout: {layout}; students: {len(students)}"]
    shown = [name for name in exercises if any(files[name] != "missing" for _, files in students)]
    labels, explained = _headed(exercises, shown)
    rows = [["student", *labels]]
    for student, files in students[:SHOWN_STUDENTS]:
        cells = [named(student), *(one_line(files[exercise]) for exercise in shown)]
        rows.append([_shortened(text) for text in cells])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    if len(students) > SHOWN_STUDENTS:
        lines.append(f"... and {len(students) - SHOWN_STUDENTS} more")
    lines += explained
    if left_out:
        more = ", ..." if len(left_out) > SHOWN_STUDENTS else ""
        listed = ", ".join(_shortened(one_line(name)) for name in left_out[:SHOWN_STUDENTS])
        lines += _wrapped(f"taken for no student's: {listed}{more}", 0)
    lines += [
        line for note in notes[:SHOWN_STUDENTS] for line in _wrapped(one_line(f"note: {note}"), 0)
    ]
    if len(notes) > SHOWN_STUDENTS:
        lines.append(f"... and {len(notes) - SHOWN_STUDENTS} more notes of this kind")
    return "\n".join(lines) + "\n"


def class_table(reports: Sequence[Report]) -> str:
    """The class: a line a student with scores and, where one was named, the misconceptions."""
    if not reports:
        return "no submissions\n"
    names = [exercise.name for exercise in reports[0].exercises]
    places = [
        place
        for place in range(len(names))
        if any(report.exercises[place].status != "missing" for report in reports)
    ]
    labels, explained = _headed(names, [names[place] for place in places])
    rows = [["student", "score", *labels, "remarks"]]
    for report in reports:
        total = f"{points(report.score)}/{points(report.max_score)}"
        scores = [points(report.exercises[place].score) for place in places]
        rows.append([_shortened(named(report.student)), total, *scores, one_line(_remarks(report))])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join([*lines, *explained]) + "\n"


def _headed(names: Sequence[str], shown: Sequence[str]) -> tuple[list[str], list[str]]:
    """What heads the columns of the exercises that are shown, and lines that explain it: numbers
    where the names would take more than a line; and which exercises nobody handed in."""
    labels, explained = list(shown), []
    if sum(len(name) + 2 for name in shown) > WIDTH - 20:
        labels = [str(number) for number in range(1, len(shown) + 1)]
        legend = ", ".join(map(" ".join, zip(labels, shown, strict=True)))
        explained += _wrapped(f"exercises: {legend}", 0)
    if shown and len(shown) < len(names):
        others = ", ".join(name for name in names if name not in shown)
        explained += _wrapped(f"nobody handed in: {others}", 0)
    return labels, explained


def _shortened(text: str) -> str:
    return text if len(text) <= 32 else text[:29] + "..."


def _remarks(report: Report) -> str:
    remarks: list[str] = []
    handed_in = [exercise for exercise in report.exercises if exercise.status != "missing"]
    if not handed_in:
        said = [note for exercise in report.exercises for note in exercise.notes]
        plain = not report.notes and set(said) <= {"nothing was handed in for this exercise"}
        return "nothing handed in" if plain else "nothing taken (see the report)"
    for exercise in handed_in:
        found: list[str] = [] if exercise.status == "graded" else [exercise.status]
        if all(check.outcome == "not_attempted" for check in exercise.checks) and not found:
            found = [_why_not_attempted(exercise)]
        for check in exercise.checks:
            named = check.misconception or (
                f"{check.function} {check.outcome.replace('_', ' ')}"
                if check.outcome in ("timed_out", "crashed", "not_determined")
                else None
            )
            if named and named not in found:
                found.append(named)
        remarks += found
    return ", ".join(remarks)


def _why_not_attempted(exercise: ExerciseReport) -> str:
    """What a note says of it, in short; or that nothing is known."""
    told = [check.message for check in exercise.checks if check.message in exercise.notes]
    if told:
        return told[0].partition(";")[0].partition(" (")[0]
    return "not attempted (see the report)" if exercise.notes else "not attempted"
