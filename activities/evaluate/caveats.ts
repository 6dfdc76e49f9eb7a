import type { Evaluation, Interval } from '../../contracts/artifacts/evaluation';
import type { RouterChoice } from '../../contracts/artifacts/router-choice';
import { MIXED } from '../../contracts/names';
import { failedCount, failedText } from '../../contracts/failed-episodes';
import { pluralise } from '../../contracts/pluralise';
import { fisherExact } from '../../contracts/statistics/exact-tails';
import { percentText } from '../../contracts/share-text';
import type { EvaluateOptions } from './evaluate-table';
import type { OutcomeTable } from './outcome-table';

/** With fewer tasks the intervals were seen to cover less than they claim. */
const FEW_TASKS = 50;

/**
 * Sentences that must be read with the figures of an evaluation.
 * @param oracleCeiling share of the tasks that some arm passes in the trial that is scored.
 */
export function evaluationCaveats(
  table: OutcomeTable,
  options: EvaluateOptions,
  { oracleCeiling, doNothing }: Pick<Evaluation, 'oracleCeiling' | 'doNothing'>,
): string[] {
  const { adapters, routerChoice, mixedFailure, incumbentFailure, confidence, bootstrapSamples: samples } = options;
  const percent = `${Number((confidence * 100).toPrecision(4))} %`;
  const caveats = [
    `Intervals are ${percent} BCa bootstrap intervals over ${table.seeds.length} tasks (${samples} resamples; ` +
      'trials of one task stay together). They speak for tasks like the held-out ones and for this one training ' +
      'run: the spread between training seeds is not in them.',
    'The oracle picks the arm of each task without seeing the trial it is scored on, so it counts no luck and ' +
      'is a lower bound of perfect routing; routed can exceed it by chance. Taking the best arm by the very ' +
      `trials that are scored, which counts luck, gives ${percentText(oracleCeiling)}.`,
  ];
  if (adapters.length > 1) {
    caveats.push(
      `The best single adapter was picked among ${adapters.length} by this result, so its rate is slightly flattered ` +
        'and the comparison with it is conservative.',
    );
  }
  caveats.push(
    table.trials === 1
      ? 'With one trial per task, the tasks that base passed are selected by the same trial they are compared ' +
          'on: for an agent that samples, the loss among them is overstated (regression to the mean), never ' +
          'understated. Two trials or more remove this.'
      : 'The loss among tasks that base passed is measured on trials that took no part in selecting them, so ' +
          'that falling back from a lucky pass does not count as a loss.',
  );
  if (table.seeds.length < FEW_TASKS) {
    caveats.push(
      `With ${table.seeds.length} tasks the intervals are rough: they may cover the truth a few percent less ` +
        `often than they say. Use ${FEW_TASKS} or more.`,
    );
  }
  if (table.dropped > 0) {
    caveats.push(
      `${table.dropped} held-out ${table.dropped === 1 ? 'task is' : 'tasks are'} in no figure because not ` +
        'every arm ran all its trials.',
    );
  }
  if (doNothing && doNothing.baseMinus.low <= 0)
    caveats.push(
      `Base is not clearly better than an agent that says one neutral sentence and calls no tool, which passes ` +
        `${rateText(doNothing.passRate)} of ${pluralise(doNothing.tasks, 'task')}. So what base passes shows little ` +
        'skill, and its successes little of what a success needs.',
    );
  caveats.push(...failureCaveats(table, options));
  if (mixedFailure !== undefined)
    caveats.push(
      usesMixed(routerChoice)
        ? `The mixed adapter alone was left out, so nothing is compared with it. ${mixedFailure} What the ` +
            'router gives it is still served: the candidate was judged so.'
        : `The mixed adapter was left out, so nothing is compared with it. ${mixedFailure}`,
    );
  if (incumbentFailure !== undefined)
    caveats.push(`The active version was left out, so the gate compared with base alone. ${incumbentFailure}`);
  return caveats;
}

/** Such as `2.0 % (0.1 % to 5.3 %)`. */
export const rateText = ({ estimate, low, high }: Interval): string =>
  `${percentText(estimate)} (${percentText(low)} to ${percentText(high)})`;

/** Sentences about episodes that failed. Trials of an arm that fail by what it does would flatter it. */
function failureCaveats(table: OutcomeTable, { failed = new Map(), confidence }: EvaluateOptions): string[] {
  if (failed.size === 0) return [];
  const arms = [...failed].map(([arm, causes]) => `${arm} ${failedText(causes)}`);
  const trials = (table.seeds.length + table.dropped + table.failed) * table.trials;
  const of = (arm: string) => ({ events: failedCount(failed.get(arm)), trials });
  const isMore = fisherExact(of('routed'), of('base')) <= (1 - confidence) / 2;
  return [
    `Episodes that failed are in no figure: of ${pluralise(trials, 'episode')} of each arm, ${arms.join('; ')}. ` +
      'Their trials have no result, and the other trials of a task stand for them. The intervals hold where failures ' +
      'do not depend on how an arm answers.',
    ...(table.failed > 0
      ? [
          `${pluralise(table.failed, 'held-out task')} ${table.failed === 1 ? 'is' : 'are'} in no figure because ` +
            'every trial failed in at least one arm.',
        ]
      : []),
    ...(isMore
      ? [
          'Routed failed more often than base, more than chance explains. Something that it does may fail its ' +
            'episodes; then these figures flatter it.',
        ]
      : []),
  ];
}

/** Whether a router gives some conversations to the mixed adapter. */
const usesMixed = (choice: RouterChoice): boolean =>
  choice.severalNeeds?.adopted === true ||
  (choice.chosen === 'outcomes-mixed' &&
    choice.adapters.some(({ capabilityId, leftOut }) => capabilityId === MIXED && !leftOut));
