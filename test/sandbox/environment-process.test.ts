// integration
import { type EnvironmentProcess, openEnvironment, SandboxError } from '../../sandbox';
import { loadProfile } from '../../sandbox/profile';
import {
  BadRequest,
  BadReturn,
  EnvironmentClosed,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
  NoSuchEpisode,
} from '../helpers/sandbox-errors';

const ADDER = `
class Environment:
    @staticmethod
    def tools():
        parameters = {"type": "object", "properties": {"n": {"type": "integer"}}}
        return [{"type": "function", "function": {"name": "add", "description": "adds n", "parameters": parameters}}]
    @staticmethod
    def generate_task(seed):
        return {"target": seed % 10, "tags": ["even"] if seed % 2 == 0 else []}
    def reset(self, seed):
        self.total, self.target = 0, seed % 10
        return [{"role": "system", "content": "Add up."}, {"role": "user", "content": f"Reach {self.target}."}]
    def step(self, call):
        self.total += call["arguments"]["n"]
        return {"observation": str(self.total), "done": self.total >= self.target}
    def say(self, text):
        return {"observation": "Go on." if text != "bye" else "", "done": text == "bye"}
    @staticmethod
    def evaluate(trajectory, task):
        total = sum(entry["call"]["arguments"]["n"] for entry in trajectory if "call" in entry)
        diagnostics = {"adds": "present" if total else "lacking"}
        return {"reward": 1.0 if total == task["target"] else 0.25, "diagnostics": diagnostics}
    @staticmethod
    def reference_solution(task):
        return [{"name": "add", "arguments": {"n": task["target"]}}]
    @staticmethod
    def hints(task):
        return [f"add {task['target']}"]
`;

const opened: EnvironmentProcess[] = [];
async function open(
  source = ADDER,
  edit: Partial<ReturnType<typeof loadProfile>['profile']> = {},
): Promise<EnvironmentProcess> {
  const { profile, folder } = loadProfile();
  const environment = await openEnvironment({
    source,
    trust: 'owner',
    name: 'adder',
    profile: { folder, profile: { ...profile, ...edit } },
  });
  opened.push(environment);
  return environment;
}
afterEach(async () => void (await Promise.all(opened.splice(0).map((environment) => environment.close()))));

const add = (n: number) => [{ name: 'add', arguments: { n } }];

