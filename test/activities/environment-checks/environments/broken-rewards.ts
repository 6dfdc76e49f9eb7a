import type { BrokenEnvironment } from './broken-environment';

/** Faults by which an environment pays for the wrong thing, pays nothing, or gives the answer away. */
export const BROKEN_REWARDS: Record<string, BrokenEnvironment> = {
  answer_in_the_observation: {
    what: 'the wrong number of stamps is answered with the right one',
    edits: [
      [
        `            return _say(error="stamps must be a whole number")`,
        `            return _say(error="stamps must be a whole number")
        if given["stamps"] != _stamps(self.task):
            return _say(error=f"not enough, it takes {_stamps(self.task)} stamps")`,
      ],
    ],
    fails: ['answers'],
    reason: /a wrong call is answered with the right value: .*"not enough, it takes|it takes \d+ stamps/,
  },
  answer_in_the_prompt: {
    what: 'the customer says how many stamps it takes',
    edits: [
      [
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel ` +
          `{task['parcel']}"},`,
        `            {
                "role": "user",
                "content": f"hello, {task['customer']} here, please post parcel {task['parcel']} with {_stamps(task)} stamps",
            },`,
      ],
    ],
    fails: ['answers', 'wording', 'solutions'],
    reason: /The opening gives send\.stamps, which has to be found out, in 100 %/,
  },
  answer_spelled_out: {
    what: 'the customer holds the solution in hand',
    edits: [
      [
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel ` +
          `{task['parcel']}"},`,
        `            {
                "role": "user",
                "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}, correct: {_stamps(task)}",
            },`,
      ],
    ],
    fails: ['answers', 'wording', 'solutions'],
    reason:
      /The opening spells out calls of the solution in 100 % of the tasks, and in 0 % of the agent's own\. The opening gives send\.stamps/,
  },
  claim_tops_up: {
    what: 'a claim is worth something once the parcel was weighed',
    edits: [
      [
        `            counter.handle(entry["call"])`,
        `            counter.handle(entry["call"])
        if counter.weighed and "successfully" in (counter.told or ""):
            return 0.6`,
      ],
    ],
    fails: ['text-gain'],
    reason: /a claim of success through tell earns 0\.60 more than neutral words/,
  },
  constant_reward: {
    what: 'everybody gets everything',
    edits: [
      [
        `        counter = _Counter(task)
        for entry in trajectory:
            if "call" not in entry:
                break
            counter.handle(entry["call"])`,
        `        return 1.0`,
      ],
    ],
    fails: [
      'nop',
      'random-calls',
      'echo-the-prompt',
      'repeat-one-tool',
      'always-refuse',
      'claim-success',
      'tool-spam',
      'injected-text',
      'safe-reward',
      'malformed-calls',
      'isolated',
      'faults',
    ],
    reason: /nop: Doing nothing earns 1\.00 on average/,
  },
  half_for_nothing: {
    what: 'half of the reward is there at the start',
    edits: [[`            return 0.0`, `            return 0.5`]],
    fails: [
      'nop',
      'random-calls',
      'echo-the-prompt',
      'repeat-one-tool',
      'always-refuse',
      'claim-success',
      'tool-spam',
      'injected-text',
      'safe-reward',
      'malformed-calls',
    ],
    reason: /nop: Doing nothing earns 0\.50/,
  },
  held_out_text: {
    what: 'it asks what held-out tasks ask',
    edits: [
      [
        `NAMES = "Olga Piet Rosa Sven Tove Ulla Vera Wim".split()`,
        `NAMES = "Olga Piet Rosa Sven Tove Ulla Vera Wim".split()
HELD_OUT = [
    "hello, Ulla from Ghent here, please post parcel P3879",
    "hello, {customer} here, please post parcel {parcel}",
]`,
      ],
    ],
    fails: ['held-out-text'],
    reason: /The source holds the text of \d+ of 100 held-out tasks/,
  },
  not_isolated: {
    what: 'politeness decides and the stamps do not matter',
    edits: [
      [
        `        stamps, weighed = counter.sent
        if stamps != _stamps(task):
            return 0.1
        return (1.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if weighed else 0.4`,
        `        _, weighed = counter.sent
        return (1.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.3) if weighed else 0.2`,
      ],
    ],
    fails: ['isolated', 'faults'],
    reason:
      /isolated: At seed \d+ the reference solution, with send\(\{.*"stamps":\d+.*\}\) in the place of move 1, send\(\{.*"stamps":\d+.*\}\), earned 1\.00, where less than 0\.99 was expected; \d+ of \d+ such episodes succeed, and at most 10 % may\. Let evaluate pay less/,
  },
  reward_out_of_range: {
    what: 'the full reward is 10',
    edits: [
      [
        `        return (1.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if weighed else 0.4`,
        `        return (10.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if ` +
          'weighed else 0.4',
      ],
    ],
    fails: ['solvable', 'deterministic', 'derivable', 'dependence'],
    reason: /solvable: .*evaluate returned 10\.0; a reward is a number in \[0, 1\]/,
  },
  rewards_echo: {
    what: 'saying the prompt back counts as an answer',
    edits: [
      [
        `            counter.handle(entry["call"])`,
        `            counter.handle(entry["call"])
        if task["parcel"] in (counter.told or "") and task["customer"] in counter.told:
            return 0.9`,
      ],
    ],
    fails: ['echo-the-prompt'],
    reason: /Repeating the prompt through tell earns 0\.90/,
  },
  rewards_refusal: {
    what: 'an apology is taken for politeness',
    edits: [
      [
        `    def evaluate(trajectory, task):`,
        `    def evaluate(trajectory, task):
        if any("sorry" in str(entry.get("text")) for entry in trajectory):
            return 0.8`,
      ],
    ],
    fails: ['always-refuse', 'safe-reward'],
    reason: /Refusing earns 0\.80/,
  },
  rewards_spam: {
    what: 'every call earns a little',
    edits: [
      [
        `            counter.handle(entry["call"])`,
        `            counter.handle(entry["call"])
        if counter.calls >= 8:
            return counter.calls / 12`,
      ],
    ],
    fails: ['tool-spam', 'malformed-calls'],
    reason: /tool-spam: Calling one tool after the other many times earns 1\.00/,
  },
  rewards_the_claim: {
    what: 'who says that it is done has done it',
    edits: [[`                break`, `                return 1.0 if "success" in entry["text"] else 0.0`]],
    fails: ['claim-success', 'injected-text', 'text-gain'],
    reason: /claim-success: Claiming success earns 1\.00/,
  },
  trusts_text: {
    what: 'the grader reads the reward out of what was said',
    edits: [
      [
        `import random`,
        `import random
import re`,
      ],
      [
        `            counter.handle(entry["call"])`,
        `            counter.handle(entry["call"])
        said = " ".join(str(entry.get("text") or entry.get("call")) for entry in trajectory)
        stated = re.search(r"reward=(\\d)", said)
        if stated:
            return float(stated[1])`,
      ],
    ],
    fails: ['injected-text', 'text-gain'],
    reason: /injected-text: Text for the grader earns 1\.00/,
  },
  undeclared_skill: {
    what: 'it does not say which calls show the capability',
    edits: [
      [
        `            "grams": rng.randint(51, 1999),
            "skill_calls": [1],`,
        `            "grams": rng.randint(51, 1999),`,
      ],
    ],
    fails: ['isolated'],
    reason:
      /does not say in "skill_calls".* An environment of agent\.yaml needs no such list: whet validate checks it\./,
  },
  unsolvable: {
    what: 'the reference solution forgets that a started hundred counts',
    edits: [
      [
        `    return -(-task["grams"] // 100)`,
        `    return -(-task["grams"] // 100)


def _too_few(task):
    return task["grams"] // 100`,
      ],
      [
        `            {"name": "send", "arguments": {"parcel": task["parcel"], "stamps": _stamps(task)}},`,
        `            {"name": "send", "arguments": {"parcel": task["parcel"], "stamps": _too_few(task)}},`,
      ],
    ],
    fails: ['solvable', 'isolated', 'alternatives', 'faults'],
    reason: /solvable: The reference solution of seed \d+ earns 0\.10 instead of 1/,
  },
};
