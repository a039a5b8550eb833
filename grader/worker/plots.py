"""What a page has drawn: matplotlib's figures that are open when it has been loaded."""

import base64
import io
import sys
from typing import Any

from grader import wire

DPI = 72
MAX_PIXELS = 2_000  # of a side; a larger figure is drawn smaller


def drawn(number: int) -> list[str] | None:
    """The open figure with this number, from 0 on, as a PNG: base64, in texts that travel.

    None where there is no further figure; empty where one can't be drawn, or is too large.
    """
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    try:
        numbers = [] if pyplot is None else pyplot.get_fignums()
        if number >= len(numbers):
            return None
        stream = io.BytesIO()
        figure = pyplot.figure(numbers[number])
        dpi = min(DPI, MAX_PIXELS / max(figure.get_size_inches()))
        figure.savefig(stream, format="png", dpi=dpi)
        text = base64.b64encode(stream.getvalue()).decode("ascii")
    except BaseException:  # a student's module may be in its place, and raise what it likes
        return []
    if len(text) > wire.MAX_ANSWER - wire.MAX_TEXT:
        return []
    return [text[start : start + wire.MAX_TEXT] for start in range(0, len(text), wire.MAX_TEXT)]
