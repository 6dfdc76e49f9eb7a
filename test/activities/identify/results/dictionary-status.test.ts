// tier: unit
import { rememberRun, stateAfter, statusOf } from '../../../../activities/identify/results/dictionary-status';
import { type Dictionary, dictionarySchema } from '../../../../contracts/artifacts/dictionary';
import type { Contrast } from '../../../../contracts/artifacts/identification';

test.each([
  [undefined, 'kept', 'new', 'lacking'],
  ['never', 'kept', 'new', 'lacking'],
  ['lacking', 'kept', 'recurring', 'lacking'],
  ['fixed', 'kept', 'regressed', 'lacking'],
  ['lacking', 'rejected', 'fixed', 'fixed'],
  ['fixed', 'rejected', 'fixed', 'fixed'],
  [undefined, 'rejected', null, 'never'],
  ['lacking', 'not-enough-data', null, 'lacking'],
  ['fixed', 'not-enough-data', null, 'fixed'],
  [undefined, 'not-enough-data', null, 'never'],
  ['lacking', 'not-trainable', null, 'lacking'],
] as const)('a capability that was %s and is %s now: %s, and %s from then on', (state, verdict, status, after) => {
  expect(statusOf(state, { verdict, missed: [] })).toBe(status);
  expect(stateAfter(state, { verdict, missed: [] })).toBe(after);
});

test('a companion of another capability is not called fixed', () => {
  const companion: Pick<Contrast, 'verdict' | 'missed'> = { verdict: 'rejected', missed: ['effect'] };
  expect(statusOf('lacking', companion)).toBeNull();
  expect(stateAfter('lacking', companion)).toBe('lacking');
});

const candidate = { id: 'c', name: 'C', summary: 'c', description: 'what c is' };
const contrast = (verdict: Contrast['verdict'], status: Contrast['status']) =>
  ({ capabilityId: 'c', verdict, status, missed: [] as Contrast['missed'], gap: 0.3, coverage: 0.2 }) as Contrast;
const empty: Dictionary = { agent: 'a', entries: [] };

test('a run is remembered once, with its aliases; the first wording stays', () => {
  const merges = [{ id: 'd', name: 'D', description: 'd', into: 'c', reason: 'same' }];
  const first = rememberRun(empty, {
    runId: 'r1',
    candidates: [candidate],
    contrasts: [contrast('kept', 'new')],
    merges,
  });
  expect(
    rememberRun(first, { runId: 'r1', candidates: [candidate], contrasts: [contrast('kept', 'new')], merges }),
  ).toEqual(first);
  const second = rememberRun(first, {
    runId: 'r2',
    candidates: [{ ...candidate, description: 'other words' }],
    contrasts: [contrast('rejected', 'fixed')],
    merges: [],
  });
  expect(dictionarySchema.parse(second).entries).toMatchObject([
    {
      description: 'what c is',
      state: 'fixed',
      aliases: ['D'],
      history: [{ runId: 'r1' }, { runId: 'r2', status: 'fixed' }],
    },
  ]);
});
