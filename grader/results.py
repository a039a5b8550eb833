"""The folder that a grading run writes: `results.jsonl`, at once or not at all."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.model import Report


class ResultFiles:
    """`results.jsonl` and what leads to it. A crash leaves the last good results, and the finished
    lines of the run that crashed."""

    def __init__(self, folder: Path, force: bool = False) -> None:
        self.folder = folder
        self.results = folder / "results.jsonl"
        self._partial = folder / "results.partial.jsonl"
        self._force = force
        folder.mkdir(parents=True, exist_ok=True)

    def trusted(self) -> Iterator[Report]:
        """Reports of earlier runs; a line that was not finished is none."""
        for path in () if self._force else (self.results, self._partial):
            if path.is_file():
                for line in path.read_bytes().splitlines(keepends=True):
                    try:
                        if line.endswith(b"\n"):
                            yield msgspec.json.decode(line, type=Report)
                    except msgspec.DecodeError:
                        continue

    def append(self, report: Report) -> None:
        """Keep one report, on a line of its own whatever stood there before."""
        with self._partial.open("ab") as stream:
            start = b"\n" if stream.tell() else b""
            stream.write(start + msgspec.json.encode(report) + b"\n")

    def finish(self, reports: Sequence[Report]) -> None:
        """Replace the results by `reports`, at once or not at all."""
        lines = [msgspec.json.encode(report) + b"\n" for report in reports]
        replace_file(self.results, b"".join(lines))
        self._partial.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file at once or not at all."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_bytes(data)
    temporary.replace(path)


def read_results(folder: Path) -> list[Report]:
    """The reports of a result folder; UsageError when there are none, or one is damaged."""
    path = folder / "results.jsonl"
    if not path.is_file():
        raise UsageError(f"{str(folder)!r} holds no results.jsonl; grade first: grader grade")
    reports = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            reports.append(msgspec.json.decode(line, type=Report))
        except msgspec.DecodeError as error:
            raise UsageError(f"{path}, line {number}: not a report ({error})") from error
    return reports
