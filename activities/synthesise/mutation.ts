import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';

/** A small change that makes an environment harder, easier or more varied, and leaves the trained capability alone. */
interface Mutation {
  name: string;
  instruction: string;
}

const HARDER: readonly Mutation[] = [
  {
    name: 'distractors',
    instruction:
      'Add distractors: further facts, entities and requests in the openings and in what the tools answer, which ' +
      'look as if they mattered and do not. Solutions stay as they are.',
  },
  {
    name: 'longer horizon',
    instruction:
      'Lengthen the horizon: let the capability be needed two or three times in one episode, on different ' +
      'objects, with credit for each and full reward for all.',
  },
  {
    name: 'decoys',
    instruction:
      'Add decoys: situations that look like those that need the capability and in which the habit that the ' +
      'failures show, or the habit that is to be learnt, is wrong. Grade both alike.',
  },
  {
    name: 'renamed entities',
    instruction:
      'Rename the entities: draw names, numbers and wordings from much larger pools, so that nothing in a task ' +
      'can be known without looking. Tools keep their names and parameters.',
  },
];

const EASIER: readonly Mutation[] = [
  {
    name: 'fewer distractors',
    instruction:
      'Take out what a task does not need: side questions, further facts and entities, conditions that are not ' +
      'the capability.',
  },
  {
    name: 'shorter horizon',
    instruction: 'Shorten the horizon: one object, and the capability needed once.',
  },
  {
    name: 'finer credit',
    instruction:
      'Give credit for each step towards the capability that the failing agent already takes now and then; full ' +
      'reward stays what it is.',
  },
  {
    name: 'plainer requests',
    instruction: 'Word the openings plainly: say what is wanted and with which object, without saying how it is done.',
  },
];

const SPREAD: readonly Mutation[] = [
  {
    name: 'mixed difficulty',
    instruction:
      'Draw the difficulty with the seed: half of the tasks plainer, half with distractors and decoys, and let ' +
      'the reward have several levels, so that attempts at one task differ.',
  },
  {
    name: 'finer credit',
    instruction:
      'Grade more finely: several levels between 0 and 1, each for a step that some attempts take and others do not.',
  },
];

const BY_VERDICT: Record<CalibrationResult['verdict'], readonly Mutation[]> = {
  'in-band': [],
  'too-easy': HARDER,
  'too-hard': EASIER,
  uninformative: SPREAD,
};

/**
 * After so many mutations of one environment the next attempt is a new one: the fault needs more than small changes.
 */
const MUTATIONS_IN_A_ROW = 2;

/** What the analyst is asked to do about a rejected environment. */
export type Next = { kind: 'correct' } | { kind: 'mutate'; mutation: Mutation } | { kind: 'anew' };

/**
 * The next step after an environment was rejected. One that failed a check, or failed in its rollouts, is corrected.
 * One that is only out of band is mutated twice, each time in another way; the attempt after that is a new environment,
 * which is mutated in turn. Corrections in between do not count.
 * @param outOfBand number of attempts so far whose figures were out of band, this one included.
 * @param calibration of the rejected attempt; null when it failed a check.
 */
export function nextAfter(outOfBand: number, calibration: Pick<CalibrationResult, 'faulty' | 'verdict'> | null): Next {
  if (calibration === null || calibration.faulty) return { kind: 'correct' };
  const round = MUTATIONS_IN_A_ROW + 1;
  if (outOfBand % round === 0) return { kind: 'anew' };
  const changes = BY_VERDICT[calibration.verdict];
  const mutations = outOfBand - 1 - Math.floor(outOfBand / round);
  const mutation = changes[mutations % Math.max(1, changes.length)];
  return mutation === undefined ? { kind: 'correct' } : { kind: 'mutate', mutation };
}
