"""The compiled part of the package."""

import os
from collections.abc import Callable, Sequence
from typing import Any

__version__: str

def command(program: str | os.PathLike[str], arguments: Sequence[str]) -> int: ...
def definitions() -> str: ...
def duration(text: str) -> int:
    """A duration such as ``"20us"`` in picoseconds."""

def open(folder: str | os.PathLike[str]) -> Outcome: ...
def collect(
    folders: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str] | None, width: int
) -> tuple[os.PathLike[str], bool, str, list[tuple[int, str]]]: ...

class Table:
    """A table: columns with names, types and units, in Arrow's memory format."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    def about(self) -> list[tuple[str, str, str | None, str]]:
        """For each column its name, type, unit and meaning."""

    def durations(self) -> Table:
        """The table with durations in nanoseconds in place of picoseconds: ``fct`` for ``fct_ps``."""

    def __getitem__(self, name: str) -> list[Any]:
        """The cells of the column ``name``; durations as whole nanoseconds."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as an Arrow stream, which shares its memory."""

    def __arrow_c_schema__(self) -> object:
        """The types of the columns as an Arrow schema."""

class Network:
    """The network as a central scheduler sees it: directed links with rates, and the path between any two hosts."""

    @property
    def hosts(self) -> int:
        """The number of hosts; hosts are numbered from 0."""

    @property
    def rates(self) -> list[int]:
        """The rate of each directed link in bits per second."""

    def path(self, src: int, dst: int) -> list[int]:
        """The numbers of the links on the path from ``src`` to ``dst``, the link of the host ``src`` first."""

class Plan:
    """The decisions of a central scheduler, in the order they are made."""

    def window(self, src: int, dst: int | None, until: int, rate: int | None = None) -> None:
        """``src`` may send to ``dst``, and to nobody else, until the time ``until`` (picoseconds), at ``rate`` (bit/s) or
        at the rate of its link. With ``dst=None`` it waits."""

    def rate(self, src: int, dst: int, rate: int) -> None:
        """``src`` may send to ``dst`` at ``rate`` (bit/s) until the next decision."""

    def __len__(self) -> int: ...

class Scenario:
    @staticmethod
    def parse(text: str, path: str | os.PathLike[str], parts: dict[str, type]) -> Scenario: ...
    def replaced(self, changes: Sequence[tuple[str, str]]) -> Scenario: ...
    def to_toml(self) -> str: ...
    def resolved(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def path(self) -> os.PathLike[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def fabric(self) -> str: ...
    @property
    def schemes(self) -> list[str]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def notes(self) -> list[str]: ...
    def graph(
        self,
    ) -> tuple[list[tuple[str, bool, int]], list[tuple[str, str, tuple[int, int], tuple[int, int]]]]: ...
    def run(
        self,
        seed: int | None = None,
        repeat: int | None = None,
        threads: int | None = None,
        engine: str | None = None,
        progress: Callable[[float, int, int], object] | None = None,
    ) -> tuple[Outcome, BaseException | None]: ...

class Outcome:
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def scenario(self) -> str: ...
    @property
    def schemes(self) -> list[str]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def complete(self) -> bool: ...
    @property
    def failed(self) -> list[str]: ...
    @property
    def digest(self) -> str: ...
    def tables(self) -> list[tuple[str, int]]: ...
    def table(self, name: str) -> Table: ...
    def metrics(self) -> Table: ...
    def shown(self) -> list[str]: ...
    def summary(self) -> str: ...
    def text(self, width: int) -> str: ...
    def html(self) -> str: ...
    def figures(self) -> str: ...
    def why(self, flow: int | None = None, scheme: str | None = None, seed: int | None = None) -> str: ...
    def save(self, root: str | os.PathLike[str], force: bool) -> os.PathLike[str]: ...

class Study:
    @staticmethod
    def parse(text: str, path: str | os.PathLike[str]) -> Study: ...
    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def parameters(self) -> list[tuple[str, str]]: ...
    def settings(self, at: int) -> str: ...
    def point(self, at: int) -> Scenario: ...
    def run(
        self,
        at: int,
        out: str | os.PathLike[str],
        whole: bool,
        threads: int,
        alive: Callable[[float, int, int], object] | None = None,
    ) -> str: ...
    def finish(
        self, out: str | os.PathLike[str], records: Sequence[str], width: int
    ) -> tuple[os.PathLike[str], bool, str]: ...
