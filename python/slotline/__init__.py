"""Slotline simulates datacenter networks whose traffic is scheduled centrally.

>>> import slotline as sl
>>> s = sl.Scenario.parse('''
... name = "hello"
... end = { at = "100ms" }
... fabric = { kind = "star", hosts = 9 }
... workload = [{ kind = "incast", block = "90KB" }]
... scheme = [{ name = "tcp" }, { name = "dctcp", transport = "dctcp", queue = { kind = "ecn" } }]
... ''')
>>> r = s.run(repeat=2)
>>> r.complete, len(r.flows) > 0
(True, True)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _plugin

_plugin.load(f"{__name__}._core")

from ._core import Network, Plan, Table, __version__, duration
from .errors import Error, Interrupted, ResultError, RunError, ScenarioError
from .bpf import DROP, MARK, PASS, Aqm, aqm
from .parts import Scheduler, circuits, congestion, scheduler
from .result import Comparison, Estimate, Metrics, Result, open
from .scenario import Scenario

if TYPE_CHECKING:
    from .running import Done, Run
    from .study import Study, StudyResult, collect, run_point, sweep
    from .typed import *  # noqa: F403

# Names of modules that take time to import, and are imported when they are first used.
_LATER = {name: "study" for name in ("Study", "StudyResult", "collect", "run_point", "sweep")}
_LATER |= {"Done": "running", "Run": "running"}

__all__ = [
    "DROP",
    "MARK",
    "PASS",
    "Aqm",
    "Comparison",
    "Done",
    "Error",
    "Estimate",
    "Interrupted",
    "Metrics",
    "Network",
    "Plan",
    "Result",
    "ResultError",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Study",
    "StudyResult",
    "Table",
    "__version__",
    "aqm",
    "circuits",
    "collect",
    "congestion",
    "duration",
    "open",
    "run_point",
    "scheduler",
    "sweep",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_LATER.get(name, 'typed')}")
    try:
        return getattr(module, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
