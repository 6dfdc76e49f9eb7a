// Tier: jail (real jail and runtime; no model).
import { readFileSync } from 'node:fs';
import { compareAttempts } from '../../../activities/validate/compare-attempts';
import type { CalibrationResult } from '../../../contracts/artifacts/environment-attempt';
import type { Validation } from '../../../contracts/artifacts/environment-check';
import { layout, putJson } from '../../../store';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const environment = readFileSync(fixturePath('parcel_desk.py'), 'utf8');
/** Asks for another move as the capability. */
const other = environment.replaceAll('"skill_calls": [1]', '"skill_calls": [0]');
const GOOD: Validation = {
  passed: true,
  problems: [],
  checks: (['solvable', 'isolated'] as const).map((name) => ({
    ...{ name, group: name, passed: true, detail: '', figures: [] },
  })),
};

const calibrated = (verdict: CalibrationResult['verdict']): CalibrationResult => ({
  ...{ seeds: 10, rolloutsPerSeed: 8, rollouts: 80, planned: 80, doubt: 0, rolloutsInMeans: 8 },
  ...{ meanReward: 0.9, meanSuccess: 0.9, allSuccessGroups: 1, allZeroGroups: 0, constantGroups: 1 },
  ...{ informativeGroups: 0, rewardStd: 0, passAt: {}, groupMeans: [1], faulty: false, problems: [] },
  verdict,
});

let fixture: RunFixture;
beforeEach(() => (fixture = new RunFixture()));
afterEach(() => fixture.dispose());

/** Compares an attempt with one before it, which base found so. */
async function compare(verdict: CalibrationResult['verdict'] | null, hasReferences: boolean) {
  const { store, deps } = fixture;
  const folder = layout.environments('run-1', 'stamps');
  const before = {
    source: await store.put(folder, 'attempt-1.py', other),
    validation: await putJson(store, folder, 'validation.json', GOOD),
    calibration: verdict && (await putJson(store, folder, 'calibration.json', calibrated(verdict))),
  };
  return compareAttempts({
    ...{ store, openEnvironment: deps.openEnvironment, before: [before], hasReferences },
    environment: { source: environment, trust: 'synthesised', name: 'stamps' },
    signal: new AbortController().signal,
  });
}

test('an attempt that base found too easy says nothing, where the agent has no solutions to compare with', async () => {
  expect(other).not.toBe(environment);
  expect(await compare('too-easy', false)).toBeNull();
});

test.each([
  ['too-hard', false],
  ['too-easy', true],
  [null, false],
] as const)('an attempt that was %s counts; the agent has solutions: %s', async (verdict, hasReferences) => {
  expect(await compare(verdict, hasReferences)).toMatchObject({ name: 'capability-kept', passed: false });
});
