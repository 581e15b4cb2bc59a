"""Results of runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from ._core import Table

if TYPE_CHECKING:
    from .chart import Chart

__all__ = ["Comparison", "Estimate", "Metrics", "Result", "open"]

#: The width of tables as text, in characters.
WIDTH = 100


class Estimate(NamedTuple):
    """The value of a metric under a scheme.

    :param scheme: The scheme.
    :param metric: The key of the metric: ``fct-mean``.
    :param unit: The unit of the values: ``s``, ``B``, ``bit/s``; ``1`` for numbers.
    :param mean: The mean over seeds.
    :param low: Lower end of the 95 % interval; ``None`` with one seed.
    :param high: Upper end of the interval.
    :param n: The number of seeds.
    :param lower_bound: Whether unfinished flows make it a lower bound.
    :param verdict: The comparison with the baseline, paired by seed: ``better``, ``worse``, or why there is none;
        ``None`` for the baseline itself.
    :param ratio: The mean over the baseline's mean.
    :param ratio_low: Lower end of the interval of the ratio.
    :param ratio_high: Upper end of the interval of the ratio.
    """

    scheme: str
    metric: str
    unit: str
    mean: float
    low: float | None
    high: float | None
    n: int
    lower_bound: bool
    verdict: str | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None

    def __str__(self) -> str:
        half = "" if self.high is None else f" ± {self.high - self.mean:.3g}"
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{'≥ ' if self.lower_bound else ''}{self.mean:.4g}{half}{unit}"


class _ByName(dict[str, Any]):
    """A dictionary that says what there is in place of a missing key."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def __missing__(self, name: str) -> Any:
        raise KeyError(f"there is no {self._what} `{name}`: there are {', '.join(self)}")


class Metrics(Mapping[str, Mapping[str, Estimate]]):
    """The metrics of all schemes: ``metrics["dctcp"]["fct-mean"].mean``.

    As an Arrow stream it has one row for each scheme and metric.
    """

    def __init__(self, table: Table, schemes: list[str]) -> None:
        #: The table, with one row for each scheme and metric.
        self.table = table
        self._by_scheme: dict[str, dict[str, Estimate]] = _ByName("scheme")
        self._by_scheme.update((name, _ByName("metric")) for name in schemes)
        for row in zip(*(table[name] for name in table.columns), strict=True):
            estimate = Estimate(*row)
            self._by_scheme[estimate.scheme][estimate.metric] = estimate

    def __getitem__(self, scheme: str) -> Mapping[str, Estimate]:
        return self._by_scheme[scheme]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_scheme)

    def __len__(self) -> int:
        return len(self._by_scheme)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.table.__arrow_c_schema__()

    def __repr__(self) -> str:
        return f"<Metrics of {', '.join(self)}>"


class Comparison:
    """Schemes compared with the first one, paired by seed. As text it is the table that the command prints."""

    def __init__(self, estimates: list[Estimate], text: str, html: str) -> None:
        #: The value of each scheme, except the first, for each metric shown.
        self.estimates = estimates
        self._text = text
        self._html = html

    def _with(self, verdict: str) -> list[Estimate]:
        return [estimate for estimate in self.estimates if estimate.verdict == verdict]

    @property
    def better(self) -> list[Estimate]:
        """Where a scheme is better than the first one."""
        return self._with("better")

    @property
    def worse(self) -> list[Estimate]:
        """Where a scheme is worse than the first one."""
        return self._with("worse")

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


