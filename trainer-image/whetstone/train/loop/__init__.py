"""The training loop: `run.py`, then `adapter_trainer.py` in the order of one iteration; the other modules are their
parts.
"""
