import { z } from 'zod';
import { ROUTER_KINDS } from '../config/router-kinds';
import { failedByCauseSchema } from './failed-by-cause';

/** Later messages that the router reads, the most informative choice first. */
export const LATER_MESSAGES = ['user', 'user-and-tools'] as const;
/** One of `LATER_MESSAGES`. */
export type LaterMessages = (typeof LATER_MESSAGES)[number];

/** The tasks that show an adapter's harm: those that the router gives it, or all that it played. */
const ADAPTER_HARMS = ['routing', 'alone'] as const;

/** Steps of the competition that buy rollouts, in their order. */
const SPENDING_STEPS = [
  'first-round',
  'second-round',
  'harm',
  'later-turns',
  'several-needs',
  'single',
  'mixed',
  'finalists',
  'tool-results',
] as const;

/** One kind in `router-choice.json`. */
const competitorSchema = z.strictObject({
  kind: z.enum(ROUTER_KINDS).describe('The kind.'),
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
    .enum(ROUTER_KINDS)
    .describe('The simplest kind within one standard error of the best; `mixed` at most one point behind it.'),
  pinned: z.boolean().describe('agent.yaml names the kind.'),
  trainTasks: z.int().describe('Train tasks with an opening and labels.'),
  compared: z.int().describe('Of those, tasks on which every kind that was left could be compared.'),
  comparedMixed: z
    .int()
    .optional()
    .describe('Of those, tasks on which the mixed adapter was compared with the best router; absent without one.'),
  mixedOnBaseTasks: z
    .strictObject({
      tasks: z.int().describe('Compared tasks that the best router leaves to base.'),
      gain: z.number().describe('Pass rate of the mixed adapter on them minus that of base.'),
      standardError: z.number().describe('Standard error of that difference, paired over tasks.'),
      harms: z.boolean().describe('It loses by more than two standard errors, so it is not chosen over a router.'),
    })
    .optional()
    .describe(
      'The effect of the mixed adapter on tasks that need no adapter; absent without it, or with under five of them.',
    ),
  rollouts: z.int().describe('Rollouts bought for the comparison.'),
  failed: failedByCauseSchema
    .optional()
    .describe('Bought rollouts without a result, by what failed in them. They are in no figure. Absent: none.'),
  budget: z.int().describe('Most rollouts allowed.'),
  competitors: z.array(competitorSchema).describe('The kinds, the simplest first.'),
  adapters: z
    .array(
      z.strictObject({
        capabilityId: z.string().describe('Its capability.'),
        tasks: z.int().describe('Compared tasks that the chosen router gives to it.'),
        gain: z.number().describe('Its pass rate minus that of base on these tasks.'),
        leftOut: z.boolean().describe('It loses tasks, so base gets them.'),
        reason: z
          .enum(ADAPTER_HARMS)
          .optional()
          .describe(
            'Why it is left out: it loses on the tasks that the router gives it, also on those that took no part in ' +
              'deciding so; or on all that it was played on by more than two standard errors, and gains nothing ' +
              'through the router. Absent: it is not left out.',
          ),
        standardError: z.number().optional().describe('Standard error of the gain.'),
        lossBound: z
          .number()
          .optional()
          .describe('One-sided upper 95 % bound of the pass rate of base minus its own on these tasks.'),
        alone: z
          .strictObject({
            tasks: z.int().describe('Train tasks that it was played on, whichever kind gave them to it.'),
            gain: z.number().describe('Its pass rate minus that of base on these tasks.'),
          })
          .optional()
          .describe('Its effect over all tasks that it was played on; absent without any.'),
      }),
    )
    .describe('Each adapter through the chosen router.'),
  harm: z
    .strictObject({
      tasks: z.int().describe('Train tasks that it gives to an adapter and that were played.'),
      given: z.number().describe('Share of all train tasks that it gives to an adapter.'),
      loss: z
        .number()
        .describe('Pass rate of base minus its own on the tasks that it gives to an adapter; negative: it gains.'),
      bound: z.number().describe('One-sided upper 95 % bound of that loss.'),
      boundOverall: z.number().describe('The same bound over all train tasks; those that base gets lose nothing.'),
      margin: z.number().describe('`gate.lossMargin`.'),
      above: z.boolean().describe('The bound is above the margin: harm cannot be excluded.'),
      bought: z.int().describe('Rollouts bought to narrow the bounds of adapters that were above the margin.'),
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
        rollouts: z.int().describe('Rollouts bought so far, those for later turns included.'),
        kind: z.enum(ROUTER_KINDS).describe('The kind that would then have been chosen.'),
        tasks: z
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
      tasks: z.int().describe('Compared train tasks whose opening calls for several capabilities.'),
      gain: z
        .number()
        .describe('Pass rate of the mixed adapter on them minus that of the best router, with its switches.'),
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
        .int()
        .describe(
          'Compared train tasks in which a later message, or what the opening asks for first, calls for another ' +
            'adapter.',
        ),
      rollouts: z.int().describe('Rollouts bought for this comparison; not among `rollouts`.'),
      gain: z.number().describe('Pass rate of these tasks with the switch minus without it.'),
      standardError: z.number().describe('Standard error of the gain, paired over tasks.'),
      leftOut: z.array(z.string()).describe('Capabilities to which no conversation switches, because that lost tasks.'),
      adopted: z.boolean().describe('The gain is above one standard error, so conversations switch.'),
      twoNeeds: z
        .strictObject({
          tasks: z
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
        .describe('Whether an opening with two needs begins with the first; absent where no compared task shows it.'),
    })
    .optional()
    .describe('Whether a later message switches the adapter; absent where too few tasks have such a message.'),
  toolResults: z
    .strictObject({
      tasks: z.int().describe('Compared train tasks in which the result of a tool shows the need of another adapter.'),
      rollouts: z.int().describe('Rollouts bought for this comparison; not among `rollouts`.'),
      gain: z.number().describe('Pass rate of these tasks, following the needs, minus that with one adapter.'),
      standardError: z.number().describe('Standard error of the gain, paired over tasks.'),
      leftOut: z.array(z.string()).describe('Capabilities to which no conversation switches, because that lost tasks.'),
      adopted: z.boolean().describe('The gain is above one standard error, so conversations follow the needs.'),
    })
    .optional()
    .describe('Whether the needs that tools show switch the adapter; absent where it was not compared.'),
  reliability: z
    .strictObject({
      tasks: z.int().describe('Train tasks that it was measured on, each by a router that did not see it.'),
      right: z.number().describe('Share of them that went where their labels say.'),
      error: z.number().describe('Expected calibration error: mean distance of probability and share right.'),
      steps: z
        .array(
          z.strictObject({
            from: z.number().describe('Lowest probability of this step.'),
            to: z.number().describe('Highest probability of this step.'),
            tasks: z.int().describe('Tasks whose choice has a probability in this step.'),
            meanProbability: z.number().describe('Mean probability of their choices.'),
            right: z.number().describe('Share of them that went where their labels say.'),
          }),
        )
        .describe('Reliability diagram; steps without tasks are left out.'),
    })
    .optional()
    .describe(
      "Whether the chosen router's probabilities can be trusted; absent for `base`, for `mixed`, and for " +
        '`outcomes-mixed`, whose probabilities are of passing and not of what a task calls for.',
    ),
});
export type RouterChoice = z.infer<typeof routerChoiceSchema>;
/** Whether the mixed adapter gives all answers: no conversation switches to another one. */
export const isMixedAlone = ({ chosen, toolResults }: Pick<RouterChoice, 'chosen' | 'toolResults'>): boolean =>
  chosen === 'mixed' && !toolResults?.adopted;

/** All rollouts that the competition bought, those that switch adapters included. */
export const boughtRollouts = ({
  rollouts,
  laterTurns,
  toolResults,
}: Pick<RouterChoice, 'rollouts' | 'laterTurns' | 'toolResults'>): number =>
  rollouts + (laterTurns?.rollouts ?? 0) + (toolResults?.rollouts ?? 0);

/** Whether conversations switch adapters after their first answer. */
export const switchesLater = ({ laterTurns, toolResults }: Pick<RouterChoice, 'laterTurns' | 'toolResults'>): boolean =>
  laterTurns?.adopted === true || toolResults?.adopted === true;

/** The figures after a step of the competition. */
export type Spending = NonNullable<RouterChoice['spending']>[number];
