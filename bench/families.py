"""Tries tiny random checkpoints of many model families with a real vLLM, one family after another.

    scripts/bench.sh families [--only qwen3,mistral]

For each family vLLM is started as `whet up` starts it, on a processor in float32. Then:
- base: the first 32 of 40 greedy tokens or more equal those of transformers, for each of four prompts;
- adapter: a LoRA adapter with random factors loads; its greedy tokens equal those of transformers with PEFT, and differ
  from the base model's;
- training: one iteration of GRPO whose rollouts this vLLM samples has rewards that differ, a gradient above 0 and a B
  that is not 0. `apart` is the mean difference between the log-probabilities of vLLM and of the trainer, in nats.
A family that fails is reported with its error; the others go on. How templates and tool calls of the families are
rendered and read is tested without vLLM (test/trainer-image/chat).

The last line is JSON: {"name", "complete", "families": {family: {"base", "adapter", "training", "apart", "error"}}}.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import pathlib
import re
import tempfile
import traceback

import torch
from fixtures.families import FAMILIES, Family, make_checkpoint
from fixtures.trainer import LETTERS, make_job
from peft import PeftModel
from policy import make_policy, make_sampler
from transformers import AutoTokenizer
from vllm_process import VllmProcess
from whetstone.chat.renderer import Renderer
from whetstone.envs.client import open_environment
from whetstone.sampling import SampleRequest
from whetstone.sampling.vllm_sampler import VllmSampler
from whetstone.train.job import parse_job
from whetstone.train.loop.adapter_trainer import AdapterTrainer
from whetstone.train.loop.base_model import BaseModel
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.loop.trl_settings import make_config, quiet_libraries

PROMPTS = ("Where is order 4417?", "Please stop my order today.", "What do you do at night?", "def step(self, call):")
TOKENS = 40
LEAST_TOKENS = 32
HEAD_WIDTH = 32


def greedy(policy: PeftModel, prompts: list[list[int]], adapted: bool) -> list[list[int]]:
    """Greedy tokens of transformers, without an end."""
    found = []
    for prompt in prompts:
        with torch.no_grad(), contextlib.nullcontext() if adapted else policy.disable_adapter():
            ids = torch.tensor([prompt])
            for _ in range(TOKENS):
                logits = policy(input_ids=ids).logits[0, -1]
                ids = torch.cat([ids, logits.argmax()[None, None]], 1)
        found.append(ids[0, len(prompt) :].tolist())
    return found


def alike(ours: list[list[int]], theirs: list[list[int]]) -> int:
    """The fewest tokens of a prompt that both begin with."""
    return min(
        next((place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), TOKENS)
        for one, other in zip(ours, theirs, strict=True)
    )


def try_tokens(model: pathlib.Path, process: VllmProcess, folder: pathlib.Path, found: dict[str, object]) -> None:
    """Compares greedy tokens of base and adapter with those of transformers and PEFT."""
    policy = make_policy(model, 1)
    tokenizer = AutoTokenizer.from_pretrained(model)
    prompts = [tokenizer(text).input_ids for text in PROMPTS]
    requests = [SampleRequest(prompt, TOKENS, 0.0, 1, ()) for prompt in prompts]
    # Where the server has ended, the sampler would wait for it.
    sampler = make_sampler(process.url, folder / "tokens", leaves=lambda: process.ended)
    try:
        base = [one.tokens for one in sampler.sample_base(requests)]
        found["base"] = alike(base, greedy(policy, prompts, adapted=False)) >= LEAST_TOKENS
        sampler.publish(policy)
        adapted = [one.tokens for one in sampler.sample(requests)]
    finally:
        sampler.close()
    same = alike(adapted, greedy(policy, prompts, adapted=True))
    differ = all(one != other for one, other in zip(base, adapted, strict=True))
    found["adapter"] = same >= LEAST_TOKENS and differ


def try_training(model: pathlib.Path, sampler: VllmSampler, folder: pathlib.Path) -> dict[str, object]:
    """One iteration of GRPO that the server samples."""
    raw = make_job(model, folder / "out", [LETTERS], iterations=1, maxTurns=2, maxCompletionTokens=8)
    job = parse_job(json.dumps(raw))
    with contextlib.ExitStack() as stack:
        environments = [stack.enter_context(open_environment(str(LETTERS), "process"))]
        base = BaseModel.read(model, "vllm")
        rollouts = Rollouts(sampler, Renderer(model), environments, job.algorithm, job.seed, job.taskSeedStart)
        settings = make_config(job.algorithm, 5, folder, "bench")
        # What transformers prints of an iteration.
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        trainer = AdapterTrainer(base, sampler, rollouts, job.algorithm, settings)
        trainer.train()
    norms = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
    factors = [one for name, one in trainer.model.named_parameters() if "lora_B" in name]
    changed = any(bool(one.abs().max() > 0) for one in factors)
    differ = len({episode.reward for episode in trainer.episodes}) > 1
    mismatch = trainer.step_mismatch or {}
    return {"training": differ and bool(norms) and norms[0] > 0 and changed, "apart": mismatch.get("mean")}


def try_family(family: Family, folder: pathlib.Path) -> dict[str, object]:
    """What holds for the family, and the last line of the first error."""
    found: dict[str, object] = {"base": False, "adapter": False, "training": False, "apart": None, "error": None}
    log = folder / "vllm.log"
    try:
        model = make_checkpoint(family, folder / "model", HEAD_WIDTH)
        with quiet_libraries(), VllmProcess(model, log) as process:
            process.wait()
            try_tokens(model, process, folder, found)
            sampler = make_sampler(process.url, folder / "training", leaves=lambda: process.ended)
            try:
                found |= try_training(model, sampler, folder)
            finally:
                sampler.close()
    except Exception as error:
        found["error"] = reason(error, log)
    return found


def reason(error: BaseException, log: pathlib.Path) -> str:
    """The first error in the server's log, which ended it, or else what was raised."""
    text = log.read_text(errors="replace") if log.exists() else ""
    logged = re.search(r"ERROR .*?((?:\w+Error|\w+Exception): .+)|Assertion failed, (.+?) \[", text)
    raised = traceback.format_exception_only(error)[-1].strip()
    return (logged[1] or logged[2] if logged else raised)[:300]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FAMILIES), help="families, with commas between them")
    names = parser.parse_args().only.split(",")
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        parser.error(f"--only: unknown family {unknown[0]}; one of {', '.join(FAMILIES)}")
    results = {}
    for place, name in enumerate(names, 1):
        with tempfile.TemporaryDirectory(prefix="whet-families-") as folder:
            found = results[name] = try_family(FAMILIES[name], pathlib.Path(folder))
        marks = ", ".join(f"{key} {'yes' if found[key] else 'no'}" for key in ("base", "adapter", "training"))
        apart = "" if found["apart"] is None else f", {found['apart']:.1e} nats apart"
        error = "" if found["error"] is None else f": {found['error']}"
        print(f"{place} of {len(names)}: {name:<10} {marks}{apart}{error}", flush=True)
    complete = [name for name, found in results.items() if found["base"] and found["adapter"] and found["training"]]
    print(json.dumps({"name": "families", "complete": complete, "families": results}))


if __name__ == "__main__":
    main()
