"""Runs that pause, and to which flows are added."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import SMALL

import slotline as sl


def scenario() -> sl.Scenario:
    return sl.Scenario.parse(SMALL).replace({"end.at": "50ms", "repeat": 1})


def test_the_result_is_that_of_flows_known_before() -> None:
    run = scenario().start(scheme="dctcp")
    run.add_flow("h1", "h2", "200KB", at="100us")
    run.advance("1ms")
    assert 0.99e9 < run.now_ps <= 1e9 and not run.over
    run.add_flow("h3", "h2", 30_000, at="2ms", priority=0)
    run.add_flow("h1", "h3", "1MB")
    result = run.finish()
    assert result.schemes == ["dctcp"] and result.seeds == [3] and result.complete
    assert [size for size in (200_000, 30_000, 1_000_000) if size in result.flows["bytes"]] == [200_000, 30_000, 1_000_000]
    assert result.why(0).startswith("Flow 0 under dctcp")
    with pytest.raises(RuntimeError, match="the run is over"):
        run.advance()


def test_it_is_equal_to_the_scenario_with_a_trace(tmp_path: Any) -> None:
    run = scenario().start(seed=7)
    for at in range(5):
        run.advance(at * 10**9 // 2)
        run.add_flow(f"h{at}", f"h{at + 1}", "50KB")
    known = run.scenario(tmp_path / "added.csv")
    result = run.finish()
    before = known.run()
    assert result.digest == before.digest and result.seeds == [7]
    assert all(result.flows[name] == before.flows[name] for name in result.flows.columns)


def test_loops_are_closed() -> None:
    """A token goes around: each flow begins when the last one is complete."""
    run = scenario().start(workload=False)
    ends = [0]
    for hop in range(20):
        run.add_flow(f"h{hop % 9}", f"h{(hop + 1) % 9}", "10KB", at=max(ends[-1] + 5_000_000, run.now_ps))
        (done,) = run.advance()
        assert done.flow == hop and ends[-1] < done.finish_ps <= run.now_ps
        ends.append(done.finish_ps)
    assert (run.completed, run.flows) == (20, 20)
    assert sorted(run.finish().flows["finish_ps"]) == ends[1:]


def test_threads_do_not_matter() -> None:
    digests = set()
    for threads in (1, 2):
        run = scenario().start(threads=threads)
        run.advance("500us")
        run.add_flow("h1", "h4", "300KB")
        digests.add(run.finish().digest)
    assert len(digests) == 1


def test_wrong_flows_are_refused() -> None:
    run = scenario().start()
    run.advance("1ms")
    with pytest.raises(ValueError, match="100us is past: the run has reached"):
        run.add_flow("h1", "h2", "1KB", at="100us")
    with pytest.raises(ValueError, match="no host `h99`: the hosts are `h0` to `h8`"):
        run.add_flow("h1", "h99", "1KB")
    with pytest.raises(ValueError, match="not before the end of the run at 50ms"):
        run.add_flow("h1", "h2", "1KB", at="1s")
    with pytest.raises(ValueError, match="apples"):
        run.add_flow("h1", "h2", "1 apples")
    with pytest.raises(ValueError, match="at least 1 byte"):
        run.add_flow("h1", "h2", 0)
    with pytest.raises(ValueError, match="no scheme `xco`"):
        scenario().start(scheme="xco")
    with pytest.raises(ValueError, match="no flows can be added under `tcp`"):
        fabric = {"kind": "hybrid", "racks": 3, "hosts-per-rack": 3, "circuits": {"rate": "10Gbps"}}
        circuits = {"kind": "circuits", "scheduler": "solstice", "demand": "perfect"}
        scenario().replace({"fabric": fabric, "scheme": [{"name": "tcp", "control": circuits}]}).start()


HEDERA = """
name = "added"
end = { at = "5ms" }
fabric = { kind = "fat-tree", k = 4, host-rate = "10Gbps" }
workload = [{ kind = "poisson", load = 0.1, sizes = "websearch", until = "2ms" }]
[[scheme]]
name = "hedera"
control = { kind = "hedera", poll = "200us", gather = "10us", computing = "20us", install = "10us" }
"""


@pytest.mark.parametrize("flows", [10, 300])
def test_hedera_moves_added_flows(flows: int) -> None:
    """With few connections, the result is that of flows known before. With many it does not depend on pauses."""
    results = []
    for pauses in (True, False):
        run = sl.Scenario.parse(HEDERA).start()
        for at in range(flows):
            if pauses:
                run.advance(f"{at * 3}us")
            run.add_flow(f"h{at % 4}", f"h{15 - at % 5}", "200KB", at=f"{at * 4}us")
        known = run.scenario()
        results.append(run.finish())
    counters = dict(zip(results[0].control["count"], results[0].control["value"], strict=True))
    assert counters["changed_paths"] > 0 and results[0].digest == results[1].digest
    if flows == 10:
        assert known.run().digest == results[0].digest
