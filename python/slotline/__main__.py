"""The command `slotline`: `python -m slotline` and the program that comes with the package."""

from __future__ import annotations

import os
import signal
import sys
import sysconfig

from ._core import command


def main() -> None:
    """Runs the command with the arguments of this process."""
    # The command handles Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    own = os.path.join(sysconfig.get_path("scripts"), "slotline")
    program = own if os.path.exists(own) else sys.argv[0]
    code = command(program, ["slotline", *sys.argv[1:]])
    # Nothing of Python is left to be done, and what the command prints is printed.
    os._exit(code)


if __name__ == "__main__":
    main()
