/** The one cause of a gate that was not passed, with the figures that point to it. */
import { pluralise } from '../../contracts/pluralise';
import type { Culprit, Evaluation } from '../../contracts/artifacts/evaluation';
import { isMixedAlone } from '../../contracts/artifacts/router-choice';
import { NONE_LABEL } from '../../contracts/names';
import { pointsText } from '../../contracts/share-text';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';

/** How an adapter's reward changed while it was trained. */
export interface Learned {
  capabilityId: string;
  /** Mean reward of the last fifth of the iterations minus the mean of the first fifth. */
  gain: number;
  /** The probes of its training saw a loss of tasks without this need. Absent: they did not, or there were none. */
  harmed?: true;
}

/** The cause, in one word and in a sentence. */
export interface Diagnosis {
  culprit: Culprit;
  sentence: string;
}

/** Which conditions failed. Without any of these, the cause was the margin of non-inferiority. */
interface Failed {
  gain: boolean;
  incumbent: boolean;
  /** Whether too much was lost among the tasks that base passed. */
  lost: boolean;
  /** Whether too many tasks that base surely passes are never passed. */
  lostForGood: boolean;
}

/** If its reward rose by less, a training has not learned its environment. */
const LEARNED = 0.05;

/** The smallest worthwhile gain, if the owner names none (`evaluation.detectableGain`). */
const USEFUL_GAIN = 0.05;

/** The router is the cause if it misses more than this share of the arms' possible gain. */
const ROUTED_AWAY = 0.5;

/** Change of a training's reward, from its curve. 0 without iterations. */
export function rewardGain(curve: readonly { reward: number }[]): number {
  const part = Math.max(1, Math.floor(curve.length / 5));
  const mean = (points: readonly { reward: number }[]) =>
    points.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, points.length);
  return mean(curve.slice(-part)) - mean(curve.slice(0, part));
}

/** Finds the cause of a gate that was not passed. */
export function diagnose(evaluation: Evaluation, failed: Failed, learned: readonly Learned[]): Diagnosis {
  if (failed.lostForGood) return destructive(evaluation, learned);
  if (failed.gain) return withoutGain(evaluation, learned);
  if (failed.incumbent) return behindIncumbent(evaluation);
  const harmed = learned.filter(({ harmed: saw }) => saw === true).map(({ capabilityId }) => capabilityId);
  if (failed.lost && harmed.length > 0)
    return {
      culprit: 'environment',
      sentence:
        `The cause is what ${harmed.join(', ')} was trained in: the probes of the training saw that tasks without ` +
        'this need were lost.',
    };
  if (failed.lost)
    return {
      culprit: 'router',
      sentence:
        'The cause is the router: it gives tasks to adapters that the base model passes alone, and they are lost ' +
        `there.${harmHint(evaluation)}`,
    };
  return {
    culprit: 'power',
    sentence:
      'The cause is the size of the evaluation: no loss is proved, but with so few tasks that passed before a loss ' +
      `cannot be excluded either. ${provable(evaluation)}.${harmHint(evaluation)}`,
  };
}

/** The cause if tasks that base surely passes are never passed: what their adapter was trained in. */
function destructive({ sureLoss, mixed, router }: Evaluation, learned: readonly Learned[]): Diagnosis {
  const { byCapability, lost, tasks } = sureLoss!;
  const most = byCapability.find(({ capabilityId }) => capabilityId !== NONE_LABEL);
  const isMixed = mixed !== undefined && isMixedAlone(router.choice);
  const suspects = isMixed ? learned : learned.filter(({ capabilityId }) => capabilityId === most?.capabilityId);
  const hasLearned = suspects.some(({ gain }) => gain >= LEARNED);
  const adapter = isMixed
    ? 'mixed adapter'
    : most === undefined
      ? 'adapter that conversations switch to'
      : `adapter for ${most.capabilityId}`;
  const figures = `${isMixed ? lost : (most?.lost ?? lost)} of the ${tasks} tasks that base passes in all trials`;
  return {
    culprit: hasLearned ? 'environment' : 'adapter',
    sentence:
      (hasLearned
        ? `The cause is what the ${adapter} was trained in. It learned what its environment rewards, and now fails ` +
          `${figures}: compare the environment with the agent's own on such tasks.`
        : `The cause is the ${adapter}: it fails ${figures}.`) + ' More tasks or trials will hardly change that.',
  };
}

