"""Figures of the report, with its colours: as files, and as Vega-Lite specifications."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _core

__all__ = ["Chart", "chart"]

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
#: Colours of schemes, in order: Okabe and Ito, "Color universal design" (2008).
SCHEMES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#2a9bd6", "#1b1b1b", "#857a00"]
#: Colours of parts of time: Paul Tol, "Colour schemes" (2021), muted.
PARTS = ["#882255", "#aa4499", "#cc6677", "#117733", "#ddcc77", "#88ccee", "#44aa99", "#999933", "#332288", "#bbbbbb"]
#: Colours of utilisation, from none to all.
HEAT = ["#eef0f2", "#fdebc8", "#fbd596", "#f7b968", "#ef9a4c", "#e2783d", "#cd5638", "#ae3938", "#86213a", "#560f33"]
#: Scales that begin as logarithms.
LOGARITHMIC = "log-first"
#: The width of a figure in a notebook, mm.
SCREEN = 160
UNITS = {"s": "s", "bit/s": "bit/s", "B": "bytes", "x": "times", "share": "", "1": ""}

Json = dict[str, Any]


class Chart:
    """A figure of the report. Notebooks draw it."""

    def __init__(self, outcome: _core.Outcome, name: str, title: str, caption: str, spec: Json | None) -> None:
        self._outcome = outcome
        #: Its name, as in ``Result.charts``.
        self.name = name
        #: Its title.
        self.title = title
        #: What it shows, and what it leaves out.
        self.caption = caption
        #: The Vega-Lite specification, with the data in it. ``None`` if Vega-Lite has no such figure.
        self.spec = spec

    def save(self, path: str | os.PathLike[str], *, width: float = 84, dpi: int = 600) -> Path:
        """Writes the figure as ``slotline figure`` does: ``.svg``, ``.pdf`` or ``.png``, by the ending of ``path``.

        ``width`` is in millimetres, 84 for a column of most papers. PNG has ``dpi`` pixels per inch.

        :raises ValueError: another ending, or a size out of range.
        """
        path = Path(path)
        path.write_bytes(self._outcome.draw(self.name, path.suffix.removeprefix("."), width, dpi))
        return path

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Json:
        drawing = self._outcome.draw(self.name, "svg", SCREEN, 96).decode("utf-8")
        return {"image/svg+xml": drawing, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<Chart {self.name!r}: {self.title}>"


def chart(outcome: _core.Outcome, figures: Json, name: str) -> Chart:
    """The figure ``name``."""
    for it in figures["figures"]:
        if "plot" in it and it["plot"]["id"] == name:
            return Chart(outcome, name, it["title"], it["caption"], _specification(it, figures["schemes"]))
    missing = [f"{it['title']}: {it['remedy']}" for it in figures["figures"] if "remedy" in it]
    there = ", ".join(it["plot"]["id"] for it in figures["figures"] if "plot" in it)
    hint = "" if not missing else "; figures without data: " + " ".join(missing)
    raise KeyError(f"there is no chart `{name}`: there are {there}{hint}")


def _specification(figure: Json, schemes: list[str]) -> Json | None:
    plot = figure["plot"]
    if plot["kind"] not in _KINDS:
        return None
    values, encoding = _KINDS[plot["kind"]](plot, schemes)
    return {"$schema": SCHEMA, "title": figure["title"], "width": 560, "data": {"values": values}, **encoding}


def _colour(field: str, order: list[str], colours: list[str]) -> Json:
    scale = {"domain": order, "range": [colours[at % len(colours)] for at in range(len(order))]}
    return {"field": field, "type": "nominal", "scale": scale}


def _axis(axis: Json, field: str, values: list[float]) -> Json:
    unit = UNITS[axis["unit"]]
    title = axis["label"] + (f" [{unit}]" if unit else "")
    is_log = axis["scale"] == LOGARITHMIC and all(value > 0 for value in values)
    scale: Json = {"type": "log"} if is_log else {"zero": False}
    format_: Json = {"axis": {"format": "%"}} if axis["unit"] == "share" else {"axis": {"format": "~s"}}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, **format_}


def _column(axis: Json) -> str:
    return re.sub(r"\W+", "_", axis["label"].split(",")[0]).strip("_").lower()


def _lines(plot: Json, schemes: list[str]) -> tuple[list[Json], Json]:
    x, y = _column(plot["x"]), _column(plot["y"])
    values: list[Json] = []
    for line in plot["series"]:
        extra = {key: line[key] for key in ("low", "high", "count") if line.get(key)}
        for at, across in enumerate(line["x"]):
            row = {"scheme": schemes[line["scheme"]], x: across, y: line["y"][at], "part": line.get("part", "")}
            values.append(row | {key: column[at] for key, column in extra.items()})
    encoding = {
        "x": _axis(plot["x"], x, [row[x] for row in values]),
        "y": _axis(plot["y"], y, [row[y] for row in values]),
        "color": _colour("scheme", schemes, SCHEMES),
    }
    has_parts = any(row["part"] for row in values)
    dash = {"strokeDash": {"field": "part" if has_parts else "scheme", "type": "nominal"}}
    step = any(line["step"] for line in plot["series"])
    marks = any(line["marks"] for line in plot["series"])
    mark = {"type": "line", "interpolate": "step-after" if step else "linear", "point": marks}
    drawn: Json = {"mark": mark, "encoding": encoding | dash}
    if not any("low" in row for row in values):
        return values, {"height": 300, **drawn}
    band = {"x": encoding["x"], "y": encoding["y"] | {"field": "low"}, "y2": {"field": "high"}, "color": encoding["color"]}
    return values, {"height": 300, "layer": [{"mark": {"type": "area", "opacity": 0.2}, "encoding": band}, drawn]}


def _bars(plot: Json, schemes: list[str]) -> tuple[list[Json], Json]:
    row, value = plot["row"], _column(plot["x"])
    values = [
        {"scheme": schemes[at], row: plot["rows"][index], value: number}
        for at, numbers in enumerate(plot["values"])
        for index, number in enumerate(numbers)
    ]
    encoding = {
        "y": {"field": row, "type": "nominal", "sort": None},
        "yOffset": {"field": "scheme", "type": "nominal", "sort": None},
        "x": _axis(plot["x"], value, []) | {"scale": {"zero": True}},
        "color": _colour("scheme", schemes, SCHEMES),
    }
    return values, {"mark": "bar", "encoding": encoding}


def _stack(plot: Json, schemes: list[str]) -> tuple[list[Json], Json]:
    values = [
        {"scheme": schemes[bar["scheme"]], "group": bar["group"], "part": part, "mean_time": bar["seconds"][at]}
        for bar in plot["bars"]
        for at, part in enumerate(plot["parts"])
    ]
    time = {"label": "mean time", "unit": "s", "scale": "linear"}
    encoding = {
        "y": {"field": "group", "type": "nominal", "sort": None},
        "row": {"field": "scheme", "type": "nominal", "sort": None},
        "x": _axis(time, "mean_time", []) | {"scale": {"zero": True}, "stack": "zero"},
        "color": _colour("part", plot["parts"], PARTS),
    }
    return values, {"mark": "bar", "encoding": encoding}


def _heat(plot: Json, schemes: list[str]) -> tuple[list[Json], Json]:
    values = [
        {"scheme": schemes[panel["scheme"]], "port": name, "from": begin, "until": end, "utilisation": share / 1000}
        for panel in plot["panels"]
        for name, row in zip(plot["rows"], panel["permille"], strict=True)
        for begin, end, share in zip(panel["edges"], panel["edges"][1:], row, strict=False)
        if share >= 0
    ]
    encoding = {
        "row": {"field": "scheme", "type": "nominal", "sort": None},
        "y": {"field": "port", "type": "nominal", "sort": None},
        "x": {"field": "from", "type": "quantitative", "title": "time [s]", "axis": {"format": "~s"}},
        "x2": {"field": "until"},
        "color": {"field": "utilisation", "type": "quantitative", "scale": {"range": HEAT, "domain": [0, 1]}},
    }
    return values, {"mark": "rect", "encoding": encoding}


_KINDS: dict[str, Callable[[Json, list[str]], tuple[list[Json], Json]]] = {
    "lines": _lines,
    "bars": _bars,
    "stack": _stack,
    "heat": _heat,
}
