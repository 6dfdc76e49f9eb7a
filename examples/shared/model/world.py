"""The Python modules of a world: its environment and its scripted expert."""

import importlib
import pathlib
import sys
from types import ModuleType
from typing import NamedTuple


class World(NamedTuple):
    """A world's folder and the modules in it, as examples/worlds/README.md describes them."""

    folder: pathlib.Path
    environment: ModuleType
    expert: ModuleType


def load_world(folder: pathlib.Path) -> World:
    """Imports `environment` and `expert` from a folder, where another world's modules may have had these names."""
    for name in ("environment", "expert"):
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    try:
        return World(folder, importlib.import_module("environment"), importlib.import_module("expert"))
    finally:
        sys.path.remove(str(folder))
