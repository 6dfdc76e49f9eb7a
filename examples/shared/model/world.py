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


def sources_of(world: World) -> list[pathlib.Path]:
    """The files of the world's folder that this process has loaded: environment, expert, recipe, what they import."""
    files = {
        pathlib.Path(file).resolve()
        for module in list(sys.modules.values())
        if (file := module.__dict__.get("__file__"))
    }
    folder = world.folder.resolve()
    return sorted(file for file in files if file.is_relative_to(folder))
