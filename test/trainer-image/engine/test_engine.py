"""Tier: unit. The engine against transformers and PEFT, and its reproducibility."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import LlamaForCausalLM
from whetstone.engine import Engine, ModelError, Request, Weights, read_adapter
from whetstone.engine.sampling import pick_tokens, uniforms


def make_prompts(count: int, seed: int = 0) -> list[list[int]]:
    rng = random.Random(seed)
    return [[rng.randrange(5, 300) for _ in range(rng.randrange(3, 70))] for _ in range(count)]


def reference_logprobs(model, request: Request) -> torch.Tensor:
    """Log-probabilities that the reference model gives the request's tokens, `[tokens]`."""
    ids = torch.tensor([request.prompt + request.tokens])
    with torch.no_grad():
        logits = model(ids).logits[0, len(request.prompt) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(request.tokens)[:, None])[:, 0]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["tiny_dir", "grouped_dir"])
def test_logprobs_equal_transformers(name: str, exact: bool, request: pytest.FixtureRequest) -> None:
    directory = request.getfixturevalue(name)
    engine = Engine(Weights.read(directory), slots=6, exact=exact)
    requests = [Request(p, 20, seed=i, top_logprobs=3) for i, p in enumerate(make_prompts(9))]
    engine.run(requests)
    model = LlamaForCausalLM.from_pretrained(directory).eval()
    for done in requests:
        expected = reference_logprobs(model, done)
        assert torch.allclose(torch.tensor(done.logprobs), expected, atol=1e-4)
        assert all(len(top) == 3 and top[0][1] >= top[1][1] for top in done.top)


@pytest.mark.parametrize("merged", [True, False])
def test_adapters_in_one_batch_equal_peft(tiny_dir: Path, adapter_dirs: list[Path], merged: bool) -> None:
    weights = Weights.read(tiny_dir)
    weights.merge = merged
    engine = Engine(weights, slots=12)
    for path in adapter_dirs:
        engine.put_adapter(path.name, read_adapter(path, weights.shape))
    names = [None, *(path.name for path in adapter_dirs)]
    requests = [Request(p, 12, seed=i, adapter=names[i % 4], top_logprobs=0) for i, p in enumerate(make_prompts(12))]
    engine.run(requests)
    for path in (None, *adapter_dirs):
        model = LlamaForCausalLM.from_pretrained(tiny_dir).eval()
        model = PeftModel.from_pretrained(model, path).eval() if path else model
        for done in (r for r in requests if r.adapter == (path.name if path else None)):
            assert torch.allclose(torch.tensor(done.logprobs), reference_logprobs(model, done), atol=1e-4)


def outcome(request: Request) -> tuple[list[int], list[float]]:
    return request.tokens, request.logprobs


@pytest.mark.parametrize("name", ["tiny_dir", "grouped_dir"])
def test_same_bits_whatever_else_is_in_the_batch(name: str, adapter_dirs, request: pytest.FixtureRequest) -> None:
    directory = request.getfixturevalue(name)
    weights = Weights.read(directory)
    adapters = [None]
    if name == "tiny_dir":
        for path in adapter_dirs:
            adapters.append(path.name)
    prompts = make_prompts(24)

    def fresh(slots: int) -> Engine:
        engine = Engine(weights, slots=slots)
        for path in adapter_dirs if len(adapters) > 1 else ():
            engine.put_adapter(path.name, read_adapter(path, weights.shape))
        return engine

    def make(index: int) -> Request:
        adapter = adapters[index % len(adapters)]
        return Request(prompts[index], 5 + index, seed=index, adapter=adapter, top_logprobs=0, temperature=0.8)

    alone = []
    for index in range(24):
        engine = fresh(1)
        alone.append(make(index))
        engine.run([alone[-1]])
    for slots, order_seed in ((3, 0), (8, 1), (24, 2)):
        engine = fresh(slots)
        order = list(range(24))
        random.Random(order_seed).shuffle(order)
        together = {index: make(index) for index in order}
        engine.run(list(together.values()))
        for index in order:
            assert outcome(together[index]) == outcome(alone[index])


def test_reused_prefix_gives_the_same_bits(tiny_dir: Path, grouped_dir: Path) -> None:
    for directory in (tiny_dir, grouped_dir):
        weights = Weights.read(directory)
        engine = Engine(weights, slots=4)
        rng = random.Random(3)
        histories = make_prompts(7)
        for turn in range(4):
            requests = [Request(list(h), 9, seed=100 * turn + i, top_logprobs=0) for i, h in enumerate(histories)]
            engine.run(requests)
            for index, done in enumerate(requests):
                again = Request(list(done.prompt), 9, seed=done.seed, top_logprobs=0)
                Engine(weights, slots=2).run([again])
                assert outcome(again) == outcome(done)
                assert turn == 0 or done.cached_tokens >= len(histories[index]) - 25 or len(histories[index]) < 60
                histories[index] = (
                    done.prompt + done.tokens + [rng.randrange(5, 300) for _ in range(rng.randrange(1, 25))]
                )


