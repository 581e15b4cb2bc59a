"""Scenarios: reading, changing, writing, and their errors."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import pytest
from conftest import SCENARIOS, SMALL

import slotline as sl


SHIPPED = sorted(SCENARIOS.rglob("*.toml"))


def scenarios_of(path: Path) -> list[sl.Scenario]:
    """The scenario in a file, or the first and the last one of a study."""
    try:
        study = sl.Study.load(path)
    except sl.ScenarioError as error:
        assert "no `sweep`" in str(error)
        return [sl.Scenario.load(path)]
    return [study[0], study[len(study) - 1]]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_scenario_that_is_written_and_read_is_the_same(path: Path) -> None:
    for first in scenarios_of(path):
        again = sl.Scenario.parse(first.to_toml(), path=path)
        assert again.id == first.id
        assert again.replace({}).id == first.id


def test_many_scenarios_are_shipped() -> None:
    assert len(SHIPPED) > 20


def test_values_are_replaced_by_their_paths() -> None:
    first = sl.Scenario.parse(SMALL)
    other = first.replace({"scheme[dctcp].queue.threshold": "60KB", "fabric.hosts": 17, "seed": 5})
    assert (other.fabric, other.seeds) == ("star of 17 hosts and 1 switch", [5, 6])
    assert 'threshold = "60KB"' in other.resolved() and other.id != first.id
    assert first.replace("scheme[dctcp].queue.threshold", "30KB") == first


def test_a_wrong_scenario_is_an_exception_with_its_place() -> None:
    with pytest.raises(sl.ScenarioError) as caught:
        sl.Scenario.parse(SMALL.replace("threshold = ", "treshold = "), path="here.toml")
    error = caught.value
    assert (str(error.file), error.line, error.column) == ("here.toml", 13, 25)
    assert error.key == "scheme[1].queue.treshold" and error.hint == "did you mean `threshold`?"
    assert "unknown key `treshold`" in (error.message or "") and isinstance(error, ValueError)
    with pytest.raises(sl.ScenarioError, match="hosts"):
        sl.Scenario.parse(SMALL).replace("fabric.hosts", 0)
    with pytest.raises(ValueError, match="unknown element `nobody`"):
        sl.Scenario.parse(SMALL).replace("scheme[nobody].queue", "red")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    file.write_bytes(b'name = "a"\n\xff\xfe')
    for load in (sl.Scenario.load, sl.Study.load):
        with pytest.raises(sl.ScenarioError, match=r"odd.toml:2: this is no text in UTF-8") as caught:
            load(file)
        assert (caught.value.file, caught.value.line) == (str(file), 2)


def test_a_missing_file_is_the_usual_exception(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sl.Scenario.load(tmp_path / "none.toml")


def test_files_may_come_from_memory() -> None:
    text = SMALL.replace('{ kind = "incast", block = "300KB" }', '{ kind = "trace", file = "flows.csv" }')
    flows = "src,dst,bytes,start_s\n1,0,90000,0\n2,0,3000,1e-5\n"
    scenario = sl.Scenario.parse(text, files={"flows.csv": flows})
    assert sorted(set(scenario.run(repeat=1).flows["bytes"])) == [3000, 90000]
    assert scenario.replace("seed", 9).run(repeat=1).complete
    own = {**tomllib.loads(SMALL), "workload": [sl.Workload.trace(file=Path("flows.csv"))]}
    assert sl.Scenario.build(own, files={"flows.csv": flows}).run(repeat=1).digest == scenario.run(repeat=1).digest
    copy = pickle.loads(pickle.dumps(scenario))
    del scenario
    assert copy.run(repeat=1).complete
    with pytest.raises(ValueError, match="leads out of the scenario's folder"):
        sl.Scenario.parse(SMALL, files={"../flows.csv": flows})


def test_a_scenario_can_be_given_to_another_process() -> None:
    first = sl.Scenario.parse(SMALL)
    assert pickle.loads(pickle.dumps(first)) == first


def test_networks_of_networkx_go_in_and_out() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edges_from([("a", "s"), ("b", "s"), ("s", "t"), ("t", "c")], rate="10Gbps")
    fabric = sl.Fabric.from_networkx(graph, delay="2us")
    scenario = sl.Scenario.build(
        name="own",
        end={"at": "10ms"},
        fabric=fabric,
        workload=[sl.Workload.incast(block="10KB")],
        scheme=[sl.Scheme(name="tcp")],
    )
    assert scenario.fabric == "graph of 3 hosts and 2 switches"
    out = scenario.to_networkx()
    assert out.edges["a", "s", 0] == {"rate": 10_000_000_000, "delay_ps": 2_000_000}
    again = scenario.replace("fabric", sl.Fabric.from_networkx(out))
    assert networkx.utils.graphs_equal(again.to_networkx(), out)


def test_graphs_that_are_no_network_are_refused() -> None:
    networkx = pytest.importorskip("networkx")
    star = networkx.star_graph(3)
    with pytest.raises(ValueError, match="the graph has no hosts"):
        sl.Fabric.from_networkx(networkx.complete_graph(4))
    with pytest.raises(ValueError, match="same name as text"):
        sl.Fabric.from_networkx(networkx.Graph([(1, "1"), (1, 2)]))
    star.edges[0, 1]["delay"] = 5
    with pytest.raises(ValueError, match="the delay of the link 0-1 is 5: write it as a text"):
        sl.Fabric.from_networkx(star)
    star.nodes[0]["kind"] = "Switch"
    with pytest.raises(ValueError, match="node 0 has the kind 'Switch'"):
        sl.Fabric.from_networkx(star)
    with pytest.raises(ValueError, match="link from a to b has no way back"):
        sl.Fabric.from_networkx(networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "b")]))


@pytest.mark.parametrize("name, value", [("seed", -1), ("seed", 2**32), ("repeat", -1), ("threads", -2)])
def test_numbers_out_of_range_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"`{name}` is {value}: it is a whole number"):
        sl.Scenario.parse(SMALL).run(**{name: value})  # type: ignore[arg-type]
