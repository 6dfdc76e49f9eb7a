/** Which environments are trained, and the number of each training. */
import { type Fixture, hasModel, readFixtures, readHonest } from '../certificate/fixtures';

/**
 * Wrong environments that passed the checks before these were mended, two or three of each capability. By what their
 * heads say, training in them could harm the agent's other tasks. They were chosen before any was trained.
 */
const WRONG: readonly string[] = [
  ...['all-gone', 'too-late-for-all', 'everybody-has-a-code', 'no-detours', 'one-town', 'credit-what-is-fine'],
  ...['spoken-answers', 'by-the-book', 'thorough-checks', 'verify-again'],
];
/** Trainings in good environments. */
const GOOD = 20;

/** One training. */
export interface Chosen {
  fixture: Fixture;
  /** From 1; a second training in the same environment has other random draws. */
  round: number;
}

/**
 * The trainings of a measurement: ten wrong environments and twenty trainings in good ones, or those in `only`, which
 * may name any other environment for the demo agent. With fewer good ones than twenty the first are trained again.
 * @throws RangeError for a name that no environment has.
 */
export function choose(only: readonly string[] | undefined): Chosen[] {
  const all = [...readFixtures(), ...readHonest()].filter(hasModel);
  const unknown = only?.find((name) => !all.some((fixture) => fixture.name === name));
  if (unknown !== undefined)
    throw new RangeError(`--only ${unknown}: one of ${all.map(({ name }) => name).join(', ')}.`);
  if (only !== undefined)
    return all.filter(({ name }) => only.includes(name)).map((fixture) => ({ fixture, round: 1 }));
  const good = all.filter(({ set }) => set === 'good');
  return [
    ...all.filter(({ name }) => WRONG.includes(name)).map((fixture) => ({ fixture, round: 1 })),
    ...Array.from({ length: GOOD }, (_, n) => ({
      fixture: good[n % good.length]!,
      round: 1 + Math.floor(n / good.length),
    })),
  ];
}
