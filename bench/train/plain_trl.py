"""GRPO with TRL alone: GRPOTrainer and a rollout function that calls generate() once a turn.

    plain_trl.py JOB_FILE OUTPUT_DIRECTORY [ROLLOUTS_A_PASS]

Reads a trainer job file and runs it with TRL 1.16 as its documentation shows: `rollout_func` renders the conversations
with the chat template, pads them, calls `generate` on the model with its adapter, parses the tool calls and steps the
environment, which is imported into the process. (TRL's other way, `environment_factory`, needs the environment's tools
as typed Python methods and cannot end an episode; it generates in the same manner.) Gradient checkpointing and bf16,
which TRL turns on by default, are off, because both are slower here. With ROLLOUTS_A_PASS only so many rollouts pass
through the model together in the update, and TRL accumulates their gradients. Prints one JSON line.
"""

import importlib.util
import json
import os
import sys
import time

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

OPEN, CLOSE = "<tool_call>", "</tool_call>"


def load_environment(path: str) -> type:
    """The Environment class of a module file."""
    spec = importlib.util.spec_from_file_location("environment", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Environment


class Episode:
    """One conversation with the environment."""

    def __init__(self, environment: type, seed: int) -> None:
        self.task = environment.generate_task(seed)
        self.environment = environment()
        self.messages = list(self.environment.reset(seed))
        self.trajectory: list[dict] = []
        self.prompt: list[int] = []
        self.completion: list[int] = []
        self.mask: list[int] = []
        self.done = False

    def step(self, text: str) -> None:
        """Steps the environment with the assistant's text, and appends text and observation to the conversation."""
        self.messages.append({"role": "assistant", "content": text})
        try:
            if not text.startswith(OPEN) or not text.endswith(CLOSE):
                raise ValueError
            call = json.loads(text[len(OPEN) : -len(CLOSE)])
            call = {"name": call["name"], "arguments": dict(call["arguments"])}
        except (ValueError, KeyError, TypeError):
            self.trajectory.append({"text": text, "observation": ""})
            self.done = True
            return
        outcome = self.environment.step(call)
        self.trajectory.append({"call": call, "observation": outcome["observation"]})
        self.messages.append({"role": "tool", "content": outcome["observation"]})
        self.done = outcome["done"]


class Clock(TrainerCallback):
    """Notes when each iteration ends."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, args, state, control, **_):
        self.ends.append(time.perf_counter())
        print(f"plain TRL: iteration {state.global_step} of {state.max_steps}", file=sys.stderr, flush=True)


def make_rollout(tokenizer, environment: type, algorithm: dict):
    """TRL's rollout function, and the lists that it appends each iteration's mean reward and sampled tokens to."""
    rewards: list[float] = []
    sampled: list[int] = []
    tools = environment.tools() if hasattr(environment, "tools") else None

    def rollout(prompts: list[str], trainer: GRPOTrainer) -> dict:
        episodes = [Episode(environment, int(prompt)) for prompt in prompts]
        model = trainer.accelerator.unwrap_model(trainer.model)
        training = model.training
        model.eval()
        for _ in range(algorithm["maxTurns"]):
            running = [episode for episode in episodes if not episode.done]
            if not running:
                break
            texts = [
                tokenizer.apply_chat_template(e.messages, tools=tools, tokenize=False, add_generation_prompt=True)
                for e in running
            ]
            batch = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
            with torch.no_grad():
                out = model.generate(
                    input_ids=batch["input_ids"],
                    attention_mask=batch["attention_mask"],
                    max_new_tokens=algorithm["maxCompletionTokens"],
                    do_sample=True,
                    temperature=algorithm["temperature"],
                    pad_token_id=tokenizer.pad_token_id,
                    eos_token_id=tokenizer.eos_token_id,
                )
            width = batch["input_ids"].shape[1]
            for row, episode in enumerate(running):
                ids = batch["input_ids"][row][batch["attention_mask"][row].bool()].tolist()
                tokens = out[row, width:].tolist()
                if tokenizer.eos_token_id in tokens:
                    tokens = tokens[: tokens.index(tokenizer.eos_token_id) + 1]
                if not episode.prompt:
                    episode.prompt = ids
                inserted = ids[len(episode.prompt) + len(episode.completion) :]
                episode.completion += inserted + tokens
                episode.mask += [0] * len(inserted) + [1] * len(tokens)
                episode.step(tokenizer.decode(tokens).removesuffix(tokenizer.eos_token))
        model.train(training)
        scores = []
        for episode in episodes:
            reward = environment.evaluate(episode.trajectory, episode.task)
            scores.append(float(reward["reward"] if isinstance(reward, dict) else reward))
        rewards.append(sum(scores) / len(scores))
        sampled.append(sum(sum(episode.mask) for episode in episodes))
        return {
            "prompt_ids": [episode.prompt for episode in episodes],
            "completion_ids": [episode.completion for episode in episodes],
            "logprobs": [[0.0] * len(episode.completion) for episode in episodes],
            "env_mask": [episode.mask for episode in episodes],
            "env_reward": scores,
        }

    return rollout, rewards, sampled


def main() -> None:
    """Trains and prints {"seconds", "rewards", "iterationSeconds", "sampledTokens"}.

    The last two have a figure for each iteration. Imports and loading are not counted.
    """
    with open(sys.argv[1]) as file:
        job = json.load(file)
    algorithm = job["algorithm"]
    torch.set_num_threads(job["threads"])
    tokenizer = AutoTokenizer.from_pretrained(job["baseModel"], padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(job["baseModel"], dtype=torch.float32)
    rollout, rewards, sampled = make_rollout(tokenizer, load_environment(job["environments"][0]["path"]), algorithm)
    size = algorithm["groups"] * algorithm["rolloutsPerGroup"]
    together = int(sys.argv[3]) if len(sys.argv) > 3 else size
    seeds = range(job["taskSeedStart"], job["taskSeedStart"] + algorithm["groups"] * algorithm["iterations"])
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, env_reward, **_: env_reward,
        args=GRPOConfig(
            output_dir=sys.argv[2],
            per_device_train_batch_size=together,
            gradient_accumulation_steps=size // together,
            num_generations=algorithm["rolloutsPerGroup"],
            max_steps=algorithm["iterations"],
            learning_rate=algorithm["learningRate"],
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=algorithm["warmupIterations"],
            beta=algorithm["klBeta"],
            epsilon=algorithm["clip"],
            temperature=algorithm["temperature"],
            max_grad_norm=algorithm["maxGradNorm"],
            max_completion_length=algorithm["maxCompletionTokens"] * algorithm["maxTurns"],
            shuffle_dataset=False,
            seed=job["seed"],
            bf16=False,
            gradient_checkpointing=False,
            use_cpu=True,
            dataloader_pin_memory=False,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": [str(seed) for seed in seeds]}),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=algorithm["rank"], lora_alpha=algorithm["alpha"], target_modules="all-linear", task_type="CAUSAL_LM"
        ),
        rollout_func=rollout,
    )
    clock = Clock()
    trainer.add_callback(clock)
    start = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - start
    each = [end - begin for begin, end in zip([start, *clock.ends], clock.ends, strict=False)]
    figures = {"seconds": seconds, "rewards": rewards, "iterationSeconds": each, "sampledTokens": sampled}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
