"""Scenarios: what is simulated."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core, _toml, parts
from ._progress import Report, reporter
from .errors import Interrupted, read_text
from .result import Result

if TYPE_CHECKING:
    import tempfile

    import networkx

    from .running import Run

__all__ = ["Scenario"]

#: The name of a scenario that has no file.
UNNAMED = "scenario.toml"


class Scenario:
    """A network, its traffic, and the schemes to compare.

    A scenario does not change: :meth:`replace` returns another one.

    >>> import slotline as sl
    >>> s = sl.Scenario.parse('''
    ... name = "small"
    ... end = { at = "100ms" }
    ... fabric = { kind = "star", hosts = 9 }
    ... workload = [{ kind = "incast" }]
    ... scheme = [{ name = "tcp" }]
    ... ''')
    >>> s.fabric
    'star of 9 hosts and 1 switch'
    >>> s.replace("fabric.hosts", 5).fabric
    'star of 5 hosts and 1 switch'
    """

    __slots__ = ("_core", "_folder")

    def __init__(self, core: _core.Scenario, folder: object = None) -> None:
        self._core = core
        #: Keeps the folder with the scenario's files from memory.
        self._folder = folder

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads and checks the file at ``path``. Files that it names are looked for beside it.

        :raises ScenarioError: the scenario is wrong.
        :raises OSError: the file cannot be read.
        """
        return cls(_core.Scenario.parse(read_text(Path(path)), path, parts.registered()))

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        path: str | os.PathLike[str] = UNNAMED,
        files: Mapping[str, str | bytes] | None = None,
    ) -> Scenario:
        """Checks ``text`` as the content of the file at ``path``.

        ``files`` has the content of files that the scenario names, by name; then ``path`` does not count.

        :raises ScenarioError: the scenario is wrong.
        :raises ValueError: a name of ``files`` leads to another folder.
        """
        folder = None
        if files is not None:
            folder = _folder_with(files)
            path = Path(folder.name, UNNAMED)
        return cls(_core.Scenario.parse(text, path, parts.registered()), folder)

    @classmethod
    def build(
        cls,
        table: Mapping[str, Any] | _toml.HasTable | None = None,
        /,
        *,
        path: str | os.PathLike[str] = UNNAMED,
        files: Mapping[str, str | bytes] | None = None,
        **keys: Any,
    ) -> Scenario:
        """Checks a scenario that is made of tables: dictionaries, or objects of :mod:`slotline.typed`.

        >>> import slotline as sl
        >>> s = sl.Scenario.build(
        ...     name="small",
        ...     end={"at": "100ms"},
        ...     fabric=sl.Fabric.star(hosts=9),
        ...     workload=[sl.Workload.incast(block="90KB")],
        ...     scheme=[sl.Scheme(name="tcp")],
        ... )
        >>> s.schemes
        ['tcp']

        Files that it names are looked for beside ``path``, or are in ``files``, as for :meth:`parse`.

        :raises ScenarioError: the scenario is wrong.
        """
        return cls.parse(_toml.document({**_toml.plain(table or {}), **keys}), path=path, files=files)

    def replace(self, changes: str | Mapping[str, Any], value: Any = None) -> Scenario:
        """The scenario with other values.

        ``changes`` is the path of a key, such as ``scheme[dctcp].queue.threshold`` or ``workload[0].load``, whose new
        value is ``value``; or it has the new value for each of several paths.

        :raises ScenarioError: the new scenario is wrong.
        :raises ValueError: a path does not exist.
        """
        pairs = {changes: value} if isinstance(changes, str) else changes
        texts = [(path, _toml.text_of(item)) for path, item in pairs.items()]
        return Scenario(self._core.replaced(texts), self._folder)

    def to_toml(self) -> str:
        """The scenario as a file. Files that it extends are merged into it."""
        return self._core.to_toml()

    def resolved(self) -> str:
        """The scenario with all defaults written out, as results keep it."""
        return self._core.resolved()

    @property
    def id(self) -> str:
        """The name of its result. Equal scenarios have equal names; other seeds, other names."""
        return self._core.id

    @property
    def path(self) -> Path:
        """The file that it was read from."""
        return Path(self._core.path)

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    @property
    def fabric(self) -> str:
        """The network in words."""
        return self._core.fabric

    @property
    def schemes(self) -> list[str]:
        """The names of the schemes that are compared. The first is the baseline."""
        return self._core.schemes

    @property
    def seeds(self) -> list[int]:
        """The seeds with which each scheme is run."""
        return self._core.seeds

    @property
    def notes(self) -> list[str]:
        """What one should know about files that it names, and values that were computed for it."""
        return self._core.notes

    def run(
        self,
        *,
        seed: int | None = None,
        repeat: int | None = None,
        threads: int | None = None,
        engine: str | None = None,
        progress: bool | Report = False,
    ) -> Result:
        """Runs all schemes with all seeds, in this process. Other threads of Python run meanwhile.

        :param seed: the first seed, instead of the scenario's.
        :param repeat: the number of repetitions, instead of the scenario's.
        :param threads: the number of threads; results do not depend on it. Default: all processors, but with parts in Python
            at most one for each run.
        :param engine: ``"packet"`` or ``"flow"``, instead of the scenario's.
        :param progress: whether to show the progress, or a function that is called ten times a second with the share
            of the work that is done (0 to 1), and the numbers of complete and of all runs.
        :raises RunError: no run has a result.
        :raises ValueError: an argument is out of range.
        :raises Interrupted: Ctrl-C; its attribute ``result`` has the complete runs.
        """
        _check_counts(seed=seed, repeat=repeat, threads=threads)
        report, close = reporter(progress, "runs")
        try:
            outcome, stopped = self._core.run(seed, repeat, threads, engine, report)
        finally:
            close()
        result = Result(outcome)
        if isinstance(stopped, KeyboardInterrupt):
            raise Interrupted(result if result.runs else None) from None
        if stopped is not None:
            raise stopped
        return result

    def start(
        self, *, scheme: str | None = None, seed: int | None = None, workload: bool = True, threads: int = 1
    ) -> Run:
        """Starts a run of one scheme with one seed, to which flows can be added while it goes on.

        :param scheme: the scheme. Default: the first.
        :param seed: the seed. Default: the scenario's first.
        :param workload: whether the scenario's own traffic is sent, too.
        :param threads: the number of threads; results do not depend on it.
        :raises ValueError: there is no such scheme, or flows cannot be added under it.
        """
        from .running import Run

        _check_counts(seed=seed, threads=threads)
        name = self.schemes[0] if scheme is None else scheme
        if name not in self.schemes:
            raise ValueError(f"there is no scheme `{name}`: the schemes are {', '.join(self.schemes)}")
        table = tomllib.loads(self.to_toml())
        table["scheme"] = [one for one in _tables(table["scheme"]) if one["name"] == name]
        table.setdefault("measure", {})["why"] = False
        table["seed"] = self.seeds[0] if seed is None else seed
        table["repeat"] = 1
        single = Scenario(Scenario.build(table, path=self.path)._core, self._folder)
        return Run(single, single._core.start(workload, threads), workload)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """The network as a graph of networkx.

        Nodes have the attributes ``kind`` (``"host"`` or ``"switch"``) and ``tier``. Edges, one for each direction of a
        link, have ``rate`` in bits per second and ``delay_ps`` in picoseconds.
        """
        from .networks import graph_of

        return graph_of(*self._core.graph())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.fabric}; {', '.join(self.schemes)}; {len(self.seeds)} seeds>"

    def __reduce__(self) -> tuple[Any, ...]:
        folder = getattr(self._folder, "name", None)
        return _again, (self.to_toml(), str(self.path), None if folder is None else _contents(Path(folder)))


def _tables(given: Any) -> list[dict[str, Any]]:
    """An array of tables, which may have been written as one table."""
    return [given] if isinstance(given, dict) else list(given)


def _again(text: str, path: str, files: Mapping[str, bytes] | None) -> Scenario:
    return Scenario.parse(text, path=path, files=files)


def _check_counts(**counts: int | None) -> None:
    """Refuses numbers that do not fit."""
    for name, count in counts.items():
        if count is not None and not 0 <= count < 2**32:
            raise ValueError(f"`{name}` is {count}: it is a whole number from 0 to {2**32 - 1}")


def _folder_with(files: Mapping[str, str | bytes]) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder with these files."""
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="slotline-")
    for name, content in files.items():
        place = Path(folder.name, name)
        if not place.resolve().is_relative_to(Path(folder.name).resolve()):
            raise ValueError(f"`{name}` leads out of the scenario's folder: give a name such as flows.csv")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by their names in it."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
