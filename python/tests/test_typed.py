"""The classes for the tables of a scenario."""

from __future__ import annotations

from datetime import timedelta

import pytest

import slotline as sl
from slotline import typed


def test_a_class_is_the_table_of_a_scenario() -> None:
    fabric = sl.Fabric.fat_tree(k=4, host_rate="10Gbps", delay=timedelta(microseconds=2))
    assert fabric.to_dict() == {"kind": "fat-tree", "k": 4, "host-rate": "10Gbps", "delay": "2us"}
    assert repr(fabric) == "FabricFatTree(k=4, delay='2us', host_rate='10Gbps')"
    with pytest.raises(TypeError, match="pods"):
        sl.Fabric.fat_tree(k=4, pods=3)  # type: ignore[call-arg]


def test_every_kind_has_a_class() -> None:
    kinds = {it.KIND: it for it in vars(sl.Workload).values() if isinstance(it, type)}
    assert len(kinds) == 20 and kinds["short-flows"] is sl.Workload.short_flows
    assert all(":param " in (it.__doc__ or "") for it in kinds.values() if it is not sl.Workload.custom)
    assert 60 < len(typed.__all__) < 130


def test_tables_are_nested_and_checked() -> None:
    scheme = sl.Scheme(
        name="x",
        transport=sl.Transport.dctcp(min_rto="1ms"),
        queue=sl.Queue.ecn(threshold="30KB", shared=typed.Shared(total="1MB")),
        control=sl.Control.xco(slice="100us"),
    )
    keys = {"name": "n", "end": typed.End(at="5ms"), "fabric": sl.Fabric.star(hosts=5), "scheme": [scheme]}
    scenario = sl.Scenario.build(keys, workload=[sl.Workload.incast(block="30KB")], measure=sl.Measure(why=False))
    resolved = scenario.resolved()
    assert 'min-rto = "1ms"' in resolved and 'total = "1MB"' in resolved and "why = false" in resolved
    with pytest.raises(sl.ScenarioError) as caught:
        sl.Scenario.build(keys, workload=[sl.Workload.incast(block="30 apples")])
    assert caught.value.key == "workload[0].block"
