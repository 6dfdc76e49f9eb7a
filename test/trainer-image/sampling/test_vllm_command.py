"""Tier: unit. The flags and variables of vLLM servers: one list for trainers and for the policy server."""

from __future__ import annotations

import dataclasses

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
    assert found["HOME"] == "/root" and "PYTHONPATH" not in found and "OMP_NUM_THREADS" not in found
    assert server_environment({"VLLM_CPU_KVCACHE_SPACE": "8"}, gpu=False)["VLLM_CPU_KVCACHE_SPACE"] == "8"
    assert "VLLM_CPU_KVCACHE_SPACE" not in server_environment({}, gpu=True)
