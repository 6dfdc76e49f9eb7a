"""The trial: tries what a training needs where the trainer runs, before a run has paid for anything.

`request` reads the request, `place` and `devices` try it, `run` writes the manifest or returns an exit code.
"""
