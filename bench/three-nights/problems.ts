/** What the three nights have to show, judged by their figures alone. */
import { MIXED } from '../../contracts/names';
import type { NightFigures } from './night-figures';
import { PLANTED } from './plant';

const MOST_SECONDS = 120;
const MOST_SHARE = 0.25;
/** Verdicts of a night that ended after measuring. */
const ENDED = ['nothing-new', 'too-little-power'];

/** What of the acceptance does not hold, a sentence each. `nights`: the three, in order. */
export function problemsOf(nights: readonly NightFigures[]): string[] {
  const [first, second, third] = nights as [NightFigures, NightFigures, NightFigures];
  return [...problemsOfFirst(first), ...problemsOfSecond(first, second), ...problemsOfThird(first, third)];
}

function problemsOfFirst(first: NightFigures): string[] {
  return [
    ...unless(first.verdict === 'promoted', `night 1 ended as ${first.verdict}`),
    ...unless(!first.sharpened.includes(PLANTED), 'night 1 found what was not planted'),
    ...unless(singles(first).length > 0, 'night 1 has no adapter of one capability'),
    ...problemsOfServed(first, 1),
  ];
}

function problemsOfSecond(first: NightFigures, second: NightFigures): string[] {
  const made = second.environmentsWritten + second.calibrationRollouts + second.trainings;
  const most = MOST_SHARE * first.measuringRollouts;
  return [
    ...unless(ENDED.includes(second.verdict), `night 2 ended as ${second.verdict}`),
    ...unless(made === 0, 'night 2 wrote, calibrated or trained something'),
    ...unless(
      second.rollouts <= most,
      `night 2 played ${second.rollouts} rollouts, night 1 collected ${first.measuringRollouts}`,
    ),
    ...unless(second.labels <= MOST_SHARE * first.labels, `night 2 asked for ${second.labels} labels`),
    ...unless(second.seconds <= MOST_SECONDS, `night 2 took ${second.seconds.toFixed(0)} s`),
  ];
}

/**
 * Judges what night 3 had, not what it serves: a comparison may find that the mixed adapter alone is best, and the
 * version then has no adapter of one capability.
 */
function problemsOfThird(first: NightFigures, third: NightFigures): string[] {
  const found = third.sharpened.filter((id) => !first.sharpened.includes(id));
  const gone = first.sharpened.filter((id) => !third.sharpened.includes(id));
  const planted = third.evaluated.find(({ capabilityId }) => capabilityId === PLANTED);
  const known = singles(first).map(({ capabilityId }) => capabilityId);
  const trained = third.evaluated.flatMap(({ capabilityId, from }) => (from === null ? [capabilityId] : []));
  const others = singles(third).filter(({ capabilityId }) => capabilityId !== PLANTED);
  const strange = others.filter(({ capabilityId }) => !known.includes(capabilityId));
  return [
    ...unless(third.verdict === 'promoted', `night 3 ended as ${third.verdict}`),
    ...unless(found.join() === PLANTED, `night 3 found as new: ${list(found)}`),
    ...unless(gone.length === 0, `night 3 no longer found: ${gone.join(', ')}`),
    ...unless(planted?.from === null, `night 3 trained no adapter for ${PLANTED}`),
    // The mixed one is made of all environments, and there is one more.
    ...unless(trained.filter((id) => id !== MIXED).join() === PLANTED, `night 3 trained ${list(trained)}`),
    ...unless(third.writtenFor.join() === PLANTED, `night 3 wrote environments for ${list(third.writtenFor)}`),
    ...unless(strange.length === 0, `night 3 has adapters that night 1 had not: ${inWords(strange)}`),
    ...singles(first).flatMap((before) => problemsOfReused(first, third, before)),
    ...problemsOfServed(third, 3),
  ];
}

/** Whether night 3 evaluated an adapter of night 1: the same hash, and no training of its own. */
function problemsOfReused(
  first: NightFigures,
  third: NightFigures,
  { capabilityId, sha256 }: NightFigures['evaluated'][number],
): string[] {
  const after = third.evaluated.find((adapter) => adapter.capabilityId === capabilityId);
  if (after === undefined) return [`night 3 has no adapter for ${capabilityId}`];
  return [
    ...unless(after.sha256 === sha256, `${capabilityId}: ${digits(sha256)} before, ${digits(after.sha256)} after`),
    ...unless(after.from === first.runId, `${capabilityId}: reused from ${after.from ?? 'nothing'}, not from night 1`),
  ];
}

/** A version is made of adapters that its night evaluated. */
function problemsOfServed({ adapters, evaluated }: NightFigures, night: number): string[] {
  const unknown = adapters.filter(
    ({ capabilityId, sha256 }) => !evaluated.some((one) => one.capabilityId === capabilityId && one.sha256 === sha256),
  );
  return [
    ...unless(adapters.length > 0, `nothing is served after night ${night}`),
    ...unless(unknown.length === 0, `night ${night} serves what it did not evaluate: ${inWords(unknown)}`),
  ];
}

const unless = (holds: boolean, text: string): string[] => (holds ? [] : [text]);

const singles = ({ evaluated }: NightFigures) => evaluated.filter(({ capabilityId }) => capabilityId !== MIXED);

const list = (ids: readonly string[]): string => ids.join(', ') || 'nothing';

const digits = (sha256: string): string => sha256.slice(0, 12);

/** Adapters with the first digits of their hashes. */
export const inWords = (adapters: NightFigures['adapters']): string =>
  adapters.map(({ capabilityId, sha256 }) => `${capabilityId} ${digits(sha256)}`).join(', ');
