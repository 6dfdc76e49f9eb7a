import { z } from 'zod';

/** Kinds of routers that compete, the simplest first. */
export const COMPETING_ROUTERS = ['base', 'mixed', 'labels', 'logits', 'outcomes-mixed'] as const;
/** One of `COMPETING_ROUTERS`. */
export type CompetingRouter = (typeof COMPETING_ROUTERS)[number];

const sparseVectorSchema = z.strictObject({
  positions: z
    .array(z.number().int().nonnegative())
    .readonly()
    .describe('Positions that are not 0, in ascending order.'),
  values: z.array(z.number()).readonly().describe('Their values.'),
});

const vocabularySchema = z
  .strictObject({
    terms: z
      .array(z.number().int().nonnegative())
      .readonly()
      .describe('Hashes of words and word pairs, in ascending order.'),
    weights: z.array(z.number()).readonly().describe('Inverse document frequency of each.'),
  })
  .describe('What an opening is turned into numbers by.');

/** A logistic regression. */
const linearModelSchema = z.strictObject({
  bias: z.number(),
  weights: sparseVectorSchema,
});
export type LinearModel = z.infer<typeof linearModelSchema>;

const needModelsSchema = z
  .array(z.strictObject({ capabilityId: z.string(), model: linearModelSchema }))
  .describe('Probability that a task calls for each capability.');

const leftOut = z
  .array(z.string())
  .describe('Capabilities whose tasks the base model gets, because their adapter lost more tasks than it gained.');

/** Which later messages of a conversation are read, beginning with those that say most. */
export const LATER_MESSAGES = ['user', 'user-and-tools'] as const;
/** One of `LATER_MESSAGES`. */
export type LaterMessages = (typeof LATER_MESSAGES)[number];

/** Why an adapter is left out: by the tasks that the router gives it, or by all that it was played on. */
const ADAPTER_HARMS = ['routing', 'alone'] as const;

/** Steps of the competition that buy rollouts, in their order. */
const SPENDING_STEPS = [
  ...(['first-round', 'second-round', 'harm', 'later-turns', 'several-needs'] as const),
  ...(['mixed', 'finalists'] as const),
] as const;

const laterTurns = z
  .strictObject({
    reads: z
      .enum(LATER_MESSAGES)
      .describe("The user's messages, or what tools return as well: some agents hear their user through a tool."),
    vocabulary: vocabularySchema,
    needs: needModelsSchema,
    threshold: z
      .number()
      .min(0)
      .max(1)
      .describe('A later message moves the conversation to a capability that is at least this likely.'),
    twoNeeds: z
      .strictObject({
        threshold: z.number().min(0).max(1).describe('An opening calls for a capability that is at least this likely.'),
      })
      .optional()
      .describe(
        'A conversation whose opening calls for exactly two capabilities begins with the one that it asks for ' +
          "first; absent: with the router's choice.",
      ),
  })
  .optional()
  .describe('What later messages call for; absent: a conversation keeps the adapter that it began with.');
/** What moves a conversation to another adapter. */
export type LaterTurnsModel = z.infer<typeof laterTurns> & object;

const severalNeeds = z
  .strictObject({
    vocabulary: vocabularySchema,
    needs: needModelsSchema,
    threshold: z.number().min(0).max(1).describe('An opening calls for a capability that is at least this likely.'),
  })
  .optional()
  .describe(
    'A conversation whose opening calls for several capabilities gets the adapter that was trained on all ' +
      "environments; absent: the router's choice.",
  );
/** What sends an opening to the mixed adapter. */
export type SeveralNeedsModel = z.infer<typeof severalNeeds> & object;

/** `router.json`: which adapter, or base, gets a conversation. It is judged and served as it stands here. */
export const routerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('base'), leftOut }).describe('Every conversation gets the base model.'),
  z
    .strictObject({ kind: z.literal('mixed'), leftOut })
    .describe('Every conversation gets the adapter that was trained on all environments.'),
  z
    .strictObject({
      kind: z.literal('labels'),
      leftOut,
      vocabulary: vocabularySchema,
      needs: needModelsSchema,
      severalNeeds,
      laterTurns,
    })
    .describe('A logistic regression, learned from the labels of identification, says what a task calls for.'),
  z
    .strictObject({
      kind: z.literal('outcomes-mixed'),
      leftOut,
      vocabulary: vocabularySchema,
      base: linearModelSchema.describe('Probability that the base model passes.'),
      arms: z
        .array(
          z.strictObject({
            capabilityId: z.string(),
            model: linearModelSchema,
            variances: z
              .array(z.number().nonnegative())
              .readonly()
              .describe('Variance of the weight of each term, then that of the bias.'),
          }),
        )
        .describe('Probability that each adapter passes.'),
      doubt: z
        .number()
        .nonnegative()
        .describe('Standard errors, in log odds, by which the lower bound of an adapter is below its probability.'),
      margin: z
        .number()
        .min(0)
        .max(1)
        .describe('An adapter is chosen whose lower bound is higher than the probability of base by more than this.'),
      severalNeeds,
      laterTurns,
    })
    .describe(
      'The arm that is likeliest to pass, learned from which arm passed which train task. The adapter that was ' +
        'trained on all environments is one of the arms.',
    ),
  z
    .strictObject({
      kind: z.literal('logits'),
      leftOut,
      capabilities: z
        .array(z.strictObject({ id: z.string(), summary: z.string() }))
        .describe('What the menu offers the base model.'),
      temperature: z.number().positive().describe('Divides the log probabilities of the labels.'),
      threshold: z
        .number()
        .min(0)
        .max(1)
        .describe('Below this calibrated probability the base model gets the conversation.'),
      severalNeeds,
      laterTurns,
    })
    .describe('The base model reads a menu and answers with a label (paper, section 5).'),
]);
export type CompetitionRouter = z.infer<typeof routerSchema>;
/** A router that learned from outcomes. */
export type OutcomesRouter = Extract<CompetitionRouter, { arms: unknown }>;

