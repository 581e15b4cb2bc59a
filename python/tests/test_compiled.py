"""Parts that numba compiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, SMALL

import slotline as sl

pytest.importorskip("numba")

from slotline.compiled import ACK, BEGIN, LOSS, TIMEOUT  # noqa: E402

OWN = """
name = "own"
end = { at = "20ms" }
fabric = { kind = "star", hosts = 5 }
workload = [{ kind = "shuffle", size = "60KB" }]
measure = { why = false }
[[scheme]]
name = "own"
control = { kind = "custom", name = "%s", options = { %s } }
"""


@sl.scheduler(every="50us", compile=True, memory=2)
def rounds(now: int, waiting: Any, send: Any, memory: Any, step: float) -> None:
    """A matching that begins with another host each time."""
    hosts = len(send)
    memory[0] += step
    free = [True] * hosts
    for turn in range(hosts):
        src = (turn + int(memory[0])) % hosts
        for dst in range(hosts):
            if waiting[src, dst] > 0 and free[dst]:
                send[src] = dst
                free[dst] = False
                break


def test_a_compiled_function_decides_who_sends() -> None:
    scenario = sl.Scenario.parse(OWN % ("rounds", "step = 1"))
    first, again = scenario.run(), scenario.run()
    assert first.digest == again.digest and first.metrics["own"]["drops"].mean == 0
    assert all(finish is not None for finish in first.flows["finish_ps"])
    other = sl.Scenario.parse(OWN % ("rounds", "step = 2")).run()
    assert other.digest != first.digest
    with pytest.raises(sl.ScenarioError, match="`step` is missing"):
        sl.Scenario.parse(OWN % ("rounds", ""))
    with pytest.raises(sl.ScenarioError, match="unknown option `leap`"):
        sl.Scenario.parse(OWN % ("rounds", "leap = 1"))


@sl.scheduler(every="50us", compile=True)
def beyond(now: int, waiting: Any, send: Any, memory: Any) -> None:
    if now > 100_000_000:
        send[len(send)] = 1


def test_an_exception_of_a_compiled_function_reaches_the_caller(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IndexError) as caught:
        sl.Scenario.parse(OWN % ("beyond", "")).run()
    assert [entry.name for entry in caught.traceback][-1] == "beyond"
    assert capfd.readouterr().err == ""


def test_wrong_functions_are_refused() -> None:
    with pytest.raises(TypeError, match="begin with now, waiting, send, memory"):
        sl.scheduler(every="1us", compile=True)(lambda now: None)
    with pytest.raises(TypeError, match="needs `every`"):
        sl.scheduler(compile=True)  # type: ignore[call-overload]


@sl.congestion(memory=2)
def reno(event: Any, memory: Any) -> int:
    """Slow start, congestion avoidance, and half the window after a loss."""
    window = event.window
    if event.kind == BEGIN:
        memory[0] = 1 << 20
        return int(event.initial)
    if event.kind == ACK and event.limited and not event.recovering:
        if window < memory[0]:
            return int(window + event.acked)
        memory[1] += event.acked
        if memory[1] >= window:
            memory[1] -= window
            return int(window + 1)
    if event.kind == LOSS or event.kind == TIMEOUT:
        memory[0] = max(event.flight // 2, 2)
        memory[1] = 0
        return 1 if event.kind == TIMEOUT else int(memory[0])
    return int(window)


def test_compiled_congestion_control_carries_flows() -> None:
    transport = {"kind": "custom", "name": "reno"}
    base = sl.Scenario.parse(SMALL).replace({"scheme": [{"name": "tcp"}, {"name": "own", "transport": transport}]})
    result = base.run()
    assert result.complete and result.metrics["own"]["goodput"].ratio == pytest.approx(1, rel=0.3)


HYBRID = """
name = "hybrid"
end = { at = "20ms" }
fabric = { kind = "hybrid", racks = 4, hosts-per-rack = 4, host-rate = "10Gbps", \
    packet = { rate = "10Gbps", delay = "5us" }, circuits = { rate = "40Gbps", delay = "5us", reconfiguration = "20us" } }
