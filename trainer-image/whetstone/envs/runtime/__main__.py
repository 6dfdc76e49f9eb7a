"""Starts the runtime from its sources: ``python -I -S .../runtime/__main__.py [--threads N]``."""

import importlib
import sys

# -I keeps the script's own directory off the path; it must not be where an environment's imports look.
sys.path.insert(0, __file__.rpartition("/runtime/")[0] or ".")
serve = importlib.import_module("runtime.serve")
del sys.path[0]
serve.main(sys.argv[1:])
