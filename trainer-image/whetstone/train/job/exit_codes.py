"""Exit codes of the trainer (docs/reference/protocols.md, section 6). 0 means that a job is done."""

from __future__ import annotations

BAD_JOB, ENVIRONMENT_FAILED, DIVERGED, LOCKED, STOPPED = 64, 65, 66, 75, 143
# CUDA reported a fault of the device; or the device's memory was too small.
GPU_FAULT, GPU_OUT_OF_MEMORY = 67, 68
# Something outside the jail killed the process of an environment.
ENVIRONMENT_KILLED = 69
# The sampler lacks a feature that the training needs, or answers wrongly.
SAMPLER_REFUSED = 70
# The environment's rewards differ from its calibration's.
ENVIRONMENT_DIFFERS = 71
DISK_FULL = 74
# No worker has attended to the job for a long time; a checkpoint was saved first.
UNATTENDED = 76
# A trial found that something is missing at the trainer's place: a GPU, the base model, the jail.
UNFIT = 78
# A fault of the trainer itself.
FAULT = 1
# If a signal ended a process, its exit code is 128 + the signal's number, as in a shell.
SIGNALLED = 128


def combined_exit_code(codes: list[int], stopped: bool) -> int:
    """Exit code of a process with several jobs, computed from theirs.

    0 if every job is done or cancelled, 143 if SIGTERM stopped the process (`stopped`), else the largest code. Nobody
    waits for a cancelled job, so it is no reason to start the process again.
    """
    if stopped and any(codes):
        return STOPPED
    return max((code for code in codes if code != STOPPED), default=0)
