"""Tier: integration. The trial: the trainer's command with a job file that has a field `trial`."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import whetstone
from fixtures.trainer import ENVIRONMENT, make_job, start_trainer
from whetstone.train.trial.devices import _try, usable_devices
from whetstone.train.trial.place import Unfit, require_model
from whetstone.train.trial.request import ModelFile

PROFILE = Path(__file__).resolve().parents[4] / "sandbox" / "profile.json"


def model_files(model: Path) -> list[dict]:
    return [
        {"name": path.name, "bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        for path in sorted(model.glob("*.json"))
    ]


def make_trial(model: Path, output: Path, gpus: int = 0, **changes: object) -> dict:
    job = make_job(model, output) | {"isolation": "jail", "jailProfile": str(PROFILE)} | changes
    return job | {"trial": {"gpus": gpus, "modelFiles": model_files(model) if model.is_dir() else []}}


def attempt(job: dict, directory: Path, **environment: str) -> tuple[int, str]:
    process = start_trainer(job, directory, **environment)
    errors = process.communicate(timeout=120)[1]
    return process.returncode, errors


def failure(output: Path) -> dict:
    return json.loads((output / "failure.json").read_text())


def test_trial_says_what_it_found(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, errors = attempt(make_trial(tiny_dir, output), tmp_path)
    assert (code, errors) == (0, "")
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["trainerVersion"] == whetstone.__version__
    assert manifest["packages"]["torch"] == torch.__version__.split("+")[0]
    assert manifest["devices"] == []
    assert manifest["jail"] is True
    assert manifest["modelFiles"] == len(model_files(tiny_dir))
    assert not (output / "progress.jsonl").exists()


def test_trial_that_passed_is_not_made_again(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    trial = make_trial(tiny_dir, output)
    attempt(trial, tmp_path)
    before = (output / "manifest.json").stat().st_mtime_ns
    assert attempt(trial, tmp_path)[0] == 0
    assert (output / "manifest.json").stat().st_mtime_ns == before


def test_torch_is_not_loaded_where_no_gpu_was_asked_for(tiny_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "torch.py").write_text("raise ImportError('torch was loaded')\n")
    path = f"{ENVIRONMENT['PYTHONPATH']}:{tmp_path / 'shadow'}"
    assert attempt(make_trial(tiny_dir, tmp_path / "out"), tmp_path, PYTHONPATH=path)[0] == 0
    code, errors = attempt(make_trial(tiny_dir, tmp_path / "other", gpus=1), tmp_path, PYTHONPATH=path)
    assert code != 0 and "torch was loaded" in errors


def test_gpu_that_is_not_there(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, errors = attempt(make_trial(tiny_dir, output, gpus=2), tmp_path)
    assert code == 78, errors
    said = failure(output)
    assert said["code"] == 78
    assert said["message"].startswith("2 GPUs were asked for (training.kubernetes.resources), torch ")
    assert "sees 0 (" in said["message"]
    assert not (output / "manifest.json").exists()


def test_missing_model(tmp_path: Path) -> None:
    code, errors = attempt(make_trial(tmp_path / "none", tmp_path / "out"), tmp_path)
    assert code == 78
    assert f"the base model {tmp_path / 'none'} (model.path) cannot be read here: No such file" in errors


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bytes": 1}, r"has \d+ bytes here and 1 bytes where the worker reads it"),
        ({"sha256": "0" * 64}, "its content differs from what the worker reads there"),
        ({"name": "absent.json"}, "it cannot be read here: No such file"),
    ],
)
def test_another_model(tiny_dir: Path, changes: dict, said: str) -> None:
    files = [ModelFile(**file) for file in model_files(tiny_dir)]
    require_model(tiny_dir, files)
    config = next(file for file in model_files(tiny_dir) if file["name"] == "config.json")
    with pytest.raises(Unfit, match=said):
        require_model(tiny_dir, [ModelFile(**(config | changes))])


def test_jail_that_does_not_hold(tiny_dir: Path, tmp_path: Path) -> None:
    trial = make_trial(tiny_dir, tmp_path / "out", jailProfile=str(tmp_path / "none.json"))
    code, errors = attempt(trial, tmp_path)
    assert code == 78
    assert "The jail's profile" in errors


def test_store_that_cannot_be_written(tiny_dir: Path, tmp_path: Path) -> None:
    # A file where a folder should be refuses even root.
    (tmp_path / "out").write_text("")
    code, errors = attempt(make_trial(tiny_dir, tmp_path / "out"), tmp_path / "jobs")
    assert code == 78
    assert f"{tmp_path / 'out'} in the store cannot be written here" in errors


def test_store_that_is_not_mounted(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "whetstone.train", "--job", str(tmp_path / "absent" / "job.json")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 64
    assert "cannot be read here: No such file or directory; the trainer must see the store" in done.stderr


def test_option_that_this_trainer_does_not_know(tiny_dir: Path, tmp_path: Path) -> None:
    trial = make_trial(tiny_dir, tmp_path / "out")
    trial["algorithm"]["later"] = 1
    code, errors = attempt(trial, tmp_path, WHET_WORKER_VERSION="9.9.9")
    assert code == 64
    assert "unknown field algorithm.later" in errors
    assert "The worker (version 9.9.9) is newer than this trainer" in errors


def test_trial_of_another_form(tiny_dir: Path, tmp_path: Path) -> None:
    trial = make_trial(tiny_dir, tmp_path / "out") | {"trial": {"gpus": "two"}}
    code, errors = attempt(trial, tmp_path)
    assert code == 64
    assert "trial is not what this trainer knows" in errors


@pytest.fixture
def silent_model(tmp_path: Path) -> Path:
    """A model on a file system that does not answer."""
    model = tmp_path / "model"
    model.mkdir()
    os.mkfifo(model / "config.json")
    return model


def test_trial_that_hangs_is_given_up(silent_model: Path, tmp_path: Path) -> None:
    trial = make_trial(tmp_path / "none", tmp_path / "out", baseModel=str(silent_model))
    code, errors = attempt(trial, tmp_path, WHET_TRIAL_SECONDS="1")
    assert code == 78
    assert "the trial did not end within 1 s; it was trying the base model" in errors


def test_trial_ends_when_it_is_told_to(silent_model: Path, tmp_path: Path) -> None:
    process = start_trainer(make_trial(tmp_path / "none", tmp_path / "out", baseModel=str(silent_model)), tmp_path)
    while not (tmp_path / "out" / "job.sha256").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143


class Device:
    """Fake of torch's CUDA part, for the GPUs that this machine has not."""

    __version__ = "2.0"
    version = SimpleNamespace(cuda="13.0", hip=None)

    def __init__(self, product: object) -> None:
        self._product = product
        self.cuda = SimpleNamespace(
            get_device_properties=lambda _: SimpleNamespace(name="H100", total_memory=80, major=9, minor=0)
        )

    def ones(self, *shape: int, device: str) -> object:
        assert device == "cuda:0"
        if isinstance(self._product, Exception):
            raise self._product
        return torch.ones(*shape) * self._product


def test_device_is_used_and_described() -> None:
    assert _try(Device(1), 0, "torch") == {"name": "H100", "memoryBytes": 80, "capability": "9.0"}


def test_device_that_torch_was_not_built_for() -> None:
    error = RuntimeError("CUDA error: no kernel image is available for execution on the device\nmore")
    with pytest.raises(Unfit, match=r"^GPU 0 \(H100\) cannot be used by torch 2.0: .*no kernel image.*device$"):
        _try(Device(error), 0, "torch 2.0")


def test_device_that_computes_wrongly() -> None:
    with pytest.raises(Unfit, match="computes wrongly"):
        _try(Device(2), 0, "torch")


def test_fault_of_a_device_keeps_its_exit_code() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        _try(Device(torch.OutOfMemoryError("full")), 0, "torch")


def test_no_gpu_asked_for() -> None:
    assert usable_devices(0) == []
