"""Says whether a world is well made (examples/worlds/README.md): its environment, expert, label rules and environments.

    python examples/shared/check_world.py examples/worlds/NAME [--episodes N]

Plays the expert, without a model and without services. Prints a line for each finding; exit code 1 where one must be
mended. Half a minute.
"""

import argparse
import collections
import importlib.util
import json
import pathlib
import random
import re
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "model")]

import transcripts  # noqa: E402
from make_model import DEMO  # noqa: E402
from recorded import plain_copies  # noqa: E402
from world import World, load_world  # noqa: E402

TRAIN, HELD_OUT = 0, 1_000_000
MOST_TOKENS = 400
# As docs/explanations/environments.md has them.
SUCCESS, MOST_WITHOUT_SKILL = 0.99, 0.1
NOTICED_SHARE = 0.08
WORD = re.compile(r"[A-Z][a-z]*|[0-9]{2}|[0-9]|[a-z]+")
VALUE = re.compile(r"[A-Z][a-z]*|[0-9]{2}")


class Findings:
    """Counts what must be mended, and prints everything."""

    def __init__(self) -> None:
        self.faults = 0

    def say(self, line: str) -> None:
        """A figure, or something to look at."""
        print(f"  {line}")

    def expect(self, holds: bool, line: str) -> None:
        """Something that must hold."""
        self.faults += not holds
        print(f"{'  ' if holds else '! '}{line}")


