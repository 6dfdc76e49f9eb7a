"""Trains one adapter as `python -m whetstone.train` does, and keeps every checkpoint.

    python bench/watched/train_keeping_all.py --job job.json

The trainer itself keeps the last two. Nothing else of it is changed.
"""

import sys

from whetstone.train.__main__ import main
from whetstone.train.output import checkpoints

if __name__ == "__main__":
    checkpoints.KEPT = sys.maxsize
    sys.exit(main())