/** One kind in `router-choice.json`. */
const competitorSchema = z.strictObject({
  kind: z.enum(COMPETING_ROUTERS).describe('The kind.'),
  gain: z.number().describe('Pass rate minus that of base on the train tasks that were compared.'),
  standardError: z.number().describe('Standard error of the gain.'),
  behind: z
    .number()
    .describe(
      'Pass rate of the best router minus its own; negative for `mixed` and `outcomes-mixed` that are ahead of it.',
    ),
  behindError: z.number().describe('Standard error of that difference, paired over tasks.'),
  routed: z.number().describe('Share of train tasks that it gives to an adapter.'),
  left: z.boolean().describe('It fell behind, and no further rollouts were bought for it.'),
});
export type Competitor = z.infer<typeof competitorSchema>;

/** `router-choice.json`: how the router was chosen. */
export const routerChoiceSchema = z.strictObject({
  chosen: z
    .enum(COMPETING_ROUTERS)
    .describe('The simplest kind within one standard error of the best; `mixed` at most one point behind it.'),
  pinned: z.boolean().describe('agent.yaml names the kind.'),
  trainTasks: z.number().int().describe('Train tasks with an opening and labels.'),
  compared: z.number().int().describe('Of those, tasks on which every kind that was left could be compared.'),
  comparedMixed: z
    .number()
    .int()
    .optional()
    .describe('Of those, tasks on which the mixed adapter was compared with the best router; absent without one.'),
  mixedOnBaseTasks: z
    .strictObject({
      tasks: z.number().int().describe('Compared tasks that the best router leaves to base.'),
      gain: z.number().describe('Pass rate of the mixed adapter on them minus that of base.'),
      standardError: z.number().describe('Standard error of that difference, paired over tasks.'),
      harms: z.boolean().describe('It loses by more than two standard errors, so it is not chosen over a router.'),
    })
    .optional()
    .describe(
      'What the mixed adapter does to tasks that need no adapter; absent without it, or with under five of them.',
    ),
  rollouts: z.number().int().describe('Rollouts bought for the comparison.'),
  budget: z.number().int().describe('Most rollouts allowed.'),
  competitors: z.array(competitorSchema).describe('The kinds, the simplest first.'),
  adapters: z
    .array(
      z.strictObject({
        capabilityId: z.string().describe('Its capability.'),
        tasks: z.number().int().describe('Compared tasks that the chosen router gives to it.'),
        gain: z.number().describe('Its pass rate minus that of base on these tasks.'),
        leftOut: z.boolean().describe('It loses tasks, so base gets them.'),
        reason: z
          .enum(ADAPTER_HARMS)
          .optional()
          .describe(
            'Why it is left out: it loses on the tasks that the router gives it, also on those that took no part in ' +
              'deciding so; or on all that it was played on by more than two standard errors, and gains nothing ' +
              'through the router. Absent: it is not, or the run is older than the reason.',
          ),
        standardError: z.number().optional().describe('Standard error of the gain.'),
        lossBound: z
          .number()
          .optional()
          .describe('One-sided upper 95 % bound of the pass rate of base minus its own on these tasks.'),
        alone: z
          .strictObject({
            tasks: z.number().int().describe('Train tasks that it was played on, whichever kind gave them to it.'),
            gain: z.number().describe('Its pass rate minus that of base on these tasks.'),
          })
          .optional()
          .describe('What it does on every task that it was played on; absent without any.'),
      }),
    )
    .describe('Each adapter through the chosen router.'),
  harm: z
    .strictObject({
      tasks: z.number().int().describe('Train tasks that it gives to an adapter and that were played.'),
      given: z.number().describe('Share of all train tasks that it gives to an adapter.'),
      loss: z
        .number()
        .describe('Pass rate of base minus its own on the tasks that it gives to an adapter; negative: it gains.'),
      bound: z.number().describe('One-sided upper 95 % bound of that loss.'),
      boundOverall: z.number().describe('The same bound over all train tasks; those that base gets lose nothing.'),
      margin: z.number().describe('`gate.lossMargin`.'),
      above: z.boolean().describe('The bound is above the margin: harm cannot be excluded.'),
      bought: z.number().int().describe('Rollouts bought to narrow the bounds of adapters that were above the margin.'),
    })
    .optional()
    .describe(
      'How much the chosen router, as it would be served, may lose against base; absent where it gives nothing to an ' +
        'adapter.',
    ),
  spending: z
    .array(
      z.strictObject({
        step: z.enum(SPENDING_STEPS).describe('What was bought.'),
        rollouts: z.number().int().describe('Rollouts bought so far, those for later turns included.'),
        kind: z.enum(COMPETING_ROUTERS).describe('The kind that would then have been chosen.'),
        tasks: z
          .number()
          .int()
          .describe('Train tasks on which its gain was then known, up to the first of a drawn order where it was not.'),
        gain: z.number().describe('Its pass rate minus that of base on these tasks.'),
        standardError: z.number().describe('Standard error of the gain, paired over tasks.'),
        oracleGain: z
          .number()
          .describe(
            'What the best arm of each of these tasks gains over base, of the arms that were played there; chosen ' +
              'without the trial that it is scored on, so it counts no luck and is a lower bound.',
          ),
      }),
    )
    .optional()
    .describe("What the rollouts bought: the gain of the best kind, and of the oracle, after each step's rollouts."),
  severalNeeds: z
    .strictObject({
      tasks: z.number().int().describe('Compared train tasks whose opening calls for several capabilities.'),
      gain: z
        .number()
        .describe('Pass rate of the mixed adapter on them minus that of the best router, with its moves.'),
      standardError: z.number().describe('Standard error of the gain, paired over tasks.'),
      adopted: z.boolean().describe('The gain is above two standard errors, so the mixed adapter gets such openings.'),
    })
    .optional()
    .describe(
      'Whether the mixed adapter gets openings with several needs, with the best router for all others; absent ' +
        'without that adapter, where too few tasks have such an opening, or where no router is chosen.',
    ),
  laterTurns: z
    .strictObject({
      reads: z.enum(LATER_MESSAGES).describe('Which later messages were read.'),
      tasks: z
        .number()
        .int()
        .describe(
          'Compared train tasks in which a later message, or what the opening asks for first, calls for another ' +
            'adapter.',
        ),
      rollouts: z.number().int().describe('Rollouts bought for this comparison; not among `rollouts`.'),
      gain: z.number().describe('Pass rate of these tasks with the move minus without it.'),
      standardError: z.number().describe('Standard error of the gain, paired over tasks.'),
      leftOut: z.array(z.string()).describe('Capabilities to which no conversation moves, because that lost tasks.'),
      adopted: z.boolean().describe('The gain is above one standard error, so conversations move.'),
      twoNeeds: z
        .strictObject({
          tasks: z
            .number()
            .int()
            .describe(
              'Compared train tasks whose opening calls for two capabilities, where the one that it asks for first ' +
                "is not the router's choice.",
            ),
          gain: z
            .number()
            .describe("Their pass rate, beginning with what is asked for first, minus that with the router's choice."),
          adopted: z.boolean().describe('Conversations begin with it. Then its tasks are among those compared above.'),
        })
        .optional()
        .describe('Whether an opening with two needs begins with the first; absent where no compared task tells.'),
    })
    .optional()
    .describe('Whether a later message moves a conversation; absent where too few tasks have one that would.'),
  reliability: z
    .strictObject({
      tasks: z.number().int().describe('Train tasks that it was measured on, each by a router that did not see it.'),
      right: z.number().describe('Share of them that went where their labels say.'),
      error: z.number().describe('Expected calibration error: mean distance of probability and share right.'),
      steps: z
        .array(
          z.strictObject({
            from: z.number().describe('Lowest probability of this step.'),
            to: z.number().describe('Highest probability of this step.'),
            tasks: z.number().int().describe('Tasks whose choice lies in this step.'),
            meanProbability: z.number().describe('Mean probability of their choices.'),
            right: z.number().describe('Share of them that went where their labels say.'),
          }),
        )
        .describe('Reliability diagram; steps without tasks are left out.'),
    })
    .optional()
    .describe(
      "Whether the chosen router's probabilities can be trusted; absent for `base`, for `mixed`, and for " +
        '`outcomes-mixed`, whose probabilities say what passes and not what a task calls for.',
    ),
});
export type RouterChoice = z.infer<typeof routerChoiceSchema>;
/** What was known after a step of the competition. */
export type Spending = NonNullable<RouterChoice['spending']>[number];
