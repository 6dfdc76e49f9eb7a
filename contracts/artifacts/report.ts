import { z } from 'zod';
import { budgetSpecSchema, environmentBudgetSchema } from '../config/analyst-spec';
import { analystUseSchema } from './analyst-use';
import { environmentUseSchema } from './environment-use';
import { artifactRefSchema } from './artifact-ref';
import { STAGES, RUN_OUTCOMES } from '../names';
import { candidateSchema, identificationSchema } from './identification';
import { nightDecisionSchema, remakingSchema } from './night';
import { trainingWatchSchema } from './training';
import { environmentAttemptSchema } from './environment-attempt';
import { evaluationSchema, gateSchema } from './evaluation';
import { failedByCauseSchema } from './failed-by-cause';

/** How long a stage took and how it ended. */
const stageTimingSchema = z.strictObject({
  name: z.enum(STAGES).describe('Stage.'),
  seconds: z.number().describe('Wall-clock time from its start to its end.'),
  status: z.enum(['done', 'skipped', 'failed']).describe('How it ended.'),
});

const trainedSchema = z.strictObject({
  name: z.string().describe('Served name.'),
  sha256: z.string().describe('Hash of the adapter.'),
  key: z.string().describe("Its directory, relative to the store's root."),
  rollouts: z.int().describe('Rollouts it was trained with.'),
  seconds: z.number().describe('Time of its training, start of the process included.'),
  reusedFrom: z.string().optional().describe('The earlier run that trained it; absent: this one did.'),
  beginsFrom: z
    .strictObject({
      name: z.string().describe('Name of that adapter.'),
      version: z.int().describe('The version of the registry that had it.'),
    })
    .optional()
    .describe('The served adapter that its training began from; absent: it began from zero.'),
  curve: z
    .array(
      z.strictObject({
        iteration: z.number().describe('Counts from 1.'),
        reward: z.number().describe('Mean reward of its rollouts.'),
        kl: z.number().describe('KL divergence from the base model, nats per token.'),
        loss: z.number().describe("GRPO's loss."),
        samplerMismatch: z
          .strictObject({
            mean: z.number().describe('Mean distance, nats per token.'),
            max: z.number().describe('Largest distance, nats.'),
            clipped: z.number().describe('Share of the rollouts that the correction left out of the update.'),
          })
          .optional()
          .describe('Log-probabilities of the sampler and of the trainer; absent when the engine sampled.'),
      }),
    )
    .describe('One point for each iteration.'),
  watch: trainingWatchSchema.optional().describe("Its probes on the agent's train tasks; absent: it had none."),
  unwatched: z.string().optional().describe('Why it had no probes, or no more; absent: it had, or wanted none.'),
});

const sharpenedSchema = z.strictObject({
  capability: candidateSchema.describe('The capability.'),
  status: z.enum(['trained', 'skipped', 'failed']).describe('How it ended.'),
  reason: z.string().describe('One line for people.'),
  attempts: z.array(environmentAttemptSchema).describe('Environments that the analyst wrote, in order.'),
  adapter: trainedSchema.nullable().describe('null when none was trained.'),
});

