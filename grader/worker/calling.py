"""Call one of a student's functions, and say what happened in plain values.

Everything a student's code may do to a call in its own process ends in one of the replies below;
none of them is an exception here.
"""

import builtins
import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from grader import wire
from grader.worker.values import cut, portable

Reply = tuple[Any, ...]
"""("returned", value, changed_argument), ("raised", type, kinds, message, line), or
("missing", why)."""

BUILT_IN_EXCEPTIONS = {
    thing: thing.__name__
    for thing in vars(builtins).values()
    if isinstance(thing, type) and issubclass(thing, BaseException)
}
MAX_KINDS = 20
MAX_FRAMES = 2_000  # of a traceback; the recursion limit is half of it

# Switches that a submission may have set and that would break right answers, with their defaults.
# `jax_transfer_guard` does nothing but set the three below.
_JAX_SWITCHES: dict[str, Any] = {
    "jax_debug_nans": False,
    "jax_debug_infs": False,
    "jax_transfer_guard_host_to_device": None,
    "jax_transfer_guard_device_to_device": None,
    "jax_transfer_guard_device_to_host": None,
}


def reset_switches() -> None:
    """Undo what would turn a right answer into an exception; x64 stays as the student set it."""
    _set_jax_switches(_JAX_SWITCHES)
    np.seterr(all="warn")
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def keep_platform() -> None:
    """Undo the choice of a device that is not here: pages are run on the CPU."""
    import jax

    _set_jax_switches({"jax_platforms": "cpu"})
    jax.config.update("jax_platform_name", "")  # type: ignore[no-untyped-call]  # can't be read


def _set_jax_switches(values: dict[str, Any]) -> None:
    import jax

    for name, value in values.items():
        if getattr(jax.config, name) != value:
            jax.config.update(name, value)  # type: ignore[no-untyped-call]  # JAX's, untyped


@contextlib.contextmanager
def switches_kept() -> Iterator[None]:
    """Give the switches back as they were: for calls in a process that goes on being used."""
    import jax

    kept = {name: getattr(jax.config, name) for name in _JAX_SWITCHES}
    with warnings.catch_warnings(), np.errstate():
        try:
            yield
        finally:
            _set_jax_switches(kept)


class _Argument:
    """One argument as the contract states it, and whether it is still what it was.

    A list becomes a float32 (or bool) JAX array, a `WireFunction` a function, a dict a dict of
    arrays (a float in it one without dimensions), and anything else stays the plain Python value
    it is.
    """

    def __init__(self, value: Any, inside: bool = False) -> None:
        import jax.numpy as jnp

        self.given = value
        self._data: bytes | None = None
        self._entries: dict[str, _Argument] | None = None
        if isinstance(value, list) or (inside and isinstance(value, float)):
            first = value
            while isinstance(first, list) and first:
                first = first[0]
            kind = "bool" if isinstance(first, bool) else "float32"
            original: np.ndarray[Any, Any] = np.asarray(value, dtype=kind)
            self._data = original.tobytes()
            self.given = jnp.asarray(original)
        elif isinstance(value, wire.WireFunction):
            self.given = function_of(value.terms)
        elif isinstance(value, dict):
            self._entries = {name: _Argument(item, inside=True) for name, item in value.items()}
            self.given = {name: entry.given for name, entry in self._entries.items()}

    def changed(self) -> bool:
        """Whether a call changed it: an entry of a dict, or (by force) the bytes of an array."""
        if self._data is not None:
            deleted = bool(self.given.is_deleted())
            return deleted or np.asarray(self.given).tobytes() != self._data
        if self._entries is not None:
            return self.given.keys() != self._entries.keys() or any(
                self.given[name] is not entry.given or entry.changed()
                for name, entry in self._entries.items()
            )
        return False


def call(
    namespace: dict[str, Any],
    name: str,
    arguments: list[Any] | None,
    filenames: Collection[Any] = (),
    gradient: bool = False,
) -> Reply:
    """Call `namespace[name]` on fresh arguments; with `arguments` None, look at it instead.

    With `gradient` its gradient is called, with respect to the first argument.
    `filenames` are what the lines of the student's file go by; without them, `__file__`.
    """
    if name not in namespace:
        return ("missing", "")
    try:
        reset_switches()
        if arguments is None:
            return ("returned", portable(namespace[name]), False)
        given = [_Argument(value) for value in arguments]
        function = gradient_of(namespace[name]) if gradient else namespace[name]
        result = function(*(argument.given for argument in given))
        reset_switches()
        changed = any(argument.changed() for argument in given)
        return ("returned", portable(result), changed)
    except BaseException as error:
        return raised(error, filenames or (namespace.get("__file__"),))


def function_of(terms: list[tuple[str, float, float]]) -> Callable[[Any], Any]:
    """The JAX function of one number that the terms add up to; `grader.model.Formula` tells how.

    It takes a Python number, a 0-d array or a tracer, and returns a 0-d array.
    """
    import jax.numpy as jnp

    def function(w: Any) -> Any:
        w = jnp.asarray(w, dtype=float)
        if w.shape:
            raise TypeError(f"this function takes one number, and got an array of shape {w.shape}")
        total = jnp.zeros_like(w)
        for kind, factor, parameter in terms:
            if kind == "power":
                total = total + factor * w ** int(parameter)
            else:
                total = total + factor * getattr(jnp, kind)(parameter * w)
        return total

    return function


def gradient_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """JAX's gradient of a student's function, which may return a plain 0 or a shape-(1,) array."""
    import jax
    import jax.numpy as jnp

    def scalar(*arguments: Any) -> Any:
        return jnp.reshape(jnp.asarray(function(*arguments), dtype=float), ())

    return jax.grad(scalar)


def raised(error: BaseException, filenames: Collection[Any]) -> Reply:
    """An exception as a reply: its class, its built-in bases, its message cut, the student's line.

    The line is the last one of `filenames` that the traceback passed through.
    """
    try:
        kinds = [known for kind in type(error).__mro__ if (known := BUILT_IN_EXCEPTIONS.get(kind))]
        name, line = cut(type(error).__name__, 200), _line(error, filenames)
    except BaseException:  # a class may say anything of itself
        kinds, name, line = [], "an exception without a name", None
    try:
        message = str(error)
        if isinstance(error, ImportError) and error.path:  # a place of this machine
            message = message.replace(f" ({error.path})", "")
        message = cut(message)
    except BaseException:
        message = "(its message could not be read)"
    return ("raised", name, kinds[:MAX_KINDS], message, line)


def _line(error: BaseException, filenames: Collection[Any]) -> int | None:
    line = None
    traceback = error.__traceback__
    for _ in range(MAX_FRAMES):
        if traceback is None:
            break
        if traceback.tb_frame.f_code.co_filename in filenames:
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
