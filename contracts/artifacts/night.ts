import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';
import { intervalSchema } from './evaluation';
import { failedByCauseSchema } from './failed-by-cause';
import { seedRangeSchema } from './seed-range';

const count = z.int().nonnegative();

/** Hashes of everything that the result of a night depends on. */
const contentSchema = z.strictObject({ environment: z.string(), baseModel: z.string(), options: z.string() });

/** The expected cost after a change of the base model, estimated from the former cost of the same work. */
export const remakingSchema = z.strictObject({
  sentence: z.string().describe('All of it in a sentence.'),
  version: z.int().describe('The active version, which does not fit the base model.'),
  adapters: count.describe(
    "Its adapters that have to be trained again: not those that today's base model has already.",
  ),
  calibrations: count.describe('Calibrations behind them that have to be made again.'),
  environments: count.describe('Environments behind them. They stay.'),
  unknown: count.describe('Of the adapters and calibrations, those of which no record says what they took.'),
  calibrationRollouts: count.describe('Rollouts of the calibrations.'),
  trainingRollouts: count.describe('Rollouts of the trainings.'),
  trainingTokens: count.describe('Tokens generated in them.'),
  trainingMinutes: z.number().describe('Time of the trainings, one after the other.'),
  identification: z
    .strictObject({
      calls: count.describe('Discovery and labels.'),
      tokens: count.describe('Their tokens.'),
      usd: z.number().nullable().describe('US dollars for them; null without prices.'),
    })
    .nullable()
    .describe(
      'Questions to the analyst in the run that made the version. Where that run was removed: all that its record ' +
        'counts. null where there is none.',
    ),
});
export type Remaking = z.infer<typeof remakingSchema>;

/** `night-plan.json`: the plan of a run's measuring night, written before the run spends anything. */
export const nightPlanSchema = z.strictObject({
  night: count.describe('Number of the measuring night of the agent; 0 for a run that does not measure.'),
  active: z.int().nullable().describe('Version that is served; null for base.'),
  measures: z.boolean().describe('Whether it begins by measuring the active version.'),
  why: z.string().describe('A sentence: what it measures, or why it does not.'),
  seeds: z.array(seedRangeSchema).describe('Train tasks that are played, with one trial in each arm.'),
  live: count.optional().describe('Most conversations of live traffic that it reads; absent: none.'),
  content: contentSchema.describe("Hashes of the agent's own environment, of the base model, and of the options."),
  invalid: z
    .strictObject({ environments: count, calibrations: count, adapters: count })
    .describe('What of the active version does not fit the base model. Environments stay valid.'),
  remaking: remakingSchema.optional().describe('What a changed base model will cost; absent: it costs nothing.'),
});
export type NightPlan = z.infer<typeof nightPlanSchema>;

/** Why a night continues to sharpen. The same reason does not count again for the same version and content. */
const nightReasonSchema = z.strictObject({
  kind: z
    .enum(['new', 'regressed', 'recurring', 'drifting', 'lost-gain', 'harms', 'no-longer-helps'])
    .describe('What the night found.'),
  capabilityId: z.string().nullable().describe('Capability that it concerns; null for the whole version.'),
  adapter: z.string().optional().describe('Sha256 of the served adapter that it is about, once for each content.'),
});
export type NightReason = z.infer<typeof nightReasonSchema>;

/** Numbers of an adapter's tasks, by its outcome and base's outcome. */
const adapterTasksSchema = z.strictObject({
  capabilityId: z.string().describe('Capability of the adapter.'),
  sha256: z.string().describe('Hash of the adapter.'),
  tasks: count.describe('Tasks that the router gave it, pooled over nights of the version with the same content.'),
  passed: count.describe('Of these, passed by the version.'),
  gained: count.describe('Of these, passed by it alone.'),
  lost: count.describe('Of these, passed by base alone.'),
});
export type AdapterTasks = z.infer<typeof adapterTasksSchema>;

const adapterGainSchema = adapterTasksSchema.extend({
  gain: intervalSchema.describe('Adapter minus base, paired over its tasks, at `confidence`.'),
  confidence: z.number().describe('Corrected for the adapters of the version, and for the nights that have looked.'),
  verdict: z
    .enum(['helps', 'harms', 'no-longer-helps', 'cannot-tell'])
    .describe('`no-longer-helps`: any gain of 10 points or more on its tasks is excluded.'),
});
export type AdapterGain = z.infer<typeof adapterGainSchema>;

/** Number of a night's tasks in which the served version lacks a capability; live traffic does not count. */
const lackCountSchema = z.strictObject({ capabilityId: z.string(), tasks: count, lacking: count });
export type LackCount = z.infer<typeof lackCountSchema>;

const capabilityDriftSchema = z.strictObject({
  capabilityId: z.string().describe('Id of the capability.'),
  nights: count.describe('Nights of the version on the same content that were looked at.'),
  tasks: count.describe('Their tasks.'),
  earlier: z.number().describe('Share of the tasks in which it is lacking, in the first half of these nights.'),
  later: z.number().describe('The same in the last half.'),
  confidence: z.number().describe('Corrected for the capabilities of the night, and for the nights that have looked.'),
});
export type CapabilityDrift = z.infer<typeof capabilityDriftSchema>;

/**
 * `night-decision.json`: the findings of a night, and whether it continues. Written before the result goes to Temporal.
 */
