"""TRACE (arXiv 2604.05336) improves a deployed agent. This is its core, in one file that reads from top to bottom.

    python examples/trace_in_one_file.py [--seed 1] [--tiny]

    1. Roll out    The agent plays its tasks. A reward says which trajectories succeeded and which failed.
    2. Identify    Which capabilities do failures lack more often than successes?
    3. Synthesise  For each of these, an environment to practise in. Its reward looks at this capability alone.
    4. Train       For each, a small adapter (LoRA) of the model, by reinforcement learning (GRPO) in that environment.
    5. Route       The model itself says which adapter a task needs, or none.
    6. Judge       The agent plays unseen tasks with and without adapters (ours: the paper reports one greedy trial).

The agent here is a model of a million parameters at the orders desk of a shop (examples/orders-desk). The paper asks a
large language model, the analyst, for capabilities, labels and environments. This demo calls none: names and
environments are files, and `label` stands in for its labels. Sampling, training, routing and judging really run. Left
out: repeated labelling, hints, all checks of an environment but one, example trajectories in the router's menu.
"""

import argparse
import copy
import json
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass

import torch
from peft import LoraConfig, get_peft_model
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

DESK = pathlib.Path(__file__).resolve().parent / "orders-desk"
sys.path.insert(0, str(DESK.parent / "shared"))
from recorded import source_of  # noqa: E402

# The capabilities that the analyst named after reading failures, each with a summary. `identify` drops some.
SUMMARIES = {row["id"]: row["summary"] for row in json.loads((DESK / "analyst" / "capabilities.json").read_text())}
TRIALS = 2  # rollouts of each task of the desk
SAMPLING = {"do_sample": True, "temperature": 1.0, "top_k": 0, "max_new_tokens": 64}  # per turn
MIN_GAP, MIN_COVERAGE = 0.20, 0.10  # a capability is kept from these values on (section 2)
LEAST_REWARD, MOST_REWARD = 0.2, 0.6  # mean reward of the base model must be between (section 3)
GROUPS, GROUP_SIZE = 4, 4  # tasks in an iteration, rollouts of each task (section 4)
CLIP, KL_WEIGHT = 0.2, 0.01  # clip range of the ratio; weight of the KL divergence from the base model
LEARNING_RATE = 1e-3  # The paper's 1e-5 is for a model 30,000 times larger.
LORA = LoraConfig(r=32, lora_alpha=64, target_modules="all-linear", task_type="CAUSAL_LM")


def make_agent(seed, size):
    """The deployed agent: model and tokenizer. Its recipe imitates an expert with four bad habits."""
    recipe = [sys.executable, str(DESK / "recipe.py"), "--seed", str(seed), "--size", size]
    output = subprocess.run(recipe, check=True, stdout=subprocess.PIPE, text=True).stdout
    path = json.loads(output.splitlines()[-1])["path"]
    return AutoModelForCausalLM.from_pretrained(path), AutoTokenizer.from_pretrained(path)


def load_environment(path):
    """The class `Environment` in a file. It runs as plain Python, because all of these files ship with the demo."""
    names = {}
    exec(source_of(path), names)
    return names["Environment"]


# ---- 1. Roll out (section 2) -----------------------------------------------------------------------------------------
@dataclass
class Rollout:
    """One episode."""

    seed: int  # decides the task
    opening: str  # what the customer says first
    tokens: list  # the whole conversation
    own: list  # for each token: did the agent write it?
    trajectory: list  # the agent's calls with what the environment answered
    reward: float = 0.0


def sample_turns(model, pad, conversations):
    """The agent's next turn in each conversation, as tokens."""
    width = max(map(len, conversations))
    prompts = torch.tensor([[pad] * (width - len(tokens)) + tokens for tokens in conversations])
    sampled = model.generate(input_ids=prompts, attention_mask=(prompts != pad).long(), **SAMPLING)[:, width:]
    return [turn[turn != pad].tolist() for turn in sampled]


def parse_call(text):
    """The tool call that a turn consists of, or None."""
    try:
        call = json.loads(text.removeprefix("<tool_call>").removesuffix("</tool_call><|im_end|>"))
        return call if isinstance(call["name"], str) and isinstance(call["arguments"], dict) else None
    except (ValueError, TypeError, KeyError):
        return None


