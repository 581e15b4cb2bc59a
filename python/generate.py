"""Writes what follows from other files: `slotline/typed.py`, a class for each table of a scenario, from the JSON Schema that
the library makes of its types; and `docs/python/reference.md`, from the comments of the package.

`generate.py` writes the files, `generate.py --check` compares them.
"""

from __future__ import annotations

import inspect
import json
import keyword
import re
import subprocess
import sys
import textwrap
from functools import cached_property
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
                self.table(type_name(name), schema, None)
        self.table("ScenarioTable", self.root, None)
        names = "\n".join(f'    "{name}",' for name in sorted([*self.exported, "Rate", "Size", "Time"]))
        return HEAD + f"\n__all__ = [\n{names}\n]\n" + "".join(self.classes)

    def union(self, name: str, schema: Json) -> None:
        """A class for each kind of a table, and one with all of them: `Fabric.fat_tree`."""
        tables = [(table["properties"]["kind"]["const"], table) for table in variants(schema)]
        for kind, table in tables:
            self.table(name + camel(kind), table, kind)
        base = f"({BASES[name]})" if name in BASES else ""
        lines = [f"class {name}{base}:", doc(schema.get("description", ""), 1)]
        lines += [f"    {snake(kind)} = {name}{camel(kind)}" for kind, _ in tables]
        self.add(name, lines)
        kinds = " | ".join(f"{name}{camel(kind)}" for kind, _ in tables)
        self.add(f"Any{name}", [f"Any{name} = {kinds}"])

    def table(self, name: str, schema: Json, kind: str | None) -> None:
        """A class for a table."""
        required = schema.get("required", [])
        keys = [(key, it) for key, it in schema.get("properties", {}).items() if kind is None or key != "kind"]
        keys.sort(key=lambda item: item[0] not in required)
        about = [f":param {snake(key)}: {described(it)}" for key, it in keys]
        text = schema.get("description", "") + ("\n\n" + "\n".join(about) if about else "")
        lines = ["@dataclass(slots=True, kw_only=True, repr=False)", f"class {name}(Table):", doc(text, 1)]
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
        own = [f"Any{type_name(name)}"] if variants(schema) else [type_name(name)] if "properties" in schema else []
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


def reference() -> str:
    """The page with all public names."""
    import slotline

    own = [name for name in slotline.__all__ if not name.startswith("_") and not isinstance(getattr(slotline, name), int)]
    parts = ["# Names of the Python package", "This page is generated from the package: `python/generate.py` writes it."]
    for name in own:
        parts.append(f"## {name}")
        parts += entry(name, getattr(slotline, name))
    parts.append("## Tables of scenarios")
    parts.append(
        "Each table of a scenario has a class, whose arguments are the keys (`-` becomes `_`). "
        "The [reference of scenarios](../reference/README.md) explains the keys, and `help(sl.Fabric.fat_tree)` does, too."
    )
    parts += tables()
    return "\n\n".join(parts) + "\n"


def entry(name: str, what: Any) -> list[str]:
    """The text about one name."""
    parts = [f"```python\n{signature(name, what)}\n```"] if not issubclass_of(what, BaseException) else []
    parts.append(comment(what))
    if isinstance(what, type):
        # Those of compiled classes have no order.
        members = sorted(vars(what).items()) if what.__module__ == "slotline._core" else vars(what).items()
        parts += [member(key, it) for key, it in members if not key.startswith("_") and is_member(it)]
    return [part for part in parts if part]


def issubclass_of(what: Any, base: type) -> bool:
    return isinstance(what, type) and issubclass(what, base)


def is_member(it: Any) -> bool:
    text = inspect.getdoc(it) or "Alias for field"
    return not text.startswith("Alias for field") and (callable(it) or isinstance(it, (property, classmethod, staticmethod, cached_property)) or inspect.isdatadescriptor(it))


def member(key: str, it: Any) -> str:
    """The text about a method or an attribute, as an item of a list."""
    function = getattr(it, "__func__", it)
    words = key + str(signature_of(function)) if callable(function) and not isinstance(it, cached_property) else key
    words = words.replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(").replace("(/, ", "(").replace("(/)", "()")
    return f"- `{words}`: {comment(it, indent='  ')}"


def signature_of(function: Any) -> str:
    try:
        text = str(inspect.signature(function))
    except ValueError:
        return "(…)"
    return re.sub(r"'([^']*)'", r"\1", text)


def signature(name: str, what: Any) -> str:
    """How it is called."""
    if isinstance(what, type) and "__init__" not in vars(what):
        return f"class {name}"
    words = signature_of(what.__init__ if isinstance(what, type) else what)
    words = words.replace("(self, ", "(").replace("(self)", "()").replace(" -> None", "" if isinstance(what, type) else " -> None")
    return f"class {name}{words}" if isinstance(what, type) else f"{name}{words}"


def comment(what: Any, indent: str = "") -> str:
    """The comment, in Markdown."""
    text = inspect.getdoc(what) or ""
    text = re.sub(r":(?:class|meth|mod|func):`([^`]*)`", r"`\1`", text).replace("``", "`")
    text = re.sub(r"^:param (\w+): ", r"- `\1`: ", text, flags=re.M)
    text = re.sub(r"^:raises (\w+): ", r"- raises `\1`: ", text, flags=re.M)
    if ">>>" in text:
        text = re.sub(r"(?:^(?:>>>|\.\.\.).*\n?(?:(?!\n|>>>).+\n?)*\n?)+", lambda m: "```python\n" + m[0].rstrip() + "\n```\n", text, flags=re.M)
    return text.strip().replace("\n", "\n" + indent)


def tables() -> list[str]:
    """A line for each class of tables, with the kinds that it has."""
    from slotline import typed

    lines = []
    for name in typed.__all__:
        what = getattr(typed, name)
        if not isinstance(what, type) or what is str or getattr(what, "KIND", ""):
            continue
        kinds = [f"`{name}.{key}`" for key, it in vars(what).items() if getattr(it, "KIND", "")]
        lines.append(f"- `{name}`" + (": " + ", ".join(kinds) if kinds else ""))
    return ["\n".join(lines)]


def definitions(repository: Path) -> Json:
    """The schema of a scenario with a definition for each type."""
    line = ["cargo", "run", "-q", "--release", "--locked", "--example", "definitions"]
    return json.loads(subprocess.run(line, cwd=repository, check=True, stdout=subprocess.PIPE).stdout)


def main() -> int:
    """Writes the files, or compares them."""
    here = Path(__file__).parent
    typed = here / "slotline" / "typed.py"
    files = {typed: Generator(definitions(here.parent)).text}
    files[here.parent / "docs" / "python" / "reference.md"] = reference
    if sys.argv[1:] == ["--check"]:
        old = [path.name for path, text in files.items() if path.read_text("utf-8") != text()]
        for name in old:
            print(f"{name} is old: run python/generate.py", file=sys.stderr)
        return 1 if old else 0
    for path, text in files.items():
        path.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
