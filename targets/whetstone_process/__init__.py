"""Serves the tasks of an agent whose environment.kind is `process`. Standard library only, Python 3.10 or newer.

An author writes an Environment, whose `open` begins an Episode, and ends the file with ``serve(TheEnvironment)``. Many
episodes run at once, each in a thread of its own. docs/reference/protocols.md, section 2b, has the lines that travel.
"""

from .environment import Environment, Episode, TaskFailed
from .pipes import serve

__all__ = ["Environment", "Episode", "TaskFailed", "serve"]