export const nightDecisionSchema = z.strictObject({
  night: count.describe('Number of the measuring night.'),
  version: z.int().describe('Version that was measured.'),
  outcome: z
    .enum(['goes-on', 'nothing-new', 'too-little-power'])
    .describe('`goes-on`: there is something to sharpen. The others end the run.'),
  sentence: z.string().describe('Why, for people.'),
  reasons: z.array(nightReasonSchema).describe('Why it continues; empty when it ends.'),
  seenBefore: z.array(nightReasonSchema).describe('Reasons for which an earlier night on the same content continued.'),
  undecided: z
    .array(z.string())
    .describe('Capabilities without an adapter that are lacking by the estimate, but not by the interval.'),
  tasks: count.describe('Tasks that both arms played.'),
  live: count
    .optional()
    .describe(
      'Conversations that the version had answered, which the identification saw with its rollouts; absent: none ' +
        'were looked for. They count in no other figure.',
    ),
  earlier: count
    .optional()
    .describe('Episodes of earlier nights with the same inputs, which the identification saw, too. Absent: none.'),
  failed: z
    .strictObject({
      base: failedByCauseSchema.optional().describe('Of base. Absent: none.'),
      served: failedByCauseSchema.optional().describe('Of the version. Absent: none.'),
    })
    .optional()
    .describe('Rollouts without a result, by what failed in them. They are in no figure. Absent: none.'),
  served: z.number().describe('Share of them that the version passed.'),
  base: z.number().describe('Share of them that base passed.'),
  gain: intervalSchema.describe('Version minus base, paired over tasks, 95 %.'),
  promotedWith: intervalSchema.describe('The gain with which the version was promoted.'),
  change: intervalSchema.describe('Gain tonight minus gain at its promotion, 95 %.'),
  rateChange: intervalSchema
    .nullable()
    .describe('Share passed tonight minus the share of held-out tasks at its promotion; null where that is gone.'),
  detectableLoss: z
    .number()
    .describe('Smallest loss, of gain and of pass rate, that such a night sees with a chance of 0.8.'),
  capabilities: z
    .array(
      z.strictObject({
        id: z.string().describe('Id of the capability.'),
        state: z
          .enum(['new', 'recurring', 'regressed', 'drifting', 'fixed', 'not-lacking', 'cannot-tell'])
          .describe(
            'For the system as it serves. `drifting`: lacking in more and more tasks over nights, and neither new ' +
              'nor regressed in this one.',
          ),
        inVersion: z.boolean().describe('Whether the version has an adapter for it.'),
      }),
    )
    .describe('Every capability that was looked at.'),
  drifts: z
    .array(capabilityDriftSchema)
    .optional()
    .describe('Capabilities that are lacking in more and more tasks. Absent: none.'),
  adapters: z.array(adapterGainSchema).describe('Each adapter of the version.'),
  cost: z
    .strictObject({
      rollouts: count.describe('Rollouts of both arms.'),
      labels: count.describe('Labels asked for.'),
      analystTokens: count.describe('Tokens of the analyst.'),
    })
    .describe('What the measuring took.'),
  identification: artifactRefSchema.describe('`identification.json` of the served system.'),
});
export type NightDecision = z.infer<typeof nightDecisionSchema>;

/** A run's comparison of its candidate with the served version, on held-out tasks. */
const comparisonSchema = z.strictObject({
  runId: z.string(),
  /** Version that was served; null: the base model alone. */
  against: z.int().nullable(),
  baseModel: z.string(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

/** `nights/<agent>.json`: the agent's measuring nights and its comparisons, oldest first. */
export const nightsSchema = z.strictObject({
  agent: z.string(),
  nights: z.array(
    z.strictObject({
      runId: z.string(),
      night: count,
      version: z.int(),
      content: contentSchema,
      /** Null while the night has not decided. */
      outcome: z.enum(['goes-on', 'nothing-new', 'too-little-power']).nullable(),
      reasons: z.array(nightReasonSchema),
      /** Whether its run ended with a result, so that the night's reasons were acted on. */
      worked: z.boolean(),
      /**
       * Whether the version without an adapter, and with nothing new, was judged on held-out tasks. Absent if the night
       * had no reason to leave an adapter out.
       */
      triedAlone: z.boolean().optional(),
      /** Capabilities that were lacking although their adapter is served. Absent while the night has not decided. */
      lacking: z.array(z.string()).optional(),
      /** For each capability, the number of this night's tasks that lack it; omitted once it is old. */
      lack: z.array(lackCountSchema).optional(),
      /** Capabilities that were drifting. Absent: none. */
      drifting: z.array(z.string()).optional(),
      /** JSONL of Trajectory: the version's rollouts of this night, which later nights identify with. */
      served: artifactRefSchema.optional(),
      /** The result of each adapter in this night only; omitted once it is old. */
      adapters: z.array(adapterTasksSchema).optional(),
      /**
       * The day (UTC) on which the night read live traffic, and the first 16 digits of the ids that it took. Later
       * nights drop the ids of days that they no longer read. Absent if it read none.
       */
      live: z.strictObject({ day: z.iso.date(), read: z.array(z.string()) }).optional(),
    }),
  ),
  /** No comparison is ever dropped: the next one's confidence depends on their number. */
  comparisons: z.array(comparisonSchema),
  /** The block of held-out tasks that a run judges on, where they rotate. */
  heldOutBlocks: z.array(z.strictObject({ runId: z.string(), block: z.int().positive() })).optional(),
});
export type Nights = z.infer<typeof nightsSchema>;
