"""The training loop: `run.py`, then `adapter_trainer.py` in the order of one iteration; the rest are their parts."""
