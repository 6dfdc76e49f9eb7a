// jail
import { type EnvironmentProcess } from '../../sandbox';
import { ANSWERS } from './generated-code/answers';
import type { Attempt } from './generated-code/attempt';
import { KERNEL_INTERFACE } from './generated-code/kernel-interface';
import { SOCKETS } from './generated-code/sockets';
import { USE } from './generated-code/use';
import { type HostState, hostState, leftOnHost } from './host-state';
import { expectNextEnvironmentWorks, hostileSource, jailProcesses, openHostile, testProfile } from './hostile';

/**
 * Attacks by generated code that were written from the outside, without a look at the launcher or its filter. They are
 * contained when the kernel refuses what was tried, or the step is an error of a known class; an episode beside them
 * goes on, the next environment works, and the host is as before.
 */
const ATTEMPTS = [...KERNEL_INTERFACE, ...SOCKETS, ...USE, ...ANSWERS];
const GO = [{ name: 'go', arguments: {} }];

let before: HostState;
let bystander: EnvironmentProcess;
let bystanderSteps = 0;

beforeAll(async () => {
  bystander = await openHostile(hostileSource('globals()["steps"] = globals().get("steps", 0) + 1\nreturn steps'));
  before = await hostState();
});
afterAll(() => bystander.close());

async function outcomeOf({ body, members, requestMs }: Attempt): Promise<string | Error> {
  const environment = await openHostile(hostileSource(body || 'return ""', members), testProfile(requestMs));
  try {
    return (await environment.step('e', GO)).observations[0]!;
  } catch (error) {
    return error as Error;
  } finally {
    await environment.close();
  }
}

const fits = (got: string | Error, expected: Attempt['expected']): boolean => {
  if (Array.isArray(expected)) return (expected as Attempt['expected'][]).some((one) => fits(got, one));
  if (typeof expected === 'function') return got instanceof expected;
  if (got instanceof Error) return false;
  return expected instanceof RegExp ? expected.test(got) : got === expected;
};

// An attack in the numbers of another processor is none on this one.
const here = ATTEMPTS.filter(({ only }) => only === undefined || only === process.arch);

test.each(here)('$kind: $name', async (attempt) => {
  const got = await outcomeOf(attempt);
  const words = got instanceof Error ? `${got.constructor.name}: ${got.message.slice(0, 600)}` : got;
  expect({ got: words, fits: fits(got, attempt.expected) }).toEqual({ got: words, fits: true });
  expect(words).not.toContain('honest');
  bystanderSteps++;
  expect((await bystander.step('e', GO)).observations).toEqual([String(bystanderSteps)]);
});

test('the next environment works, no process is left, and the host is as it was before', async () => {
  await expectNextEnvironmentWorks();
  expect(jailProcesses().length).toBeGreaterThan(0);
  expect((await bystander.evaluate('e')).reward).toBe(1);
  expect(await leftOnHost(before)).toEqual([]);
});

test('each attack is there once', () => {
  const names = ATTEMPTS.map(({ kind, name }) => `${kind}: ${name}`);
  expect(new Set(names).size).toBe(names.length);
});
