"""Tier: integration. A training that begins from an adapter: policy, reference, resumption, adapters without use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from fixtures.trainer import LETTERS, make_job, read_curve
from fixtures.training import train
from peft import get_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from whetstone.train.job import JobError, parse_job
from whetstone.train.loop.adapter_trainer import AdapterTrainer
from whetstone.tree_hash import tree_sha256

WEIGHTS = "adapter_model.safetensors"


def manifest_of(job: dict) -> dict:
    return json.loads((Path(job["outputDir"]) / "manifest.json").read_text())


def beginning_at(job: dict, adapter: Path, sha256: str | None = None) -> dict:
    named = {"name": "letters@1", "version": 3, "key": "adapters/desk/letters-1", "path": str(adapter)}
    return {**job, "beginsFrom": {**named, "sha256": sha256 or tree_sha256(adapter)}}


@pytest.fixture(scope="module")
def served(tiny_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter that a training from zero has made."""
    job = make_job(tiny_dir, tmp_path_factory.mktemp("served") / "out", iterations=3)
    assert train(job)
    return Path(job["outputDir"]) / "adapter"


def test_the_first_policy_is_the_adapter_and_the_reference_stays_the_base_model(
    served: Path, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: dict[str, torch.Tensor] = {}
    reference: list[torch.Tensor] = []
    ids = torch.tensor([[5, 6, 7, 8]])
    collect = AdapterTrainer._collect

    @torch.no_grad()
    def recorded(self, count: int) -> dict:
        if not first:
            first.update({name: w.clone() for name, w in get_peft_model_state_dict(self.model).items()})
            with self.model.disable_adapter():
                reference.append(self.model(input_ids=ids).logits.clone())
        return collect(self, count)

    monkeypatch.setattr(AdapterTrainer, "_collect", recorded)
    job = beginning_at(make_job(tiny_dir, tmp_path / "warm", iterations=2), served)
    assert train(job)
    expected = load_file(served / WEIGHTS)
    assert first.keys() == expected.keys()
    assert all(torch.equal(first[name], weight) for name, weight in expected.items())
    assert any(float(weight.abs().max()) > 0 for name, weight in first.items() if "lora_B" in name)
    with torch.no_grad():
        base = AutoModelForCausalLM.from_pretrained(tiny_dir, dtype=torch.float32)(input_ids=ids).logits
    assert torch.equal(reference[0], base)
    assert read_curve(Path(job["outputDir"]))[0]["kl"] > 0
    manifest = manifest_of(job)
    told = {"name": "letters@1", "version": 3, "key": "adapters/desk/letters-1", "sha256": tree_sha256(served)}
    assert manifest["beginsFrom"] == told
    assert "whyFromZero" not in manifest


def test_an_adapter_that_solves_every_task_is_a_result(served: Path, tiny_dir: Path, tmp_path: Path) -> None:
    solved = tmp_path / "solved.py"
    solved.write_text(
        LETTERS.read_text() + "\n    @staticmethod\n    def evaluate(trajectory, task):\n        return 1.0\n"
    )
    for name in ("zero", "warm"):
        job = make_job(tiny_dir, tmp_path / name, [solved], iterations=1)
        assert train(job if name == "zero" else beginning_at(job, served))
        assert ("nothingLearned" in manifest_of(job)) == (name == "zero")


def test_a_checkpoint_wins_over_the_adapter(served: Path, tiny_dir: Path, tmp_path: Path) -> None:
    whole = beginning_at(make_job(tiny_dir, tmp_path / "whole", iterations=4), served)
    assert train(whole)
    copy = shutil.copytree(served, tmp_path / "copy")
    resumed = beginning_at(make_job(tiny_dir, tmp_path / "resumed", iterations=4), copy)
    assert not train(resumed, stop_after=2)
    shutil.rmtree(copy)
    assert train(resumed)
    assert manifest_of(resumed)["adapterSha256"] == manifest_of(whole)["adapterSha256"]
    assert manifest_of(resumed)["beginsFrom"] == manifest_of(whole)["beginsFrom"]


def test_an_adapter_that_cannot_be_used_is_said_and_training_begins_from_zero(
    served: Path, adapter_dirs: list[Path], tiny_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zero = make_job(tiny_dir, tmp_path / "zero", iterations=1)
    assert train(zero)
    assert not {"beginsFrom", "whyFromZero"} & manifest_of(zero).keys()
    fewer, endless = (shutil.copytree(served, tmp_path / name) for name in ("fewer", "endless"))
    weights = load_file(served / WEIGHTS)
    save_file(dict(list(weights.items())[1:]), fewer / WEIGHTS)
    save_file({name: torch.full_like(weight, torch.nan) for name, weight in weights.items()}, endless / WEIGHTS)
    cases = [
        (tmp_path / "nowhere", "a" * 64, "its files are gone"),
        (served, "b" * 64, "and the job names bbbbbbbbbbbb"),
        (adapter_dirs[1], None, "its rank is 8, and that of the training is 4"),
        (fewer, None, "it adapts other layers"),
        (endless, None, "numbers that are not finite"),
    ]
    for number, (adapter, sha256, words) in enumerate(cases):
        job = beginning_at(make_job(tiny_dir, tmp_path / f"out-{number}", iterations=1), adapter, sha256)
        assert train(job)
        manifest = manifest_of(job)
        assert "beginsFrom" not in manifest
        assert manifest["whyFromZero"].startswith("letters@1 of version 3 could not be used: ")
        assert words in manifest["whyFromZero"]
        assert manifest["adapterSha256"] == manifest_of(zero)["adapterSha256"]
        assert f"training begins from zero, since {manifest['whyFromZero']}" in capsys.readouterr().err


def test_only_the_hash_of_the_adapter_is_in_that_of_the_job(tiny_dir: Path, tmp_path: Path) -> None:
    job = make_job(tiny_dir, tmp_path / "out")
    at = [
        parse_job(json.dumps(beginning_at(job, tmp_path / name, sha256))).sha256
        for name, sha256 in [("a", "a" * 64), ("b", "a" * 64), ("a", "b" * 64)]
    ]
    assert at[0] == at[1] != at[2]
    assert parse_job(json.dumps(job)).sha256 not in at
    with pytest.raises(JobError, match=r"beginsFrom\.sha256 is missing"):
        parse_job(json.dumps({**job, "beginsFrom": {"name": "a", "version": 1, "key": "b"}}))
