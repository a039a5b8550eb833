"""The command `grader`. Heavy imports stand inside the commands, so that help comes at once."""

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from grader.errors import GraderFault, UsageError
from grader.escapes import one_line

app = typer.Typer(
    help="Check and grade the course on debugging unstable training.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
course_app = typer.Typer(help="Courses that run on nbgrader.", no_args_is_help=True)
app.add_typer(course_app, name="course")


class Isolation(StrEnum):
    """How a stranger's code is confined."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    PROCESS = "process"


class Layout(StrEnum):
    """How a class is laid out in folders and files."""

    AUTO = "auto"
    PLAIN = "plain"
    NBGRADER = "nbgrader"
    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"


class Format(StrEnum):
    """What `grader report` writes."""

    TEXT = "text"
    CSV = "csv"


class Audience(StrEnum):
    """Whom a report is for."""

    STUDENT = "student"
    INSTRUCTOR = "instructor"


ExerciseOption = Annotated[
    list[str] | None,
    typer.Option("--exercise", help="Only this exercise; may be given several times."),
]


def _fail(message: str, status: int) -> NoReturn:
    from grader.escapes import plain

    typer.echo(f"grader: {plain(message)}", err=True)
    raise typer.Exit(status)


def told_plainly(command: Callable[..., None]) -> Callable[..., None]:
    """Errors as one line for a person: a usage error exits 2, a fault of the grader's own 1."""

    @wraps(command)
    def told(*arguments: Any, **named: Any) -> None:
        try:
            command(*arguments, **named)
        except UsageError as error:
            _fail(str(error), 2)
        except GraderFault as error:
            _fail(f"a fault of the grader's own: {error}", 1)
        except ModuleNotFoundError as error:
            _fail(f"{error}; instructors need more packages: pip install -e '.[instructor]'", 2)
        except BrokenPipeError:  # whoever read the output has seen enough
            raise
        except OSError as error:
            name = "" if error.filename is None else f"{Path(os.fsdecode(error.filename))}: "
            _fail(f"{name}{error.strerror or error}", 2)
        except KeyboardInterrupt:
            _fail("interrupted; what was finished is kept", 130)

    return told


@app.command()
@told_plainly
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="Your files or folders; this folder if none.")
    ] = None,
    exercise: ExerciseOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Check again at every save.")] = False,
    hint: Annotated[bool, typer.Option("--hint", help="Show the page's hint, too.")] = False,
) -> None:
    """Run the public checks on your own files. Exit 0: all pass, 1: some don't, 2: usage."""
    from grader import checking

    places = paths or [Path()]
    passed = checking.check_paths(places, exercise or [], typer.echo, hint)
    if watch:
        checking.watch(places, exercise or [], typer.echo, hint)
    raise typer.Exit(0 if passed else 1)


