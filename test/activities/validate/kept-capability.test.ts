// Tier: unit.
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import type { Validation } from '../../../contracts/artifacts/environment-check';
import { checkKeptCapability, showsCapability } from '../../../activities/validate/kept-capability';

/** Tasks whose capability is shown by these calls. */
const tasks = (...skills: string[][]): EnvironmentTask[] =>
  skills.map((names, seed) => ({
    seed,
    messages: [],
    reference: [{ name: 'open', arguments: {} }, ...names.map((name) => ({ name, arguments: {} }))],
    skillCalls: names.map((_, index) => index + 1),
  }));
const kept = (now: EnvironmentTask[], before: EnvironmentTask[]) =>
  checkKeptCapability(now, { attempt: 1, tasks: before });

const everyGuest = tasks(['notify', 'notify'], ['notify', 'notify', 'notify'], ['notify'], ['notify', 'notify']);

test('to notify one guest is not to notify every guest', () => {
  const check = kept(tasks(['notify'], ['notify'], ['notify'], ['notify']), everyGuest);
  expect(check).toMatchObject({ name: 'capability-kept', passed: false });
  expect(check.detail).toContain('0 % of the tasks ask for the capability more than once; in attempt 1 it was 75 %.');
  expect(check.figures).toContainEqual({
    name: 'tasks that ask for the capability more than once',
    value: 0,
    atLeast: 0.1875,
  });
});

test('fewer objects are not less of the capability', () => {
  expect(kept(tasks(['notify', 'notify'], ['notify'], ['notify', 'notify'], ['notify']), everyGuest).passed).toBe(true);
});

test('a tool that showed the capability may not vanish from it; one that hardly ever did may', () => {
  const before = tasks(['check', 'book'], ['check', 'book'], ['check', 'refund'], ['check']);
  expect(kept(tasks(['book', 'book'], ['book', 'book']), before).detail).toContain(
    '0 % of the tasks ask for check as part of the capability; in attempt 1 it was 100 %.',
  );
  expect(kept(tasks(['check', 'book'], ['check', 'book']), before).passed).toBe(true);
});

describe('an attempt says what the capability is', () => {
  const validationOf = (checks: Record<string, boolean>) =>
    ({ checks: Object.entries(checks).map(([name, passed]) => ({ name, passed })) }) as unknown as Validation;

  test.each([
    ['once its capability decides', { solvable: true, isolated: true, diverse: false }, true],
    ['not when it does not decide', { solvable: true, isolated: false }, false],
    [
      'not when its tasks are solved otherwise than the agent’s',
      { solvable: true, isolated: true, solutions: false },
      false,
    ],
    ['not when it pays what the agent’s never do', { solvable: true, isolated: true, faults: false }, false],
  ])('%s', (_when, checks, expected) => expect(showsCapability(validationOf(checks))).toBe(expected));
});
