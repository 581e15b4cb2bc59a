"""Parts of scenarios that numba compiles. Runs call them without Python's lock."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ._core import duration

__all__ = ["ACK", "BEGIN", "Compiled", "Event", "IDLE", "LOSS", "TIMEOUT", "Timing"]

#: Kinds of events of a connection.
BEGIN, ACK, LOSS, TIMEOUT, IDLE = range(5)


class Event(NamedTuple):
    """What happened to a connection. All values are whole numbers; times are picoseconds."""

    #: ``BEGIN``, ``ACK``, ``LOSS`` (a fast retransmission), ``TIMEOUT``, or ``IDLE`` (for a time-out).
    kind: int
    #: The time.
    now: int
    #: Segments newly acknowledged.
    acked: int
    #: The first unacknowledged segment.
    una: int
    #: The next segment that is sent for the first time.
    nxt: int
    #: 1 if the acknowledgement carries ECN-Echo.
    echo: int
    #: The round-trip time that it measures; -1 if none.
    rtt: int
    #: The smoothed round-trip time; -1 if none.
    srtt: int
    #: 1 if the window was fully used, so that it may grow.
    limited: int
    #: 1 if loss recovery has not ended.
    recovering: int
    #: After a loss: segments in the network just before.
    flight: int
    #: ``BEGIN`` and ``IDLE``: the initial window in segments.
    initial: int
    #: The present window in segments.
    window: int


class Timing(NamedTuple):
    """The times of a circuit switch in picoseconds, and rates in bits per second."""

    #: What is planned at once.
    week: int
    #: The time to change circuits. A night follows each day.
    night: int
    #: The shortest day.
    min_day: int
    #: The rate of a circuit.
    circuit: int
    #: The rate of a rack's link to the packet switch.
    packet: int


class Compiled:
    """A function that a scenario can name, and that numba compiles when a run first needs it."""

    #: The first arguments of the function, by kind.
    ARGUMENTS = {"control": ["now", "waiting", "send", "memory"], "congestion": ["event", "memory"]}
    ARGUMENTS["circuits"] = ["demand", "timing", "days", "memory"]

    def __init__(self, function: Callable[..., Any], kind: str, memory: int, every: str | None = None) -> None:
        own = self.ARGUMENTS[kind]
        names = list(inspect.signature(function).parameters)
        if names[: len(own)] != own:
            raise TypeError(f"{function.__name__}({', '.join(names)}): its arguments begin with {', '.join(own)}")
        self.function, self.kind, self.memory = function, kind, memory
        self.every_ps = duration(every) if every is not None else 0
        #: The names of its options.
        self.options = names[len(own) :]
        self.__doc__ = function.__doc__
        self._entry: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def __slotline_address__(self) -> int:
        """The address of the compiled function."""
        if self._entry is None:
            self._entry = _compile(self)
        address: int = self._entry.address
        return address

    def again(self, values: list[int], output: list[int], memory: list[float]) -> None:
        """Calls the function in Python with the arrays of a compiled call."""
        import numpy as np

        given, own = np.array(memory[: len(self.options)]), np.array(memory[len(self.options) :])
        if self.kind == "circuits":
            racks = round((len(values) - len(Timing._fields)) ** 0.5)
            demand = np.array(values[len(Timing._fields) :], np.int64).reshape(racks, racks)
            days = np.array(output[1:], np.int64).reshape(-1, 1 + racks)
            self.function(demand, Timing(*values[: len(Timing._fields)]), days, own, *given)
        elif self.kind == "control":
            waiting = np.array(values[1:], np.int64).reshape(len(output), len(output))
            self.function(values[0], waiting, np.array(output, np.int64), own, *given)
        else:
            self.function(Event(*values, *output), own, *given)


#: What numba compiles around a function: arrays from addresses, and its exceptions as a number.
_ENTRY = """
def entry(values, inputs, output, outputs, memory, words):
    values, output, memory = carray(values, (inputs,)), carray(output, (outputs,)), carray(memory, (words,))
    try:
        {call}
        return 0
    except Exception:
        return 1
"""


def _compile(part: Compiled) -> Any:
    import numba
    from numba import types

    function = numba.njit(boundscheck=True, nogil=True)(part.function)
    count = len(part.options)
    given = "".join(f", memory[{at}]" for at in range(count))
    if part.kind == "circuits":
        times = len(Timing._fields)
        timing = ", ".join(f"values[{at}]" for at in range(times))
        racks = f"int(math.sqrt(inputs - {times}) + 0.5)"
        demand, days = f"values[{times}:].reshape(({racks}, {racks}))", f"output[1:].reshape((-1, {racks} + 1))"
        call = f"output[0] = function({demand}, Timing({timing}), {days}, memory[{count}:]{given})"
    elif part.kind == "control":
        call = f"function(values[0], values[1:].reshape((outputs, outputs)), output, memory[{count}:]{given})"
    else:
        event = ", ".join(f"values[{at}]" for at in range(len(Event._fields) - 1))
        call = f"output[0] = function(Event({event}, output[0]), memory[{count}:]{given})"
    names: dict[str, Any] = {"carray": numba.carray, "function": function, "Event": Event, "Timing": Timing, "math": math}
    exec(_ENTRY.format(call=call), names)
    whole, numbers = types.CPointer(types.int64), types.CPointer(types.float64)
    signature = types.int64(whole, types.int64, whole, types.int64, numbers, types.int64)
    return numba.cfunc(signature)(names["entry"])
