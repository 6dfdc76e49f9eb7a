"""Adapters that make our environments usable in other trainers, and other libraries' environments usable here.

trl: `environment_factory` of TRL's GRPOTrainer. verifiers: a taskset of Prime Intellect's verifiers. openenv: an
environment of ours behind OpenEnv's `reset` and `step`, and an OpenEnv environment as a module of ours. Each module
imports its library on demand.
"""
