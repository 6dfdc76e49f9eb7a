"""The trainer's job file (docs/reference/protocols.md, section 6), with all rules for its values."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import get_args, get_origin, get_type_hints

from whetstone import __version__

from .errors import JobError, require
from .options import JOB_OPTIONS, Algorithm

# Up to this value, integers are exact in JavaScript, too.
MAX_SEED = 2**53

# The sources of rollouts: the engine in this process, a vLLM server, or a server that the trainer starts.
SAMPLERS = ("engine", "vllm", "managed")


@dataclass(frozen=True)
class EnvironmentRef:
    """An environment module and the sha256 of its file."""

    id: str
    path: str
    sha256: str


@dataclass(frozen=True)
class ServedAdapter:
    """An adapter of the served version: its name, its key in the store, its hash, and its files at `path`."""

    name: str
    version: int
    key: str
    sha256: str
    path: str


@dataclass(frozen=True)
class CalibratedReward:
    """The base model's reward in the environment's calibration: the mean over `tasks`, and its standard error.

    The mean reward of a task with n rollouts has the variance `betweenTasks + withinTask / n`.
    """

    mean: float
    tasks: int
    standardError: float
    betweenTasks: float
    withinTask: float


@dataclass(frozen=True)
class ProbeTask:
    """A train task of the agent for probes.

    `samplingSeed` is that of the first turn; turn t uses `samplingSeed + t`. `basePassed` says whether the base model
    passed it with these seeds; None: the trainer has to play that as well.
    """

    seed: int
    samplingSeed: int
    basePassed: bool | None


@dataclass(frozen=True)
class RecordedEpisode:
    """An episode of the agent outside the trainer: its steps, as requests of the environment, and its reward."""

    seed: int
    steps: list
    reward: float


@dataclass(frozen=True)
class WatchedAgent:
    """What probes need of the agent: its environment, how it is deployed, and its tasks, in the order of their use.

    `calledFor` call for the capability, `others` do not. `recorded` episodes must earn the same reward in the trainer.
    """

    environment: EnvironmentRef
    temperature: float
    maxTurns: int
    maxCompletionTokens: int
    successReward: float
    calledFor: list[ProbeTask]
    others: list[ProbeTask]
    recorded: list[RecordedEpisode]


@dataclass(frozen=True)
class TrainingJob:
    """One adapter to train.

    Paths are absolute. Every group of rollouts has its own task seed, counted up from `taskSeedStart`. `isolation` is
    'jail' or 'process', `threads` the number of processor threads, `checkpointEvery` the number of iterations between
    checkpoints. `sampler` is one of SAMPLERS. `samplerUrl` is the address of the server for 'vllm'. `maxModelLength` is
    the longest rollout in tokens for 'managed'; 0 means the model's own length. `beginsFrom` is the adapter of a warm
    start; None: the adapter starts at zero. The first rewards are compared with `calibratedReward`, if it is given.
    `watch` has the agent's own tasks for probes; without it, `unwatched` says why there are none.

    Raises JobError for a value that violates a rule.
    """

    jobId: str
    seed: int
    baseModel: str
    environments: list[EnvironmentRef]
    taskSeedStart: int
    outputDir: str
    isolation: str
    jailProfile: str
    threads: int
    checkpointEvery: int
    algorithm: Algorithm = field(default_factory=Algorithm)
    sampler: str = "engine"
    samplerUrl: str = ""
    maxModelLength: int = 0
    beginsFrom: ServedAdapter | None = None
    calibratedReward: CalibratedReward | None = None
    watch: WatchedAgent | None = None
    unwatched: str | None = None

    def __post_init__(self) -> None:
        def check(name: str, holds: bool, rule: str) -> None:
            value = getattr(self, name)
            require(holds, name, value if isinstance(value, str | int | float) else None, rule)

        check("jobId", bool(self.jobId), "a non-empty string")
        check("seed", 0 <= self.seed <= MAX_SEED, f"from 0 to {MAX_SEED}")
        check("environments", bool(self.environments), "a list with at least one environment")
        last = self.taskSeedStart + self.algorithm.tasks
        check(
            "taskSeedStart", 0 <= self.taskSeedStart and last <= MAX_SEED, f"0 or more, with all seeds under {MAX_SEED}"
        )
        check("isolation", self.isolation in ("jail", "process"), "'jail' or 'process'")
        check("sampler", self.sampler in SAMPLERS, f"one of {', '.join(SAMPLERS)}")
        has_address = self.samplerUrl.startswith(("http://", "https://"))
        rule = "an address such as http://vllm:8000 when sampler is vllm, else left out"
        check("samplerUrl", has_address if self.sampler == "vllm" else not self.samplerUrl, rule)
        managed = self.sampler == "managed"
        rule = "0 or more when sampler is managed, else left out"
        check("maxModelLength", self.maxModelLength >= 0 if managed else self.maxModelLength == 0, rule)
        for name, row in JOB_OPTIONS.items():
            check(name, row.allows(getattr(self, name)), row.rule)
        for name in ("baseModel", "outputDir"):
            check(name, Path(getattr(self, name)).is_absolute(), "an absolute path")
        ids = [environment.id for environment in self.environments]
        require(len(set(ids)) == len(ids), "environments", ids, "a list without repeated ids")

    @property
    def sha256(self) -> str:
        """Hash of the job's canonical JSON (sorted keys, no spaces), without fields that do not change the adapter."""
        document = dataclasses.asdict(self)
        # These are the server's address, the rewards for comparison, a sentence, and the place where figures are shown.
        for name in ("samplerUrl", "calibratedReward", "unwatched"):
            del document[name]
        del document["algorithm"]["reportTo"]
        if self.watch is not None:
            document["watch"]["environment"] = self.watch.environment.sha256
        if self.beginsFrom is not None:
            # For the adapter only the content counts, not its name or place.
            document["beginsFrom"] = self.beginsFrom.sha256
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


