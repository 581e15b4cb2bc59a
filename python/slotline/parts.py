"""Parts of scenarios that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from ._core import Network, Plan, duration

if TYPE_CHECKING:
    from .compiled import Compiled

__all__ = ["Network", "Plan", "Scheduler", "circuits", "congestion", "duration", "registered", "scheduler"]

_REGISTERED: dict[str, Any] = {}


class Scheduler(Protocol):
    """A central scheduler. Hosts report which destinations they have packets for, and wait for a permission.

    The class is called with the network and the scenario's ``options`` as keyword arguments (``-`` becomes ``_``). Times
    are whole picoseconds since the run began: ``slotline.duration("20us")`` converts. Hosts are numbered from 0.

    Only ``decide`` is needed. The other methods are called when news reaches the scheduler's host: ``joined(now,
    host)`` and ``left(now, host)``; ``backlog(now, host, destinations, flows)`` with all destinations for which ``host``
    has packets waiting, and the numbers of flows; ``load(now, host, span, loads)`` with pairs of destination and bytes
    sent in the time ``span``; ``released(now, host, dst)``: ``host`` has nothing left for ``dst``; ``rewired(now,
    network)``: links have changed.
    """

    def decide(self, now: int, plan: Plan) -> int | None:
        """Makes decisions: adds them to ``plan``, and returns when it is to be called again.

        It is called after news, and at the time that the last call returned.
        """


_S = TypeVar("_S", bound=type)


@overload
def scheduler(part: _S, /) -> _S: ...
@overload
def scheduler(*, name: str | None = None) -> Callable[[_S], _S]: ...
@overload
def scheduler(
    *, every: str, compile: Literal[True], memory: int = 0, name: str | None = None
) -> Callable[[Callable[..., Any]], Compiled]: ...
def scheduler(
    part: Any = None,
    /,
    *,
    name: str | None = None,
    every: str | None = None,
    compile: bool = False,
    memory: int = 0,
) -> Any:
    """Makes a class a central scheduler, which scenarios can name.

    Scenarios that are read afterwards name it with ``control = { kind = "custom", name = "...", options = { ... } }``.
    Its name is that of the class in lower case, or ``name``. See :class:`Scheduler` for its methods.

    >>> import slotline as sl
    >>> @sl.scheduler
    ... class Nobody:
    ...     '''Lets nobody send.'''
    ...     def __init__(self, network):
    ...         pass
    ...     def decide(self, now, plan):
    ...         return None

    With ``compile=True`` it is a function that numba compiles, and that is called once in each epoch of the length
    ``every`` while hosts wait: ``f(now, waiting, send, memory, ...)``. ``waiting[src, dst]`` is the number of waiting
    flows; the function sets ``send[src] = dst`` for the hosts that may send until the next call, and the others stay
    at -1. ``memory`` has as many numbers as the argument ``memory`` says, zero at first. Further arguments are numbers
    that the scenario gives as ``options``.
    """
    if compile:
        if every is None:
            raise TypeError("compile=True needs `every`, the time between two calls")
        return lambda function: _compiled(function, "control", memory, name, every)
    if every is not None or memory:
        raise TypeError("`every` and `memory` are for compile=True")
    if part is None:
        return lambda it: scheduler_named(it, name)
    return scheduler_named(part, name)


def congestion(*, memory: int = 0, name: str | None = None) -> Callable[[Callable[..., Any]], Compiled]:
    """Makes a function congestion control, which scenarios can name. numba compiles it.

    Scenarios that are read afterwards name it with ``transport = { kind = "custom", name = "...", options = { ... } }``.
    The function ``f(event, memory, ...)`` is called for each acknowledgement and loss with a
    :class:`slotline.compiled.Event`, and returns the window in segments. ``memory`` belongs to the connection: as many
    numbers as the argument ``memory`` says, zero at first. Further arguments are numbers that the scenario gives as
    ``options``.
    """
    return lambda function: _compiled(function, "congestion", memory, name)


def circuits(*, memory: int = 0, name: str | None = None) -> Callable[[Callable[..., Any]], Compiled]:
    """Makes a function a circuit scheduler, which scenarios can name. numba compiles it.

    Scenarios that are read afterwards name it with ``control = { kind = "circuits", scheduler = "custom", custom = { name
    = "...", options = { ... } } }``. The function ``f(demand, timing, days, memory, ...)`` is called once in a week and
    returns its number of days. ``demand[src, dst]`` is in bytes, and ``timing`` is a :class:`slotline.compiled.Timing`.
    The function sets ``days[n, 0]`` to the length of day ``n`` in picoseconds, and ``days[n, 1 + src]`` to the rack with
    which ``src`` has a circuit; racks without one stay at -1. A night follows each day. ``memory`` and further arguments
    are as in :func:`scheduler`.
    """
    return lambda function: _compiled(function, "circuits", memory, name)


def _compiled(function: Any, kind: str, memory: int, name: str | None, every: str | None = None) -> Compiled:
    from .compiled import Compiled

    part = Compiled(function, kind, memory, every)
    _REGISTERED[name or function.__name__.lower()] = part
    return part


def scheduler_named(part: _S, name: str | None) -> _S:
    """Registers the class ``part`` under ``name``."""
    if not callable(getattr(part, "decide", None)):
        raise TypeError(f"{part.__name__} has no method `decide(now, plan)`")
    _REGISTERED[name or part.__name__.lower()] = part
    return part


def registered() -> dict[str, Any]:
    """The classes and compiled functions that scenarios can name, by name."""
    return dict(_REGISTERED)
