"""Central scheduling as an environment of gymnasium, for reinforcement learning."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces

from .parts import Network, Plan, duration, scheduler
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

_OPEN: weakref.WeakValueDictionary[int, SchedulerEnv] = weakref.WeakValueDictionary()
_NUMBERS = itertools.count()


class _Closed(Exception):
    """The environment was closed, or began another episode."""


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
        self._number = next(_NUMBERS)
        _OPEN[self._number] = self
        self.every_ps = duration(every)
        control = {"kind": "custom", "name": NAME, "options": {"environment": self._number}}
        schemes = [{"name": "agent", "control": control}]
        # Where the time of flows went would need a second run, with other actions.
        changes = {"scheme": schemes, "measure.why": False}
        self.scenario = (scenario or Scenario.parse(DEFAULT)).replace(changes)
        nodes, _ = self.scenario._core.graph()
        self.hosts = sum(is_host for _, is_host, _ in nodes)
        shape = (self.hosts, self.hosts)
        self.observation_space = spaces.Box(0.0, np.inf, shape, np.float32)
        self.action_space = spaces.MultiDiscrete([self.hosts + 1] * self.hosts)
        self.waiting: NDArray[np.float32] = np.zeros(shape, np.float32)
        #: The time of the last step, in picoseconds.
        self.now = 0
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    # The thread of the agent and that of the run take turns. Each waits for its lock, which the other one opens.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode. Without a seed, the next one of this environment's random numbers is used."""
        super().reset(seed=seed)
        self.close()
        own = seed if seed is not None else int(self.np_random.integers(1, 2**31))
        self.waiting = np.zeros((self.hosts, self.hosts), np.float32)
        self._mine, self._runs = threading.Lock(), threading.Lock()
        self._mine.acquire()
        self._runs.acquire()
        self._over, self._closing, self._error, self.now = False, False, None, 0
        self._action: list[int] = [self.hosts] * self.hosts
        self._thread = threading.Thread(target=self._run, args=(own % 2**32,), daemon=True)
        self._thread.start()
        self._mine.acquire()
        self._raise()
        return self.waiting.copy(), self._info()

    def step(self, action: NDArray[np.int64]) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Lets the hosts send as ``action`` says, until the next step."""
        if self._thread is None:
            raise gymnasium.error.ResetNeeded("call `reset` before `step`")
        if not self._over:
            self._action = action.tolist()
            self._runs.release()
            self._mine.acquire()
            self._raise()
        reward = -float(np.count_nonzero(self.waiting)) / self.hosts
        return self.waiting.copy(), reward, self._over, False, self._info()

    def close(self) -> None:
        """Ends the episode."""
        if self._thread is not None and self._thread.is_alive():
            self._closing = True
            self._runs.release()
            self._thread.join()
        self._thread = None

    def _info(self) -> dict[str, Any]:
        return {"time_ps": self.now}

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self, seed: int) -> None:
        try:
            self.result = self.scenario.run(seed=seed, repeat=1, threads=1)
        except _Closed:
            pass
        except BaseException as error:
            self._error = error
        self._over = True
        self._mine.release()

    def _turn(self, now: int) -> list[int]:
        """Lets the agent take its step; returns its action. Called in the run."""
        self.now = now
        self._mine.release()
        self._runs.acquire()
        if self._closing:
            raise _Closed
        return self._action


@scheduler(name=NAME)
class _Agent:
    """The scheduler that asks the agent."""

    def __init__(self, network: Network, environment: int) -> None:
        self.environment = _OPEN[environment]
        self.next = 0
        self.reported: set[int] = set()

    def backlog(self, now: int, host: int, destinations: list[int], flows: list[int]) -> None:
        self.reported.add(host)
        row = self.environment.waiting[host]
        row.fill(0)
        if destinations:
            row[destinations] = flows

    def released(self, now: int, host: int, dst: int) -> None:
        self.environment.waiting[host, dst] = 0

    def left(self, now: int, host: int) -> None:
        self.environment.waiting[host].fill(0)

    def decide(self, now: int, plan: Plan) -> int:
        if now < self.next:
            return self.next
        environment = self.environment
        self.next = now + environment.every_ps
        action = environment._turn(now)
        for host, dst in enumerate(action):
            if dst < environment.hosts and dst != host and environment.waiting[host, dst]:
                plan.window(host, dst, self.next)
            elif host in self.reported:
                # A host whose window is over waits, but one that reported expects an answer.
                plan.window(host, None, self.next)
        self.reported.clear()
        return self.next


@atexit.register
def _close_all() -> None:
    for environment in list(_OPEN.values()):
        environment.close()
