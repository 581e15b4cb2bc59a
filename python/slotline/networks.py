"""Networks of networkx, in and out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx

__all__ = ["graph_of", "table_of"]

Node = tuple[str, bool, int]
Link = tuple[str, str, tuple[int, int], tuple[int, int]]


def graph_of(nodes: Iterable[Node], links: Iterable[Link]) -> networkx.MultiDiGraph:
    """The graph with these nodes (name, whether it is a host, tier) and links (ends, and rate and delay of each
    direction)."""
    import networkx

    graph = networkx.MultiDiGraph()
    for name, is_host, tier in nodes:
        graph.add_node(name, kind="host" if is_host else "switch", tier=tier)
    for a, b, ab, ba in links:
        graph.add_edge(a, b, rate=ab[0], delay_ps=ab[1])
        graph.add_edge(b, a, rate=ba[0], delay_ps=ba[1])
    return graph


def table_of(graph: Any, *, rate: str | int | None = None, delay: str | int | None = None) -> dict[str, Any]:
    """The table ``fabric`` of a scenario with the nodes and links of ``graph``.

    Nodes whose attribute ``kind`` is ``"host"`` are hosts; without such attributes, nodes with one link are. Edges may
    have ``rate`` (bit/s, or a text such as ``"10Gbps"``) and ``delay`` (a text) or ``delay_ps``; ``rate`` and ``delay``
    are the values of the others. In a directed graph, each link needs both directions.

    >>> import networkx
    >>> table_of(networkx.star_graph(3), rate="10Gbps", delay="1us")["hosts"]
    ['1', '2', '3']
    """
    kinds = {str(node): data.get("kind") for node, data in graph.nodes(data=True)}
    _check(graph, kinds)
    undirected = graph.to_undirected() if graph.is_directed() else graph
    if not any(kinds.values()):
        kinds = {str(node): "host" if len(undirected[node]) == 1 else "switch" for node in graph.nodes}
    hosts = [name for name, kind in kinds.items() if kind == "host"]
    if not hosts:
        raise ValueError('the graph has no hosts: give some nodes the attribute kind="host", or exactly one link')
    table: dict[str, Any] = {
        "kind": "graph",
        "hosts": hosts,
        "switches": [name for name, kind in kinds.items() if kind != "host"],
        "link": list(_links(graph)),
    }
    common = {"rate": _rate(rate), "delay": _delay(delay)}
    table.update((key, value) for key, value in common.items() if value is not None)
    return table


def _check(graph: Any, kinds: dict[str, Any]) -> None:
    """Refuses nodes that would be something else than they seem."""
    if len(kinds) < graph.number_of_nodes():
        raise ValueError("two nodes have the same name as text, for example 1 and '1'")
    for name, kind in kinds.items():
        if kind not in (None, "host", "switch"):
            raise ValueError(f'the node {name} has the kind {kind!r}: it is "host" or "switch"')


def _links(graph: Any) -> Iterable[dict[str, Any]]:
    back: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for a, b, data in graph.edges(data=True):
        ends = (str(a), str(b))
        if not graph.is_directed():
            yield _lane(*ends, data)
        elif back.get(ends[::-1]):
            own, other = data, back[ends[::-1]].pop(0)
            link = _lane(ends[1], ends[0], other)
            link.update((f"reverse-{key}", value) for key, value in _lane(*ends, own).items() if key in ("rate", "delay"))
            yield link
        else:
            back.setdefault(ends, []).append(data)
    alone = [ends for ends, left in back.items() if left]
    if alone:
        raise ValueError(f"the link from {alone[0][0]} to {alone[0][1]} has no way back")


def _lane(a: str, b: str, data: dict[str, Any]) -> dict[str, Any]:
    delay = data.get("delay", data.get("delay_ps"))
    if not isinstance(data.get("delay", ""), str):
        raise ValueError(f'the delay of the link {a}-{b} is {delay!r}: write it as a text such as "1us", or as delay_ps')
    link = {"a": a, "b": b, "rate": _rate(data.get("rate")), "delay": _delay(delay)}
    return {key: value for key, value in link.items() if value is not None}


def _rate(rate: str | int | None) -> str | None:
    return rate if rate is None or isinstance(rate, str) else f"{rate}bps"


def _delay(delay: str | int | None) -> str | None:
    return delay if delay is None or isinstance(delay, str) else f"{delay}ps"
