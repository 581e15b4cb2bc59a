"""Schedulers that are written in Python."""

from __future__ import annotations

import pytest

import slotline as sl

SCENARIO = """
name = "own"
end = { at = "20ms" }
fabric = { kind = "star", hosts = 5 }
workload = [{ kind = "shuffle", size = "60KB" }]
[[scheme]]
name = "own"
control = { kind = "custom", name = "%s", options = { slice = "100us" } }
"""

EVENTS: list[str] = []


@sl.scheduler
class Turns:
    """One pair after the other, first come, first served."""

    def __init__(self, network: sl.Network, slice: str) -> None:
        self.slice = sl.duration(slice)
        self.hosts, self.path = network.hosts, network.path(0, 1)
        self.waiting: list[tuple[int, int]] = []
        self.sending: tuple[int, int] | None = None
        self.until = 0

    def joined(self, now: int, host: int) -> None:
        EVENTS.append(f"joined {host} of {self.hosts}, path of {len(self.path)}")

    def backlog(self, now: int, host: int, destinations: list[int], flows: list[int]) -> None:
        assert len(destinations) == len(flows)
        self.waiting = [pair for pair in self.waiting if pair[0] != host]
        self.waiting += [(host, dst) for dst in destinations]

    def released(self, now: int, host: int, dst: int) -> None:
        self.waiting = [pair for pair in self.waiting if pair != (host, dst)]
        self.until = now

    def decide(self, now: int, plan: sl.Plan) -> int | None:
        if now >= self.until and self.sending is not None:
            plan.window(self.sending[0], None, now)
            self.sending = None
        if self.sending is None and self.waiting:
            self.sending = self.waiting.pop(0)
            self.waiting.append(self.sending)
            self.until = now + self.slice
            plan.window(*self.sending, self.until)
        return self.until if self.sending is not None else None


def test_a_class_decides_who_sends() -> None:
    result = sl.Scenario.parse(SCENARIO % "turns").run()
    assert result.complete and all(finish is not None for finish in result.flows["finish_ps"])
    assert "joined 0 of 6, path of 2" in EVENTS
    counters = dict(zip(result.control["count"], result.control["value"], strict=True))
    assert counters["decisions"] > 20
    assert sl.Scenario.parse(SCENARIO % "turns").run(threads=2).digest == result.digest


@sl.scheduler(name="broken")
class Broken:
    def __init__(self, network: sl.Network, slice: str) -> None:
        pass

    def decide(self, now: int, plan: sl.Plan) -> int | None:
        raise LookupError(f"nothing at {now}")


def test_an_exception_reaches_the_caller_with_its_place(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LookupError, match="nothing at") as caught:
        sl.Scenario.parse(SCENARIO % "broken").run()
    assert [entry.name for entry in caught.traceback][-1] == "decide"
    assert capfd.readouterr().err == ""


def test_wrong_parts_are_refused() -> None:
    with pytest.raises(sl.ScenarioError, match='"nobody"'):
        sl.Scenario.parse(SCENARIO % "nobody")
    with pytest.raises(TypeError, match="no method `decide"):
        sl.scheduler(type("Empty", (), {}))
    with pytest.raises(TypeError, match="colour"):
        sl.Scenario.parse(SCENARIO.replace("slice =", "colour =") % "turns").run()
