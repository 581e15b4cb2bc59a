"""Charts."""

from __future__ import annotations

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
    assert drawn.spec is not None
    longest = max(row["flow_completion_time"] for row in drawn.spec["data"]["values"])
    assert longest == pytest.approx(max(small.flows["fct_ps"]) / 1e12)
    domain = drawn.spec["encoding"]["color"]["scale"]
    assert domain == {"domain": ["tcp", "dctcp"], "range": ["#0072b2", "#d55e00"]}
    assert "<svg" in drawn._repr_mimebundle_()["image/svg+xml"] and drawn.caption


def test_specifications_name_columns_of_their_data(small: sl.Result) -> None:
    assert {"fct-cdf", "why", "utilisation"} < set(small.charts)
    specs = {name: small.chart(name).spec for name in small.charts}
    for name, spec in specs.items():
        if spec is not None:
            columns = set(spec["data"]["values"][0])
            layers = spec.get("layer", [spec])
            fields = {code["field"] for layer in layers for code in layer["encoding"].values()}
            assert fields <= columns, name
    assert specs["fct-cdf"] is not None
    with pytest.raises(KeyError, match="fct-cdf"):
        small.chart("none")


def test_charts_are_written(small: sl.Result, tmp_path: Path) -> None:
    begins = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for name in small.charts:
        for ending, begin in begins.items():
            path = small.chart(name).save(tmp_path / f"{name}.{ending}", dpi=72)
            assert path.read_bytes().startswith(begin), path
    assert b'width="60mm"' in small.chart().save(tmp_path / "small.svg", width=60).read_bytes()
    with pytest.raises(ValueError, match="svg, pdf or png"):
        small.chart().save(tmp_path / "chart.txt")
    with pytest.raises(ValueError, match="40 to 1000"):
        small.chart().save(tmp_path / "chart.svg", width=1)
