"""The training loop. `run.py` reads from top to bottom in the order of one iteration; the other files are its parts."""
