import { z } from 'zod';
import { routerChoiceSchema } from './router';

/** An estimate with its interval. Shares are in [0, 1], differences in [-1, 1]. */
export const intervalSchema = z.strictObject({
  estimate: z.number().describe('The figure itself.'),
  low: z.number().describe('Lower end of its interval.'),
  high: z.number().describe('Upper end of its interval.'),
});
export type Interval = z.infer<typeof intervalSchema>;

/** One way to answer the held-out tasks, with its pass rate. */
export const armSchema = z.strictObject({
  name: z.string().describe("`base`, `routed`, `oracle`, `mixed` or an adapter's served name."),
  kind: z.enum(['base', 'adapter', 'mixed', 'routed', 'oracle']).describe('What answered the tasks.'),
  passRate: intervalSchema.describe('Mean over tasks of the share of trials passed.'),
  minusBase: intervalSchema.describe('Difference to base, paired over tasks; zero for base itself.'),
  episodes: z
    .number()
    .int()
    .describe(
      'Episodes that the figures rest on: tasks times trials. 0 for the oracle, which is computed from the other arms.',
    ),
});
export type Arm = z.infer<typeof armSchema>;

/** `evaluation.json`: all arms on the same held-out tasks. */
export const evaluationSchema = z.strictObject({
  tasks: z.number().int().describe('Held-out tasks that every arm ran in full.'),
  trials: z.number().int().describe('Trials of each task by each arm.'),
  confidence: z.number().describe('Nominal coverage of every interval, for example 0.95.'),
  bootstrapSamples: z.number().int().describe('Resamples of tasks behind each interval.'),
  base: armSchema.describe('The deployed agent as it is.'),
  bestSingle: armSchema.describe(
    'The adapter with the highest pass rate when it answers every task. Picked by the result, so its rate is ' +
      'slightly flattered.',
  ),
  routed: armSchema.describe(
    "The run's router gives each task to one adapter or to base, exactly as it will be served.",
  ),
  oracle: armSchema.describe(
    'What perfect routing over base and adapters can be shown to reach: the arm is chosen without the trial it ' +
      'is scored on. A lower bound.',
  ),
  oracleCeiling: z
    .number()
    .describe(
      'Best arm of each task by the very trials it is scored on, averaged: counts luck. An upper bound of ' +
        'perfect routing.',
    ),
  mixed: armSchema
    .optional()
    .describe('One adapter trained on all environments mixed; absent when it was not asked for or was left out.'),
  adapters: z.array(armSchema).describe('Each adapter answering every task alone.'),
  routedMinusBase: intervalSchema.describe('The gain that the gate looks at, paired over tasks.'),
  routedMinusBestSingle: intervalSchema.describe(
    'Paired over tasks. Conservative: the best single adapter was picked by its result.',
  ),
  routedMinusMixed: intervalSchema.optional().describe('Paired over tasks; absent without the mixed adapter.'),
  regression: z
    .strictObject({
      tasks: z.number().int().describe('Tasks that enter with at least one trial.'),
      loss: intervalSchema.describe(
        'Share lost by routed against base; positive = loss. Trials that select a task are not compared on.',
      ),
      significant: z.boolean().describe('The interval of the loss lies above zero.'),
    })
    .describe('Loss among tasks that base passed in the majority of trials.'),
  byTag: z
    .array(
      z.strictObject({
        tag: z
          .string()
          .describe("The task's only tag, `several` for tasks with more than one, `none` for tasks without."),
        tasks: z.number().int().describe('Tasks in this group. The groups do not overlap.'),
        base: z.number().describe('Pass rate of base.'),
        routed: z.number().describe('Pass rate of the routed system.'),
        minusBase: intervalSchema.describe('Routed minus base in this group, paired over tasks.'),
      }),
    )
    .describe('Base against routed by kind of task; empty when the environment gives no tags.'),
  router: z
    .strictObject({
      labels: z
        .array(
          z.strictObject({
            label: z.string().describe('Letter in the menu.'),
            capabilityId: z.string().describe('Capability, or `none`.'),
          }),
        )
        .describe('The menu that the base model was shown.'),
      expected: z
        .array(
          z.strictObject({
            tag: z.string().describe('Kind of task, as in byTag.'),
            capabilityId: z.string().describe('Capability, or `none`.'),
          }),
        )
        .describe(
          'The right choice for each kind of task: the capability whose adapter raises its pass rate most, ' +
            '`none` where no adapter raises it significantly.',
        ),
      confusion: z
        .array(
          z.strictObject({
            truth: z.string().describe('Kind of task, as in byTag, or `untagged`.'),
            chosen: z.string().describe('Capability that the router chose, or `none`.'),
            tasks: z.number().int().describe('Tasks of this kind that were sent there.'),
          }),
        )
        .describe('Non-zero cells only.'),
      meanCoveredMass: z
        .number()
        .nullable()
        .describe(
          "Mean probability that the model's raw distribution put on the menu's letters; below 0.5 the router " +
            'is unreliable; null where the router asks no model.',
        ),
      choice: routerChoiceSchema
        .optional()
        .describe('How the router was chosen on the train tasks; absent in runs from before routers competed.'),
      calibration: z.unknown().optional().describe('Only in old runs.'),
      accuracy: z
        .number()
        .nullable()
        .describe('Share of tasks with at most one tag that went to the expected choice; null without tags.'),
    })
    .describe('How tasks were given to adapters.'),
  caveats: z.array(z.string()).describe('Sentences that must be read with these figures.'),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/** One line of `routing.jsonl`: what the router decided for one held-out task. */
export const routingRecordSchema = z.strictObject({
  seed: z.number().int(),
  capabilityId: z.string(),
  /** Probability of each label, renormalised over the menu, in menu order. */
  probabilities: z.array(z.number()),
  /** Probability mass that the raw distribution put on the menu's labels. */
  coveredMass: z.number().nullable(),
});
export type RoutingRecord = z.infer<typeof routingRecordSchema>;

/** The gate's decision with its reasons in sentences. */
export const gateSchema = z.strictObject({
  passed: z.boolean().describe('The adapters may be promoted.'),
  reasons: z.array(z.string()).describe('Sentences with the numbers that decided.'),
});
export type Gate = z.infer<typeof gateSchema>;