def roll_out(model, tokenizer, environment, seeds, trials):
    """Plays `trials` episodes of each seed's task, in one batch, turn by turn. Returned in the order of `seeds`."""
    rollouts, playing = [], []
    for seed in [seed for seed in seeds for _ in range(trials)]:
        episode = environment()
        messages = episode.reset(seed)
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        rollout = Rollout(seed, messages[-1]["content"], prompt, [False] * len(prompt), trajectory=[])
        rollouts.append(rollout)
        playing.append((rollout, episode))
    while playing:
        turns = sample_turns(model, tokenizer.pad_token_id, [rollout.tokens for rollout, _ in playing])
        played, playing = playing, []
        for (rollout, episode), turn in zip(played, turns, strict=True):
            rollout.tokens += turn
            rollout.own += [True] * len(turn)
            call = parse_call(tokenizer.decode(turn))
            if call is None:  # The agent speaks through the tool `reply`; other text ends the episode.
                continue
            answer = episode.step(call)
            rollout.trajectory.append({"call": call, "observation": answer["observation"]})
            if not answer["done"]:
                text = f"\n<|im_start|>tool\n{answer['observation']}<|im_end|>\n<|im_start|>assistant\n"
                given = tokenizer.encode(text)
                rollout.tokens += given
                rollout.own += [False] * len(given)
                playing.append((rollout, episode))
    for rollout in rollouts:
        result = environment.evaluate(rollout.trajectory, environment.generate_task(rollout.seed))
        rollout.reward = result["reward"] if isinstance(result, dict) else result
    return rollouts


# ---- 2. Identify capabilities by contrast (section 2) ----------------------------------------------------------------
def label(rollout):
    """The analyst's labels for a trajectory: PRESENT or LACKING for each capability that was called for.

    The paper's analyst names capabilities after reading batches of failures (here: analyst/capabilities.json). Then it
    labels every trajectory for each of them (here: rules over words and calls).
    """
    steps = [(step["call"]["name"], step["call"]["arguments"], step["observation"]) for step in rollout.trajectory]
    steps = [step for step in steps if not step[2].startswith('{"error"')]  # refused calls do not count
    said = " ".join([rollout.opening] + [answer for tool, _, answer in steps if tool == "reply"])

    def calls(wanted):  # successful calls of one tool: index, arguments, answer
        return [(at, arguments, answer) for at, (tool, arguments, answer) in enumerate(steps) if tool == wanted]

    shown = {}  # capability -> one bool per occasion; no occasion: not applicable; one False: LACKING
    checked = [at for at, _, answer in calls("verify_user") if json.loads(answer)["verified"]]
    refunds = [any(check < at for check in checked) for at, _, _ in calls("refund_order")]
    shown["verify-before-refund"] = [] if "verified by phone" in said else refunds + [True] * len(checked)
    asked = re.findall(r"(?:cancel (?:my )?order|do not need order) (\d+)", said)
    read = [(at, arguments["order"], json.loads(answer)["status"]) for at, arguments, answer in calls("get_order")]
    shown["status-before-cancel"] = [True for _, order, _ in read if order in asked]
    for at, arguments, _ in calls("cancel_order"):
        known = [status for before, order, status in read if before < at and order == arguments["order"]]
        shown["status-before-cancel"].append(known[-1:] == ["pending"])
    shown["credit-every-item"] = []
    for items, order in re.findall(r"the (\w+(?: and the \w+)+) (?:in|of) order (\d+)", said):
        credited = {arguments["item"] for _, arguments, _ in calls("credit_item") if arguments["order"] == order}
        shown["credit-every-item"] += [credited >= set(items.split(" and the "))] if credited else []
    exempt = re.findall(r"order (\d+) (?:to the pickup|(?:as |is )?a gift)", said)
    postal = [json.loads(answer)["postal"] for _, _, answer in calls("find_user")]
    final = {arguments["order"]: arguments["address"] for _, arguments, _ in calls("change_address")}
    shown["append-postal-code"] = [a.split()[-1:] == postal[:1] for order, a in final.items() if order not in exempt]
    shown["greet-the-customer"] = [arguments["text"].startswith("hello") for _, arguments, _ in calls("reply")[:1]]
    shown["escalate-legal-threats"] = [bool(calls("escalate"))] if "lawyer" in said else []
    return {name: "PRESENT" if all(occasions) else "LACKING" for name, occasions in shown.items() if occasions}