def test_shared_opening_is_copied_between_conversations(tiny_dir: Path) -> None:
    weights = Weights.read(tiny_dir)
    engine = Engine(weights, slots=3)
    opening = make_prompts(1, seed=5)[0][:3] + list(range(10, 60))
    requests = [Request(opening + [70 + i, 71], 6, seed=i, top_logprobs=0) for i in range(5)]
    for each in requests:
        engine.run([each])
        alone = Request(each.prompt, 6, seed=each.seed, top_logprobs=0)
        Engine(weights, slots=1).run([alone])
        assert outcome(alone) == outcome(each)
    assert [r.cached_tokens for r in requests] == [0] + [len(opening)] * 4


def test_equal_prompts_of_a_batch_are_computed_once(tiny_dir: Path, adapter_dirs, monkeypatch) -> None:
    weights = Weights.read(tiny_dir)
    adapter = read_adapter(adapter_dirs[0], weights.shape)
    kinds = [(0, None), (0, None), (1, None), (0, "a"), (1, None), (0, "a"), (0, None)]
    prompts = make_prompts(2, seed=3)

    def request(number: int) -> Request:
        place, adapter = kinds[number]
        return Request(list(prompts[place]), 12, seed=number, adapter=adapter, top_logprobs=0)

    alone = [request(number) for number in range(len(kinds))]
    for each in alone:
        engine = Engine(weights, 1, exact=False)
        engine.put_adapter("a", adapter)
        engine.run([each])
    engine = Engine(weights, len(kinds), exact=False)
    engine.put_adapter("a", adapter)
    runs = []
    prefill = engine._network.prefill
    monkeypatch.setattr(engine._network, "prefill", lambda *args: (runs.append(len(args[2])), prefill(*args))[1])
    together = [request(number) for number in range(len(kinds))]
    engine.run(together)
    assert runs == [3]
    assert [outcome(each) for each in together] == [outcome(each) for each in alone]


def test_replaced_adapter_does_not_reuse_old_keys(tiny_dir: Path, adapter_dirs: list[Path]) -> None:
    weights = Weights.read(tiny_dir)
    engine = Engine(weights, slots=2)
    prompt = list(range(10, 60))
    results = []
    for path in adapter_dirs[:2]:
        engine.put_adapter("live", read_adapter(path, weights.shape))
        done = Request(prompt, 5, adapter="live", top_logprobs=0)
        engine.run([done])
        assert done.cached_tokens == 0
        results.append(done.logprobs)
    assert results[0] != results[1]


def test_choices_bound_the_completion(tiny_dir: Path) -> None:
    engine = Engine(Weights.read(tiny_dir), slots=8)
    choices = [[20], [21, 22], [21, 22, 23]]
    requests = [Request(list(range(10, 20)), 8, seed=s, choices=choices) for s in range(40)]
    engine.run(requests)
    eos = engine.weights.shape.eos_ids[0]
    seen = {tuple(t for t in r.tokens if t != eos) for r in requests}
    assert seen <= {tuple(c) for c in choices} and len(seen) > 1
    assert all(r.finish == "stop" for r in requests)


def test_sampling_follows_the_distribution_and_the_counter() -> None:
    logits = torch.log(torch.tensor([0.5, 0.2, 0.3, 0.0]))
    draws = uniforms(7, 20_000)
    assert (uniforms(7, 10, start=50) == draws[50:60]).all()
    tokens = pick_tokens(logits.expand(20_000, 4), [1.0] * 20_000, draws.tolist())
    share = torch.bincount(tokens, minlength=4) / 20_000
    assert torch.allclose(share, torch.tensor([0.5, 0.2, 0.3, 0.0]), atol=0.01)
    assert pick_tokens(logits[None], [0.0], [0.9]).item() == 0


def test_a_model_with_numbers_that_are_not_finite_is_refused(tiny_dir: Path, tmp_path: Path) -> None:
    model = LlamaForCausalLM.from_pretrained(tiny_dir)
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight[0, 0] = float("nan")
    model.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="up_proj.weight in .* not finite"):
        Weights.read(tmp_path)


def test_bad_models_and_adapters_say_what_is_wrong(tiny_dir: Path, tmp_path: Path, adapter_dirs, grouped_dir) -> None:
    with pytest.raises(ModelError, match=r"config\.json does not exist"):
        Weights.read(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(ModelError, match="gpt2"):
        Weights.read(tmp_path)
    with pytest.raises(ModelError, match="adapter_config.json does not exist"):
        read_adapter(tmp_path, Weights.read(tiny_dir).shape)
    with pytest.raises(ModelError, match="layer 0 k_proj maps"):
        read_adapter(adapter_dirs[0], Weights.read(grouped_dir).shape)


def test_prompt_too_long_is_refused_and_room_limits_the_completion(tiny_dir: Path) -> None:
    engine = Engine(Weights.read(tiny_dir), slots=2, length=64)
    with pytest.raises(ValueError, match="64 tokens"):
        engine.submit(Request(list(range(64)), 4))
    done = Request(list(range(10, 70)), 50, choices=None)
    engine.run([done])
    assert len(done.tokens) <= 4