class Result:
    """All runs of a scenario, and what follows from them.

    Tables share their memory with polars, pandas, pyarrow, DuckDB and other libraries that read Arrow streams:
    ``polars.DataFrame(r.flows)``. Columns that end in ``_ps`` are times or durations in picoseconds;
    ``r.flows.durations()`` has them as durations in nanoseconds.
    """

    def __init__(self, outcome: _core.Outcome) -> None:
        self._outcome = outcome
        self._tables: dict[str, Table] = {}
        #: Keeps files of the scenario that are only in memory.
        self._files: object = None

    # What it is.

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._outcome.name

    @property
    def id(self) -> str:
        """The name of the result: equal for equal scenarios."""
        return self._outcome.id

    @property
    def scenario(self) -> str:
        """The scenario with all defaults, as TOML."""
        return self._outcome.scenario

    @property
    def schemes(self) -> list[str]:
        """The names of the schemes. The first is the baseline."""
        return self._outcome.schemes

    @property
    def seeds(self) -> list[int]:
        """The seeds with which each scheme was to be run."""
        return self._outcome.seeds

    @property
    def runs(self) -> int:
        """The number of complete runs."""
        return sum(scheme["runs"] for scheme in self.summary["schemes"].values())

    @property
    def complete(self) -> bool:
        """Whether no run is missing."""
        return self._outcome.complete

    @property
    def failed(self) -> list[str]:
        """A sentence for each run that failed."""
        return self._outcome.failed

    @property
    def digest(self) -> str:
        """The fingerprint of all runs: equal for equal results."""
        return self._outcome.digest

    # Tables.

    @property
    def tables(self) -> dict[str, int]:
        """The names of all tables, with their numbers of rows."""
        return dict(self._outcome.tables())

    def table(self, name: str) -> Table:
        """The table ``name``. It is made once; later calls return the same memory.

        :raises ValueError: there is no such table.
        """
        if name not in self._tables:
            if name not in self.tables:
                raise ValueError(f"there is no table `{name}`: the tables are {', '.join(self.tables)}")
            self._tables[name] = self._outcome.table(name)
        return self._tables[name]

    @property
    def flows(self) -> Table:
        """One row per flow. ``fct_ps`` is its completion time."""
        return self.table("flows")

    @property
    def samples(self) -> Table:
        """One row per sampled port and instant, in order of port, then of time."""
        return self.table("samples")

    @property
    def ports(self) -> Table:
        """One row per port, with its totals."""
        return self.table("ports")

    @property
    def control(self) -> Table:
        """One row per counter of a central scheme."""
        return self.table("control")

    # What follows.

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        import json

        summary: dict[str, Any] = json.loads(self._outcome.summary())
        return summary

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics of all schemes."""
        return Metrics(self._outcome.metrics(), self.schemes)

    def compare(self) -> Comparison:
        """Compares all schemes with the first one, paired by seed."""
        shown = self._outcome.shown()
        others = [self.metrics[scheme] for scheme in self.schemes[1:]]
        estimates = [own[key] for key in shown for own in others if key in own]
        return Comparison(estimates, self._outcome.text(WIDTH), self._outcome.html())

    def why(self, flow: int | None = None, *, scheme: str | None = None, seed: int | None = None) -> str:
        """Where the time of ``flow`` went, as text. Without ``flow``: of the slowest flow.

        ``scheme`` and ``seed`` choose the run; otherwise it is the first one. The packets of some flows are recorded in
        the first run of each scheme; for another flow the run is done again.

        :raises ValueError: there is no such run, or the flow has no completion time.
        """
        if flow is not None and not 0 <= flow < 2**32:
            raise ValueError(f"flow {flow}: flows are numbered from 0")
        return self._outcome.why(flow, scheme, seed)

    @cached_property
    def _figures(self) -> dict[str, Any]:
        import json

        figures: dict[str, Any] = json.loads(self._outcome.figures())
        return figures

    @property
    def charts(self) -> dict[str, str]:
        """The names of the charts that :meth:`chart` draws, with their titles."""
        return dict(self._outcome.charts())

    def chart(self, name: str = "fct-cdf") -> Chart:
        """A figure of the report. Notebooks draw it.

        :raises KeyError: there is no such figure, or it has no data; the text says what would be right.
        """
        from .chart import chart

        return chart(self._outcome, self._figures, name)

    def save(self, folder: str | os.PathLike[str] = "results", *, force: bool = False) -> Path:
        """Writes the result into a new folder below ``folder``, as ``slotline run`` does, and returns it.

        :raises ResultError: it cannot be written, or it is there and ``force`` is false.
        """
        return Path(self._outcome.save(folder, force))

    def __str__(self) -> str:
        return self._outcome.text(WIDTH)

    def __repr__(self) -> str:
        return f"<Result {self.id}: {self.runs} runs of {', '.join(self.schemes)}>"

    def _repr_html_(self) -> str:
        return self._outcome.html()


def open(folder: str | os.PathLike[str]) -> Result:
    """Reads the result in a folder that ``slotline run`` or :meth:`Result.save` wrote.

    :raises ResultError: it is no result, or it was damaged.
    """
    return Result(_core.open(folder))
