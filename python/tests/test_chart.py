"""Charts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

import slotline as sl
from slotline import chart


def test_colours_are_those_of_the_report() -> None:
    css = (ROOT / "crates/study/report/src/assets/colours.css").read_text().split("@media")[0]
    for letter, colours in (("c", chart.SCHEMES), ("p", chart.PARTS), ("h", chart.HEAT)):
        assert re.findall(rf"--{letter}\d: (#\w+);", css) == colours


def test_a_chart_has_the_data_of_the_result(small: sl.Result) -> None:
    drawn = small.chart("fct-cdf")
    longest = max(row["flow_completion_time"] for row in drawn.spec["data"]["values"])
    assert longest == pytest.approx(max(small.flows["fct_ps"]) / 1e12)
    domain = drawn.spec["encoding"]["color"]["scale"]
    assert domain == {"domain": ["tcp", "dctcp"], "range": ["#0072b2", "#d55e00"]}
    bundle = drawn._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] is drawn.spec and drawn.caption


def test_every_chart_is_a_specification(small: sl.Result, tmp_path: Path) -> None:
    assert {"fct-cdf", "why", "utilisation"} < set(small.charts)
    for name in small.charts:
        path = small.chart(name).save(tmp_path / f"{name}.json")
        spec = json.loads(path.read_text())
        columns = set(spec["data"]["values"][0])
        layers = spec.get("layer", [spec])
        fields = {code["field"] for layer in layers for code in layer["encoding"].values()}
        assert fields <= columns, name
    with pytest.raises(KeyError, match="fct-cdf"):
        small.chart("none")


def test_charts_are_drawn(small: sl.Result, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    for name in small.charts:
        assert "<svg" in small.chart(name).save(tmp_path / f"{name}.svg").read_text()
    begins = {"png": b"\x89PNG", "pdf": b"%PDF", "html": b"<!DOCTYPE"}
    for ending, begin in begins.items():
        assert small.chart().save(tmp_path / f"chart.{ending}").read_bytes().startswith(begin)
    with pytest.raises(ValueError, match=".svg"):
        small.chart().save(tmp_path / "chart.txt")
