"""The exceptions of Slotline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .result import Result

__all__ = ["Error", "Interrupted", "ResultError", "RunError", "ScenarioError"]


class Error(Exception):
    """All exceptions of Slotline except :class:`Interrupted`."""


class ScenarioError(Error, ValueError):
    """A scenario is wrong. The text shows the line, and says what would be right."""

    #: The file, as it was named.
    file: str | None = None
    #: The line, from 1.
    line: int | None = None
    #: The column in characters, from 1.
    column: int | None = None
    #: The key, with the tables that it is in: ``scheme[1].queue.kind``.
    key: str | None = None
    #: What is wrong, in one line.
    message: str | None = None
    #: What was probably meant.
    hint: str | None = None


def read_text(path: Path) -> str:
    """The text of the file with a scenario."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as wrong:
        line = content.count(b"\n", 0, wrong.start) + 1
        message = "this is no text in UTF-8"
        error = ScenarioError(f"{path}:{line}: {message}")
        error.file, error.line, error.message = str(path), line, message
        raise error from None


class RunError(Error, RuntimeError):
    """A run has no result."""


class ResultError(Error, OSError):
    """A result cannot be read or written."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a run. The runs that were complete are kept."""

    #: The complete runs; ``None`` if there are none.
    result: Result | None

    def __init__(self, result: Result | None) -> None:
        runs = 0 if result is None else result.runs
        super().__init__(f"interrupted: {runs} runs are complete, see the attribute `result`")
        self.result = result
