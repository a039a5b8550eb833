"""What an audit found: one table an exercise, the holes, JSON, and a page with the kill matrix."""

import base64
import io
import tomllib
from collections.abc import Mapping, Sequence

import jinja2
import msgspec
from msgspec import Struct

from grader import catalogue
from grader.audit.examine import Graded
from grader.audit.settings import Changed
from grader.errors import GraderFault

EVERYTHING = "everything"  # in the list of equivalents: all mutants of a function that survive


class Exercise(Struct, frozen=True):
    """One exercise's audit.

    `survived`, `rejected` and `unnamed` name programs, `unfailed` checks, `stale` proofs. `kills`
    counts, for each check, the mutants and the misconceptions that it rejects. The errors are in
    bounds: the largest of a right program, the smallest of a mutant that a number gave away.
    `matrix` has the checks that each wrong program failed, `confusion` what each misconception was
    named as.
    """

    name: str
    mutants: int
    killed: int
    equivalent: int
    survived: list[str]
    right: int
    rejected: list[str]
    misconceptions: int
    unnamed: list[str]
    kills: dict[str, int]
    unfailed: list[str]
    stale: list[str]
    largest_right: float
    smallest_killed: float
    matrix: dict[str, list[str]]
    confusion: dict[str, list[str]]

    def holes(self) -> list[str]:
        """All that is wrong with the grader, as lines."""
        return [
            *(f"{self.name}: survived: {mutant}" for mutant in self.survived),
            *(f"{self.name}: a right program is rejected: {right}" for right in self.rejected),
            *(f"{self.name}: not named as itself: {entry}" for entry in self.unnamed),
            *(f"{self.name}: no wrong program fails this check: {c}" for c in self.unfailed),
            *(f"{self.name}: listed as equivalent, and is none: {proof}" for proof in self.stale),
        ]


class Audit(Struct, frozen=True):
    """The exercises, and the verdicts that a setting changed."""

    exercises: list[Exercise]
    settings: list[str]
    compared: int
    changed: list[Changed]

    def holes(self) -> list[str]:
        """All that is wrong with the grader, as lines."""
        found = [hole for exercise in self.exercises for hole in exercise.holes()]
        return [*found, *(f"changed by {c.setting}: {c.student}" for c in self.changed)]


def equivalents(name: str) -> dict[str, str]:
    """The mutants of an exercise that are right on the contract's domain, each with its proof.

    By the mutant's name; of a function that is not due itself, all that survive may go by
    `FUNCTION: everything`. GraderFault where one that is due does.
    """
    path = catalogue.PACKAGE / "keys" / "equivalent" / f"{name}.toml"
    proofs: dict[str, str] = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    for due in catalogue.exercise(name).signatures:
        if f"{due}: {EVERYTHING}" in proofs:
            raise GraderFault(f"{path.name}: the mutants of {due} are due one by one")
    return proofs


def summarised(name: str, records: Sequence[Graded], checks: Sequence[str]) -> Exercise:
    """An exercise's records as one summary; `checks` are those that a program can fail."""
    proofs = equivalents(name)
    mutants = [record for record in records if record.kind == "mutant"]
    alive = [mutant for mutant in mutants if not mutant.failed]
    proven = [mutant.name for mutant in alive if _proof(mutant.name, proofs)]
    right = [record for record in records if record.kind == "right"]
    entries = [record for record in records if record.kind == "misconception"]
    known = {mutant.name for mutant in mutants}
    dead = {mutant.name for mutant in mutants if mutant.failed}
    kills = dict.fromkeys(checks, 0)
    for record in (*mutants, *entries):
        for check in record.failed:
            kills[check] = kills.get(check, 0) + 1
    seen = [m.error for m in mutants if m.failed and m.error > 1]
    return Exercise(
        name=name,
        mutants=len(mutants),
        killed=len(mutants) - len(alive),
        equivalent=len(proven),
        survived=[mutant.name for mutant in alive if mutant.name not in proven],
        right=len(right),
        rejected=[
            f"{record.name} ({', '.join(record.failed)})" for record in right if record.failed
        ],
        misconceptions=len(entries),
        unnamed=[f"{e.name} (as {e.named})" for e in entries if e.named != [e.name]],
        kills=kills,
        unfailed=[check for check, count in kills.items() if not count],
        stale=[proof for proof in proofs if proof in dead and proof in known],
        largest_right=max((record.error for record in right), default=0.0),
        smallest_killed=min(seen, default=0.0),
        matrix={record.name: record.failed for record in (*entries, *mutants) if record.failed},
        confusion={entry.name: entry.named for entry in entries},
    )


