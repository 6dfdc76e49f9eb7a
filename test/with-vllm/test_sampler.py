"""Tier: integration, with vLLM. The sampler against a real server: exact tokens, right log-probabilities, adapters."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from policy import STOP, change, distances, make_policy, make_requests, make_sampler
from transformers import AutoTokenizer
from whetstone.sampling import SampleRequest, SamplerInterrupted, SamplerRefused
from whetstone.sampling.vllm_server import VllmServer
from whetstone.train.loop.sampler_probe import probe_sampler


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_log_probabilities_are_those_with_which_tokens_were_drawn(
    url: str, model: Path, tmp_path: Path, temperature: float
) -> None:
    policy, sampler = make_policy(model, 1), make_sampler(url, tmp_path / "adapters")
    sampler.publish(policy)
    requests = make_requests(64, temperature)
    samples = sampler.sample(requests)
    base = sampler.sample_base(requests)
    sampler.close()
    assert mean(distances(policy, requests, samples)) < 1e-3
    assert mean(distances(policy, requests, base, adapted=False)) < 1e-3
    # The adapter acts: under the base model the same tokens have other probabilities.
    assert mean(distances(policy, requests, samples, adapted=False)) > 0.1
    assert {sample.finish for sample in samples} <= {"stop", "length"}
    for sample in samples:
        assert (sample.tokens[-1] in STOP) == (sample.finish == "stop") and len(sample.tokens) <= 16
        assert not any(token in STOP for token in sample.tokens[:-1])


def test_base_answers_as_it_does_without_adapters(url: str, model: Path, tmp_path: Path) -> None:
    policy, sampler = make_policy(model, 2), make_sampler(url, tmp_path / "adapters")
    sampler.publish(policy)
    requests = make_requests(8, 0.0, tokens=32)
    samples = sampler.sample_base(requests)
    sampler.close()
    for request, sample in zip(requests, samples, strict=True):
        ids = torch.tensor([request.prompt])
        with policy.disable_adapter():
            whole = policy.generate(ids, max_new_tokens=32, do_sample=False, eos_token_id=list(STOP), pad_token_id=0)
        assert sample.tokens == whole[0, len(request.prompt) :].tolist()


def test_base_answers_beside_requests_to_an_adapter_as_it_does_alone(url: str, model: Path, tmp_path: Path) -> None:
    policy, sampler = make_policy(model, 2), make_sampler(url, tmp_path / "adapters")
    sampler.publish(policy)
    # Without ends, so that both kinds are in the same batches for long.
    requests = [replace(one, stop=()) for one in make_requests(16, 1.0, tokens=64)]
    with ThreadPoolExecutor(1) as pool:
        beside = pool.submit(sampler.sample, requests)
        samples = sampler.sample_base(requests)
        assert mean(distances(policy, requests, beside.result())) < 1e-3
    assert mean(distances(policy, requests, samples, adapted=False)) < 1e-3
    sampler.close()


def test_a_server_that_mixes_up_base_and_adapter_is_refused(
    url: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, sampler = make_policy(model, 2), make_sampler(url, tmp_path / "adapters")
    tokenizer = AutoTokenizer.from_pretrained(model)
    probe_sampler(sampler, policy, tokenizer, 1.0)
    publish = sampler.publish

    def publish_and_mix_up(policy: PeftModel) -> str:
        monkeypatch.setattr(sampler, "sample_base", sampler.sample)
        return publish(policy)

    # As vLLM without the patch.
    monkeypatch.setattr(sampler, "publish", publish_and_mix_up)
    with pytest.raises(SamplerRefused, match="base model answers otherwise while requests to an adapter run beside it"):
        probe_sampler(sampler, policy, tokenizer, 1.0)
    sampler.close()


def test_a_new_adapter_has_a_new_name_and_nothing_of_the_old_one_is_used(url: str, model: Path, tmp_path: Path) -> None:
    policy, sampler = make_policy(model, 3), make_sampler(url, tmp_path / "adapters", "stale-")
    names, requests = [], make_requests(16, 1.0)
    for seed in range(3, 7):
        change(policy, seed)
        names.append(sampler.publish(policy))
        # The same prompts again: blocks that the server has cached for them belong to the adapter before.
        assert mean(distances(policy, requests, sampler.sample(requests))) < 1e-3
    assert len(set(names)) == 4
    assert [name for name in VllmServer(url, 1).adapters() if name.startswith("stale-")] == names[-1:]
    change(policy, 3)
    assert sampler.publish(policy) == names[0] and sampler.publish(policy) == names[0]
    assert mean(distances(policy, requests, sampler.sample(requests))) < 1e-3
    sampler.close()
    assert not [name for name in VllmServer(url, 1).adapters() if name.startswith("stale-")]
    assert not (tmp_path / "adapters").exists()


def test_trainings_share_a_server_that_has_room_for_one_adapter(url: str, model: Path, tmp_path: Path) -> None:
    policies = [make_policy(model, seed) for seed in (11, 12)]
    samplers = [make_sampler(url, tmp_path / name, f"{name}-") for name in ("one", "two")]
    requests = make_requests(16, 1.0)
    for policy, sampler in zip(policies, samplers, strict=True):
        sampler.publish(policy)
    for _ in range(3):
        for policy, sampler in zip(policies, samplers, strict=True):
            assert mean(distances(policy, requests, sampler.sample(requests))) < 1e-3
    samplers[0].close()
    assert mean(distances(policies[1], requests, samplers[1].sample(requests))) < 1e-3
    samplers[1].close()


def test_leftovers_of_an_earlier_attempt_go_and_others_stay(url: str, model: Path, tmp_path: Path) -> None:
    policy = make_policy(model, 21)
    other, killed = make_sampler(url, tmp_path / "b", "other-"), make_sampler(url, tmp_path / "a", "mine-")
    kept = other.publish(policy)
    killed.publish(policy)
    again = make_sampler(url, tmp_path / "a", "mine-")
    assert [name for name in VllmServer(url, 1).adapters() if name.startswith(("mine-", "other-"))] == [kept]
    again.close()
    other.close()


def test_a_server_that_forgot_the_adapter_gets_it_again(url: str, model: Path, tmp_path: Path) -> None:
    policy, sampler = make_policy(model, 31), make_sampler(url, tmp_path / "adapters", "forgotten-")
    name = sampler.publish(policy)
    VllmServer(url, 1).unload(name)
    requests = make_requests(8, 1.0)
    assert mean(distances(policy, requests, sampler.sample(requests))) < 1e-3
    sampler.close()


def test_a_completion_ends_where_the_context_ends(url: str, model: Path, tmp_path: Path) -> None:
    policy, sampler = make_policy(model, 41), make_sampler(url, tmp_path / "adapters")
    sampler.publish(policy)
    assert sampler.length == 1024
    [sample] = sampler.sample([SampleRequest([5] * 1020, 16, 1.0, 1, ())])
    assert (len(sample.tokens), sample.finish) == (4, "length")
    with pytest.raises(ValueError, match="1024 tokens, the model takes 1 to 1023"):
        sampler.sample([SampleRequest([5] * 1024, 16, 1.0, 1, ())])
    sampler.close()


def test_an_adapter_of_too_high_a_rank_is_refused_with_the_flag(url: str, model: Path, tmp_path: Path) -> None:
    sampler = make_sampler(url, tmp_path / "adapters")
    with pytest.raises(SamplerRefused, match="start it with --max-lora-rank 16"):
        sampler.publish(make_policy(model, 51, rank=12))
    sampler.close()


def test_an_adapter_in_a_folder_that_the_server_does_not_see_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(SamplerRefused, match="it must see this folder by the same path"):
        VllmServer(url, 1).load("nowhere", str(tmp_path / "nowhere"), 8)


def test_a_training_that_has_to_end_does_not_wait_for_the_server(tmp_path: Path) -> None:
    with pytest.raises(SamplerInterrupted):
        make_sampler("http://127.0.0.1:9", tmp_path / "adapters", leaves=lambda: True)


def test_names_of_adapters_are_those_of_the_servers_list(url: str) -> None:
    with urllib.request.urlopen(f"{url}/v1/models") as answer:
        cards = json.load(answer)["data"]
    assert VllmServer(url, 1).model().name == cards[0]["id"]
