import type { FixtureRun } from './check-fixture';

/** What one check did over all fixtures. */
export interface CheckTally {
  name: string;
  /** Wrong fixtures that it refused. */
  caught: string[];
  /** Of those, the ones that no other check refused. */
  caughtAlone: string[];
  /** Good fixtures that it refused. */
  goodRefused: string[];
  /** Over all fixtures. */
  seconds: number;
}

/** Names of the checks that refused a fixture; a fixture that could not be checked was refused by `error`. */
export function refusals({ runs, error }: FixtureRun): string[] {
  const failed = runs.filter(({ check }) => !check.passed).map(({ check }) => check.name);
  return error === null ? failed : [...failed, 'error'];
}

/** Sums up what each check refused and took, in the order in which the checks were first met. */
export function tallyChecks(all: readonly FixtureRun[]): CheckTally[] {
  const tallies = new Map<string, CheckTally>();
  const of = (name: string): CheckTally => {
    const known = tallies.get(name) ?? { name, caught: [], caughtAlone: [], goodRefused: [], seconds: 0 };
    tallies.set(name, known);
    return known;
  };
  for (const run of all) {
    of('(start)').seconds += run.startSeconds;
    for (const { check, seconds } of run.runs) of(check.name).seconds += seconds;
    const refused = refusals(run);
    for (const name of refused) {
      if (run.fixture.set === 'good') of(name).goodRefused.push(run.fixture.name);
      else of(name).caught.push(run.fixture.name);
      if (run.fixture.set === 'wrong' && refused.length === 1) of(name).caughtAlone.push(run.fixture.name);
    }
  }
  return [...tallies.values()];
}

/** The last line: how many wrong fixtures passed and how many good ones were refused. */
export function summarise(all: readonly FixtureRun[]) {
  const passed = (run: FixtureRun) => refusals(run).length === 0;
  const wrong = all.filter(({ fixture }) => fixture.set === 'wrong');
  const good = all.filter(({ fixture }) => fixture.set === 'good');
  return {
    name: 'certificate',
    wrong: wrong.length,
    wrongPassed: wrong.filter(passed).length,
    good: good.length,
    goodRefused: good.filter((run) => !passed(run)).length,
  };
}
