"""The trial: tests the needs of a training at the trainer's place, before a run has paid for anything.

`request` reads the request, `place` and `devices` test it, and `run` writes the manifest or returns an exit code.
"""
