"""Call one of a student's functions, and say what happened in plain values.

Everything a student's code may do to a call in its own process ends in one of the replies below;
none of them is an exception here.
"""

import builtins
import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader import wire
from grader.worker.values import cut, portable

Reply = tuple[Any, ...]
"""("returned", value, changed_argument), ("raised", type, kinds, message, line) or ("missing",)."""

BUILT_IN_EXCEPTIONS = {
    thing: name
    for name, thing in vars(builtins).items()
    if isinstance(thing, type) and issubclass(thing, BaseException)
}

# Switches that a submission may have set and that would break right answers, with their defaults.
_JAX_SWITCHES: dict[str, Any] = {
    "jax_debug_nans": False,
    "jax_debug_infs": False,
    "jax_transfer_guard": None,
}


def reset_switches() -> None:
    """Undo what would turn a right answer into an exception; x64 stays as the student set it."""
    import jax

    for name, value in _JAX_SWITCHES.items():
        if getattr(jax.config, name, value) != value:
            jax.config.update(name, value)
    np.seterr(all="warn")
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


@contextlib.contextmanager
def switches_kept() -> Iterator[None]:
    """Give the switches back as they were: for calls in a process that goes on being used."""
    import jax

    kept = {name: getattr(jax.config, name) for name in _JAX_SWITCHES}
    with warnings.catch_warnings(), np.errstate():
        try:
            yield
        finally:
            for name, value in kept.items():
                if getattr(jax.config, name) != value:
                    jax.config.update(name, value)


def argument(value: Any) -> Any:
    """One argument as the contract states it: a list becomes a float32 (or bool) JAX array, a dict
    a dict of arguments, and anything else stays the plain Python value it is."""
    import jax.numpy as jnp

    if isinstance(value, list):
        flat = value[0] if value and isinstance(value[0], list) else value
        kind = np.bool_ if flat and isinstance(flat[0], bool) else np.float32
        return jnp.asarray(np.asarray(value, dtype=kind))
    if isinstance(value, dict):
        return {name: argument(item) for name, item in value.items()}
    return value


def call(namespace: dict[str, Any], name: str, arguments: list[Any] | None) -> Reply:
    """Call `namespace[name]` on fresh arguments; with `arguments` None, look at it instead."""
    if name not in namespace:
        return ("missing",)
    try:
        reset_switches()
        if arguments is None:
            return ("returned", portable(namespace[name]), False)
        given = [argument(value) for value in arguments]
        before = [dict(value) if isinstance(value, dict) else None for value in given]
        result = namespace[name](*given)
        reset_switches()
        changed = any(
            kept is not None and not _same_entries(kept, value)
            for kept, value in zip(before, given, strict=True)
        )
        return ("returned", portable(result), changed)
    except BaseException as error:
        return raised(error, namespace.get("__file__"))


def _same_entries(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return before.keys() == after.keys() and all(after[name] is before[name] for name in before)


def raised(error: BaseException, filename: str | None) -> Reply:
    """An exception as a reply: its class, its built-in bases, its message cut, the student's line."""
    kinds = [BUILT_IN_EXCEPTIONS[kind] for kind in type(error).__mro__ if kind in BUILT_IN_EXCEPTIONS]
    try:
        message = str(error)
    except BaseException:
        message = "(its message could not be read)"
    return ("raised", cut(type(error).__name__, 200), kinds, cut(message), _line(error, filename))


def _line(error: BaseException, filename: str | None) -> int | None:
    """The last line of the student's own file that the traceback passed through."""
    line = None
    traceback = error.__traceback__
    for _ in range(1_000):
        if traceback is None:
            break
        if traceback.tb_frame.f_code.co_filename == filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def encoded(reply: Reply) -> bytes:
    """The reply as bytes within the wire's bounds, whatever size the answer turned out to have."""
    payload = wire.encode(reply)
    if len(payload) <= wire.MAX_ANSWER // 2:
        try:
            wire.decode(payload)
            return payload
        except wire.WireError as error:
            what = str(error)
    else:
        what = f"{len(payload)} bytes"
    return wire.encode(("returned", wire.WireOpaque(f"an answer too large ({what})"), False))
