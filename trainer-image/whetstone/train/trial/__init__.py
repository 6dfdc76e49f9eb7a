"""The trial: tries the needs of a training at the trainer's place, before a run has paid for anything.

`request` reads the request, `place` and `devices` try it, `run` writes the manifest or returns an exit code.
"""
