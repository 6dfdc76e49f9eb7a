"""The job file: a trainer's task, the rules for its values, and the exit codes."""

from .errors import JobError
from .job_file import (
    CalibratedReward,
    EnvironmentRef,
    ProbeTask,
    RecordedEpisode,
    ServedAdapter,
    TrainingJob,
    WatchedAgent,
    check_inputs,
    parse_job,
)
from .options import Algorithm

__all__ = [
    "Algorithm",
    "CalibratedReward",
    "EnvironmentRef",
    "JobError",
    "ProbeTask",
    "RecordedEpisode",
    "ServedAdapter",
    "TrainingJob",
    "WatchedAgent",
    "check_inputs",
    "parse_job",
]
