import { z } from 'zod';
import { artifactRefSchema } from './artifacts';
import { STAGES, VERDICTS } from './constants';
import { candidateSchema, contrastSchema, identificationSchema } from './capability';
import { environmentAttemptSchema } from './environment';
import { evaluationSchema, gateSchema } from './evaluation';

export const stageTimingSchema = z.strictObject({ name: z.enum(STAGES), seconds: z.number(), status: z.enum(['done', 'skipped', 'failed']) });

const sharpenedSchema = z.strictObject({
  capability: candidateSchema,
  status: z.enum(['trained', 'skipped', 'failed']),
  reason: z.string(),
  attempts: z.array(environmentAttemptSchema),
  adapter: z
    .strictObject({
      name: z.string(),
      sha256: z.string(),
      key: z.string(),
      rollouts: z.number().int(),
      seconds: z.number(),
      curve: z.array(z.strictObject({ iteration: z.number(), reward: z.number(), kl: z.number(), loss: z.number() })),
    })
    .nullable(),
});

/** `report.json`: everything that a run found out, with a reference to each artifact. Documented in docs/report.md. */
export const reportSchema = z.strictObject({
  schemaVersion: z.literal(1),
  runId: z.string(),
  agent: z.string(),
  createdAt: z.string(),
  seed: z.number().int(),
  verdict: z.enum(VERDICTS),
  /** Sentences that must be read with the numbers: planted deficits, the demo analyst, an unsafe sandbox. */
  notes: z.array(z.string()),
  analyst: z.string(),
  sandbox: z.string(),
  baseModel: z.strictObject({ name: z.string(), sha256: z.string() }),
  collect: z.strictObject({ episodes: z.number().int(), successes: z.number().int(), failures: z.number().int(), tasks: z.number().int(), trials: z.number().int() }),
  identification: identificationSchema,
  sharpened: z.array(sharpenedSchema),
  /** The comparison adapter trained on all environments mixed, where it was asked for. */
  mixed: sharpenedSchema.shape.adapter.optional(),
  evaluation: evaluationSchema.nullable(),
  gate: gateSchema.nullable(),
  promotedVersion: z.number().int().nullable(),
  stages: z.array(stageTimingSchema),
  tokens: z.array(z.strictObject({ stage: z.string(), model: z.string(), promptTokens: z.number().int(), completionTokens: z.number().int() })),
  artifacts: z.array(z.strictObject({ role: z.string(), ref: artifactRefSchema })),
});
export type Report = z.infer<typeof reportSchema>;
export type SharpenedReport = z.infer<typeof sharpenedSchema>;
export type ContrastReport = z.infer<typeof contrastSchema>;
