"""What the classes of `slotline.typed` have in common."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from . import _toml

if TYPE_CHECKING:
    from .typed import FabricGraph


class Table:
    """A table of a scenario."""

    __slots__ = ()

    #: The value of the key `kind`; empty for tables without it.
    KIND: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The table as a scenario has it, without the values that were left out."""
        keys = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        given = {
            name.rstrip("_").replace("_", "-"): _toml.plain(value)
            for name, value in keys.items()
            if value is not None
        }
        return {"kind": self.KIND, **given} if self.KIND else given

    def __repr__(self) -> str:
        given = (f"{key.replace('-', '_')}={value!r}" for key, value in self.to_dict().items() if key != "kind")
        return f"{type(self).__name__}({', '.join(given)})"


class FabricBase:
    """Fabrics that are made from something else."""

    @staticmethod
    def from_networkx(graph: Any, *, rate: str | int | None = None, delay: str | int | None = None) -> FabricGraph:
        """A fabric with the nodes and links of a graph of networkx.

        Nodes whose attribute ``kind`` is ``"host"`` are hosts; without such attributes, nodes with one link are. Edges
        may have ``rate`` (bit/s, or a text such as ``"10Gbps"``) and ``delay`` (a text) or ``delay_ps``; ``rate`` and
        ``delay`` are the values of the others. In a directed graph, each link needs both directions.
        """
        from .networks import table_of
        from .typed import FabricGraph

        table = table_of(graph, rate=rate, delay=delay)
        return FabricGraph(**{key: value for key, value in table.items() if key != "kind"})
