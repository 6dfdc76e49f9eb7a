"""Fake of the trainer, for tests of the activity that runs it: keeps to docs/protocols.md section 6 and learns nothing.

FAKE_TRAINER chooses what happens after the third iteration: `exit N`, `kill` (once), `hang`, or nothing. Every start is
a line of starts.txt.
"""

import argparse
import json
import os
import pathlib
import signal
import sys
import time

from whetstone.train.store import tree_sha256

SECONDS = 0.05


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--job", type=pathlib.Path)
    job = json.loads(parser.parse_args().job.read_text())
    out = pathlib.Path(job["outputDir"])
    with (out / "starts.txt").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    if (out / "manifest.json").exists():
        return 0
    mode = os.environ.get("FAKE_TRAINER", "").split()
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    checkpoint = out / "checkpoint.txt"
    first = int(checkpoint.read_text()) if checkpoint.exists() else 0
    total = job["algorithm"]["iterations"]
    for iteration in range(first + 1, total + 1):
        time.sleep(SECONDS)
        line = {"iteration": iteration, "iterations": total, "reward": iteration / total, "completionTokens": 1}
        line |= dict.fromkeys(("rewardStd", "loss", "kl", "gradNorm"), 0.0)
        line |= dict.fromkeys(("secondsGeneration", "secondsUpdate", "secondsElapsed"), 0.0)
        with (out / "progress.jsonl").open("a") as progress:
            progress.write(json.dumps(line) + "\n")
        checkpoint.write_text(str(iteration))
        if stopping:
            return 143
        if iteration == 3 and mode:
            print("the fake trainer does as it was told", flush=True)
            if mode[0] == "exit":
                return int(mode[1])
            if mode[0] == "kill" and first == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            if mode[0] == "hang":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(600)
    adapter = out / "adapter"
    adapter.mkdir(exist_ok=True)
    (adapter / "adapter_config.json").write_text("{}")
    (adapter / "adapter_model.safetensors").write_text(f"{job['seed']} {total}")
    manifest = {
        "jobId": job["jobId"],
        "jobSha256": "0" * 64,
        "baseModelSha256": "0" * 64,
        "adapterSha256": tree_sha256(adapter),
        "adapterDir": "adapter",
        "iterations": total,
        "rollouts": total * job["algorithm"]["groups"] * job["algorithm"]["rolloutsPerGroup"],
        "seconds": {"total": 1.5, "generation": 1.0, "update": 0.5, "startup": 0.0},
        "completionTokens": total,
        "curve": [],
        "finalReward": 1.0,
        "environmentSha256": [environment["sha256"] for environment in job["environments"]],
    }
    (out / "manifest.json.tmp").write_text(json.dumps(manifest))
    (out / "manifest.json.tmp").rename(out / "manifest.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
