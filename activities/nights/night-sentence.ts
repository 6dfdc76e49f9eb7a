import type { NightDecision } from '../../contracts/artifacts/night';
import { failedOfArms } from '../../contracts/failed-episodes';
import { pluralise } from '../../contracts/pluralise';
import { percent, pointsRangeWithUnit, pointsWithUnit } from '../html/format';

/**
 * A sentence for people about a night's measurements and decision.
 * @param hasOthers whether the next night plays other tasks.
 */
export function nightSentence(facts: Omit<NightDecision, 'sentence'>, hasOthers: boolean): string {
  const {
    night,
    version,
    outcome,
    reasons,
    tasks,
    served,
    base,
    gain,
    promotedWith,
    detectableLoss: loss,
    cost,
  } = facts;
  const measured =
    `Night ${night} measured version ${version} on ${tasks} train tasks: it passes ${percent(served)} and base ` +
    `${percent(base)}, a gain of ${pointsWithUnit(gain.estimate)} (${pointsRangeWithUnit(gain)}); it was promoted ` +
    `with ${pointsWithUnit(promotedWith.estimate)}.`;
  const lost = failedOfArms([
    ['base', facts.failed?.base],
    [`version ${version}`, facts.failed?.served],
  ]);
  const failed = lost === '' ? '' : ` Rollouts without a result: ${lost}.`;
  const seen = `A loss of ${(loss * 100).toFixed(0)} points or more would have been seen in four nights of five.`;
  const spent = `Measuring took ${cost.rollouts} rollouts and ${cost.labels} labels${liveInWords(facts.live)}.${earlierInWords(facts.earlier)}${failed}`;
  const recurring = facts.capabilities.filter(
    ({ id, state, inVersion }) =>
      state === 'recurring' && inVersion && !reasons.some(({ capabilityId }) => capabilityId === id),
  );
  const known =
    recurring.length === 0
      ? ''
      : ` Still lacking, with an adapter that is served: ${recurring.map(({ id }) => id).join(', ')}.`;
  const drifting = driftInWords(facts);
  switch (outcome) {
    case 'goes-on':
      return `${measured} It continues: ${reasons.map((reason) => reasonInWords(reason, facts.adapters)).join('; ')}.${known}${drifting} ${spent}`;
    case 'nothing-new':
      return `${measured} Nothing new is lacking.${known}${drifting} ${seen} ${spent}`;
    case 'too-little-power':
      return (
        `${measured} May be lacking, but these tasks are too few to tell: ${facts.undecided.join(', ')}. ` +
        `${hasOthers ? 'Other tasks follow in the next night' : 'The next night plays the same tasks again'}; ` +
        '`whet run` begins it now.' +
        `${known}${drifting} ${seen} ${spent}`
      );
  }
}

function reasonInWords(
  { kind, capabilityId }: NightDecision['reasons'][number],
  adapters: NightDecision['adapters'],
): string {
  const own = adapters.find((adapter) => adapter.capabilityId === capabilityId);
  const figures =
    own &&
    `${pointsWithUnit(own.gain.estimate)} (${pointsRangeWithUnit(own.gain)}) on the ${own.tasks} tasks that it got`;
  switch (kind) {
    case 'new':
      return `${capabilityId} is lacking and has no adapter`;
    case 'regressed':
      return `${capabilityId} is lacking although its adapter is served`;
    case 'recurring':
      return `${capabilityId} is still lacking, in two nights: its training continues from the adapter that is served`;
    case 'drifting':
      return `${capabilityId} is lacking and drifts: its training continues from the adapter that is served`;
    case 'harms':
      return `the adapter of ${capabilityId} does harm, ${figures}: the version is tried without it`;
    case 'no-longer-helps':
      return `the adapter of ${capabilityId} no longer helps, ${figures}: the version is tried without it`;
    case 'lost-gain':
      return 'it passes fewer tasks than at its promotion';
  }
}

/** The capabilities that drift, whether or not the night continues because of them. */
function driftInWords({ capabilities, drifts = [] }: Pick<NightDecision, 'capabilities' | 'drifts'>): string {
  const named = drifts.filter(({ capabilityId }) =>
    capabilities.some(({ id, state }) => id === capabilityId && state === 'drifting'),
  );
  if (named.length === 0) return '';
  const each = named.map(
    ({ capabilityId, nights, earlier, later }) =>
      `${capabilityId}, lacking in ${percent(earlier)} and then ${percent(later)} of the tasks of ${nights} nights`,
  );
  return ` Drifting: ${each.join('; ')}. The next night of this version plays twice the tasks, as far as there are as many.`;
}

function liveInWords(live: number | undefined): string {
  if (live === undefined) return '';
  if (live === 0) return '; there was no live traffic that it answered';
  const conversations =
    live === 1 ? '1 conversation that it answered was' : `${live} conversations that it answered were`;
  return `; ${conversations} read, too`;
}

const earlierInWords = (earlier = 0): string =>
  earlier === 0
    ? ''
    : ` ${pluralise(earlier, 'episode')} of earlier nights with the same inputs counted as evidence, too.`;
