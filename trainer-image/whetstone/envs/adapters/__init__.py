"""Our environments in other trainers' terms, and theirs in ours.

trl: `environment_factory` of TRL's GRPOTrainer. verifiers: a taskset of Prime Intellect's verifiers. openenv: an
environment behind OpenEnv's `reset` and `step`, and an OpenEnv environment as a module of ours. Each module imports its
library only when it is used.
"""
