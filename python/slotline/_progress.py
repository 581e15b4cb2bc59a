"""Progress of runs, in a terminal or a notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

#: Gets the share of the work that is done (0 to 1), and the numbers of complete and of all parts.
Report = Callable[[float, int, int], object]

WIDTH = 30


def _handle() -> Any | None:
    """The display of a notebook that can be replaced; ``None`` outside of notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    return display(HTML(""), display_id=True)


class Bar:
    """A bar that shows progress, and disappears at the end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._handle = _handle()
        self._terminal = sys.stderr.isatty()

    def __call__(self, share: float, done: int, of: int) -> None:
        text = f"{share * 100:3.0f} %  {done} of {of} {self._what}"
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(f'<progress value="{share:.4f}"></progress> {text}'))
        elif self._terminal:
            filled = round(share * WIDTH)
            sys.stderr.write(f"\r{'█' * filled}{'░' * (WIDTH - filled)} {text}")
            sys.stderr.flush()

    def close(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))
        elif self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def reporter(progress: bool | Report, what: str) -> tuple[Report | None, Callable[[], object]]:
    """What is to be told the progress, and what is to be called at the end."""
    if progress is True:
        bar = Bar(what)
        return bar, bar.close
    return (progress or None), lambda: None
