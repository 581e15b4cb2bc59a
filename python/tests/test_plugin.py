"""The compiled part of a plug-in, as far as it needs no plug-in. `./check --full` builds one."""

import os
import subprocess
import sys


def imported(plugin: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "SLOTLINE_PLUGIN": plugin}
    command = [sys.executable, "-c", "import slotline; print(slotline._core.__file__)"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_plugin_that_is_missing_is_named() -> None:
    done = imported("/no/such/library.so")
    assert done.returncode == 1
    assert "SLOTLINE_PLUGIN is '/no/such/library.so': there is no such file" in done.stderr


def test_the_library_that_is_named_is_loaded() -> None:
    own = imported("").stdout.strip()
    assert own
    assert imported(own).stdout.strip() == own