def _proof(mutant: str, proofs: Mapping[str, str]) -> str | None:
    return proofs.get(mutant) or proofs.get(f"{mutant.partition(': ')[0]}: {EVERYTHING}")


# --- as text, as JSON, as a page ------------------------------------------------------------------


def table(audit: Audit) -> str:
    """What a maintainer reads on the screen."""
    lines = [
        f"{'exercise':22}{'mutants':>9}{'killed':>8}{'equiv.':>8}{'survived':>10}"
        f"{'right':>8}{'rejected':>10}{'misconc.':>10}{'unnamed':>9}"
    ]
    for each in audit.exercises:
        lines.append(
            f"{each.name:22}{each.mutants:>9}{each.killed:>8}{each.equivalent:>8}"
            f"{len(each.survived):>10}{each.right:>8}{len(each.rejected):>10}"
            f"{each.misconceptions:>10}{len(each.unnamed):>9}"
        )
    for each in audit.exercises:
        lines += ["", f"{each.name}: errors in bounds: of right programs at most "]
        lines[-1] += (
            f"{each.largest_right:.3g}, of killed mutants at least {each.smallest_killed:.3g}"
        )
        lines += [
            f"  {count:>5} wrong programs fail {check}" for check, count in each.kills.items()
        ]
    verdicts = f"{audit.compared} verdicts under {len(audit.settings)} settings"
    lines += ["", f"determinism: {verdicts}, {len(audit.changed)} changed"]
    holes = audit.holes()
    lines += [f"{len(holes)} holes" if holes else "no hole was found", *holes]
    if any(each.survived for each in audit.exercises):
        lines.append(
            "a survivor is either a hole, and the key asks for too little, or right after all, and "
            "proven so by a line in grader/keys/equivalent/NAME.toml"
        )
    return "\n".join(lines)


def as_json(audit: Audit) -> bytes:
    """The audit as strict JSON."""
    return msgspec.json.format(msgspec.json.encode(audit), indent=1) + b"\n"


def page(audit: Audit) -> str:
    """The audit as one HTML page that needs no network."""
    template = jinja2.Environment(autoescape=True).from_string(PAGE)
    pictures = {each.name: _kill_matrix(each) for each in audit.exercises}
    return template.render(audit=audit, table=table(audit), pictures=pictures)


def _kill_matrix(exercise: Exercise) -> str:
    """A picture with a row for each wrong program and a column for each check, as base64."""
    from matplotlib.figure import Figure

    checks = list(exercise.kills)
    rows = [[check in failed for check in checks] for failed in exercise.matrix.values()]
    figure = Figure(figsize=(9, 9), layout="constrained")
    axes = figure.subplots()
    axes.imshow(rows or [[False]], aspect="auto", cmap="Greys", interpolation="nearest")
    axes.set_xticks(range(len(checks)), checks, rotation=60, ha="right", fontsize=7)
    axes.set_ylabel(f"{len(rows)} wrong programs: misconceptions, then mutants")
    axes.set_title(f"{exercise.name}: which check rejects which program")
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=110)
    return base64.b64encode(out.getvalue()).decode("ascii")


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Audit of the grader</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { overflow-x: auto; font-size: 13px; }
img { max-width: 100%; }
</style>
<h1>Audit of the grader</h1>
<pre>{{ table }}</pre>
{% for exercise in audit.exercises %}
<h2>{{ exercise.name }}</h2>
<img alt="Which check of {{ exercise.name }} rejects which program"
     src="data:image/png;base64,{{ pictures[exercise.name] }}">
<table>
<tr><th>misconception</th><th>named as</th></tr>
{% for entry, named in exercise.confusion.items() %}
<tr><td>{{ entry }}</td><td>{{ named | join(", ") }}</td></tr>
{% endfor %}
</table>
{% endfor %}
</html>
"""