def load_module(path: pathlib.Path):
    """Imports a file under a name of its own."""
    spec = importlib.util.spec_from_file_location("checked_" + re.sub(r"\W", "_", path.stem), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(environment: type, seed: int, steps: list[dict]) -> tuple[list[dict], bool]:
    """The trajectory of scripted steps, and whether the episode is over."""
    episode = environment()
    episode.reset(seed)
    trajectory: list[dict] = []
    for step in steps:
        answer = episode.say(step["text"]) if "text" in step else episode.step(step)
        what = {"text": step["text"]} if "text" in step else {"call": step}
        trajectory.append({**what, "observation": answer["observation"]})
        if answer["done"]:
            return trajectory, True
    return trajectory, False


def outcome(environment: type, trajectory: list[dict], task: dict) -> dict:
    """{"reward", "diagnostics"} of a trajectory."""
    value = environment.evaluate(trajectory, task)
    return value if isinstance(value, dict) else {"reward": value, "diagnostics": {}}


def turns_of(environment: type, seed: int, trajectory: list[dict]) -> list[dict]:
    """The transcript of an episode as the label rules get it."""
    turns = [
        {"step": step, "role": message["role"], "text": message["content"]}
        for step, message in enumerate(environment().reset(seed))
    ]
    number = len(turns)
    for entry in trajectory:
        if "text" in entry:
            turns.append({"step": number, "role": "assistant", "text": entry["text"]})
            if entry["observation"]:
                turns.append({"step": number + 1, "role": "user", "text": entry["observation"]})
        else:
            try:
                result = json.loads(entry["observation"])
            except ValueError:
                result = None
            seen = {"call": entry["call"], "observation": entry["observation"], "result": result}
            turns.append({"step": number, "role": "assistant", **seen})
        number += 2
    return turns


def check_expert(world: World, episodes: int, findings: Findings) -> None:
    """The expert without deficits earns 1; with them, each habit is shown in its share."""
    environment, expert = world.environment.Environment, world.expert
    for name, first in (("train", TRAIN), ("held-out", HELD_OUT)):
        rewards = {}
        for seed in range(first, first + episodes):
            trajectory, done = play(environment, seed, expert.demonstration(seed, {}))
            reward = outcome(environment, trajectory, environment.generate_task(seed))["reward"]
            rewards[seed] = reward if done else -1
        bad = [seed for seed, reward in rewards.items() if reward != 1]
        findings.expect(
            not bad,
            f"expert without deficits, {name}: {len(rewards) - len(bad)} of {len(rewards)} earn 1"
            + (f"; seeds {bad[:5]} do not, with {[rewards[seed] for seed in bad[:5]]} (-1: not over)" if bad else ""),
        )
    shown = collections.defaultdict(list)
    rewards = []
    for seed in range(TRAIN, TRAIN + 3 * episodes):
        trajectory, _ = play(environment, seed, expert.demonstration(seed))
        result = outcome(environment, trajectory, environment.generate_task(seed))
        rewards.append(result["reward"])
        for name, verdict in result["diagnostics"].items():
            shown[name].append((verdict == "present", result["reward"]))
    findings.say(f"expert with deficits passes {statistics.mean(r >= 1 for r in rewards):.1%} of the train tasks")
    for name, share in expert.DEFICITS.items():
        seen = [present for present, _ in shown[name]]
        mean = statistics.mean(seen) if seen else 0.0
        findings.expect(
            bool(seen) and abs(mean - share) < max(NOTICED_SHARE, 3 * (share * (1 - share) / len(seen)) ** 0.5),
            f"{name}: called for in {len(seen) / len(rewards):.1%} of the tasks, shown in {mean:.1%} of them "
            f"(DEFICITS says {share:.0%}); passed with it {passed(shown[name], True)}, "
            f"without {passed(shown[name], False)}",
        )


def passed(outcomes: list[tuple[bool, float]], present: bool) -> str:
    """Share of the episodes that passed, among those that show a habit or lack it."""
    rewards = [reward >= 1 for shown, reward in outcomes if shown == present]
    return f"{statistics.mean(rewards):.0%}" if rewards else "-"


def check_words(world: World, findings: Findings) -> None:
    """Words are one token each, held-out words are known, transcripts are short."""
    first = world.environment.DEMONSTRATIONS_FROM + 100_000
    taught = [transcripts.demonstration(world, first + i) for i in range(1_900)]
    texts = ["".join(text for text, _ in one) for one in taught]
    tokenizer = transcripts.build_tokenizer(texts, DEMO.vocabulary)
    lengths = sorted(len(tokenizer(text)["input_ids"]) for text in texts)
    findings.expect(
        lengths[-1] <= MOST_TOKENS,
        f"transcripts have {lengths[len(lengths) // 2]} tokens in the middle, {lengths[-1]} at most",
    )
    findings.say(f"the vocabulary has {len(tokenizer)} tokens")
    counts = collections.Counter(word for text in texts for word in WORD.findall(text))
    pieces = {word: len(tokenizer(word)["input_ids"]) for word in counts}
    split = sorted((word for word in counts if pieces[word] > 1 and VALUE.fullmatch(word)), key=lambda w: -counts[w])
    findings.expect(not split, f"values of more than one token: {', '.join(split[:20]) or 'none'}")
    held_out = [transcripts.demonstration_of(world, HELD_OUT + i, {}) for i in range(400)]
    words = {word for one in held_out for text, _ in one for word in WORD.findall(text)}
    new = sorted(words - set(counts))
    findings.expect(not new, f"words of held-out tasks that no demonstration has: {', '.join(new[:20]) or 'none'}")
    train = {world.environment.Environment().reset(TRAIN + i)[-1]["content"] for i in range(2_000)}
    openings = [world.environment.Environment().reset(HELD_OUT + i)[-1]["content"] for i in range(400)]
    same = sum(opening in train for opening in openings)
    findings.expect(same <= 8, f"held-out openings that 2,000 train tasks have word for word: {same} of 400")


def check_labels(world: World, episodes: int, findings: Findings) -> None:
    """The label rules agree with the environment's diagnostics, reading the transcript alone."""
    rules = load_module(world.folder / "analyst" / "labels.py")
    capabilities = json.loads((world.folder / "analyst" / "capabilities.json").read_text())
    if not capabilities:
        findings.say("label rules not tried: capabilities.json is empty; put the planted ids in for a moment")
    environment = world.environment.Environment
    agree, total, examples = collections.Counter(), collections.Counter(), {}
    for seed in range(TRAIN, TRAIN + episodes):
        trajectory, _ = play(environment, seed, world.expert.demonstration(seed))
        known = outcome(environment, trajectory, environment.generate_task(seed))["diagnostics"]
        turns = turns_of(environment, seed, trajectory)
        for entry in capabilities:
            label, step, reason = rules.label(entry["id"], turns)
            if label not in ("NA", "PRESENT", "LACKING") or not isinstance(reason, str):
                findings.expect(False, f"label({entry['id']!r}) gave {label!r}, {step!r}, {reason!r}")
                return
            total[entry["id"]] += 1
            if label == known.get(entry["id"], "na").upper():
                agree[entry["id"]] += 1
            else:
                examples.setdefault(entry["id"], (seed, label, known.get(entry["id"], "na")))
    for name in total:
        seed, label, known = examples.get(name, (None, None, None))
        share = agree[name] / total[name]
        findings.expect(
            share >= 0.97 or name not in world.expert.DEFICITS,
            f"labels of {name} agree with the diagnostics in {share:.1%}"
            + (f"; seed {seed}: {label} against {known}" if seed is not None else ""),
        )


def check_environments(world: World, findings: Findings) -> None:
    """Recorded environments have the agent's tools; their reference solutions earn 1, and not without the habit."""
    tools = world.environment.Environment.tools()
    interface = [(tool["function"]["name"], tool["function"]["parameters"].get("required")) for tool in tools]
    findings.say(f"{len(tools)} tools, say: {hasattr(world.environment.Environment, 'say')}")
    for entry in json.loads((world.folder / "analyst" / "capabilities.json").read_text()):
        words = {part: len(entry[part].split()) for part in ("name", "summary")}
        if words["name"] > 8 or words["summary"] > 12:
            # The prompt asks for that; nothing refuses a longer answer, and it is recorded as it was given.
            findings.say(
                f"{entry['id']}: {words['name']} words of name, {words['summary']} of summary (8, 12 are asked for)"
            )
    try:
        with tempfile.TemporaryDirectory() as out:
            copies = plain_copies(world.folder / "analyst" / "environments", pathlib.Path(out))
            modules = [(path, load_module(path)) for path in copies]
    except RuntimeError as error:
        findings.expect(False, str(error))
        return
    for path, module in modules:
        own = module.Environment.tools()
        same = interface == [(tool["function"]["name"], tool["function"]["parameters"].get("required")) for tool in own]
        rewards, lacking = [], []
        for seed in random.Random(path.stem).sample(range(1_000_000), 50):
            task = module.Environment.generate_task(seed)
            moves = module.Environment.reference_solution(task)
            trajectory, _ = play(module.Environment, seed, moves)
            rewards.append(outcome(module.Environment, trajectory, task)["reward"])
            if skill := set(task.get("skill_calls", [])):
                others = [move for place, move in enumerate(moves) if place not in skill]
                trajectory, _ = play(module.Environment, seed, others)
                lacking.append(outcome(module.Environment, trajectory, task)["reward"])
        succeeding = statistics.mean(reward >= SUCCESS for reward in lacking) if lacking else 1.0
        without = f"{statistics.mean(lacking):.2f} without skill_calls" if lacking else "no task names skill_calls"
        findings.expect(
            same and min(rewards) >= SUCCESS and succeeding <= MOST_WITHOUT_SKILL or ".attempt-" in path.name,
            f"{path.name}: {'the same' if same else 'OTHER'} tools, references earn {min(rewards):.2f} or more, "
            f"{without} on average ({succeeding:.0%} succeed)",
        )


def main() -> int:
    """Runs every check; the last line says how many things must be mended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--episodes", type=int, default=300, help="episodes played for each check (default 300)")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    for file in ("environment.py", "expert.py"):
        if not (folder / file).exists():
            parser.error(f"{folder} has no {file}: it is no world (examples/worlds/README.md)")
    capabilities = folder / "analyst" / "capabilities.json"
    try:
        if capabilities.exists():
            json.loads(capabilities.read_text())
    except json.JSONDecodeError as error:
        parser.error(f"{capabilities}: {error}")
    findings = Findings()
    world = load_world(folder)
    check_expert(world, arguments.episodes, findings)
    check_words(world, findings)
    if capabilities.exists():
        check_environments(world, findings)
        if (folder / "analyst" / "labels.py").exists():
            check_labels(world, arguments.episodes, findings)
    else:
        findings.say("no analyst/capabilities.json yet")
    print(f"{folder.name}: {findings.faults or 'nothing'} to mend")
    return 1 if findings.faults else 0


if __name__ == "__main__":
    sys.exit(main())