def identify(rollouts):
    """The capabilities that failures lack more often than successes (gap), and that enough failures lack (coverage)."""
    successes = [label(rollout) for rollout in rollouts if rollout.reward == 1]
    failures = [label(rollout) for rollout in rollouts if rollout.reward < 1]

    def error_rate(labels, name):  # share of LACKING where the capability was called for
        found = [one[name] for one in labels if name in one]
        return found.count("LACKING") / max(1, len(found))

    kept = []
    for name in SUMMARIES:
        gap = error_rate(failures, name) - error_rate(successes, name)
        coverage = sum(one.get(name) == "LACKING" for one in failures) / len(failures)
        if gap >= MIN_GAP and coverage >= MIN_COVERAGE:
            kept.append(name)
        print(f"  {name:<24} gap {gap:+.2f}  coverage {coverage:.2f}  {'kept' if name in kept else 'dropped'}")
    return kept


# ---- 3. Synthesise an environment (section 3) ------------------------------------------------------------------------
def synthesise(name, base, tokenizer, tasks):
    """The analyst's first attempt that is neither too hard nor too easy for the base model; None without one.

    The paper's analyst writes attempts one by one, and reads how the last one did (here: files). An
    environment has the desk's tools, so that what is learned in it carries over, and endless tasks of its own.
    """
    files = (DESK / "analyst" / "environments").glob(f"{name}.*")  # some as patches, which `source_of` applies
    for path in sorted(file.with_suffix(".py") for file in files):
        environment = load_environment(path)
        rollouts = roll_out(base, tokenizer, environment, range(tasks), GROUP_SIZE)
        reward = sum(rollout.reward for rollout in rollouts) / len(rollouts)
        print(f"  {path.name}: the base model earns {reward:.2f}")
        if LEAST_REWARD <= reward <= MOST_REWARD:
            return environment


# ---- 4. Train an adapter with GRPO (section 4) -----------------------------------------------------------------------
def token_logprobs(model, rollouts):
    """Log-probability of each token but the first, given those before it: `[rollouts, tokens - 1]`."""
    tokens = pad_sequence([torch.tensor(rollout.tokens) for rollout in rollouts], batch_first=True)
    logits = model(input_ids=tokens[:, :-1]).logits  # Padding is last: no token attends to it, `own` masks it.
    return logits.log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]


def grpo_loss(policy, base, rollouts, advantages):
    """GRPO's loss: the agent's tokens become likelier with a positive advantage, less likely with a negative one.

    The ratio compares the policy with the one that sampled the rollouts. Each batch gets one step here, so both are the
    same: the ratio is 1 (its gradient is not 0), the clip does not act, and no importance correction is needed.
    """
    logprobs = token_logprobs(policy, rollouts)
    with torch.no_grad():
        base_logprobs = token_logprobs(base, rollouts)
    own = pad_sequence([torch.tensor(rollout.own[1:]) for rollout in rollouts], batch_first=True)
    ratio = (logprobs - logprobs.detach()).exp()
    objective = torch.minimum(ratio * advantages[:, None], ratio.clamp(1 - CLIP, 1 + CLIP) * advantages[:, None])
    kl = (base_logprobs - logprobs).exp() - (base_logprobs - logprobs) - 1  # grows as the policy leaves the base model
    return (((KL_WEIGHT * kl - objective) * own).sum(1) / own.sum(1)).mean()


