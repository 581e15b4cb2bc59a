"""Central scheduling as an environment of gymnasium, for reinforcement learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from . import _core
from .parts import duration
from .result import Result
from .scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SchedulerEnv"]

NAME = "slotline.gym"

DEFAULT = """
name = "gym"
end = { at = "20ms" }
fabric = { kind = "star", hosts = 8, rate = "10Gbps" }
workload = [{ kind = "poisson", load = 0.5, sizes = "websearch" }]
scheme = [{ name = "agent" }]
"""


class SchedulerEnv(gymnasium.Env["NDArray[np.float32]", "NDArray[np.int64]"]):
    """Decides every few microseconds which host may send to which.

    An *observation* is a matrix: for each sending host (row) and destination (column) the number of flows with packets
    waiting, as the hosts' last reports say. An *action* has a destination for each host; its own number, or the number
    of hosts, means that it waits. The permission holds until the next step. The *reward* of a step is the number of
    pairs with waiting packets, divided by the number of hosts, times -1: the sum is best if all flows end soon.

    An episode ends with the run. The same seed gives the same traffic.

    :param scenario: the network and its traffic. Its schemes are replaced by one, ``agent``, with XCo's coordinators in
        the hosts. Default: eight hosts around a switch, with flows of a search engine at half the load.
    :param every: the time between two steps.
    """

    metadata = {"render_modes": []}

    def __init__(self, scenario: Scenario | None = None, every: str = "20us") -> None:
        self._episode: _core.Episode | None = None
        self.every_ps = duration(every)
        schemes = [{"name": "agent", "control": {"kind": "custom", "name": NAME}}]
        # Where the time of flows went would need a second run, with other actions.
        changes = {"scheme": schemes, "measure.why": False}
        self.scenario = (scenario or Scenario.parse(DEFAULT)).replace(changes)
        nodes, _ = self.scenario._core.graph()
        self.hosts = sum(is_host for _, is_host, _ in nodes)
        shape = (self.hosts, self.hosts)
        self.observation_space = spaces.Box(0.0, np.inf, shape, np.float32)
        self.action_space = spaces.MultiDiscrete([self.hosts + 1] * self.hosts)
        #: The result of the last episode that ended.
        self.result: Result | None = None
        #: The time of the last step, in picoseconds.
        self.now = 0
        self._over = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode. Without a seed, the next one of this environment's random numbers is used."""
        super().reset(seed=seed)
        self.close()
        own = seed if seed is not None else int(self.np_random.integers(1, 2**31))
        self._episode = self.scenario._core.episode(own % 2**32, self.every_ps, self.hosts)
        self._over = False
        waiting, _ = self._observed(self._episode)
        return waiting, {"time_ps": self.now}

    def step(self, action: NDArray[np.int64]) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Lets the hosts send as ``action`` says, until the next step."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call `reset` before `step`")
        self._episode.act(np.ascontiguousarray(action, np.int64))
        waiting, pairs = self._observed(self._episode)
        return waiting, -pairs / self.hosts, self._over, False, {"time_ps": self.now}

    def _observed(self, episode: _core.Episode) -> tuple[NDArray[np.float32], int]:
        """The observation, and the number of pairs that wait."""
        waiting = np.zeros((self.hosts, self.hosts), np.float32)
        before = self._over
        self.now, pairs, self._over = episode.observe(waiting)
        if self._over and not before:
            outcome = episode.result()
            self.result = None if outcome is None else Result(outcome)
        return waiting, pairs

    def close(self) -> None:
        """Ends the episode."""
        if self._episode is not None:
            self._episode.close()
        self._episode = None