@app.command()
@told_plainly
def grade(
    submissions: Annotated[Path, typer.Argument(help="A folder with one entry per student.")],
    out: Annotated[Path, typer.Option(help="Where results.jsonl and summary.csv go.")],
    exercise: ExerciseOption = None,
    workers: Annotated[int, typer.Option(min=1, help="Submissions graded at a time.")] = 1,
    layout: Annotated[Layout, typer.Option(help="How the class is laid out.")] = Layout.AUTO,
    isolation: Annotated[Isolation, typer.Option(help="How students' code is confined.")] = (
        Isolation.AUTO
    ),
    force: Annotated[
        bool, typer.Option("--force", help="Grade what was graded before, too.")
    ] = False,
    call_seconds: Annotated[int, typer.Option(min=1, help="CPU time of a call.")] = 10,
    load_seconds: Annotated[int, typer.Option(min=1, help="CPU time of loading a file.")] = 20,
    file_seconds: Annotated[int, typer.Option(min=1, help="CPU time of a file in all.")] = 60,
) -> None:
    """Grade a class. Exit 0: everything was graded, 1: something could not be, 2: usage."""
    from grader import batch, catalogue, confinement, layouts, results
    from grader.compiled import prepared
    from grader.escapes import named
    from grader.progress import Progress
    from grader.reports import table, text
    from grader.sandbox import Limits
    from grader.service import Setup

    names = batch.exercise_names(exercise or [])
    sole = names[0] if exercise and len(names) == 1 else None
    without = [name for name in names if not catalogue.has_key(name)]
    if without:
        typer.echo(f"no key is here for {', '.join(without)}: only public checks run", err=True)
    kind = confinement.chosen(isolation)
    if kind == "process":
        typer.echo(f"isolation: process; {confinement.weakness()}", err=True)
    files = results.ResultFiles(out, force)
    hidden = tuple(str(path.absolute()) for path in (submissions, out))
    confined = prepared(kind, hidden, lambda line: typer.echo(line, err=True))
    limits = Limits(call_cpu=call_seconds, load_cpu=load_seconds, file_cpu=file_seconds)
    setup = Setup(names, limits, confined, sole)
    with layouts.class_at(submissions, layout) as found:
        entries = [entry for entry in found.entries if not entry.is_at(out)]  # it may lie there
        jobs = [batch.outlined(entry, setup) for entry in entries]
        students = [(outline.student, outline.files) for _, outline in jobs]
        typer.echo(text.found_table(found.layout, names, students, found.left_out, found.notes))
        with Progress(len(jobs)) as progress:
            reports = batch.grade_class(jobs, setup, files, workers, lambda _: progress.step())
    results.replace_file(out / "summary.csv", table.summary_csv(reports).encode("utf-8"))
    typer.echo(text.class_table(reports))
    typer.echo(f"wrote {out / 'results.jsonl'} and {out / 'summary.csv'}")
    failed = [report.student for report in reports if report.score is None]
    if failed:
        _fail(f"could not grade everything of: {', '.join(map(named, failed))}", 1)


@app.command()
@told_plainly
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `grader grade` wrote.")],
    to: Annotated[Format, typer.Option(help="The format.")],
    audience: Annotated[Audience, typer.Option("--for", help="For whom.")] = Audience.INSTRUCTOR,
    out: Annotated[Path | None, typer.Option(help="Where files go.")] = None,
) -> None:
    """Write one format from graded results. Text goes to the screen, files to DIR/reports/."""
    from grader import results
    from grader.reports import table, text

    reports = results.read_results(folder)
    if to is Format.CSV:
        content, name = table.summary_csv(reports), "summary.csv"
    else:
        for_student = audience is Audience.STUDENT
        parts = [text.student_text(item, for_student=for_student) for item in reports]
        content, name = "\n".join(parts), "report.txt"
    if to is Format.TEXT and out is None:
        typer.echo(content, nl=False)
        return
    target = out or folder / "reports"
    target.mkdir(parents=True, exist_ok=True)
    results.replace_file(target / name, content.encode("utf-8"))
    typer.echo(f"wrote {target / name}")


@app.command()
@told_plainly
def evidence(
    path: Annotated[
        Path, typer.Argument(help="Your page `evidence`, or the folder that holds it.")
    ] = Path(),
    out: Annotated[Path, typer.Option(help="Where evidence.html goes.")] = Path("portfolio"),
) -> None:
    """Make a page of your own evidence. Exit 0: it is whole, 1: not yet, 2: usage."""
    import msgspec

    from grader.portfolio import portfolio
    from grader.reports import evidence as pages
    from grader.results import replace_file

    found = portfolio(path)
    content = pages.page(**msgspec.structs.asdict(found))
    out.mkdir(parents=True, exist_ok=True)
    replace_file(out / "evidence.html", content.encode("utf-8", "backslashreplace"))
    missing = [found.problem] if found.problem else found.missing
    for line in missing:
        typer.echo(f"missing or off: {one_line(line)}")
    typer.echo(f"wrote {out / 'evidence.html'}")
    raise typer.Exit(1 if missing else 0)


@app.command()
@told_plainly
def scaffolds(
    check: Annotated[bool, typer.Option("--check", help="Only say what is stale.")] = False,
) -> None:
    """Make exercises/ and what ships of the keys from solutions/ and grader/keys/."""
    from grader import scaffolds as pipeline
    from grader.catalogue import clone

    root = clone()
    stale = pipeline.stale(root)
    if not check:
        for path in pipeline.write(root):
            typer.echo(f"wrote {path}")
    elif stale:
        listed = ", ".join(str(path) for path in stale)
        _fail(f"stale: {listed}\nmake them anew: grader scaffolds", 1)
    else:
        typer.echo("everything is current")


