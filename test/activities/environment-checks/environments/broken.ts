/** A good environment with one fault made on purpose, and what the checks must find. */
export interface BrokenEnvironment {
  /** The fault in words. */
  what: string;
  /** Passages that occur once in the good environment, and their replacements. */
  edits: [passage: string, instead: string][];
  /** Names of all checks that fail. */
  fails: string[];
  /** Matches part of the reasons given. */
  reason: RegExp;
}

/** Each is `good/replaying_class.py` with its edits, by name of the fault. */
export const BROKEN: Record<string, BrokenEnvironment> = {
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
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}"},`,
        `            {
                "role": "user",
                "content": f"hello, {task['customer']} here, please post parcel {task['parcel']} with {_stamps(task)} stamps",
            },`,
      ],
    ],
    fails: ['answers'],
    reason: /The opening gives send\.stamps, which has to be found out, in 100 %/,
  },
  answer_spelled_out: {
    what: 'the customer holds the solution in hand',
    edits: [
      [
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}"},`,
        `            {
                "role": "user",
                "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}, correct: {_stamps(task)}",
            },`,
      ],
    ],
    fails: ['answers'],
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
      'malformed-calls',
      'isolated',
    ],
    reason: /nop: Doing nothing earns 1\.00 on average/,
  },
  extra_parameter: {
    what: "one tool takes a parameter that the agent's does not",
    edits: [
      [
        `        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": {"text": text}}`,
        `        shapes = {
            "weigh": {"parcel": text},
            "send": {"parcel": text, "stamps": whole},
            "tell": {"text": text, "tone": text},
        }`,
      ],
    ],
    fails: ['interface'],
    reason: /tell has a parameter tone that the agent's tool does not have/,
  },
  few_tasks: {
    what: 'there are a dozen tasks',
    edits: [[`        rng = random.Random(f"stamps/{seed}")`, `        rng = random.Random(f"stamps/{seed % 12}")`]],
    fails: ['diverse'],
    reason: /188 of 200 tasks nearly repeat another one .* only about 12 different tasks/,
  },
  forbidden_import: {
    what: 'it looks at the machine',
    edits: [
      [
        `import json`,
        `import json
import os`,
      ],
      [
        `        self.calls = 0`,
        `        self.calls = 0
        self.where = os.getcwd()`,
      ],
    ],
    fails: ['imports'],
    reason: /Line \d+ imports os\. Allowed imports: /,
  },
  global_state: {
    what: 'every episode makes the parcels of later ones heavier',
    edits: [
      [
        `TOWNS = "Ghent Lund Metz Nice Oslo Pisa".split()`,
        `TOWNS = "Ghent Lund Metz Nice Oslo Pisa".split()


_seen = []`,
      ],
      [
        `            return _say(parcel=given["parcel"], grams=self.task["grams"])`,
        `            _seen.append(given["parcel"])
            return _say(parcel=given["parcel"], grams=self.task["grams"] + len(_seen))`,
      ],
    ],
    fails: ['deterministic'],
    reason: /different observations of the same calls when asked again in another order/,
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
      'malformed-calls',
    ],
    reason: /nop: Doing nothing earns 0\.50/,
  },
  hash_order: {
    what: 'the order of the words follows the hash seed',
    edits: [
      [
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}"},`,
        `            {
                "role": "user",
                "content": " ".join({"hello", "from", task["customer"], "please", "post", "parcel", task["parcel"]}),
            },`,
      ],
    ],
    fails: ['deterministic'],
    reason: /different opening messages in another process with another hash seed/,
  },
  held_out_text: {
    what: 'it asks what held-out tasks ask',
    edits: [
      [
        `NAMES = "Olga Piet Rosa Sven Tove Ulla Vera Wim".split()`,
        `NAMES = "Olga Piet Rosa Sven Tove Ulla Vera Wim".split()
HELD_OUT = [
    "good morning this is Hanna from Gent and i would like to post parcel P4628",
    "good morning this is {customer} and i would like to post parcel {parcel}",
]`,
      ],
    ],
    fails: ['held-out-text'],
    reason: /The source holds the text of \d+ of 100 held-out tasks/,
  },
  missing_method: {
    what: 'there is no reference solution',
    edits: [[`    def reference_solution(task):`, `    def solution(task):`]],
    fails: ['loads'],
    reason: /class Environment lacks: reference_solution/,
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
    fails: ['isolated'],
    reason: /at most 0\.1 may succeed without the capability/,
  },
  optional_parameter: {
    what: 'no parameter is required',
    edits: [
      [
        `                    "parameters": {"type": "object", "properties": properties, "required": list(properties)},`,
        `                    "parameters": {"type": "object", "properties": properties, "required": []},`,
      ],
    ],
    fails: ['interface'],
    reason: /send requires \[\]; the agent's tool requires \[parcel, stamps\]/,
  },
  other_members: {
    what: 'the scales call the weight by another name',
    edits: [
      [
        `            return _say(parcel=given["parcel"], grams=self.task["grams"])`,
        `            return _say(parcel=given["parcel"], weight=self.task["grams"])`,
      ],
    ],
    fails: ['observation-format'],
    reason: /weigh answers .* has the members \{parcel, weight\} where the agent's has \{grams, parcel\}/,
  },
  raises_on_malformed: {
    what: 'a call without arguments is answered with an exception',
    edits: [
      [
        `        if name not in ("weigh", "send") or given.get("parcel") != self.task["parcel"]:`,
        `        if name not in ("weigh", "send") or given["parcel"] != self.task["parcel"]:`,
      ],
    ],
    fails: ['malformed-calls'],
    reason: /The call \{"name":"weigh","arguments":\{\}\} is not answered with an observation: .*KeyError/,
  },
  reads_the_clock: {
    what: 'the weight depends on the day',
    edits: [
      [
        `import json`,
        `import datetime
import json`,
      ],
      [
        `            "grams": rng.randint(51, 1999),`,
        `            "grams": rng.randint(51, 1999) + datetime.datetime.now().day,`,
      ],
    ],
    fails: ['imports'],
    reason: /Line \d+ reads the clock \(datetime\.now\)/,
  },
  reward_out_of_range: {
    what: 'the full reward is 10',
    edits: [
      [
        `        return (1.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if weighed else 0.4`,
        `        return (10.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if weighed else 0.4`,
      ],
    ],
    fails: ['solvable', 'deterministic'],
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
    fails: ['always-refuse'],
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
  running_number: {
    what: 'tasks differ in a running number only',
    edits: [
      [`        rng = random.Random(f"stamps/{seed}")`, `        rng = random.Random(f"stamps/{seed % 12}")`],
      [
        `            "customer": f"{rng.choice(NAMES)} from {rng.choice(TOWNS)}",`,
        `            "customer": f"{rng.choice(NAMES)} from {rng.choice(TOWNS)} ticket {seed}",`,
      ],
    ],
    fails: ['diverse'],
    reason: /188 of 200 tasks nearly repeat another one/,
  },
  seed_ignored: {
    what: 'every seed gives the same task',
    edits: [[`        rng = random.Random(f"stamps/{seed}")`, `        rng = random.Random("stamps")`]],
    fails: ['diverse'],
    reason: /only about 1 different tasks/,
  },
  syntax_error: {
    what: 'a bracket is missing',
    edits: [[`    return json.dumps(members)`, `    return json.dumps(members`]],
    fails: ['parses'],
    reason: /Line \d+ is not Python: '\(' was never closed/,
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
    reason: /does not say in "skill_calls"/,
  },
  unseeded: {
    what: 'the weight is drawn anew every time',
    // From a range in which no two draws take as many stamps: with 20 possible counts a guess is right by chance now
    // and then, and other checks pass.
    edits: [
      [`            "grams": rng.randint(51, 1999),`, `            "grams": random.Random().randint(51, 10**12),`],
    ],
    fails: ['solvable', 'deterministic', 'isolated'],
    reason: /deterministic: .* different hidden task when asked again/,
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
    fails: ['solvable', 'isolated'],
    reason: /solvable: The reference solution of seed \d+ earns 0\.10 instead of 1/,
  },
  wrong_observation_format: {
    what: 'the scales answer in words instead of JSON',
    edits: [
      [
        `            return _say(parcel=given["parcel"], grams=self.task["grams"])`,
        `            return f"{given['parcel']} weighs {self.task['grams']} g"`,
      ],
    ],
    fails: ['observation-format'],
    reason: /weigh answers "P\d+ weighs \d+ g", which is text where the agent's has object/,
  },
  wrong_tool_name: {
    what: "one tool has another name than the agent's",
    edits: [
      [
        `        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": {"text": text}}`,
        `        shapes = {"weigh": {"parcel": text}, "post": {"parcel": text, "stamps": whole}, "tell": {"text": text}}`,
      ],
    ],
    fails: ['interface'],
    reason: /tools\(\) lacks send, which the agent has/,
  },
  wrong_type: {
    what: 'the number of stamps is text',
    edits: [
      [
        `        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": {"text": text}}`,
        `        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": text}, "tell": {"text": text}}`,
      ],
    ],
    fails: ['interface'],
    reason: /send: the parameter stamps is \{"type":"string"\}/,
  },
};

/** The source with the edits made. Throws RangeError when a passage does not occur exactly once. */
export function edited(good: string, edits: BrokenEnvironment['edits']): string {
  return edits.reduce((source, [passage, instead]) => {
    const parts = source.split(passage);
    if (parts.length !== 2)
      throw new RangeError(`The good environment has ${parts.length - 1} passages ${JSON.stringify(passage)}.`);
    return parts.join(instead);
  }, good);
}

/** The source of a broken environment. */
export const breakEnvironment = (good: string, { edits }: BrokenEnvironment): string => edited(good, edits);