workload = [{ kind = "bulk", senders = "0-3", receivers = "4-7" }]
measure = { why = false }
[[scheme]]
name = "rotor"
transport = { kind = "newreno", mtu = "9000B", min-rto = "10ms" }
control = "circuits"
[[scheme]]
name = "own"
transport = { kind = "newreno", mtu = "9000B", min-rto = "10ms" }
control = { kind = "circuits", scheduler = "custom", custom = { name = "%s" } }
"""


@sl.circuits(memory=1)
def longest(demand: Any, timing: Any, days: Any, memory: Any) -> int:
    """One day, with circuits for the pairs of racks that have most to send."""
    memory[0] += 1
    racks = len(demand)
    days[0, 0] = timing.week - timing.night
    taken = [False] * racks
    for _ in range(racks):
        best, src, dst = 0, -1, -1
        for a in range(racks):
            for b in range(racks):
                if days[0, 1 + a] < 0 and not taken[b] and demand[a, b] > best:
                    best, src, dst = demand[a, b], a, b
        if src >= 0:
            days[0, 1 + src] = dst
            taken[dst] = True
    return 1


@sl.circuits()
def twice(demand: Any, timing: Any, days: Any, memory: Any) -> int:
    days[0, 0] = timing.min_day
    days[0, 1] = days[0, 2] = 3
    return 1


def test_a_compiled_function_plans_circuits() -> None:
    result = sl.Scenario.parse(HYBRID % "longest").run()
    assert result.metrics["own"]["goodput"].ratio > 1.2
    with pytest.raises(ValueError, match="wrong week: day 0: destination 3 already has another source"):
        sl.Scenario.parse(HYBRID % "twice").run()


THRESHOLD = """
name = "marks"
end = { at = "10ms", when = "time" }
fabric = { kind = "star", hosts = 5, rate = "10Gbps" }
workload = [{ kind = "bulk", senders = "0-3", receivers = "4" }]
measure = { why = false }
scheme = [{ name = "one", transport = { kind = "dctcp", min-rto = "10ms" }, queue = "ecn" }]
"""


@sl.aqm
def dctcp(packet: Any, state: Any) -> int:
    return sl.MARK if packet.queue_bytes > 30000 and packet.ect else sl.PASS


def test_a_policy_in_python_marks_as_the_program_in_c(tmp_path: Path) -> None:
    base = sl.Scenario.parse(THRESHOLD)
    program = {"kind": "object", "file": str(ROOT / "data/bpf/dctcp.o")}
    in_c, in_python = (base.replace("scheme[one].queue", queue).run() for queue in (program, dctcp))
    assert in_python.digest == in_c.digest and sum(in_python.ports["marks"]) > 1000
    assert dctcp.save(tmp_path / "own.o").read_bytes().startswith(b"\x7fELF")


@sl.aqm
def every_third(packet: Any, state: Any) -> bool:
    state[3] += 1
    return bool(packet.ect == 1 and state[3] % 3 == 0)


def test_a_policy_has_state() -> None:
    result = sl.Scenario.parse(THRESHOLD).replace("scheme[one].queue", every_third).run()
    packets, marks = sum(result.ports["tx_packets"]), sum(result.ports["marks"])
    assert 0.05 * packets < marks < 0.2 * packets and every_third(packet(), [0] * 16) == 0


def packet() -> Any:
    from slotline.bpf import Packet

    return Packet(0, 0, 0, 0, 1500, 1, 0)


def test_what_the_machine_cannot_do_is_refused() -> None:
    with pytest.raises(TypeError, match="returns float64"):
        sl.aqm(lambda packet, state: packet.queue_bytes / 2).object()
    with pytest.raises(TypeError, match="cannot allocate"):
        sl.aqm(lambda packet, state: len([packet.now_ns] * packet.length)).object()
