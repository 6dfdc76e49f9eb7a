"""Makes the model of the tool library; examples/shared/model/make_model.py says how, and which options there are."""

import pathlib
import sys

WORLD = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(WORLD.parents[1] / "shared" / "model"))

from make_model import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(WORLD))