/** The cause if the gain over base is not proved. */
function withoutGain(evaluation: Evaluation, learned: readonly Learned[]): Diagnosis {
  const { routedMinusBase: gain, oracle } = evaluation;
  const reachable = oracle.minusBase;
  if (reachable.low > 0 && gain.estimate < ROUTED_AWAY * reachable.estimate) {
    return {
      culprit: 'router',
      sentence:
        `The cause is the router: with each task at its best arm the adapters gain ` +
        `${pointsWithUnit(reachable.estimate)} (${pointsRangeWithUnit(reachable)}), and routed has ` +
        `${pointsWithUnit(gain.estimate)} of it.${harmHint(evaluation)}${mixedHint(evaluation)}`,
    };
  }
  if (gain.estimate > 0 && gain.high >= evaluation.plan.minimumDetectableGain) {
    return {
      culprit: 'power',
      sentence:
        `The cause is the size of the evaluation: this gain, ${pointsWithUnit(gain.estimate)}, may be smaller than ` +
        `what it can prove. ${provable(evaluation)}.`,
    };
  }
  const untaught = learned.filter((training) => training.gain < LEARNED);
  const hardlyRose = untaught.length > learned.length / 2;
  const unsettled = unsettledGain(evaluation);
  if (unsettled !== null && !hardlyRose)
    return {
      culprit: 'power',
      sentence: `The cause is the size of the evaluation: ${unsettled}. ${provable(evaluation)}.`,
    };
  if (learned.length === 0 || hardlyRose) {
    const names = untaught.map(({ capabilityId, gain: rise }) => `${capabilityId} ${pointsWithUnit(rise)}`);
    return {
      culprit: 'adapter',
      sentence:
        'The cause is the adapters: not even with each task at its best arm is a gain proved ' +
        `(${pointsWithUnit(reachable.estimate)}, ${pointsRangeWithUnit(reachable)})` +
        (names.length === 0 ? '.' : `, and their reward hardly rose in training (${names.join(', ')}).`),
    };
  }
  return {
    culprit: 'environment',
    sentence:
      'The cause is the environments: the adapters learned what these reward, but not even with each task at its ' +
      `best arm is a gain proved on the agent's own tasks (${pointsWithUnit(reachable.estimate)}, ` +
      `${pointsRangeWithUnit(reachable)}).`,
  };
}

/**
 * Why the held-out tasks cannot decide whether the adapters help. Null if they show that even the best arm of each task
 * gains less than a worthwhile gain. The interval is compared with the worthwhile gain, not with the provable one: with
 * few tasks the provable gain is so large that no interval would reach it.
 */
function unsettledGain({ oracle: { minusBase: reachable }, plan }: Evaluation): string | null {
  const useful = plan.aim?.gain ?? USEFUL_GAIN;
  const range = pointsRangeWithUnit(reachable);
  if (reachable.low > 0)
    return `with each task at its best arm there is a gain (${range}), too small to be proved of routed`;
  if (reachable.high <= useful) return null;
  return (
    `even with each task at its best arm the gain may be anything from none to ${pointsWithUnit(useful)} and more ` +
    `(${range})`
  );
}

/** The smallest gain that the evaluation proves, and the fields of agent.yaml that make it smaller. */
function provable(evaluation: Evaluation): string {
  const { tasks, trials, plan } = evaluation;
  const ofTasks = plan.rotation === undefined ? 'environment.heldOutSeeds.count' : 'evaluation.heldOutTasks';
  const ofTrials = plan.aim === undefined ? 'evaluation.trials' : 'evaluation.maxTrials';
  return (
    `${pluralise(tasks, 'task')} with ${pluralise(trials, 'trial')} prove gains over base from about ` +
    `${pointsWithUnit(plan.minimumDetectableGain)} on: raise ${ofTasks} or ${ofTrials}`
  );
}

/** The cause if the candidate is better than base, but not proved better than the active version. */
function behindIncumbent(evaluation: Evaluation): Diagnosis {
  const { incumbent, tasks, trials } = evaluation;
  const { version, routedMinus, differing } = incumbent!;
  if (differing > 0 && routedMinus.high >= 0 && routedMinus.estimate > 0) {
    return {
      culprit: 'power',
      sentence:
        `The cause is the size of the evaluation: ${pluralise(tasks, 'task')} with ${pluralise(trials, 'trial')} cannot ` +
        'tell a difference of ' +
        `${pointsWithUnit(routedMinus.estimate)} to version ${version} from chance. ${provable(evaluation)}.`,
    };
  }
  return {
    culprit: 'incumbent',
    sentence: `The cause is the active version ${version}: what this run made is not better than it.`,
  };
}

/** The train tasks' warning of harm; empty if there was none. */
function harmHint({ router }: Evaluation): string {
  const { chosen, harm } = router.choice;
  if (!harm?.above) return '';
  return (
    ` Train tasks could not exclude it: where router ${chosen} uses adapters it may lose up to ` +
    `${pointsText(harm.bound)} (one-sided 95 % bound, ${harm.tasks} tasks), and the margin is ` +
    `${(harm.margin * 100).toFixed(1)}.`
  );
}

/** The result of the mixed adapter, or how to get one, for a user whose gate failed because of the router. */
function mixedHint({ mixed, router }: Evaluation): string {
  if (isMixedAlone(router.choice)) return '';
  return mixed === undefined
    ? ' With `evaluation.mixedAdapter: true` one adapter for all tasks competes with the routers.'
    : ` One adapter for all tasks has ${pointsWithUnit(mixed.minusBase.estimate)}.`;
}
