import { z } from 'zod';
import { evaluationPlanSchema, judgingSchema } from './evaluation-plan';
import { failedByCauseSchema } from './failed-by-cause';
import { routerChoiceSchema } from './router-choice';

/** An estimate with its interval. Shares are in [0, 1], differences in [-1, 1]. */
export const intervalSchema = z.strictObject({
  estimate: z.number().describe('The figure itself.'),
  low: z.number().describe('Lower end of its interval.'),
  high: z.number().describe('Upper end of its interval.'),
});
export type Interval = z.infer<typeof intervalSchema>;

/** One way to answer the held-out tasks, with its pass rate. */
export const armSchema = z.strictObject({
  name: z.string().describe("`base`, `routed`, `oracle`, `mixed`, `incumbent` or an adapter's served name."),
  kind: z.enum(['base', 'adapter', 'mixed', 'routed', 'incumbent', 'oracle']).describe('What answered the tasks.'),
  passRate: intervalSchema.describe('Mean over tasks of the share of trials passed.'),
  minusBase: intervalSchema.describe('Difference to base, paired over tasks; zero for base itself.'),
  passedAll: intervalSchema
    .optional()
    .describe(
      'Chance that k trials of a task all pass, averaged over the tasks with k results: pass^k. Absent for the ' +
        'oracle, and where too many episodes failed.',
    ),
  episodes: z
    .int()
    .describe(
      'Episodes that the figures rest on: tasks times trials, without those that failed. 0 for the oracle, which is ' +
        'computed from the other arms.',
    ),
  failed: failedByCauseSchema
    .optional()
    .describe('Episodes on held-out tasks that failed and are in no figure, by cause. Absent: none.'),
});
export type Arm = z.infer<typeof armSchema>;

const regressionFields = {
  tasks: z.int().describe('Tasks that enter with at least one trial.'),
  loss: intervalSchema.describe(
    'Share lost by routed; positive = loss. Trials that select a task are not compared on.',
  ),
  significant: z.boolean().describe('The interval of the loss is above zero.'),
};

/** The active version as an arm. */
const incumbentSchema = z.strictObject({
  version: z.int().describe('Its number in the registry.'),
  arm: armSchema.describe('Its adapters through its router, as the gateway serves them.'),
  routedMinus: intervalSchema.describe('Routed minus the active version, paired over tasks.'),
  differing: z.int().describe('Held-out tasks that get another adapter than in the active version.'),
  regression: z
    .strictObject(regressionFields)
    .describe('Loss among tasks that the active version passed in at least half of its trials.'),
});
export type Incumbent = z.infer<typeof incumbentSchema>;

/** The gain figures that the gate tests, at the confidence of this comparison. */
const judgedSchema = judgingSchema.extend({
  routedMinusBase: intervalSchema.describe('Routed minus base.'),
  routedMinusIncumbent: intervalSchema.nullable().describe('Routed minus the active version; null when it is no arm.'),
  loss: intervalSchema
    .nullable()
    .describe('Loss among tasks that the active version, or base without one, passed; null when none passed.'),
});