@app.command()
@told_plainly
def doctor() -> None:
    """Say what this machine offers, and one line of advice for each thing that is missing."""
    from grader.doctor import findings

    for finding in findings():
        typer.echo(finding)


@app.command()
@told_plainly
def audit(
    exercise: ExerciseOption = None,
    out: Annotated[Path, typer.Option(help="Where records, audit.json and audit.html go.")] = Path(
        "audit"
    ),
    every: Annotated[int, typer.Option(min=1, help="One mutant, and submission, in so many.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Exercises at a time.")] = 2,
) -> None:
    """Measure how good the grader is. Exit 0: no hole was found, 1: there are some, 2: usage."""
    from grader import batch, results
    from grader.audit import running, summary

    names = batch.exercise_names(exercise or [])
    report = running.run(names, out, every, workers, lambda line: typer.echo(line, err=True))
    results.replace_file(out / "audit.json", summary.as_json(report))
    results.replace_file(out / "audit.html", summary.page(report).encode("utf-8"))
    typer.echo(summary.table(report))
    typer.echo(f"wrote {out / 'audit.json'} and {out / 'audit.html'}")
    raise typer.Exit(1 if report.holes() else 0)


@course_app.command("init")
@told_plainly
def course_init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
) -> None:
    """Make a course tree that nbgrader's own commands work on."""
    from grader.catalogue import clone
    from grader.course.tree import init

    for line in init(folder, clone()):
        typer.echo(line)


@course_app.command("autograde")
@told_plainly
def course_autograde(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A course of nbgrader's.")],
    assignment: Annotated[str, typer.Argument(help="The name of the assignment.")],
    workers: Annotated[int, typer.Option(min=1, help="Submissions graded at a time.")] = 1,
    force: Annotated[
        bool, typer.Option("--force", help="Grade what was graded before, too.")
    ] = False,
) -> None:
    """Do what `nbgrader autograde` does, several submissions at a time. Exit 0: every submission
    has its score, 1: some don't, 2: usage."""
    from grader.course.autograding import autograde, handed_in
    from grader.escapes import named
    from grader.progress import Progress

    jobs = handed_in(folder, assignment)
    with Progress(len(jobs)) as progress:
        found = autograde(folder, jobs, workers, force, progress.step)
    for student, done in sorted(found.items()):
        points = "no score" if done.score is None else f"{done.score:g}"
        typer.echo(f"{named(student)}: {points}{done.why and f' ({done.why})'}")
    failed = [named(student) for student, done in sorted(found.items()) if done.score is None]
    if failed:
        _fail(f"could not grade: {', '.join(failed)}", 1)


@course_app.command("export")
@told_plainly
def course_export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A course of nbgrader's.")],
    graded: Annotated[Path, typer.Option("--results", help="What `grader grade` wrote.")],
    db: Annotated[
        str | None, typer.Option(help="The grade book's URL, if not the one in its settings.")
    ] = None,
    times: Annotated[
        Path | None, typer.Option(help="CSV: student, timestamp, and perhaps exercise.")
    ] = None,
) -> None:
    """Write the scores that `grader grade` found to the course's grade book. Exit 0: it has all of
    them, 1: some are left out, 2: usage."""
    from grader import results
    from grader.course.export import export, read_times
    from grader.escapes import named

    handed_in = read_times(times) if times else None
    done = export(folder, results.read_results(graded), db, handed_in)
    for line in done.withdrawn:
        typer.echo(line)
    if done.unknown:
        listed = ", ".join(map(named, done.unknown))
        typer.echo(f"{times} names who is not in these results: {listed}")
    typer.echo(f"wrote {done.scores} scores to the grade book")
    if done.undetermined:
        _fail("left out, as it stands in the grade book: " + "\n".join(done.undetermined), 1)


def main() -> None:
    """Run the command. Output never fails on a character that the terminal can't show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app()
