// tier: unit
import type { NightFigures } from '../../../bench/three-nights/night-figures';
import { PLANTED } from '../../../bench/three-nights/plant';
import { problemsOf } from '../../../bench/three-nights/problems';

const OLD = ['ask-before-cancelling', 'look-up-the-customer', 'state-the-refund'];
const hash = (digit: string) => digit.repeat(64);
const adapter = (capabilityId: string, digit: string, from: string | null) => ({
  ...{ capabilityId, sha256: hash(digit), from },
});

/** As measured in November 2026, seed 1: both versions are the mixed adapter alone. Names and hashes are made up. */
function nights(): [NightFigures, NightFigures, NightFigures] {
  const common = { sentence: '', stageSeconds: 5, calibrationRollouts: 0, trainingRollouts: 0 };
  const nothing = { environmentsWritten: 0, trainings: 0, trained: [], reused: [], writtenFor: [] };
  const first = {
    ...{ ...common, ...nothing, runId: 'night-1', verdict: 'promoted', version: 1, sharpened: OLD },
    ...{ measuringRollouts: 600, rollouts: 5640, labels: 3600, seconds: 531 },
    ...{ environmentsWritten: 3, writtenFor: OLD, trainings: 4, trained: [...OLD, 'mixed'] },
    evaluated: [...OLD.map((id, i) => adapter(id, String(i + 1), null)), adapter('mixed', '8', null)],
    adapters: [{ capabilityId: 'mixed', sha256: hash('8') }],
  };
  const second = {
    ...{ ...common, ...nothing, runId: 'night-2', verdict: 'nothing-new', version: null, sharpened: [] },
    ...{ measuringRollouts: 150, rollouts: 150, labels: 375, seconds: 5, evaluated: [], adapters: first.adapters },
  };
  const third = {
    ...{ ...common, ...nothing, runId: 'night-3', verdict: 'promoted', version: 2, sharpened: [PLANTED, ...OLD] },
    ...{ measuringRollouts: 750, rollouts: 7470, labels: 3780, seconds: 553, environmentsWritten: 1 },
    ...{ writtenFor: [PLANTED], trainings: 2, trained: [PLANTED, 'mixed'], reused: OLD },
    evaluated: [
      adapter(PLANTED, 'a', null),
      ...OLD.map((id, i) => adapter(id, String(i + 1), 'night-1')),
      adapter('mixed', '9', null),
    ],
    adapters: [{ capabilityId: 'mixed', sha256: hash('9') }],
  };
  return [first, second, third];
}

/** The problems where night 3 was otherwise in one thing. */
function problemsWith(change: (third: NightFigures) => Partial<NightFigures>): string[] {
  const [first, second, third] = nights();
  return problemsOf([first, second, { ...third, ...change(third) }]);
}

const evaluated = (id: string, other: Partial<NightFigures['evaluated'][number]>) => (third: NightFigures) => ({
  evaluated: third.evaluated.map((one) => (one.capabilityId === id ? { ...one, ...other } : one)),
});

test('nights whose versions are the mixed adapter alone hold, as long as the evaluation had the others', () => {
  expect(problemsOf(nights())).toEqual([]);
});

test('nights whose versions have the single adapters hold as well', () => {
  const [first, second, third] = nights();
  const all = (night: NightFigures) => ({ ...night, adapters: night.evaluated.map(({ from: _, ...one }) => one) });
  expect(problemsOf([all(first), second, all(third)])).toEqual([]);
});

test.each<[string, (third: NightFigures) => Partial<NightFigures>, RegExp]>([
  ['a reused adapter has other bytes', evaluated(OLD[1]!, { sha256: hash('f') }), /look-up-the-customer: 222.* fff/],
  ['a known one is trained again', evaluated(OLD[0]!, { from: null }), /night 3 trained .*ask-before-cancelling/],
  ['one comes from another run', evaluated(OLD[0]!, { from: 'night-0' }), /reused from night-0, not from night 1/],
  ['the new one is not trained', evaluated(PLANTED, { from: 'night-1' }), /trained no adapter for append-the-postal/],
  [
    'one of night 1 is missing',
    (third) => ({ evaluated: third.evaluated.filter(({ capabilityId }) => capabilityId !== OLD[2]) }),
    /night 3 has no adapter for state-the-refund/,
  ],
  [
    'another new one is found',
    (third) => ({ sharpened: [...third.sharpened, 'other'] }),
    /found as new: append-the-postal-code-to-a-new-address, other/,
  ],
  ['a known one is gone', () => ({ sharpened: [PLANTED, OLD[0]!, OLD[1]!] }), /no longer found: state-the-refund/],
  [
    'environments are written for a known one',
    () => ({ writtenFor: [PLANTED, OLD[0]!] }),
    /wrote environments for append-the-postal-code-to-a-new-address, ask-before-cancelling/,
  ],
  [
    'an adapter serves that was not evaluated',
    () => ({ adapters: [{ capabilityId: 'mixed', sha256: hash('8') }] }),
    /night 3 serves what it did not evaluate: mixed 888888888888/,
  ],
  ['nothing is served', () => ({ adapters: [] }), /nothing is served after night 3/],
])('%s: it is a problem', (_, change, problem) => {
  expect(problemsWith(change)).toContainEqual(expect.stringMatching(problem));
});

test('a second night that is dear is a problem', () => {
  const [first, second, third] = nights();
  const dear = { ...second, rollouts: 151, labels: 901, seconds: 121, trainings: 1 };
  expect(problemsOf([first, dear, third])).toHaveLength(4);
});
