// Tier: jail (real jail and runtime; no model).
import { readFileSync } from 'node:fs';
import { createValidationActivities } from '../../../activities/validate';
import { environmentAttemptSchema, type RunContext } from '../../../contracts';
import { getJson } from '../../../store';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const good = readFileSync(fixturePath('parcel_desk.py'), 'utf8');
const capability = { id: 'stamps', name: 'Stamps', summary: 'count the stamps' };

/** The good environment with one thing changed; the text must be there. */
function changed(from: string, to: string): string {
  if (!good.includes(from)) throw new Error(`The fixture does not contain ${from}`);
  return good.replaceAll(from, to);
}

describe('validateEnvironment', () => {
  let fixture: RunFixture;
  let context: RunContext;

  beforeAll(async () => {
    fixture = new RunFixture();
    context = await fixture.prepare('http://127.0.0.1:9/v1');
  });
  afterAll(() => fixture.dispose());

  const validate = async (source: string) => {
    const ref = await fixture.store.put('runs/run-1/environments/stamps', 'environment.py', source);
    const result = await fixture.run(createValidationActivities(fixture.deps).validateEnvironment, { context, capability, source: ref });
    const detail = await getJson(fixture.store, result.detail, environmentAttemptSchema.shape.validation);
    expect({ passed: detail.passed, problems: detail.problems }).toEqual({ passed: result.passed, problems: result.problems });
    return { ...result, failed: detail.checks.filter(({ passed }) => !passed).map(({ name }) => name), checks: detail.checks };
  };

  test('a good environment passes every check', async () => {
    const { passed, problems, checks } = await validate(good);
    expect(problems).toEqual([]);
    expect(passed).toBe(true);
    expect(checks).toHaveLength(11);
    expect(fixture.heartbeats.at(-1)).toMatchObject({ stage: 'sharpen', unit: 'checks', done: 11, total: 11 });
  });

  // prettier-ignore
  const cases: [name: string, source: string, failed: string[], problem: RegExp][] = [
    ['a file that is not Python', 'class Environment(:\n', ['static', 'loads'], /static: Line 1 is not Python/],
    ['a module without the class', 'x = 1\n', ['loads'], /loads: .*defines no class/],
    ['a forbidden import', changed('import random\n', 'import os\nimport random\n'), ['static'], /static: Line \d+ imports os\. Allowed imports: .*\bjson\b/],
    ['a hidden import', changed('import random\n', 'random = __import__("random")\n'), ['static'], /static: Line \d+ uses __import__/],
    ['another interface', changed('_tool("send"', '_tool("post"'), ['interface'], /interface: tools\(\) lacks send, which the agent has/],
    ['another type', changed('"type": "integer"', '"type": "string"'), ['interface'], /interface: send: the parameter stamps is/],
    ['shared random numbers', changed('rng.randint', 'random.randint'), ['static', 'deterministic', 'solvable'], /static: Line \d+ uses random\.randint: draw from/],
    [
      'an order that depends on the process',
      changed('f"please send parcel {self.task[\'parcel\']}"', '" ".join({"please", "send", "parcel", "now", self.task["parcel"]})'),
      ['deterministic'],
      /deterministic: .* in another process/,
    ],
    ['one task for all seeds', changed('random.Random(seed)', 'random.Random(7)'), ['diverse'], /diverse: 100 seeds gave 1 different openings/],
    ['an unsolvable task', changed('reward = 1.0 if', 'reward = 0.7 if'), ['solvable'], /solvable: The reference solution of seed 500000 earns 0\.70/],
    ['a reward for nothing', changed('weighed, reward = False, 0.0', 'weighed, reward = False, 0.5'), ['nop', 'random-calls', 'repeat-one-tool', 'claim-success'], /nop: Doing nothing earns 0\.50/],
    ['a reward for talk', changed('if call is None or', 'if call is None:\n                reward = 1.0\n                continue\n            if'), ['claim-success'], /claim-success: Claiming success earns 1\.00/],
    ['a reward for one tool', changed('weighed = True', 'weighed, reward = True, 1.0'), ['repeat-one-tool'], /repeat-one-tool: Calling only weigh earns 0\.\d+/],
    ['exceptions on clumsy calls', changed('arguments.get("parcel") != self', 'arguments["parcel"] != self'), ['tolerant'], /tolerant: The call \{"name":"no_such_tool".*KeyError/],
  ];

  test.each(cases)('%s is rejected', async (_, source, failed, problem) => {
    const result = await validate(source);
    expect(result.passed).toBe(false);
    expect(result.failed).toEqual(failed);
    expect(result.problems.join('\n')).toMatch(problem);
  });

  test('an environment that ends its process fails its checks and not the activity', async () => {
    const result = await validate(changed('return {"observation": "sent", "done": True}', '__builtins__["__import__"]("os")._exit(1)'));
    expect(result.passed).toBe(false);
    expect(result.failed).toContain('solvable');
  });
});