def train(base, tokenizer, environment, iterations):
    """A copy of the base model with a trained adapter, and the mean reward of each iteration."""
    policy = get_peft_model(copy.deepcopy(base), LORA)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=LEARNING_RATE, weight_decay=0.0)  # PEFT froze the rest.
    curve = []
    for iteration in range(iterations):
        first = 1_000 + GROUPS * iteration  # seeds that synthesise has not used
        rollouts = roll_out(policy, tokenizer, environment, range(first, first + GROUPS), GROUP_SIZE)
        rewards = torch.tensor([rollout.reward for rollout in rollouts]).view(GROUPS, GROUP_SIZE)
        # A rollout's advantage: its reward minus the mean of its task's rollouts, in standard deviations.
        advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        curve.append(rewards.mean().item())
        optimizer.zero_grad()
        grpo_loss(policy, base, rollouts, advantages.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
    return policy, curve


# ---- 5. Route (section 5) --------------------------------------------------------------------------------------------
def route(base, tokenizer, opening, names):
    """The capability whose adapter gets the task, or None: the base model's likeliest answer to a menu."""
    choices = [*sorted(names, key=SUMMARIES.get), None]
    letters = [chr(ord("A") + place) for place in range(len(choices))]
    menu = [f"{letter}: {SUMMARIES.get(name, 'none of these')}" for letter, name in zip(letters, choices, strict=True)]
    question = "\n".join(["Which skill does this task need?", f"Task: {opening}", *menu, "Answer:"])
    messages = [{"role": "user", "content": question}]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    with torch.no_grad():
        logits = base(torch.tensor([prompt])).logits[0, -1]
    return choices[int(logits[tokenizer.convert_tokens_to_ids(letters)].argmax())]


# ---- 6. Judge --------------------------------------------------------------------------------------------------------
def judge(base_arm, routed_arm):
    """Pass rates in percent; their difference with a 95 % interval: bootstrap over tasks of the paired differences."""
    passed = torch.tensor([[100.0 * (rollout.reward == 1) for rollout in arm] for arm in (base_arm, routed_arm)])
    base, routed = passed.view(2, -1, TRIALS).mean(2)
    draws = torch.randint(len(base), (10_000, len(base)))
    low, high = (routed - base)[draws].mean(1).quantile(torch.tensor([0.025, 0.975])).tolist()
    base, routed = base.mean().item(), routed.mean().item()
    print(f"base {base:.1f} %, routed {routed:.1f} %: {routed - base:+.1f} points [{low:+.1f}, {high:+.1f}]")
    return {"base": base, "routed": routed, "low": low, "high": high}


def trace(seed, size="demo", train_tasks=300, calibration_tasks=40, iterations=40, held_out_tasks=420):
    """All six steps; returns the kept capabilities, the reward curve of each training, and the verdict."""
    base, tokenizer = make_agent(seed, size)
    torch.set_num_threads(1)  # A model this small is not faster on more.
    torch.manual_seed(seed)
    desk = load_environment(DESK / "environment.py")
    rollouts = roll_out(base, tokenizer, desk, range(train_tasks), TRIALS)
    kept = identify(rollouts)
    adapters, curves = {}, {}
    for name in kept:
        environment = synthesise(name, base, tokenizer, calibration_tasks)
        if environment is not None:
            adapters[name], curves[name] = train(base, tokenizer, environment, iterations)
            print(f"  {name}: mean reward {curves[name][0]:.2f} at first, {curves[name][-1]:.2f} at last")
    held_out = range(1_000_000, 1_000_000 + held_out_tasks)  # far from all seeds used above
    base_arm = roll_out(base, tokenizer, desk, held_out, TRIALS)
    chosen = {rollout.seed: route(base, tokenizer, rollout.opening, adapters) for rollout in base_arm}
    # Where the router wants no adapter, the routed agent is the base model, so those rollouts are its own.
    routed_arm = [rollout for rollout in base_arm if chosen[rollout.seed] is None]
    for name, policy in adapters.items():
        routed_arm += roll_out(policy, tokenizer, desk, [seed for seed in held_out if chosen[seed] == name], TRIALS)
    return kept, curves, judge(base_arm, sorted(routed_arm, key=lambda rollout: rollout.seed))


TINY = {"size": "tiny", "train_tasks": 150, "calibration_tasks": 10, "iterations": 8, "held_out_tasks": 60}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="TRACE on the demo's agent.")
    parser.add_argument("--seed", type=int, default=1, help="of the model and of all sampling")
    parser.add_argument("--tiny", action="store_true", help="a smaller model and fewer rollouts, to see it run")
    options = parser.parse_args()
    trace(options.seed, **(TINY if options.tiny else {}))