test('an episode from reset to reward', async () => {
  const environment = await open();
  expect(environment.isolation).toBe('owner-jail');
  expect(environment.sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(await environment.describe()).toMatchObject({ hasSay: true, hasHints: true });
  expect(await environment.reset('a', 14)).toEqual({
    messages: [
      { role: 'system', content: 'Add up.' },
      { role: 'user', content: 'Reach 4.' },
    ],
    tags: ['even'],
  });
  expect(await environment.step('a', [...add(1), ...add(2)])).toEqual({ observations: ['1', '3'], done: false });
  expect(await environment.say('a', 'almost')).toEqual({ observations: ['Go on.'], done: false });
  expect(await environment.step('a', [...add(1), ...add(5)])).toEqual({ observations: ['4'], done: true });
  expect(await environment.evaluate('a')).toEqual({ reward: 1, diagnostics: { adds: 'present' } });
  await expect(environment.evaluate('a')).rejects.toBeInstanceOf(NoSuchEpisode);
});

test('task, reference and hints need no episode', async () => {
  const environment = await open();
  expect(await environment.task(7)).toEqual({ target: 7, tags: [] });
  expect(await environment.reference(7)).toEqual(add(7));
  expect(await environment.request('hints', { seed: 7 })).toEqual({ hints: ['add 7'] });
});

test('many episodes at once share lines and keep apart', async () => {
  const environment = await open();
  const rewards = await Promise.all(
    Array.from({ length: 64 }, async (_, seed) => {
      const episode = `episode-${seed}`;
      await environment.reset(episode, seed);
      for (let step = 0; step < seed % 10; step++) await environment.step(episode, add(1));
      return (await environment.evaluate(episode)).reward;
    }),
  );
  expect(rewards).toEqual(Array.from({ length: 64 }, () => 1));
});

test('one failing request in a batch fails alone', async () => {
  const environment = await open();
  for (const episode of ['a', 'b']) await environment.reset(episode, 1);
  const outcomes = await Promise.allSettled([
    environment.step('a', add(1)),
    environment.step('b', [{ name: 'add', arguments: {} }]),
    environment.task(0.5),
    environment.task(2),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect((outcomes[1] as PromiseRejectedResult).reason).toBeInstanceOf(EnvironmentRaised);
  expect(((outcomes[1] as PromiseRejectedResult).reason as SandboxError).traceback).toMatch(
    /environment\.py:\d+ in step: self\.total \+= call/,
  );
  expect((outcomes[2] as PromiseRejectedResult).reason).toBeInstanceOf(BadRequest);
});

test('results that do not fit one response line are asked for again, once each', async () => {
  const environment = await open(
    ADDER.replace(
      'def hints(task):',
      'def hints(task):\n        Environment.asked = getattr(Environment, "asked", 0) + 1\n' +
        '        return ["x" * 200000, str(Environment.asked)]',
    ),
  );
  const hints = await Promise.all(Array.from({ length: 12 }, (_, seed) => environment.request('hints', { seed })));
  expect(hints.map(({ hints: [, asked] }) => Number(asked)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
});

test('faults of the source are told with its line', async () => {
  await expect(open('x = (')).rejects.toThrow(/SyntaxError[^]*environment\.py:1 in <module>$/);
  await expect(open('raise ValueError("ours")\nclass Environment: pass')).rejects.toThrow(
    /ValueError: ours[^]*environment\.py:1 in <module>: raise ValueError\("ours"\)$/,
  );
  await expect(open('import nowhere')).rejects.toBeInstanceOf(EnvironmentRaised);
  await expect(open('import sys\nsys.exit(0)')).rejects.toBeInstanceOf(EnvironmentRaised);
  await expect(open('class Environment:\n    def step(self, call): pass')).rejects.toThrow(
    /lacks: tools, generate_task, reset, evaluate, reference_solution/,
  );
  await expect(open('Environment = 1')).rejects.toBeInstanceOf(BadReturn);
});

// Whoever writes an agent.yaml may name any file of the worker's machine as its environment.
test.each([
  ['that is no Python', 'DB_PASSWORD = hunter2 !! x', /SyntaxError: invalid syntax[^]*environment\.py:1 in <module>$/],
  ['of variables', 'A = "x"\nDB_PASSWORD=hunter2', /NameError: its text is not shown[^]*environment\.py:2 in \?$/],
  ['of fields', 'password: hunter2', /NameError: its text is not shown/],
  ['with another Environment', 'import os\nos.Environment("hunter2")', /AttributeError: its text is not shown/],
  ['with NUL', 'PATH=/bin\0DB_PASSWORD=hunter2', /Error/],
])('faults of a file %s do not show its content', async (_, source, says) => {
  const failure: unknown = await open(source).then(
    () => null,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(SandboxError);
  expect((failure as Error).message).toMatch(says);
  expect((failure as Error).message).not.toContain('hunter2');
});

test('a hang rejects every waiting request and later ones', async () => {
  const { wallMs } = loadProfile().profile;
  const environment = await open(
    ADDER.replace('self.total += call', 'import time; time.sleep(100); self.total += call'),
    {
      wallMs: { ...wallMs, request: 5_000 },
    },
  );
  await environment.reset('a', 1);
  const waiting = [environment.step('a', add(1)), environment.task(1), environment.task(2)];
  for (const promise of waiting) await expect(promise).rejects.toBeInstanceOf(EnvironmentHung);
  expect(environment.alive).toBe(false);
  await expect(environment.task(3)).rejects.toBeInstanceOf(EnvironmentHung);
});

test('a process that is killed from outside is reported with its signal', async () => {
  const environment = await open(
    ADDER.replace('self.total += call', 'import os; os.write(2, b"help"); os.kill(os.getpid(), 9); self.total += call'),
  );
  await environment.reset('a', 1);
  await expect(environment.step('a', add(1))).rejects.toMatchObject({
    type: 'Sandbox.EnvironmentKilled',
    message: expect.stringMatching(/killed by SIGKILL, and not by a limit of its own.*help/s) as string,
  });
  await expect(environment.task(1)).rejects.toBeInstanceOf(EnvironmentDied);
});

test('closing rejects what waits, and may be done twice', async () => {
  const environment = await open();
  const waiting = environment.task(1);
  const closing = environment.close();
  await expect(waiting).rejects.toBeInstanceOf(EnvironmentClosed);
  await closing;
  await environment.close();
  await expect(environment.task(1)).rejects.toBeInstanceOf(EnvironmentClosed);
});

test('a request over the line cap is refused without being sent', async () => {
  const environment = await open();
  await environment.reset('a', 1);
  await expect(environment.say('a', 'x'.repeat(2 << 20))).rejects.toBeInstanceOf(BadRequest);
  expect(environment.alive).toBe(true);
  await expect(open(`${ADDER}\n# ${'x'.repeat(2 << 20)}`)).rejects.toMatchObject({ type: 'Sandbox.SourceTooLarge' });
});

test('every error is a SandboxError with a dotted type', async () => {
  const environment = await open();
  const error: unknown = await environment.evaluate('nothing').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SandboxError);
  expect(error).toMatchObject({ name: 'NoSuchEpisode', type: 'Sandbox.NoSuchEpisode', retryable: false });
});
