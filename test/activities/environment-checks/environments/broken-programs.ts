import type { BrokenEnvironment } from './broken-environment';

/** Faults of the program: its source, its interface to the target, and what must not differ between two runs. */
export const BROKEN_PROGRAMS: Record<string, BrokenEnvironment> = {
  extra_parameter: {
    what: "one tool takes a parameter that the agent's does not",
    edits: [
      [
        '        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": ' +
          '{"text": text}}',
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
    fails: ['deterministic', 'kept-state'],
    reason: /different observations of the same calls when asked again in another order/,
  },
  hash_order: {
    what: 'the order of the words follows the hash seed',
    edits: [
      [
        `            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel ` +
          `{task['parcel']}"},`,
        `            {
                "role": "user",
                "content": " ".join({"hello", "from", task["customer"], "please", "post", "parcel", task["parcel"]}),
            },`,
      ],
    ],
    fails: ['deterministic'],
    perhaps: ['derivable', 'solutions'],
    reason: /different opening messages in (another process with another hash seed|a process that is not asked)/,
  },
  missing_method: {
    what: 'there is no reference solution',
    edits: [[`    def reference_solution(task):`, `    def solution(task):`]],
    fails: ['loads'],
    reason: /class Environment lacks: reference_solution/,
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
  running_number: {
    what: 'tasks differ in a running number only',
    edits: [
      [`        rng = random.Random(f"stamps/{seed}")`, `        rng = random.Random(f"stamps/{seed % 12}")`],
      [
        `            "customer": f"{rng.choice(NAMES)} from {rng.choice(TOWNS)}",`,
        `            "customer": f"{rng.choice(NAMES)} from {rng.choice(TOWNS)} ticket {seed}",`,
      ],
    ],
    fails: ['diverse', 'wording', 'solutions'],
    reason: /188 of 200 tasks nearly repeat another one/,
  },
  seed_ignored: {
    what: 'every seed gives the same task',
    edits: [[`        rng = random.Random(f"stamps/{seed}")`, `        rng = random.Random("stamps")`]],
    fails: ['diverse', 'answers'],
    reason: /only about 1 different tasks/,
  },
  syntax_error: {
    what: 'a bracket is missing',
    edits: [[`    return json.dumps(members)`, `    return json.dumps(members`]],
    fails: ['parses'],
    reason: /Line \d+ is not Python: '\(' was never closed/,
  },
  unseeded: {
    what: 'the weight is drawn anew every time',
    // From a range in which no two draws take as many stamps: with 20 possible counts a guess is right by chance now
    // and then, and other checks pass.
    edits: [
      [`            "grams": rng.randint(51, 1999),`, `            "grams": random.Random().randint(51, 10**12),`],
    ],
    fails: ['solvable', 'deterministic', 'isolated'],
    // Its solutions are drawn anew each time: whether changed ones succeed is chance.
    perhaps: ['alternatives', 'faults', 'solutions', 'tool-answers', 'answers'],
    reason: /deterministic: .* different hidden task when asked again/,
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
        '        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": ' +
          '{"text": text}}',
        '        shapes = {"weigh": {"parcel": text}, "post": {"parcel": text, "stamps": whole}, "tell": ' +
          '{"text": text}}',
      ],
    ],
    fails: ['interface'],
    reason: /tools\(\) lacks send, which the agent has/,
  },
  wrong_type: {
    what: 'the number of stamps is text',
    edits: [
      [
        '        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": ' +
          '{"text": text}}',
        '        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": text}, "tell": ' +
          '{"text": text}}',
      ],
    ],
    fails: ['interface'],
    reason: /send: the parameter stamps is \{"type":"string"\}/,
  },
};
