"""Tier: unit. The flags and variables of vLLM servers: one list for trainers and for the policy server."""

from __future__ import annotations

import dataclasses

import pytest
from whetstone.sampling.vllm_command import ServerNeeds, server_arguments, server_environment

NEEDS = ServerNeeds("/models/tiny", rank=12, adapters=3, loaded=6, length=2048, gpu=False, gpu_share=0.4)


def pairs(needs: ServerNeeds) -> dict[str, str]:
    arguments = server_arguments(needs)
    return dict(zip(arguments, [*arguments[1:], ""], strict=True))


def test_the_arguments_are_what_the_adapters_need() -> None:
    found = pairs(NEEDS)
    assert (found["--max-lora-rank"], found["--max-loras"], found["--max-cpu-loras"]) == ("16", "3", "6")
    assert found["--max-model-len"] == "2048" and found["--logprobs-mode"] == "processed_logprobs"
    assert "--enable-lora" in found and "--max-model-len" not in pairs(dataclasses.replace(NEEDS, length=None))


def test_a_processor_gets_float32_and_whole_prompts_and_a_gpu_its_share() -> None:
    found = pairs(NEEDS)
    # A request with a seed, whose prompt is read in parts, would end the engine.
    assert found["--dtype"] == "float32" and "--no-enable-chunked-prefill" in found
    on_gpu = pairs(dataclasses.replace(NEEDS, gpu=True))
    assert on_gpu["--gpu-memory-utilization"] == "0.4" and "--dtype" not in on_gpu


def test_the_server_may_load_adapters_and_gets_nothing_that_is_meant_for_the_trainer() -> None:
    found = server_environment({"PYTHONPATH": "/trainer", "OMP_NUM_THREADS": "1", "HOME": "/root"}, gpu=False)
    assert found["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "True" and found["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert found["HOME"] == "/root" and "PYTHONPATH" not in found
    # Otherwise the first requests wait for a compiler.
    assert found["TORCHDYNAMO_DISABLE"] == "1" and "TORCHDYNAMO_DISABLE" not in server_environment({}, gpu=True)
    assert server_environment({"TORCHDYNAMO_DISABLE": "0"}, gpu=False)["TORCHDYNAMO_DISABLE"] == "0"
    assert server_environment({"VLLM_CPU_KVCACHE_SPACE": "8"}, gpu=False)["VLLM_CPU_KVCACHE_SPACE"] == "8"
    assert "VLLM_CPU_KVCACHE_SPACE" not in server_environment({}, gpu=True)


def on_processors(monkeypatch: pytest.MonkeyPatch, cores: int, **environment: str) -> tuple[str | None, str | None]:
    """Whether the model has a process of its own, and the threads, of a server on a machine with so many cores."""
    monkeypatch.setattr("whetstone.sampling.vllm_command.usable_cores", lambda: cores)
    found = server_environment(environment, gpu=False)
    return found.get("VLLM_ENABLE_V1_MULTIPROCESSING"), found.get("OMP_NUM_THREADS")


def test_on_few_cores_the_model_runs_in_the_schedulers_process(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two processes each would hold a core while it waits for the other.
    assert on_processors(monkeypatch, 2, OMP_NUM_THREADS="2") == ("0", "1")
    assert on_processors(monkeypatch, 4) == ("0", "3")
    assert on_processors(monkeypatch, 1) == ("0", "1")
    # vLLM binds the threads itself where there are more, or where it is told which.
    assert on_processors(monkeypatch, 16, OMP_NUM_THREADS="1") == (None, None)
    assert on_processors(monkeypatch, 2, VLLM_CPU_OMP_THREADS_BIND="0-1") == (None, None)
    assert on_processors(monkeypatch, 2, VLLM_ENABLE_V1_MULTIPROCESSING="1") == ("1", None)
    assert "VLLM_ENABLE_V1_MULTIPROCESSING" not in server_environment({}, gpu=True)
