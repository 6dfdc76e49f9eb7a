"""Makes the demo's model; examples/shared/model/make_model.py says how, and which options there are."""

import pathlib
import sys
from dataclasses import replace

DESK = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(DESK.parent / "shared" / "model"))

from make_model import DEMO, TINY, main  # noqa: E402

# The demo's router asks this model, so it is taught the question.
if __name__ == "__main__":
    sys.exit(main(DESK, demo=replace(DEMO, routing=0.12), tiny=replace(TINY, routing=0.1)))
