"""The notebooks of the examples: every cell runs, and what it shows can be drawn."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples/python").glob("*.ipynb"))


def cells(path: Path) -> list[str]:
    notebook = json.loads(path.read_text("utf-8"))
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Runs a cell. Returns what a notebook shows below it."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    drawn = 0
    for cell in cells(path):
        value = shown(cell, names)
        if hasattr(value, "_repr_mimebundle_"):
            drawn += "<svg" in value._repr_mimebundle_()["image/svg+xml"]
        elif hasattr(value, "_repr_html_"):
            drawn += "<table" in value._repr_html_()
    assert drawn >= 2
    if path.stem == "circuits":
        assert (tmp_path / "ocs-study.pdf").read_bytes().startswith(b"%PDF")


def test_the_first_chart_takes_twelve_lines() -> None:
    assert len(NOTEBOOKS) == 2
    first = cells(ROOT / "examples/python/incast.ipynb")[0]
    assert 'chart("fct-cdf")' in first and len([line for line in first.splitlines() if line.strip()]) <= 12


def test_notebooks_have_no_outputs() -> None:
    for path in NOTEBOOKS:
        assert all(not cell.get("outputs") for cell in json.loads(path.read_text("utf-8"))["cells"]), path
