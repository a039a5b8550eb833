"""Forged frames: `python -m tests.fuzz_wire --minutes 10 [--seed 0]`.

Frames of honest answers are flipped, cut, spliced, doubled and filled with tags and lengths, and
read as the grader reads them: each is a value within its bounds, an answer, or refused. Memory is
held to a limit, and so is the time of each. Prints how often each outcome was seen.
"""

import argparse
import random
import resource
import sys
import time
from collections import Counter
from fractions import Fraction

from grader import wire
from grader.answers import answer_from

MEMORY = 400 << 20  # of data; reading a frame of a MiB needs a fraction of it
CPU_SECONDS = 5.0  # of one frame
TAGS = b"NTFIDRSOALUM\0\1\2\5\x10\x7f\x80\xff"
TOKEN = "0123456789abcdef"
ANSWERS = [
    ("returned", 2.0, False),
    ("returned", (1.0, ((0.0, 4.0, 4.0),) * 6), True),
    ("returned", Fraction(1, 3), False),
    ("returned", 10**400, False),
    ("returned", {"weight": (1.0, float("nan")), "name": "text", "none": None}, False),
    ("returned", wire.WireArray("float32", (3, 2), bytes(24)), False),
    ("returned", wire.WireOpaque("an object of type Thing"), False),
    ("raised", "ValueError", ["ValueError", "Exception"], "no \N{SNOWMAN}", 12),
    ("missing", "it is defined only under a guard"),
]
VALID = [wire.encode((TOKEN, answer)) for answer in ANSWERS]


def forged(chance: random.Random) -> bytes:
    """A frame that no honest peer sends, most of the time."""
    frame = bytearray(chance.choice(VALID))
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        place = chance.randrange(len(frame) + 1)
        end = min(len(frame), place + chance.choice((1, 2, 4, 8, 64)))
        match chance.randrange(7):
            case 0:
                frame[place:end] = bytes(x ^ (1 << chance.randrange(8)) for x in frame[place:end])
            case 1:
                del frame[place:end]
            case 2:
                frame[place:place] = frame[place:end] * chance.choice((1, 2, 50))
            case 3:
                frame[place:end] = bytes(chance.choices(TAGS, k=end - place))
            case 4:
                frame[place : place + 4] = chance.choice((0, 1, 2**16, 2**31, 2**32 - 1)).to_bytes(
                    4, "little"
                )
            case 5:
                other = chance.choice(VALID)
                frame[place:] = other[chance.randrange(len(other)) :]
            case _:
                frame[place:place] = bytes(chance.choices(TAGS, k=chance.choice((1, 8, 2_000))))
    return bytes(frame)


def outcome(frame: bytes) -> str:
    """What the grader makes of a frame. Anything but these outcomes is raised."""
    try:
        value = wire.decode(frame)
    except wire.WireError:
        return "refused by the wire"
    if not (isinstance(value, tuple) and len(value) == 2 and value[0] == TOKEN):
        return "out of step"
    try:
        answer = answer_from(value[1])
    except ValueError:
        return "no answer"
    repr(answer)  # as it is written into reports
    return "an answer"


def run(chance: random.Random, count: int) -> Counter[str]:
    """Outcomes of so many forged frames."""
    found: Counter[str] = Counter()
    for _ in range(count):
        frame = forged(chance)
        started = time.process_time()
        try:
            found[outcome(frame)] += 1
        except BaseException:
            print("frame:", frame[:2_000].hex(), file=sys.stderr)
            raise
        used = time.process_time() - started
        if used > CPU_SECONDS:
            raise AssertionError(f"{used:.1f} s for {frame[:2_000].hex()}")
    return found


def main() -> None:
    """Run and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    chance, found = random.Random(options.seed), Counter[str]()
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        found += run(chance, 1_000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{sum(found.values())} frames, at most {peak:.0f} MiB:", dict(found))


if __name__ == "__main__":
    main()