_KIND_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false", list: "a list"}


def _value(kind: type, value: object, name: str):
    """The value; integers become floats if `kind` is float. Raises JobError for another type."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is float and isinstance(value, float) and not math.isfinite(value):
        raise JobError(f"{name} is not finite")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise JobError(f"{name} is {json.dumps(value)}; it must be {_KIND_NAMES[kind]}")
    return value


def _build(schema: type, raw: object, where: str):
    """An instance of the dataclass `schema` from JSON; `where` is its dotted path, empty for the job itself."""
    if not isinstance(raw, dict):
        raise JobError(f"{where or 'the job file'} must be a JSON object")
    hints = get_type_hints(schema)
    prefix = f"{where}." if where else ""
    unknown = sorted(set(raw) - set(hints))
    if unknown:
        raise JobError(f"unknown field {prefix}{unknown[0]}; the fields are {', '.join(hints)}. {_versions()}")
    values: dict[str, object] = {}
    for entry in dataclasses.fields(schema):
        kind, name = hints[entry.name], f"{prefix}{entry.name}"
        # The dataclass among the field's type, its list's item type, and the type of an optional field.
        nested = next((one for one in (kind, *get_args(kind)) if dataclasses.is_dataclass(one)), None)
        if entry.name not in raw:
            if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING:
                raise JobError(f"{name} is missing")
        elif raw[entry.name] is None and NoneType in get_args(kind):
            values[entry.name] = None
        elif nested is not None and get_origin(kind) is list:
            listed = raw[entry.name]
            if not isinstance(listed, list):
                raise JobError(f"{name} must be a list")
            values[entry.name] = [_build(nested, item, f"{name}[{i}]") for i, item in enumerate(listed)]
        elif nested is not None:
            values[entry.name] = _build(nested, raw[entry.name], name)
        else:
            # The type of a field that may be null, without the null.
            plain = next((one for one in get_args(kind) if one is not NoneType), kind)
            values[entry.name] = _value(plain, raw[entry.name], name)
    return schema(**values)


def _versions() -> str:
    """The versions of worker and trainer, and which of the two to change."""
    worker = os.environ.get("WHET_WORKER_VERSION")
    if worker == __version__:
        return (
            f"Worker and trainer both have version {__version__} but are of different builds: build the trainer image "
            "from the sources of the worker"
        )
    return (
        f"The worker ({f'version {worker}' if worker else 'of unknown version'}) is newer than this trainer (version "
        f"{__version__}): set training.kubernetes.image to the trainer image of the worker's version, or use the "
        "worker's own trainer"
    )


def parse_job(text: str) -> TrainingJob:
    """Parses and checks a job file's text; raises JobError for anything that is not exactly a TrainingJob."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise JobError(f"the job file is not JSON: {error}") from None
    return _build(TrainingJob, raw, "")


def check_inputs(job: TrainingJob) -> None:
    """Raises JobError unless base model and environments are at their paths with the job's content.

    In a pod, a job without the jail is refused as well, even if the worker allows that on its own machine.
    """
    if job.isolation != "jail" and os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise JobError(
            f"isolation is '{job.isolation}', and a pod runs generated code in the jail only; unset WHET_SANDBOX=unsafe"
            " where the worker runs, then start the run again"
        )
    if not (Path(job.baseModel) / "config.json").is_file():
        raise JobError(f"baseModel {job.baseModel} is not a model directory (no config.json)")
    for environment in [*job.environments, *([job.watch.environment] if job.watch else [])]:
        try:
            digest = hashlib.sha256(Path(environment.path).read_bytes()).hexdigest()
        except OSError as error:
            raise JobError(f"environment {environment.id} cannot be read: {error}") from None
        if digest != environment.sha256:
            raise JobError(
                f"environment {environment.id} at {environment.path} has sha256 {digest},"
                f" the job says {environment.sha256}"
            )
