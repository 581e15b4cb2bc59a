"""Writes `slotline/typed.py`: a class for each table of a scenario, from the JSON Schema that the library makes of its
types. `generate.py` writes the file, `generate.py --check FOLDER` compares it with the one in the installed package."""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

Json = dict[str, Any]

#: Names of types that differ from those of the schema.
NAMES = {"TopologySpec": "Fabric", "queue": "Queue", "XcoSpec": "XcoOptions"}
#: Types of quantities, which are texts with a unit.
QUANTITIES = {"time": "Time", "size": "Size", "rate": "Rate"}
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
#: Types with methods that are written by hand.
BASES = {"Fabric": "FabricBase"}
WIDTH = 120

HEAD = '''"""The tables of a scenario as classes. Written by `generate.py` from the types of the library: do not edit.

Values that are left out have the scenario's defaults. Quantities are texts with a unit: `"10Gbps"`, `"20us"`, `"64KB"`.
"""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, Literal

from ._typed import FabricBase, Table

Time = str | timedelta
"""A time with its unit, such as `"20us"`."""
Size = str
"""A number of bytes, such as `"64KB"`."""
Rate = str
"""A rate, such as `"10Gbps"`."""
'''


def camel(name: str) -> str:
    """`fat-tree` as `FatTree`."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace(".", "-").split("-"))


def snake(name: str) -> str:
    """`fat-tree` as `fat_tree`."""
    own = name.replace("-", "_").replace(".", "_")
    return own + "_" if keyword.iskeyword(own) else own


def type_name(name: str) -> str:
    """The name of the class for a definition."""
    return NAMES.get(name, name.removesuffix("Spec"))


def variants(schema: Json) -> list[Json]:
    """The tables with a `kind` among the forms of a type."""
    forms = schema.get("anyOf", [schema])
    tables = forms[-1].get("oneOf", [])
    return [table for table in tables if "properties" in table]


def words(schema: Json) -> list[str]:
    """The plain words among the forms of a type."""
    forms = schema.get("anyOf", [schema])
    named = forms[0].get("enum", []) if "anyOf" in schema else []
    return [*named, *(form["const"] for form in forms[-1].get("oneOf", []) if "const" in form)]


class Generator:
    """Classes in the order in which they are needed."""

    def __init__(self, schema: Json) -> None:
        self.definitions: dict[str, Json] = schema["definitions"]
        self.root = schema
        self.classes: list[str] = []
        self.exported: list[str] = []

    def text(self) -> str:
        """The module."""
        for name, schema in self.definitions.items():
            if variants(schema):
                self.union(type_name(name), schema)
            elif "properties" in schema:
                self.table(type_name(name), schema, "Table", None)
        self.table("ScenarioTable", self.root, "Table", None)
        names = "\n".join(f'    "{name}",' for name in sorted([*self.exported, "Rate", "Size", "Time"]))
        return HEAD + f"\n__all__ = [\n{names}\n]\n" + "".join(self.classes)

    def union(self, name: str, schema: Json) -> None:
        """A class for a table with a `kind`, and one for each kind."""
        tables = [(table["properties"]["kind"]["const"], table) for table in variants(schema)]
        lines = [f"class {name}({BASES.get(name, 'Table')}):", doc(schema.get("description", ""), 1)]
        lines += ["    __slots__ = ()"]
        lines += [f"    {snake(kind)}: ClassVar[type[{name}{camel(kind)}]]" for kind, _ in tables]
        self.add(name, lines)
        for kind, table in tables:
            self.table(name + camel(kind), table, name, kind)

    def table(self, name: str, schema: Json, base: str, kind: str | None) -> None:
        """A class for a table."""
        required = schema.get("required", [])
        keys = [(key, it) for key, it in schema.get("properties", {}).items() if kind is None or key != "kind"]
        keys.sort(key=lambda item: item[0] not in required)
        about = [f":param {snake(key)}: {described(it)}" for key, it in keys]
        text = schema.get("description", "") + ("\n\n" + "\n".join(about) if about else "")
        lines = ["@dataclass(slots=True, kw_only=True, repr=False)", f"class {name}({base}):", doc(text, 1)]
        if kind is not None:
            lines.append(f'    KIND: ClassVar[str] = "{kind}"')
        for key, it in keys:
            assert "_" not in key, f"{name}.{key}: `to_dict` makes a hyphen from each underscore"
            own = self.kind_of(it)
            lines.append(f"    {snake(key)}: {own}" + ("" if key in required else " | None = None"))
        self.add(name, lines)

    def add(self, name: str, lines: list[str]) -> None:
        self.exported.append(name)
        self.classes.append("\n\n" + "\n".join(lines) + "\n")

    def kind_of(self, schema: Json) -> str:
        """The type of a value."""
        if "x-type" in schema and schema["x-type"] in QUANTITIES:
            return QUANTITIES[schema["x-type"]]
        if "allOf" in schema:
            return self.kind_of(schema["allOf"][0])
        if "$ref" in schema:
            return self.named(schema["$ref"].rsplit("/", 1)[1])
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            return literal(schema["enum"])
        for forms in ("anyOf", "oneOf"):
            if forms in schema:
                kinds = [self.kind_of(form) for form in schema[forms]]
                return " | ".join(dict.fromkeys(kinds))
        if schema.get("type") == "array":
            items = schema.get("items")
            return f"Sequence[{self.kind_of(items) if isinstance(items, dict) else 'Any'}]"
        if schema.get("type") == "object":
            return "Mapping[str, Any]"
        return PLAIN.get(schema.get("type", ""), "Any")

    def named(self, name: str) -> str:
        """The type of a definition."""
        schema = self.definitions[name]
        own = [type_name(name)] if variants(schema) or "properties" in schema else []
        plain = [literal(words(schema))] if words(schema) else []
        return " | ".join([*own, *plain, *(["Mapping[str, Any]"] if own else [])]) or self.kind_of(schema)


def literal(choices: list[Any]) -> str:
    """A type with these values."""
    return "Literal[" + ", ".join(json.dumps(choice) for choice in choices) + "]"


def described(schema: Json) -> str:
    """The comment of a key, with its default."""
    about = " ".join(schema.get("description", "").split())
    if "default" in schema and not isinstance(schema["default"], (dict, list)):
        about += f" Default: {json.dumps(schema['default'])}."
    return about


def doc(text: str, depth: int) -> str:
    """`text` as a comment of a class."""
    indent = "    " * depth
    paragraphs = [
        "\n".join(
            textwrap.fill(
                line, WIDTH, initial_indent=indent, subsequent_indent=indent + "    " * line.startswith(":param")
            )
            for line in paragraph.split("\n")
        )
        for paragraph in (text or "A table.").replace("\\", "\\\\").replace('"""', "'''").split("\n\n")
    ]
    joined = "\n\n".join(paragraphs)
    return f'{indent}"""{joined.lstrip()}\n{indent}"""'


def main() -> int:
    """Writes the file, or compares it."""
    from slotline._core import definitions

    text = Generator(json.loads(definitions())).text()
    if sys.argv[1:2] == ["--check"]:
        same = Path(sys.argv[2], "typed.py").read_text("utf-8") == text
        if not same:
            print("python/slotline/typed.py is old: run python/generate.py", file=sys.stderr)
        return 0 if same else 1
    Path(__file__).with_name("slotline").joinpath("typed.py").write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
