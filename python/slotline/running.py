"""Runs that pause, so that a program adds flows."""

from __future__ import annotations

import os
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from .result import Result

if TYPE_CHECKING:
    from .scenario import Scenario

__all__ = ["Done", "Run"]

#: The name of the trace with the added flows.
TRACE = "added.csv"


class Done(NamedTuple):
    """A flow that is complete."""

    #: Its number, as :meth:`Run.add_flow` returned it.
    flow: int
    #: When its last byte arrived, in picoseconds.
    finish_ps: int


class Run:
    """A run of one scheme with one seed, which pauses. :meth:`Scenario.start` starts it.

    The result is that of the scenario which has all flows from the start, whenever they are added.

    >>> import slotline as sl
    >>> s = sl.Scenario.parse('''
    ... name = "small"
    ... end = { at = "100ms" }
    ... fabric = { kind = "star", hosts = 5, rate = "10Gbps" }
    ... workload = [{ kind = "incast", block = "90KB" }]
    ... scheme = [{ name = "tcp" }]
    ... ''')
    >>> run = s.start(workload=False)
    >>> run.add_flow("h1", "h2", "1MB")
    0
    >>> [done.flow for done in run.advance()]
    [0]
    >>> run.add_flow("h2", "h1", "10KB", at=run.now_ps + 5_000_000)
    1
    >>> len(run.finish().flows)
    2
    """

    def __init__(self, scenario: Scenario, core: _core.Run, workload: bool) -> None:
        self._scenario, self._core, self._workload = scenario, core, workload
        self._added = 0

    @property
    def now_ps(self) -> int:
        """The time that the run has reached, in picoseconds. Flows start then or later."""
        return self._core.now

    @property
    def over(self) -> bool:
        """Whether the run has reached its end."""
        return self._core.over

    @property
    def flows(self) -> int:
        """The number of flows so far."""
        return self._core.flows[1]

    @property
    def completed(self) -> int:
        """The number of complete flows."""
        return self._core.flows[0]

    def add_flow(self, src: str, dst: str, size: str | int, *, at: str | int | None = None, priority: int = 0) -> int:
        """Adds a flow on a TCP connection of its own, and returns its number among added flows, from 0.

        :param src: the name of the sending host, such as ``"h1"``.
        :param dst: the name of the receiving host.
        :param size: payload: a text such as ``"1MB"``, or bytes.
        :param at: when it starts: a text such as ``"1ms"``, or picoseconds. Default: now.
        :param priority: the priority class of its packets, 0 to 7.
        :raises ValueError: a host is unknown, the time is past or not before the end of the run, or there is nothing
            to send.
        """
        if not 0 <= priority <= 255:
            raise ValueError(f"class {priority}: there are classes 0 to 7")
        number = self._core.add(src, dst, _text(size, "B"), _text(at, "ps"), priority)
        self._added += 1
        return number

    def advance(self, to: str | int | None = None) -> list[Done]:
        """Continues until the time ``to``, or until the next flow is complete.

        With ``to``, it pauses within the shortest latency of a link before ``to``. Without ``to``, it does nothing if
        all flows are complete. Returns the added flows that have become complete, in the order of their ends.
        """
        done, stopped = self._core.advance(_text(to, "ps"))
        if stopped is not None:
            raise stopped
        return [Done(*pair) for pair in done]

    def trace(self) -> str:
        """The added flows as a trace in CSV, a workload of kind ``trace``."""
        return self._core.trace()

    def scenario(self, trace: str | os.PathLike[str] | None = None) -> Scenario:
        """The scenario that has the added flows from the start.

        :param trace: the file for the added flows. Default: a temporary file, which is there as long as the scenario.
        """
        from .scenario import Scenario, _tables

        table = tomllib.loads(self._scenario.to_toml())
        workloads = _tables(table.get("workload", [])) if self._workload else []
        folder = None
        if self._added:
            if trace is None:
                folder = tempfile.TemporaryDirectory(prefix="slotline-")
                trace = Path(folder.name, TRACE)
            Path(trace).write_text(self.trace(), "utf-8")
            workloads = [*workloads, {"kind": "trace", "file": str(Path(trace).absolute()), "format": "csv"}]
        table["workload"] = workloads
        keeps = (folder, self._scenario._folder)
        return Scenario(Scenario.build(table, path=self._scenario.path)._core, keeps)

    def finish(self, trace: str | os.PathLike[str] | None = None) -> Result:
        """Runs to the end. The result is that of :meth:`scenario`, and equal to ``run.scenario().run()``.

        A run that was advanced beyond the end of its last flow lasts until then.
        """
        scenario = self.scenario(trace)
        result = Result(self._core.finish(scenario._core))
        # The trace is needed to follow more flows.
        result._files = scenario._folder
        return result


def _text(value: str | int | None, unit: str) -> Any:
    """A quantity as text."""
    return f"{value}{unit}" if isinstance(value, int) else value
