"""What the tests share."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import slotline as sl

ROOT = Path(__file__).parents[2]
SCENARIOS = ROOT / "scenarios"

# A shell that starts a program in the background has it ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = """
name = "small"
end = { at = "600ms" }
seed = 3
repeat = 2
fabric = { kind = "star", hosts = 9 }
workload = [{ kind = "incast", block = "300KB" }]
[[scheme]]
name = "tcp"
[[scheme]]
name = "dctcp"
transport = "dctcp"
queue = { kind = "ecn", threshold = "30KB" }
"""

STUDY = SMALL + """
[sweep.grid]
"fabric.hosts" = [3, 5, 9]
"workload[0].block" = ["30KB", "60KB"]
"""


@pytest.fixture(scope="session")
def small() -> sl.Result:
    return sl.Scenario.parse(SMALL).run()


def command(*words: object) -> subprocess.CompletedProcess[str]:
    """Runs the command that comes with the package, with a closed standard input."""
    line = [sys.executable, "-m", "slotline", *map(str, words)]
    return subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
