"""The portfolio as one HTML file that needs no network: tables, plots, code, printed output.

Pure: the same evidence gives the same bytes. Whatever a student's evidence holds is shown; where a
section is not what it should be, it is shown as it is.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import matplotlib as mpl
from matplotlib.figure import Figure

from grader.escapes import plain

RATES = ("0.1", "0.3")
LARGEST = 1e100  # that a plot shows: the ends of a logarithmic axis lie far beyond its numbers


def page(
    evidence: Mapping[str, Any] | None,
    *,
    file: str,
    problem: str,
    missing: Sequence[str],
    code: Sequence[str],
    output: str,
    notes: Sequence[str],
) -> str:
    """The page; `problem` says why there is no evidence, `missing` what is missing or off in it."""
    template = jinja2.Environment(autoescape=True).from_string(PAGE)
    held = evidence or {}
    text = template.render(
        file=file,
        problem=problem,
        missing=missing,
        notes=notes,
        runs=[_run(rate, held) for rate in RATES],
        plot=_plot(held),
        rest={name: _told(value) for name, value in held.items() if name not in SHOWN},
        predictions=_texts(held.get("predictions")),
        reasoning=_texts(held.get("reasoning")),
        code=code,
        output=output,
    )
    return plain(text)


SHOWN = ("recurrence", "runs", "predictions", "reasoning")


def _texts(value: Any) -> list[tuple[str, str]]:
    """The texts by name, as pairs; none where there are none."""
    return [(name, str(text)) for name, text in value.items()] if isinstance(value, dict) else []


def _run(rate: str, evidence: Mapping[str, Any]) -> dict[str, Any]:
    """A table of one run: a row a step, with the weight by formula beside the measured one."""
    formula, rows = _at(evidence, "recurrence", rate), _at(evidence, "runs", rate)
    weights = formula if isinstance(formula, list) else []
    measured = rows if isinstance(rows, list) else []
    table = []
    for step in range(max(len(weights), len(measured))):
        row = measured[step] if step < len(measured) else []
        cells = [weights[step] if step < len(weights) else "", *(row if _is_row(row) else [row])]
        table.append([str(step), *map(_number, cells)])
    return {"rate": rate, "table": table}


def _at(evidence: Mapping[str, Any], section: str, rate: str) -> Any:
    held = evidence.get(section)
    return held.get(rate) if isinstance(held, dict) else None


def _is_row(row: Any) -> bool:
    return isinstance(row, list) and len(row) == 3


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _told(value: Any) -> list[tuple[str, str]]:
    """A section's entries as pairs of name and text."""
    if isinstance(value, dict):
        return [(name, _brief(item)) for name, item in value.items()]
    return [("", _brief(value))]


def _brief(value: Any) -> str:
    return _number(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _plot(evidence: Mapping[str, Any]) -> str:
    """Losses (logarithmic) and weights of both runs, formula as lines, measured as points; SVG, and
    empty where there is nothing to draw."""
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    losses, weights = figure.subplots(1, 2)
    drawn = False
    for rate, colour in zip(RATES, ("tab:blue", "tab:red"), strict=True):
        rows = _at(evidence, "runs", rate)
        measured = [row for row in rows if _is_row(row)] if isinstance(rows, list) else []
        if measured and all(_finite(number) for row in measured for number in row):
            drawn = True
            positive = [row[1] if row[1] > 1 / LARGEST else math.nan for row in measured]
            losses.plot(positive, "o-", color=colour, label=f"rate {rate}")
            weights.plot([row[0] for row in measured], "o", color=colour, label=f"rate {rate}")
        formula = _at(evidence, "recurrence", rate)
        if isinstance(formula, list) and formula and all(map(_finite, formula)):
            drawn = True
            weights.plot(formula, "-", color=colour, linewidth=1, label=f"formula, {rate}")
    if not drawn:
        return ""
    losses.set(yscale="log", xlabel="step (before its update)", ylabel="loss")
    weights.set(xlabel="step (before its update)", ylabel="weight")
    for axes in (losses, weights):
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
    stream = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "evidence"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def _finite(value: Any) -> bool:
    """Whether a plot can show a number: not one that is too large, nor a truth value."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and abs(value) < LARGEST


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evidence</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { border-bottom: 1px solid #ccc; padding: 0.2rem 0.8rem; text-align: right; }
th:first-child, td:first-child, .texts td { text-align: left; }
td { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
pre { background: #f5f5f2; padding: 0.8rem; overflow-x: auto; }
.missing { border-left: 4px solid #b00; padding-left: 1rem; }
.whole { border-left: 4px solid #070; padding-left: 1rem; }
svg { max-width: 100%; height: auto; }
</style>
<h1>Evidence</h1>
<p>Made from {{ file }} by running it.</p>
{% if problem %}<p class="missing"><strong>There is no evidence yet:</strong> {{ problem }}</p>
{% elif missing %}<div class="missing"><p><strong>Missing or off:</strong></p><ul>
{% for line in missing %}<li>{{ line }}</li>
{% endfor %}</ul></div>
{% else %}<p class="whole">Every section is there and follows its rules.</p>
{% endif %}
{% for note in notes %}<p>Note: {{ note }}</p>
{% endfor %}
{% if predictions %}<h2>Predicted before any run</h2>
<table class="texts">
{% for name, text in predictions %}<tr><th>{{ name }}</th><td>{{ text }}</td></tr>
{% endfor %}</table>
{% endif %}
{% if plot %}<h2>Formula and run</h2>
<p>Lines are the recurrence, points the measured runs. On the logarithmic axis equal distances are
equal ratios. The loss hides that the error changes its sign; the weights show it.</p>
<figure>{{ plot | safe }}</figure>
{% endif %}
{% for run in runs if run.table %}<h3>Rate {{ run.rate }}</h3>
<table>
<tr><th>step</th><th>weight, formula</th><th>weight</th><th>loss</th><th>abs(gradient)</th></tr>
{% for row in run.table %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</table>
{% endfor %}
{% for name, entries in rest.items() %}<h2>{{ name }}</h2>
<table class="texts">
{% for entry, text in entries %}<tr><th>{{ entry }}</th><td>{{ text }}</td></tr>
{% endfor %}</table>
{% endfor %}
{% if reasoning %}<h2>Why it came out so</h2>
<table class="texts">
{% for name, text in reasoning %}<tr><th>{{ name }}</th><td>{{ text }}</td></tr>
{% endfor %}</table>
{% endif %}
{% if output.strip() %}<h2>What it printed</h2>
<pre>{{ output }}</pre>
{% endif %}
<h2>The code</h2>
{% for cell in code %}<pre>{{ cell }}</pre>
{% endfor %}
</html>
"""
