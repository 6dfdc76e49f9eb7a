/**
 * The only table of training options. Every other form is generated from it: `training` in agent.yaml, `algorithm` in
 * the trainer's job file, the trainer's own checks and defaults (options.json), the table in docs/reference/training.md
 * and the JSON Schema for editors.
 *
 * CONTRIBUTING.md explains how to add an option.
 */
import { z } from 'zod';
import { count, countOrNone, fraction, positive, whole } from './numbers';

/** Options of a job's section `algorithm`, in the order of the job file. */
export const algorithmOptions = {
  rank: whole(1, 512).default(32).describe('Rank of the LoRA adapter.'),
  alpha: positive.default(64).describe("The adapter's update is multiplied by alpha / rank."),
  groups: count.default(4).describe('Tasks per iteration (G).'),
  rolloutsPerGroup: z.int().min(2).default(4).describe('Rollouts per task (K), compared with each other.'),
  iterations: count.default(40).describe('Iterations, each of which is one optimiser step.'),
  learningRate: positive.default(1e-5).describe('Learning rate after the warm-up.'),
  clip: positive
    .default(0.2)
    .describe(
      'Half-width of the trust region of the probability ratio. Without effect: with one step an iteration the ratio ' +
        'is 1.',
    ),
  klBeta: z
    .number()
    .nonnegative()
    .default(0.01)
    .describe('Weight of the KL divergence from the base model; 0: not computed.'),
  temperature: positive.default(1).describe('Sampling temperature of the rollouts.'),
  maxTurns: count.default(12).describe('Most turns of the agent in one episode.'),
  maxCompletionTokens: count.default(512).describe('Most tokens that the agent generates in one turn.'),
  warmupIterations: countOrNone
    .default(2)
    .describe('Iterations in which the learning rate rises from 0. In the first of them it is 0.'),
  maxGradNorm: positive.default(1).describe('A gradient with a larger norm is scaled down to this norm.'),
  dropConstantGroups: z
    .boolean()
    .default(true)
    .describe('Leave tasks whose rollouts all earn the same reward out of the update.'),
  hintShare: fraction
    .default(0)
    .describe(
      "Share of the rollouts that read the environment's hints; the update does not see them. Published: 0.25 to 0.5.",
    ),
  decisionTurnsOnly: z.boolean().default(false).describe('Leave turns without a tool call out of the loss.'),
  supervisedWeight: z
    .number()
    .min(0)
    .max(100)
    .default(0)
    .describe('Weight of the cross-entropy of the reference solutions, added to the loss.'),
  updateTokens: whole(0, 2 ** 31)
    .default(0)
    .describe('Most tokens of one minibatch of the update; 0: one pass. Changes memory use, not the step.'),
  rewardCollapse: z
    .number()
    .min(0)
    .lt(1)
    .default(0.5)
    .describe('Stop when the mean reward falls below this share of its best, by more than chance; 0: never.'),
  lossType: z
    .enum(['dapo', 'grpo', 'dr_grpo', 'bnpo'])
    .default('dapo')
    .describe('How the loss is averaged: over tokens (dapo, bnpo), rollouts (grpo), or a constant (dr_grpo).'),
  learningRateSchedule: z
    .enum(['constant', 'linear', 'cosine'])
    .default('constant')
    .describe('Course of the learning rate after the warm-up: constant, or falling to 0.'),
  maxKl: positive.default(25).describe('Stop when the policy is further from the base model, in nats a token.'),
  hintBaseline: z
    .boolean()
    .default(false)
    .describe('Compare rollouts with hints only with each other, and those without likewise.'),
  maskTruncated: z
    .boolean()
    .default(false)
    .describe('Leave rollouts that were cut at a limit of tokens out of the loss.'),
  gradientCheckpointing: z
    .boolean()
    .default(false)
    .describe('Compute activations again in the backward pass: less memory, about a third more time.'),
  attention: z
    .enum(['auto', 'eager', 'sdpa', 'flash_attention_2'])
    .default('auto')
    .describe("Implementation of attention in the update; auto: transformers' choice."),
  resampleGroups: whole(0, 1000)
    .default(0)
    .describe('Most further tasks of an iteration, drawn in place of those whose rollouts all earn the same.'),
  probeEvery: whole(0, 2 ** 31)
    .default(10)
    .describe("Iterations between probes, which play the agent's own train tasks; 0: none."),
  probeCalledFor: count.max(10_000).default(8).describe('Rollouts of a probe on tasks that call for the capability.'),
  probeOthers: count
    .max(10_000)
    .default(24)
    .describe('Rollouts of a probe on other tasks; up to five times as many while these seem to be lost.'),
  probeMargin: fraction
    .default(0.05)
    .describe('Training stops when the other tasks lose a larger share, by more than chance.'),
  probePatience: count
    .max(1000)
    .default(3)
    .describe('Training stops when neither target nor reward rose in so many probes, compared with as many before.'),
  reportTo: z
    .enum(['none', 'tensorboard', 'wandb', 'mlflow', 'trackio'])
    .default('tensorboard')
    .describe("Where the figures of each iteration go as well; tensorboard: files in the training's folder."),
};

/** Options at the top level of the job file, outside `algorithm`. */
export const jobOptions = {
  checkpointEvery: count.default(5).describe('Iterations between checkpoints.'),
  threads: count.default(1).describe('CPU threads of one trainer.'),
};

/** The schemas of options without their defaults, so that each value must be given. */
export function required<Options extends Record<string, z.ZodDefault>>(options: Options) {
  const schemas: unknown = Object.fromEntries(Object.entries(options).map(([name, option]) => [name, option.unwrap()]));
  return schemas as { [Name in keyof Options]: ReturnType<Options[Name]['unwrap']> };
}
