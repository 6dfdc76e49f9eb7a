"""Proves in each iteration that the sampler holds this iteration's adapter.

A sampler may drop an adapter, swap it with another one, apply it twice, or hold an earlier one, and still answer: the
training then learns from rollouts of another policy. So its log-probabilities of some tokens that it sampled are
compared with the trainer's own, and with those of the base model and of the iteration before.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from peft import PeftModel, set_peft_model_state_dict

from whetstone.sampling import SamplerRefused

from .adapter_weights import adapter_of
from .episode import Episode

# Rollouts that are compared, and tokens of each behind its prompt. Fewest tokens that decide.
ROLLOUTS, TOKENS, FEWEST = 8, 256, 16
# A distance of so many times the largest one before is no rounding.
JUMP = 8.0
# Nats a token. In float32 two implementations of a model differ by 5e-7 to 2e-6, and by less where tokens are certain.
ENGINE_ROUNDING = 1e-5


class SamplerProof:
    """Compares sampler and trainer once in each iteration.

    `temperature` is that of the sampler's log-probabilities. Rounding explains a mean distance of `rounding` nats a
    token.
    """

    def __init__(self, temperature: float, rounding: float) -> None:
        self._temperature, self._rounding = temperature, rounding
        self._largest: float | None = None
        """Largest mean distance in an earlier iteration of this process, in nats a token."""
        self._before: dict[str, torch.Tensor] | None = None

    def check(self, model: PeftModel, episodes: list[Episode], iteration: int) -> None:
        """Raises SamplerRefused when the episodes' tokens come from another adapter than the model's.

        Both compute with rounding. Where an adapter changes less than that, nothing can be told.
        """
        before, self._before = self._before, adapter_of(model)
        compared = [one for one in episodes if not one.shown and any(map(math.isfinite, one.proof))][:ROLLOUTS]
        chosen = _distinct(compared)
        theirs = _flat([one.proof for one in compared], chosen)
        if len(theirs) < FEWEST:
            return
        own = self._logprobs(model, compared, chosen)
        distance = _mean_distance(theirs, own)
        if not math.isfinite(distance):
            return
        largest, self._largest = self._largest, max(self._largest or 0.0, distance)
        if distance <= self._rounding:
            return
        with model.disable_adapter():
            base = self._logprobs(model, compared, chosen)
        with _twice(model):
            others = {
                "it ignores the adapter": base,
                "it applies the adapter twice": self._logprobs(model, compared, chosen),
            }
        if before is not None:
            set_peft_model_state_dict(model, before)
            others["it still holds the adapter of the iteration before"] = self._logprobs(model, compared, chosen)
            set_peft_model_state_dict(model, self._before)
        near, what = min((_mean_distance(theirs, other), words) for words, other in others.items())
        known = largest is not None and distance > JUMP * largest
        # Another adapter of the same base model is about as far away as the base model itself.
        is_other = distance > _mean_distance(own, base) / 3
        if near < distance / 4 or (known and (near < 0.9 * distance or is_other)):
            raise SamplerRefused(
                f"the sampler does not hold the adapter of iteration {iteration}: on the same tokens its"
                f" log-probabilities differ from the trainer's by {distance:.2g} nats a token"
                f"{f', and before by {largest:.2g} at most' if largest else ''};"
                f" {what if near < distance / 2 else 'it may hold the adapter of another training'}."
                " Start it again, or use another version of it"
            )

    @torch.no_grad()
    def _logprobs(self, model: PeftModel, episodes: list[Episode], chosen: list[list[int]]) -> torch.Tensor:
        """The trainer's log-probabilities of the chosen tokens, with the adapter that the model has now."""
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        found = []
        for episode, places in zip(episodes, chosen, strict=True):
            if not places:
                continue
            end = episode.prompt + places[-1] + 1
            ids = torch.tensor([episode.ids[:end]], device=device)
            kept = end - episode.prompt - places[0]
            logits = model(input_ids=ids, logits_to_keep=kept + 1, use_cache=False).logits[0, :-1].float()
            logprobs = torch.log_softmax(logits / self._temperature, -1)
            own = logprobs.gather(1, ids[0, end - kept :, None])[:, 0].double().cpu()
            found.append(own[torch.tensor(places) - places[0]])
        model.train(was_training)
        return torch.cat(found)


@contextlib.contextmanager
def _twice(model: PeftModel) -> Iterator[None]:
    """Inside, the adapter counts twice."""
    modules = [module for module in model.modules() if "default" in getattr(module, "lora_B", {})]
    for module in modules:
        module.scaling["default"] *= 2
    try:
        yield
    finally:
        for module in modules:
            module.scaling["default"] /= 2


def _distinct(episodes: list[Episode]) -> list[list[int]]:
    """Places behind the prompts of the tokens to compare; a token that follows the same text twice counts once."""
    known, chosen = set(), []
    for episode in episodes:
        read, places = hash(tuple(episode.ids[: episode.prompt])), []
        for at, theirs in enumerate(episode.proof[:TOKENS]):
            read = hash((read, episode.ids[episode.prompt + at]))
            if math.isfinite(theirs) and read not in known:
                places.append(at)
            known.add(read)
        chosen.append(places)
    return chosen


def _flat(values: list[list[float]], chosen: list[list[int]]) -> torch.Tensor:
    return torch.tensor([value[at] for value, places in zip(values, chosen, strict=True) for at in places]).double()


def _mean_distance(left: torch.Tensor, right: torch.Tensor) -> float:
    return float((left - right).abs().mean())
