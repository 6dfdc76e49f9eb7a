"""Tier: integration, with vLLM. Servers that lack a flag are refused before the first iteration, with the flag."""

from __future__ import annotations

from pathlib import Path

from fixtures.trainer import start_trainer
from test_training import make_vllm_job
from vllm_process import VllmProcess


def test_raw_log_probabilities_are_refused_unless_the_temperature_is_one(
    incomplete: VllmProcess, url: str, model: Path, tmp_path: Path
) -> None:
    incomplete.wait()
    process = start_trainer(make_vllm_job(model, tmp_path / "out", incomplete.url, temperature=0.7), tmp_path / "job")
    said = process.communicate()[1]
    assert process.returncode == 70 and "start it with --logprobs-mode processed_logprobs" in said


def test_a_server_without_adapters_is_refused(incomplete: VllmProcess, url: str, model: Path, tmp_path: Path) -> None:
    incomplete.wait()
    process = start_trainer(make_vllm_job(model, tmp_path / "out", incomplete.url), tmp_path / "job")
    said = process.communicate()[1]
    assert process.returncode == 70 and "--enable-lora" in said
