"""Values as TOML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class HasTable(Protocol):
    """An object that stands for a table of a scenario."""

    def to_dict(self) -> dict[str, Any]:
        """The table."""


def plain(value: Any) -> Any:
    """``value`` as tables, lists, texts and numbers."""
    if hasattr(value, "to_dict"):  # a table of `slotline.typed`
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "total_seconds"):  # a duration of `datetime`
        return f"{round(value.total_seconds() * 1e6)}us"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):  # a number of numpy
        return value.item()
    return value


def text_of(value: Any) -> str:
    """``value`` as it is written behind ``key =``.

    >>> text_of({"kind": "star", "hosts": 9, "overrides": []})
    '{kind = "star", hosts = 9, overrides = []}'
    """
    return _text(plain(value))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_text(item)}" for key, item in value.items()) + "}"
    raise TypeError(f"a scenario cannot hold {value!r}")


def _quoted(text: str) -> str:
    import json

    # JSON leaves this character as it is, and TOML does not permit it.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    bare = key.replace("-", "").replace("_", "")
    return key if bare.isascii() and bare.isalnum() else _quoted(key)


def document(table: Mapping[str, Any]) -> str:
    """A whole document: one line for each key, and a section for each list of tables.

    >>> print(document({"name": "x", "workload": [{"kind": "incast"}]}))
    name = "x"
    <BLANKLINE>
    [[workload]]
    kind = "incast"
    <BLANKLINE>
    """
    lines: list[str] = []
    sections: list[str] = []
    for key, value in plain(table).items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            sections.extend(_section(f"[[{_key(key)}]]", item) for item in value)
        elif isinstance(value, dict):
            sections.append(_section(f"[{_key(key)}]", value))
        else:
            lines.append(f"{_key(key)} = {_text(value)}")
    return "\n".join(lines) + "\n\n" + "\n".join(sections)


def _section(head: str, table: dict[str, Any]) -> str:
    return "\n".join([head, *(f"{_key(key)} = {_text(item)}" for key, item in table.items())]) + "\n"
