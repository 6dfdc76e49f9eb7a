"""Fake of the trainer, for tests of the activity that runs it. It learns nothing (docs/reference/protocols.md, 6).

FAKE_TRAINER chooses what happens after a job's third iteration: `exit N`, `kill` (once), `hang`, `fail NAME N` (only
that job, the others go on), or nothing. Further: `stuck` (killed whenever it would begin the fourth iteration), `step`
(killed after every iteration). FAKE_HOLD names jobs that make no fifth iteration before their directory has a
file `go`. FAKE_LINGER keeps the process alive after its last manifest until that directory has a file `leave`, as a
trainer is that takes its time to end. FAKE_SECONDS is the duration of an iteration. FAKE_NOTHING is why the training
learned nothing, FAKE_WATCH the watch in its manifest. Every start of a job is a line of its starts.txt: the process id.
"""

import argparse
import fcntl
import json
import os
import pathlib
import signal
import sys
import time

from whetstone import __version__
from whetstone.tree_hash import tree_sha256

LOCKED, CANCELLED = 75, 143


class Job:
    """One training: its files, and how far it is."""

    def __init__(self, path):
        self.job = json.loads(path.read_text())
        self.name = self.job["jobId"].split("/")[-1]
        self.out = pathlib.Path(self.job["outputDir"])
        self.total = self.job["algorithm"]["iterations"]
        self.lock = (self.out / ".lock").open("w")
        self.code = None

    def start(self):
        with (self.out / "starts.txt").open("a") as starts:
            starts.write(f"{os.getpid()}\n")
        if (self.out / "manifest.json").exists():
            self.code = 0
        (self.out / "failure.json").unlink(missing_ok=True)
        self.checkpoints = self.out / "checkpoints"
        self.checkpoints.mkdir(exist_ok=True)
        names = sorted(path.name for path in self.checkpoints.glob("iteration-*"))
        self.first = self.iteration = int(names[-1].split("-")[1]) if names else 0

    def step(self):
        held = self.name in os.environ.get("FAKE_HOLD", "").split()
        if self.iteration == 4 and held and not (self.out / "go").exists():
            return
        self.iteration += 1
        line = {"iteration": self.iteration, "iterations": self.total, "reward": self.iteration / self.total}
        line |= dict.fromkeys(("rewardStd", "loss", "kl", "gradNorm"), 0.0) | {"completionTokens": 1}
        line |= dict.fromkeys(("meanTokens", "maxTokens", "meanTurns"), 1)
        line |= dict.fromkeys(("truncatedShare", "raisedShare", "failedCallShare"), 0.0)
        line |= dict.fromkeys(("secondsGeneration", "secondsUpdate", "secondsElapsed"), 0.0)
        with (self.out / "progress.jsonl").open("a") as progress:
            progress.write(json.dumps(line) + "\n")
        (self.checkpoints / f"iteration-{self.iteration:04d}").mkdir()

    def fail(self, code, message):
        self.write("failure.json", {"code": code, "message": message})
        self.leave(code)

    def leave(self, code):
        self.code = code
        self.lock.close()

    def write(self, name, value):
        (self.out / f"{name}.tmp").write_text(json.dumps(value))
        (self.out / f"{name}.tmp").rename(self.out / name)

    def finish(self):
        adapter = self.out / "adapter"
        adapter.mkdir(exist_ok=True)
        (adapter / "adapter_config.json").write_text("{}")
        begins = {key: value for key, value in self.job.get("beginsFrom", {}).items() if key != "path"}
        weights = f"{self.job['seed']} {self.total}" + (f" from {begins['sha256']}" if begins else "")
        (adapter / "adapter_model.safetensors").write_text(weights)
        algorithm = self.job["algorithm"]
        manifest = {
            "jobId": self.job["jobId"],
            "jobSha256": "0" * 64,
            "baseModelSha256": "0" * 64,
            "trainerVersion": os.environ.get("FAKE_VERSION", __version__),
            "adapterSha256": tree_sha256(adapter),
            "adapterDir": "adapter",
            "iterations": self.total,
            "rollouts": self.total * algorithm["groups"] * algorithm["rolloutsPerGroup"],
            "seconds": {"total": 1.5, "generation": 1.0, "update": 0.5, "startup": 0.0},
            "completionTokens": self.total,
            "curve": [],
            "finalReward": 1.0,
            "environmentSha256": [environment["sha256"] for environment in self.job["environments"]],
        }
        if "FAKE_NOTHING" in os.environ:
            manifest["nothingLearned"] = os.environ["FAKE_NOTHING"]
        if "FAKE_PARTIAL" in os.environ:
            manifest["partialReward"] = float(os.environ["FAKE_PARTIAL"])
        if "FAKE_WATCH" in os.environ:
            manifest["watch"] = json.loads(os.environ["FAKE_WATCH"])
        if begins:
            manifest["beginsFrom"] = begins
        self.write("manifest.json", manifest)
        self.leave(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", type=pathlib.Path, action="append")
    jobs = [Job(path) for path in parser.parse_args().job]
    try:
        for job in jobs:
            fcntl.flock(job.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return LOCKED
    for job in jobs:
        job.start()
    mode = os.environ.get("FAKE_TRAINER", "").split()
    seconds = float(os.environ.get("FAKE_SECONDS", "0.05"))
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    while True:
        for job in (job for job in jobs if job.code is None):
            if job.iteration == 3 and mode == ["stuck"]:
                os.kill(os.getpid(), signal.SIGKILL)
            if job.iteration < job.total:
                time.sleep(seconds)
                job.step()
                if mode == ["step"]:
                    os.kill(os.getpid(), signal.SIGKILL)
            if stopping:
                return CANCELLED
            if (job.out / "cancel").exists():
                job.fail(CANCELLED, "cancelled")
            elif job.iteration == 3 and mode and mode != ["stuck"]:
                print("the fake trainer does as it was told", flush=True)
                if mode[0] == "exit":
                    return int(mode[1])
                if mode[0] == "kill" and job.first == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                if mode[0] == "hang":
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    print("it ignores SIGTERM", flush=True)
                    time.sleep(600)
                if mode[:2] == ["fail", job.name]:
                    job.fail(int(mode[2]), "not finite after iteration 3")
        if all(job.code is not None for job in jobs):
            while "FAKE_LINGER" in os.environ and not (jobs[-1].out / "leave").exists():
                time.sleep(0.01)
            codes = [job.code for job in jobs]
            return codes[0] if len(codes) == 1 else max((code for code in codes if code != CANCELLED), default=0)
        for job in (job for job in jobs if job.code is None and job.iteration == job.total):
            job.finish()


if __name__ == "__main__":
    sys.exit(main())
