"""Tier: integration, with vLLM. Trainings whose rollouts a real server samples: exact tokens, outages, sharing."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from subprocess import Popen
from threading import Event
from urllib.parse import urlsplit

import pytest
from cable import Cable
from fixtures.trainer import LETTERS, make_job, read_curve, start_jobs, start_trainer, wait_for_iteration
from whetstone.sampling.vllm_sampler import VllmSampler
from whetstone.sampling.vllm_server import VllmServer
from whetstone.train.job import parse_job
from whetstone.train.loop.adapter_trainer import AdapterTrainer
from whetstone.train.loop.run import run_job
from whetstone.train.output.store import OutputStore


def make_vllm_job(model: Path, output: Path, url: str, environments: list[Path] | None = None, **algorithm) -> dict:
    return {**make_job(model, output, environments, **algorithm), "sampler": "vllm", "samplerUrl": url}


def slow(directory: Path) -> Path:
    """The letters environment, whose episodes take a moment each."""
    path = directory / "slow.py"
    path.write_text(LETTERS.read_text().replace("PACE_SECONDS = 0", "PACE_SECONDS = 0.05"))
    return path


def begins(ids: list[int], tokens: tuple[int, ...]) -> bool:
    return tuple(ids[: len(tokens)]) == tokens


def wait_for(condition, process: Popen) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[1]
        time.sleep(0.05)


def test_the_update_sees_what_was_sampled_in_a_thousand_rollouts(
    url: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample, prepare = VllmSampler.sample, AdapterTrainer._prepare_inputs
    asked: list[tuple] = []
    rollouts = turns = 0

    def noted(self, requests):
        samples = sample(self, requests)
        asked.extend((tuple(one.prompt), tuple(s.tokens), s.logprobs) for one, s in zip(requests, samples, strict=True))
        return samples

    def checked(self, batch):
        nonlocal rollouts, turns
        if isinstance(batch, dict):
            return prepare(self, batch)
        asked.clear()
        inputs = prepare(self, batch)
        by_prompt: dict[tuple, list] = {}
        for prompt, tokens, logprobs in asked:
            by_prompt.setdefault(prompt, []).append((tokens, logprobs))
        for row in range(len(inputs["prompt_ids"])):
            prompt = inputs["prompt_ids"][row][inputs["prompt_mask"][row].bool()].tolist()
            present = inputs["completion_mask"][row].bool()
            ids = inputs["completion_ids"][row][present].tolist()
            own = (inputs["tool_mask"][row][present]).tolist()
            theirs = inputs["sampling_per_token_logps"][row][present].tolist()
            start = 0
            while start < len(ids):
                if not own[start]:
                    start += 1
                    continue
                # Of rollouts with the same past, the one that went on like this.
                alike = [one for one in by_prompt[tuple(prompt + ids[:start])] if begins(ids[start:], one[0])]
                tokens, logprobs = max(alike, key=lambda one: len(one[0]))
                assert own[start : start + len(tokens)] == [1] * len(tokens)
                assert theirs[start : start + len(tokens)] == pytest.approx(logprobs, rel=1e-6)
                start += len(tokens)
                turns += 1
            rollouts += 1
        return inputs

    monkeypatch.setattr(VllmSampler, "sample", noted)
    monkeypatch.setattr(AdapterTrainer, "_prepare_inputs", checked)
    job = make_vllm_job(
        model, tmp_path / "out", url, iterations=4, groups=32, rolloutsPerGroup=8, dropConstantGroups=False
    )
    parsed = parse_job(json.dumps(job))
    assert run_job(parsed, OutputStore(parsed), Event(), time.perf_counter())
    assert rollouts == 1024 and turns > 2 * rollouts
    lines = read_curve(tmp_path / "out")
    assert max(line["samplerMismatch"]["mean"] for line in lines) < 1e-3
    assert all(line["gradNorm"] > 0 and line["samplerMismatch"]["clipped"] == 0 for line in lines)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [point["samplerMismatch"] for point in manifest["curve"]] == [line["samplerMismatch"] for line in lines]


def test_two_trainings_on_one_server_are_those_of_two_servers(url: str, model: Path, tmp_path: Path) -> None:
    jobs = [make_vllm_job(model, tmp_path / name, url, iterations=2) for name in ("a", "b")]
    jobs[1]["seed"] = 6
    process = start_jobs(jobs, tmp_path / "jobs")
    said = process.communicate()[1]
    assert process.returncode == 0, said
    for name in ("a", "b"):
        lines = read_curve(tmp_path / name)
        # Weights of the other training would show here.
        assert len(lines) == 2 and max(line["samplerMismatch"]["mean"] for line in lines) < 1e-3
        assert not (tmp_path / name / "sampler").exists()
    assert not [name for name in VllmServer(url, 1).adapters() if name.startswith("whet-")]


def test_a_training_waits_for_a_server_that_is_away_and_says_so(url: str, model: Path, tmp_path: Path) -> None:
    cable, output = Cable(urlsplit(url).port), tmp_path / "out"
    job = {**make_vllm_job(model, output, cable.url, [slow(tmp_path)], iterations=6), "checkpointEvery": 100}
    process = start_trainer(job, tmp_path / "job")
    wait_for_iteration(output, 1, process)
    cable.pull()
    wait_for((output / "waiting").exists, process)
    assert (output / "waiting").read_text().startswith(f"waiting for the sampler at {cable.url} (")
    cable.mend()
    wait_for_iteration(output, 3, process)
    assert not (output / "waiting").exists()
    # Told to stop while it waits: it keeps what it has learned, and goes on from there.
    cable.pull()
    wait_for((output / "waiting").exists, process)
    reached = len(read_curve(output))
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 143
    assert [path.name for path in (output / "checkpoints").iterdir()] == [f"iteration-{reached:04d}"]
    cable.mend()
    process = start_trainer(job, tmp_path / "job")
    said = process.communicate()[1]
    assert process.returncode == 0, said
    assert [line["iteration"] for line in read_curve(output)] == [1, 2, 3, 4, 5, 6]


def test_a_sampler_that_cannot_serve_ends_the_training_before_its_first_iteration(
    url: str, model: Path, tmp_path: Path
) -> None:
    job = make_vllm_job(model, tmp_path / "out", url, rank=16)
    process = start_trainer(job, tmp_path / "job")
    said = process.communicate()[1]
    assert process.returncode == 70, said
    failure = json.loads((tmp_path / "out" / "failure.json").read_text())
    assert failure["code"] == 70 and "start it with --max-lora-rank 16" in failure["message"]
    assert not (tmp_path / "out" / "progress.jsonl").read_text()


def test_a_sampler_with_another_base_model_is_refused(
    url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from fixtures.tiny_model import make_model

    other = make_model(tmp_path_factory.mktemp("other"), kv_heads=1, tied=True, seed=9, heads=2, positions=1024)
    process = start_trainer(make_vllm_job(other, tmp_path / "out", url), tmp_path / "job")
    said = process.communicate()[1]
    assert process.returncode == 70 and "the sampler's base model is not the trainer's" in said
