"""The trainer's job file (docs/protocols.md, section 6), with every rule that its values obey."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_type_hints

MAX_SEED = 2**53
# Fields of Algorithm that came later: at their defaults they are not in a job's hash, so that an unfinished job of an
# earlier version is still the same job.
LATER = ("hintShare", "decisionTurnsOnly", "supervisedWeight", "updateTokens", "rewardCollapse")


class JobError(Exception):
    """A job file that cannot be run; the message names the field, its value and what is allowed."""


def _require(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise JobError(f"{name} is {json.dumps(value)}; it must be {rule}")


@dataclass(frozen=True)
class Algorithm:
    """GRPO hyperparameters.

    `rolloutsPerGroup` rollouts share a task and are normalised together; `groups` of them make an iteration, which is
    one optimiser step. `maxCompletionTokens` is per turn, `clip` the half-width of the trust region of the probability
    ratio, `klBeta` the weight of the KL term to the base model (0 leaves it out), `warmupIterations` the linear ramp
    of the learning rate. `dropConstantGroups` leaves groups whose rewards are all equal out of the update.

    docs/training.md has the reasons for the rest. `hintShare` of a group's rollouts see the environment's hints,
    `decisionTurnsOnly` leaves turns without a tool call out of the loss, `supervisedWeight` multiplies the cross-entropy
    of the reference solutions, `updateTokens` is the size of the update's minibatches (0: one pass), and below
    `rewardCollapse` of the best reward the job stops (0: never).
    """

    rank: int = 32
    alpha: float = 64
    groups: int = 4
    rolloutsPerGroup: int = 4
    iterations: int = 40
    learningRate: float = 1e-3
    clip: float = 0.2
    klBeta: float = 0.01
    temperature: float = 1.0
    maxTurns: int = 10
    maxCompletionTokens: int = 64
    warmupIterations: int = 2
    maxGradNorm: float = 1.0
    dropConstantGroups: bool = True
    hintShare: float = 0.0
    decisionTurnsOnly: bool = False
    supervisedWeight: float = 0.0
    updateTokens: int = 0
    rewardCollapse: float = 0.5

    def __post_init__(self) -> None:
        def check(name: str, holds: bool, rule: str) -> None:
            _require(holds, f"algorithm.{name}", getattr(self, name), rule)

        check("rank", 1 <= self.rank <= 512, "from 1 to 512")
        check("alpha", 0 < self.alpha <= 4096, "above 0, at most 4096")
        check("groups", 1 <= self.groups <= 1024, "from 1 to 1024")
        check("rolloutsPerGroup", 2 <= self.rolloutsPerGroup <= 256, "from 2 to 256 (rewards are compared in a group)")
        check("iterations", 1 <= self.iterations <= 100_000, "from 1 to 100000")
        check("learningRate", 0 < self.learningRate <= 1, "above 0, at most 1")
        check("clip", 0 < self.clip < 1, "above 0 and below 1")
        check("klBeta", 0 <= self.klBeta <= 10, "from 0 to 10")
        check("temperature", 0 < self.temperature <= 2, "above 0 (rollouts must differ), at most 2")
        check("maxTurns", 1 <= self.maxTurns <= 200, "from 1 to 200")
        check("maxCompletionTokens", 1 <= self.maxCompletionTokens <= 32_768, "from 1 to 32768")
        check("warmupIterations", 0 <= self.warmupIterations <= self.iterations, f"from 0 to {self.iterations}")
        check("maxGradNorm", 0 < self.maxGradNorm <= 1e6, "above 0, at most 1000000")
        check("hintShare", 0 <= self.hintShare <= 1, "from 0 to 1")
        check("supervisedWeight", 0 <= self.supervisedWeight <= 100, "from 0 to 100")
        check("updateTokens", 0 <= self.updateTokens <= 2**31, f"from 0 (one pass) to {2**31}")
        check("rewardCollapse", 0 <= self.rewardCollapse < 1, "0 (never stop) or more, below 1")

    @property
    def rollouts(self) -> int:
        """Rollouts of one iteration."""
        return self.groups * self.rolloutsPerGroup


@dataclass(frozen=True)
class EnvironmentRef:
    """An environment module and the sha256 of its file."""

    id: str
    path: str
    sha256: str


@dataclass(frozen=True)
class TrainingJob:
    """One adapter to train. Paths are absolute; task seeds are `taskSeedStart` and the ones after it, one per group."""

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

    def __post_init__(self) -> None:
        def check(name: str, holds: bool, rule: str) -> None:
            value = getattr(self, name)
            _require(holds, name, value if isinstance(value, str | int | float) else None, rule)

        check("jobId", bool(self.jobId), "a non-empty string")
        check("seed", 0 <= self.seed <= MAX_SEED, f"from 0 to {MAX_SEED}")
        check("environments", bool(self.environments), "a list with at least one environment")
        last = self.taskSeedStart + self.algorithm.groups * self.algorithm.iterations
        check(
            "taskSeedStart", 0 <= self.taskSeedStart and last <= MAX_SEED, f"0 or more, with all seeds under {MAX_SEED}"
        )
        check("isolation", self.isolation in ("jail", "process"), "'jail' or 'process'")
        check("threads", 1 <= self.threads <= 256, "from 1 to 256")
        check("checkpointEvery", 1 <= self.checkpointEvery, "1 or more")
        for name in ("baseModel", "outputDir"):
            check(name, Path(getattr(self, name)).is_absolute(), "an absolute path")
        ids = [environment.id for environment in self.environments]
        _require(len(set(ids)) == len(ids), "environments", ids, "a list without repeated ids")

    @property
    def sha256(self) -> str:
        """Hash of the job's canonical JSON: sorted keys, no spaces."""
        document = dataclasses.asdict(self)
        for entry in dataclasses.fields(Algorithm):
            if entry.name in LATER and getattr(self.algorithm, entry.name) == entry.default:
                del document["algorithm"][entry.name]
        text = json.dumps(document, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _value(kind: type, value: object, name: str):
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is float and isinstance(value, float) and not math.isfinite(value):
        raise JobError(f"{name} is not finite")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise JobError(f"{name} is {json.dumps(value)}; it must be {_NAMES[kind]}")
    return value


def _build(schema: type, raw: object, where: str):
    if not isinstance(raw, dict):
        raise JobError(f"{where or 'the job file'} must be a JSON object")
    hints = get_type_hints(schema)
    prefix = f"{where}." if where else ""
    unknown = sorted(set(raw) - set(hints))
    if unknown:
        raise JobError(f"unknown field {prefix}{unknown[0]}; the fields are {', '.join(hints)}")
    values: dict[str, object] = {}
    for entry in dataclasses.fields(schema):
        kind, name = hints[entry.name], f"{prefix}{entry.name}"
        if entry.name not in raw:
            if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING:
                raise JobError(f"{name} is missing")
        elif kind == list[EnvironmentRef]:
            listed = raw[entry.name]
            if not isinstance(listed, list):
                raise JobError(f"{name} must be a list of environments")
            values[entry.name] = [_build(EnvironmentRef, item, f"{name}[{i}]") for i, item in enumerate(listed)]
        elif kind is Algorithm:
            values[entry.name] = _build(Algorithm, raw[entry.name], name)
        else:
            values[entry.name] = _value(kind, raw[entry.name], name)
    return schema(**values)


def parse_job(text: str) -> TrainingJob:
    """Parses and checks a job file's text; raises JobError for anything that is not exactly a TrainingJob."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise JobError(f"the job file is not JSON: {error}") from None
    return _build(TrainingJob, raw, "")


def check_inputs(job: TrainingJob) -> None:
    """Raises JobError unless the base model and the environments are where the job says and are what it says."""
    if not (Path(job.baseModel) / "config.json").is_file():
        raise JobError(f"baseModel {job.baseModel} is not a model directory (no config.json)")
    for environment in job.environments:
        try:
            digest = hashlib.sha256(Path(environment.path).read_bytes()).hexdigest()
        except OSError as error:
            raise JobError(f"environment {environment.id} cannot be read: {error}") from None
        if digest != environment.sha256:
            raise JobError(
                f"environment {environment.id} at {environment.path} has sha256 {digest},"
                f" the job says {environment.sha256}"
            )
