import type { SandboxError } from '../../../sandbox';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from '../hostile';
import type { Attack } from './attack';
import { BadReturn, EnvironmentRaised } from '../../helpers/sandbox-errors';

const REWARDS: readonly (readonly [name: string, expression: string])[] = [
  ['NaN', 'float("nan")'],
  ['infinity', 'float("inf")'],
  ['a boolean', 'True'],
  ['a number above 1', '1.0001'],
  ['a number below 0', '-1e-9'],
  ['a huge integer', '10 ** 400'],
  ['text', '"1"'],
  ['nothing', 'None'],
  ['an object', 'object()'],
  ['a set', '{1}'],
  [
    'a number that says it is in range',
    'type("Sly", (float,), {"__le__": lambda *_: True, "__ge__": lambda *_: True})(9)',
  ],
  [
    'an integer with methods of its own',
    'type("Sly", (int,), {"__repr__": lambda _: "0.5", "__str__": lambda _: "0.5"})(7)',
  ],
];

const TASKS: readonly (readonly [name: string, statements: string])[] = [
  ['nests 100,000 deep', 'nested = {}\nfor _ in range(100000):\n    nested = {"n": nested}\nreturn nested'],
  ['nests just over the cap', 'nested = "x"\nfor _ in range(70):\n    nested = [nested]\nreturn {"n": nested}'],
  ['holds itself', 'loop = {}\nloop["self"] = loop\nreturn loop'],
  [
    'yields without end',
    'class Endless(dict):\n    def items(self):\n        while True:\n            yield ("k", "v" * 1000000)\n' +
      'return Endless(a=1)',
  ],
  ['is larger than the cap', 'return {"x": "y" * (1 << 20)}'],
  ['holds NaN', 'return {"x": float("nan")}'],
  ['holds bytes', 'return {"x": b"y"}'],
  ['has keys that are no text', 'return {(1, 2): "x"}'],
  ['raises while it is read', 'class Trap(dict):\n    def items(self):\n        raise SystemExit(0)\nreturn Trap(a=1)'],
];

const OBSERVATIONS: readonly (readonly [name: string, value: string])[] = [
  ['ten million characters', '"x" * 10_000_000'],
  ['lone surrogates', '"\\ud800"'],
  ['half a pair of surrogates', '"\\udc00\\ud83d"'],
];

const indent = (statements: string): string =>
  statements
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');

/** Values that an environment returns: rewards, tasks, observations, exceptions. */
export const RESULTS: readonly Attack[] = [
  ...REWARDS.map(([name, expression]) => ({
    name: `a reward that is ${name}`,
    run: async () => {
      const environment = await openHostile(
        hostileSource('return "x"', `@staticmethod\ndef evaluate(trajectory, task):\n    return ${expression}`),
      );
      await expect(environment.evaluate('e')).rejects.toBeInstanceOf(BadReturn);
      await environment.reset('again', 1);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  })),
  ...TASKS.map(([name, statements]) => ({
    name: `a task that ${name}`,
    run: async () => {
      const generate =
        `@staticmethod\ndef generate_task(seed):\n    if seed == 1:\n        return {}\n` + `${indent(statements)}`;
      const environment = await openHostile(hostileSource('return "x"', generate));
      await expect(environment.task(2)).rejects.toBeInstanceOf(BadReturn);
      expect(await environment.task(1)).toEqual({});
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  })),
  ...OBSERVATIONS.map(([name, value]) => ({
    name: `an observation of ${name}`,
    body: `return ${value}`,
    expected: BadReturn,
  })),
  {
    name: 'an observation with control characters',
    body: 'return "a\\x00\\x1b[2J\\u2028\\r\\nb\\n{\\"id\\":3}"',
    expected: 'a\x00\x1b[2J\u2028\r\nb\n{"id":3}',
  },
  {
    name: 'an observation that is a subclass of text',
    members: `
def step(self, call):
    class Sly(str):
        def encode(self, *_): os._exit(9)
        def __str__(self): os._exit(9)
        def __len__(self): return 1
    return {"observation": Sly("honest"), "done": False}`,
    body: 'return ""',
    expected: 'honest',
  },
  {
    name: 'an answer that is a list',
    members: 'def step(self, call):\n    return ["observation", "done"]',
    body: 'return ""',
    expected: BadReturn,
  },
  {
    name: 'an end that is not a truth value',
    members: 'def step(self, call):\n    return {"observation": "", "done": 1}',
    body: 'return ""',
    expected: BadReturn,
  },
  {
    name: 'an answer whose keys lie about themselves',
    members: `
def step(self, call):
    class Key(str):
        def __eq__(self, other): os._exit(9)
        def __hash__(self): return hash("observation")
    return {Key("observation"): "x", "done": False}`,
    body: 'return ""',
    expected: /^x$/,
  },
  {
    name: 'changing the recorded call',
    run: async () => {
      const environment = await openHostile(
        hostileSource(
          'call["arguments"]["n"] = 99\ncall["name"] = "other"\nreturn "changed"',
          '@staticmethod\ndef evaluate(trajectory, task):\n' +
            '    return 1.0 if trajectory[0]["call"] == {"name": "go", "arguments": {"n": 1}} else 0.0',
        ),
      );
      await environment.step('e', [{ name: 'go', arguments: { n: 1 } }]);
      expect((await environment.evaluate('e')).reward).toBe(1);
      await environment.close();
    },
  },
  {
    name: 'exceptions that are no Exception',
    run: async () => {
      const environment = await openHostile(
        hostileSource(`
class Odd(BaseException):
    pass
raise {"exit": SystemExit(0), "interrupt": KeyboardInterrupt(), "generator": GeneratorExit(),
       "odd": Odd("odd")}[call["arguments"]["kind"]]`),
      );
      for (const kind of ['exit', 'interrupt', 'generator', 'odd']) {
        await expect(environment.step('e', [{ name: 'go', arguments: { kind } }])).rejects.toBeInstanceOf(
          EnvironmentRaised,
        );
      }
      expect((await environment.evaluate('e')).reward).toBe(1);
      await environment.close();
    },
  },
  {
    name: 'an exception whose text is hostile',
    run: async () => {
      const got = await attackInJail(`
class Evil(str):
    def __getitem__(self, index):
        os._exit(9)
    def __format__(self, spec):
        os._exit(9)
class Nasty(Exception):
    def __str__(self):
        return Evil("boo" * 10_000_000)
raise Nasty()`);
      expect(got).toBeInstanceOf(EnvironmentRaised);
      expect((got as SandboxError).message.length).toBeLessThan(6_000);
    },
  },
  {
    name: 'an exception whose __str__ raises',
    run: async () => {
      const got = await attackInJail(
        'class Mute(Exception):\n    def __str__(self):\n        raise SystemExit\nraise Mute()',
      );
      expect(got).toBeInstanceOf(EnvironmentRaised);
      expect((got as SandboxError).traceback).toMatch(/environment\.py:\d+ in attack: raise Mute\(\)/);
    },
  },
  {
    name: 'a chain of 100,000 exceptions',
    body: `
error = None
for _ in range(100000):
    fresh = ValueError("link")
    fresh.__context__ = error
    error = fresh
raise error`,
    expected: EnvironmentRaised,
  },
  {
    name: 'an exception group that nests',
    body: 'error = ValueError("x")\nfor _ in range(5000):\n    error = ExceptionGroup("g", [error])\nraise error',
    expected: EnvironmentRaised,
  },
];
