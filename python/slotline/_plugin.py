"""The compiled part of the package, if the environment names that of a plug-in.

A plug-in is made by ``slotline new plugin``. It has all of ``slotline._core`` and parts of its own.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

VARIABLE = "SLOTLINE_PLUGIN"


def load(name: str) -> None:
    """Loads the library that :data:`VARIABLE` names as the module ``name``. Without the variable it does nothing."""
    path = os.environ.get(VARIABLE)
    if not path or name in sys.modules:
        return
    if not Path(path).is_file():
        raise ImportError(f"{VARIABLE} is {path!r}: there is no such file")
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module
    package, _, attribute = name.rpartition(".")
    setattr(sys.modules[package], attribute, module)