/** `report.json`: all results of a run, with a reference to each artifact (docs/reference/report.md). */
export const reportSchema = z.strictObject({
  schemaVersion: z.literal(1).describe('Version of this format.'),
  runId: z.string().describe('Also the id of the workflow.'),
  agent: z.string().describe('Name of the agent.'),
  createdAt: z.string().describe('ISO 8601, UTC.'),
  seed: z.int().describe('Seed of the run: sampling and statistics are functions of it.'),
  verdict: z.enum(RUN_OUTCOMES).describe('How the run ended.'),
  notes: z
    .array(z.string())
    .describe(
      'Sentences that must be read with the numbers: planted deficits, the demo analyst, an unsafe sandbox, ' +
        'caveats of the statistics.',
    ),
  analyst: z.string().describe('Display name of the analyst.'),
  sandbox: z.string().describe('`jail` or `unsafe`, and what was found.'),
  baseModel: z
    .strictObject({
      name: z.string().describe('Served name.'),
      sha256: z.string().describe('Hash of its files; of a run that only diagnoses, of what the server says of it.'),
    })
    .describe('The model that the adapters are trained on.'),
  settings: z
    .strictObject({
      calibration: z
        .strictObject({
          meanReward: z.tuple([z.number(), z.number()]).describe('Lowest and highest mean reward.'),
          meanSuccess: z.tuple([z.number(), z.number()]).describe('Lowest and highest success rate.'),
        })
        .describe('The band in which an environment is accepted.'),
      gate: z
        .strictObject({
          minGain: z.number().describe('The lower end of the gain must lie above this.'),
          maxRegression: z.number().describe('Largest significant loss among tasks that base passed.'),
          maxSureLoss: z
            .number()
            .describe('Largest share of surely passed tasks that may be lost for good, beyond luck.'),
          lossMargin: z
            .number()
            .describe('The loss on tasks that passed before must lie below this, with its interval.'),
        })
        .describe('Conditions of promotion.'),
      rolloutsPerIteration: z.int().describe('Rollouts behind one point of a learning curve.'),
    })
    .describe('Settings behind the thresholds of the plots.'),
  collect: z
    .strictObject({
      episodes: z.int().describe('Rollouts of the base agent on train tasks, and conversations of live traffic.'),
      live: z.int().describe('Of those, conversations of live traffic.'),
      ingested: z
        .int()
        .optional()
        .describe('Of those, conversations that `whet ingest` read; nothing was played. Absent: rollouts were played.'),
      withoutOutcome: z
        .int()
        .optional()
        .describe('Conversations that were ingested and have no outcome; they are in no count. Absent: none.'),
      successes: z.int().describe('Of those, successes.'),
      withoutCalls: z
        .int()
        .optional()
        .describe('Of the successes, those without a call of a tool, where other rollouts made calls. Absent: none.'),
      failures: z.int().describe('Of those, failures.'),
      failed: failedByCauseSchema
        .optional()
        .describe('Of those, rollouts without a result, by what failed in them. They are in no rate. Absent: none.'),
      failedTasks: z
        .array(z.string())
        .optional()
        .describe('The first tasks with such a rollout, by their ids, else their seeds. Absent: none, or not known.'),
      tokens: z
        .strictObject({
          episodes: z.int().describe('Rollouts whose tokens are all kept.'),
          lacking: z.int().describe('Rollouts that lack some, so that no training may use them.'),
          refusal: z.string().optional().describe('Why the model server gives none. Absent: it gives them.'),
        })
        .optional()
        .describe('The tokens that `collect.tokens` keeps. Absent: nobody asked for them.'),
      notWhole: z
        .int()
        .optional()
        .describe(
          'Rollouts of a program that lack what a trajectory cannot hold, such as images: the analyst did not see ' +
            'it. Absent: none.',
        ),
      tasks: z.int().describe('Train tasks.'),
      trials: z.int().describe('Trials of each task.'),
    })
    .describe('What identification was made from.'),
  night: nightDecisionSchema
    .optional()
    .describe('What the run measured of the active version before it did anything else; absent: it did not measure.'),
  remaking: remakingSchema
    .optional()
    .describe('What a changed base model was expected to cost, before it was spent; absent: it has not changed.'),
  identification: identificationSchema.describe(
    'Which capabilities the agent lacks; of a run that ended after measuring: which it lacks as it serves.',
  ),
  sharpened: z.array(sharpenedSchema).describe('One for each kept capability.'),
  mixed: trainedSchema
    .nullable()
    .optional()
    .describe(
      'The adapter trained on all environments mixed, where it was asked for; also where its own arm was left out.',
    ),
  evaluation: evaluationSchema.nullable().describe('Held-out tasks; null when there was no adapter to evaluate.'),
  gate: gateSchema.nullable().describe('null without an evaluation.'),
  promotedVersion: z.int().nullable().describe("Version in the agent's registry; null when nothing was promoted."),
  stages: z.array(stageTimingSchema).describe('Time by stage, in order.'),
  tokens: z
    .array(
      z.strictObject({
        stage: z.string().describe('Stage.'),
        model: z.string().describe('Who generated: the base model, an adapter or the analyst.'),
        promptTokens: z.int().describe('Tokens read.'),
        completionTokens: z.int().describe('Tokens generated.'),
      }),
    )
    .describe('Tokens by stage and model.'),
  analystUse: z
    .strictObject({
      calls: analystUseSchema.describe('By kind of call: `discover`, `label`, `synthesise`.'),
      usd: z.number().nullable().describe('By the prices of agent.yaml; null where it has none.'),
      budget: budgetSpecSchema.describe('What the run was allowed to spend in the end.'),
    })
    .optional()
    .describe(
      'What the run used of the analyst: counted while it ran, so that a killed worker may have left out its ' +
        'last second.',
    ),
  environmentUse: z
    .strictObject({
      stages: environmentUseSchema.describe('By stage.'),
      usd: z.number().nullable().describe('By the prices of agent.yaml; null where it has none.'),
      budget: environmentBudgetSchema.describe('What the run was allowed to spend in the end.'),
    })
    .optional()
    .describe('What simulated users and judges spent; absent: the environment is a Python class, which asks no model.'),
  artifacts: z
    .array(z.strictObject({ role: z.string().describe('What it is.'), ref: artifactRefSchema.describe('The file.') }))
    .describe('Every artifact that the report was made from.'),
});
export type Report = z.infer<typeof reportSchema>;
export type SharpenedReport = z.infer<typeof sharpenedSchema>;
export type TrainedReport = z.infer<typeof trainedSchema>;
