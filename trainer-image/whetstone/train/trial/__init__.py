"""The trial: tries what a training needs where the trainer runs, before a run has paid for anything.

`request` reads what is asked for, `place` and `devices` try it, `run` leaves the manifest or ends with an exit code.
"""
