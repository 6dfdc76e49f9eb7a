"""Makes the model of the harbour office; examples/shared/model/make_model.py says how, and which options there are."""

import pathlib
import sys
from dataclasses import replace

WORLD = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(WORLD.parents[1] / "shared" / "model"))

from make_model import DEMO, main  # noqa: E402

if __name__ == "__main__":
    # Twelve kinds of task take more steps than eight.
    sys.exit(main(WORLD, demo=replace(DEMO, steps=2600)))
