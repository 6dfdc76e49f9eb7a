// tier: unit
import type { FixtureRun } from '../../../bench/certificate/check-fixture';
import { readFixtures } from '../../../bench/certificate/fixtures';
import { refusals, summarise, tallyChecks } from '../../../bench/certificate/tally';

const [first] = readFixtures();

function runOf(name: string, set: 'wrong' | 'good', failed: string[], error: string | null = null): FixtureRun {
  const runs = ['loads', 'solvable', 'isolated'].map((check) => ({
    check: { name: check, group: 'form' as const, passed: !failed.includes(check), detail: '', figures: [] },
    seconds: 2,
  }));
  return { fixture: { ...first!, name, set }, runs, error, startSeconds: 1 };
}

describe('tallyChecks', () => {
  const all = [
    runOf('a', 'wrong', ['isolated']),
    runOf('b', 'wrong', ['solvable', 'isolated']),
    runOf('c', 'wrong', []),
    runOf('d', 'good', ['isolated']),
    runOf('e', 'good', [], 'it could not be checked'),
  ];

  it('says what each check caught, what it alone caught, and which good ones it refused', () => {
    const tallies = tallyChecks(all);
    expect(tallies.find(({ name }) => name === 'isolated')).toEqual({
      name: 'isolated',
      caught: ['a', 'b'],
      caughtAlone: ['a'],
      goodRefused: ['d'],
      seconds: 10,
    });
    expect(tallies.find(({ name }) => name === 'solvable')).toMatchObject({ caught: ['b'], caughtAlone: [] });
    expect(tallies.find(({ name }) => name === '(start)')).toMatchObject({ seconds: 5, caught: [] });
  });

  it('takes a fixture that could not be checked for refused', () => {
    expect(refusals(all[4]!)).toEqual(['error']);
    expect(summarise(all)).toEqual({ name: 'certificate', wrong: 3, wrongPassed: 1, good: 2, goodRefused: 2 });
  });
});
