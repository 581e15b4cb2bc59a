"""Parts of scenarios that are written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar, overload

from ._core import Network, Plan, duration

__all__ = ["Network", "Plan", "Scheduler", "duration", "registered", "scheduler"]

_REGISTERED: dict[str, type] = {}


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
def scheduler(part: Any = None, /, *, name: str | None = None) -> Any:
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
    """
    if part is None:
        return lambda it: scheduler_named(it, name)
    return scheduler_named(part, name)


def scheduler_named(part: _S, name: str | None) -> _S:
    """Registers the class ``part`` under ``name``."""
    if not callable(getattr(part, "decide", None)):
        raise TypeError(f"{part.__name__} has no method `decide(now, plan)`")
    _REGISTERED[name or part.__name__.lower()] = part
    return part


def registered() -> dict[str, type]:
    """The classes that scenarios can name, by name."""
    return dict(_REGISTERED)