/** `evaluation.json`: all arms on the same held-out tasks. */
export const evaluationSchema = z.strictObject({
  tasks: z.int().describe('Held-out tasks that every arm ran in full and of which each has a result.'),
  trials: z.int().describe('Trials of each task by each arm.'),
  allOf: z
    .int()
    .optional()
    .describe('k of pass^k: `evaluation.trials`, where more trials were planned. Absent: `trials`.'),
  confidence: z.number().describe('Nominal coverage of every interval outside of `judged`, for example 0.95.'),
  bootstrapSamples: z.int().describe('Resamples of tasks behind each interval.'),
  base: armSchema.describe('The deployed agent as it is.'),
  bestSingle: armSchema.describe(
    'The adapter with the highest pass rate when it answers every task. Picked by the result, so its rate is ' +
      'slightly flattered.',
  ),
  routed: armSchema.describe(
    "What would be promoted: the run's router gives each task to one adapter or to base, exactly as it will be served.",
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
    .strictObject(regressionFields)
    .describe('Loss among tasks that base passed in at least half of its trials.'),
  sureLoss: z
    .strictObject({
      tasks: z.int().describe('Tasks that base passed in all trials.'),
      lost: z.int().describe('Those of them that routed passed in none.'),
      luck: z.number().describe('Share that would be lost if routed were as good as base on every task.'),
      chance: z.number().describe('Chance that luck alone loses so many.'),
      byCapability: z
        .array(
          z.strictObject({
            capabilityId: z.string().describe('Capability, or `none`: base, until a later turn switches.'),
            lost: z.int().describe('Tasks lost by it.'),
          }),
        )
        .describe('Lost tasks by the choice of the router for the opening, most first.'),
    })
    .nullable()
    .describe(
      'Tasks lost for good: gains elsewhere cannot outweigh them. Null with one trial, which shows nothing sure, or ' +
        'if base passes no task in all trials.',
    ),
  incumbent: incumbentSchema
    .optional()
    .describe('The version that was active; absent where none was, or it could not be compared.'),
  doNothing: z
    .strictObject({
      tasks: z.int().describe('Held-out tasks on which it has a result.'),
      passRate: intervalSchema.describe('Share of them that it passes, in one trial each.'),
      baseMinus: intervalSchema.describe('Base minus the agent that does nothing, paired over these tasks.'),
    })
    .optional()
    .describe(
      'An agent that says one neutral sentence and calls no tool: what the rewards give without any skill. Absent ' +
        'where none of its episodes has a result.',
    ),
  plan: evaluationPlanSchema.describe('The plan of the evaluation, from before the held-out tasks were played.'),
  judged: judgedSchema.describe('The same figures as the gate judges them, with wider intervals.'),
  byTag: z
    .array(
      z.strictObject({
        tag: z
          .string()
          .describe("The task's only tag, `several` for tasks with more than one, `none` for tasks without."),
        tasks: z.int().describe('Tasks in this group. The groups do not overlap.'),
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
            tasks: z.int().describe('Tasks of this kind that were sent there.'),
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
      choice: routerChoiceSchema.describe('How the router was chosen on the train tasks.'),
      accuracy: z
        .number()
        .nullable()
        .describe('Share of tasks with at most one tag that went to the expected choice; null without tags.'),
    })
    .describe('How tasks were given to adapters.'),
  caveats: z.array(z.string()).describe('Sentences that must be read with these figures.'),
});
export type Evaluation = z.infer<typeof evaluationSchema>;

/** One line of `routing.jsonl`: the router's decision for one held-out task. */
export const routingRecordSchema = z.strictObject({
  seed: z.int(),
  capabilityId: z.string(),
  /** Probability of each label, renormalised over the menu, in menu order. */
  probabilities: z.array(z.number()),
  /** Total probability of the menu's labels before renormalisation. */
  coveredMass: z.number().nullable(),
  /** What failed whenever the task was opened. Then nothing was decided, and the router's arm leaves the task out. */
  failedBecause: z.string().optional(),
});
export type RoutingRecord = z.infer<typeof routingRecordSchema>;

/** Possible reasons why the gate was not passed. */
const CULPRITS = ['incumbent', 'router', 'adapter', 'environment', 'power'] as const;
/** One of `CULPRITS`. */
export type Culprit = (typeof CULPRITS)[number];

/** The gate's decision with its reasons in sentences. */
export const gateSchema = z.strictObject({
  passed: z.boolean().describe('The adapters may be promoted.'),
  reasons: z.array(z.string()).describe('Sentences with the numbers that decided.'),
  culprit: z
    .enum(CULPRITS)
    .optional()
    .describe(
      'Why it was not passed: the active version is better or as good, the router, the adapters, the environments ' +
        'that they were trained in, or too few tasks to tell. Absent where it was passed.',
    ),
});
export type Gate = z.infer<typeof gateSchema>;
