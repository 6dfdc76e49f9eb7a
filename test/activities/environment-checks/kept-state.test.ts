// Tier: jail (real jail and runtime; no model).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import { checkKeptState } from '../../../activities/environment-checks/kept-state';
import { openEnvironment } from '../../../sandbox';

const good = readFileSync(join(__dirname, 'environments', 'good', 'replaying_class.py'), 'utf8');
const tasks = [1, 2, 3].map((seed): EnvironmentTask => ({ seed, messages: [], reference: [], skillCalls: [] }));

const check = (source: string) => checkKeptState(openEnvironment, { source, name: 'test' }, tasks, ['hello there']);
/** The good environment with a line of the module, and one of the method that makes a task. */
function keeping(line: string, use: string): string {
  const made = '        rng = random.Random(f"stamps/{seed}")\n';
  expect(good.split(made)).toHaveLength(2);
  return good.replace('class _Counter:', `${line}\n\n\nclass _Counter:`).replace(made, `        ${use}\n${made}`);
}

test('an environment that keeps nothing passes, and so does one with a cache', async () => {
  await expect(check(good)).resolves.toMatchObject({ passed: true });
  const cached = keeping('import functools\n\n\n@functools.cache\ndef square(n):\n    return n * n', 'square(seed)');
  await expect(check(cached)).resolves.toMatchObject({ passed: true });
  const asked = keeping('import abc\n\n\nclass Kind(abc.ABC):\n    pass', 'isinstance(seed, Kind)');
  await expect(check(asked)).resolves.toMatchObject({ passed: true });
  const instance = keeping('class Kind:\n    pass\n\n\nONE = Kind()', 'isinstance(seed, Kind)');
  await expect(check(instance)).resolves.toMatchObject({ passed: true });
});

test.each([
  ['a list', 'SEEN = []', 'SEEN.append(seed)', 'SEEN'],
  ['a counter', 'import itertools\n\nCOUNT = itertools.count()', 'next(COUNT)', 'COUNT'],
  [
    'a generator',
    'def counting():\n    n = 0\n    while True:\n        n += 1\n        yield n\n\n\nG = counting()',
    'next(G)',
    'G',
  ],
  ['a default', 'def note(seed, seen=[]):\n    seen.append(seed)', 'note(seed)', 'note'],
  ['an attribute of a class', 'class Log:\n    count = 0', 'Log.count += 1', 'Log'],
  [
    'a class that is registered with an abstract one',
    'import abc\n\n\nclass Kind(abc.ABC):\n    pass',
    'Kind.register(type(f"K{seed}", (), {}))',
    'Kind',
  ],
  ['a closure', 'def maker():\n    n = [0]\n    return lambda: n.append(1)\n\n\nADD = maker()', 'ADD()', 'ADD'],
  ['a generator of random numbers', 'LUCK = random.Random(1)', 'LUCK.random()', 'LUCK'],
  [
    'what a cached function returned',
    'import functools\n\n\n@functools.cache\ndef log():\n    return []\n\n\nLOG = log()',
    'LOG.append(1)',
    'LOG',
  ],
])('%s of the module that episodes change is named', async (_what, line, use, name) => {
  const { passed, detail } = await check(keeping(line, use));
  expect(passed).toBe(false);
  expect(detail).toContain(`${name} is changed by episodes`);
});

test.each([
  [
    'a list that a cache returns',
    'import functools\n\n\n@functools.cache\ndef log():\n    return []',
    'log().append(1)',
    'what log returns',
  ],
  [
    'a list that a cache of limited size returns for a seed',
    'import functools\n\n\n@functools.lru_cache(maxsize=99)\ndef log(n):\n    return []',
    'log(seed).append(1)',
    'what log returns',
  ],
  ['an attribute of a class of the library', '', 'random.Random.seen = seed', 'random.Random'],
  ['an attribute of a function of the library', '', 'json.dumps.seen = seed', 'json.dumps'],
  ['an attribute of a module', '', 'json.seen = seed', 'json.seen'],
  ['the shared generator', '', 'random.random()', 'random.getstate()'],
])('%s that episodes change is named', async (_what, line, use, name) => {
  const { passed, detail } = await check(keeping(line, use));
  expect(passed).toBe(false);
  expect(detail).toContain(`${name} `);
});
