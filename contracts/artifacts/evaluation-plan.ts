import { z } from 'zod';
import { seedRangeSchema } from './seed-range';

/**
 * How strictly a comparison is judged. All comparisons with the same rival share one error probability for false
 * promotions.
 */
export const judgingSchema = z.strictObject({
  against: z.int().nullable().describe('Version that is served; null: the base model alone.'),
  comparison: z.int().positive().describe('How many comparisons with it there are, this one included.'),
  confidence: z.number().describe('Coverage of the intervals by which a promotion is decided.'),
});
export type Judging = z.infer<typeof judgingSchema>;

/** `evaluation-plan.json`: the size and strictness of an evaluation. Written before any held-out task is played. */
export const evaluationPlanSchema = z.strictObject({
  tasks: z.int().describe('Held-out tasks.'),
  rotation: z
    .strictObject({
      block: z.int().positive().describe('Number of the block, counted from the first run of the agent.'),
      of: z.int().describe('Held-out tasks of the agent in all.'),
      seeds: z.array(seedRangeSchema).describe('Seeds of the tasks in the block.'),
    })
    .optional()
    .describe('Which of the held-out tasks are played; absent where all are.'),
  trials: z.int().describe('Trials of each task by each arm.'),
  basePassRate: z.number().describe('Share of its rollouts on train tasks that base passed.'),
  failed: z.number().optional().describe('Share of its rollouts on train tasks that failed. Absent: none.'),
  minimumDetectableGain: z
    .number()
    .describe('Smallest true gain over base that these tasks and trials prove with the stated power.'),
  aim: z
    .strictObject({
      gain: z.number().describe('Gain over base that the owner wants proved: `evaluation.detectableGain`.'),
      leastTrials: z.int().describe('Trials that are played in any case.'),
      mostTrials: z.int().describe('Most trials that may be played.'),
      reached: z.boolean().describe('Whether the planned trials prove it with the stated power.'),
      floor: z
        .number()
        .describe('Smallest gain that any number of trials proves on these tasks: chance between tasks stays.'),
    })
    .optional()
    .describe('Why so many trials are played; absent where the owner names no gain.'),
  power: z.number().describe('Chance with which a gain of that size is proved.'),
  active: z.int().nullable().describe('Version that was active when the evaluation began; null: the base model alone.'),
  noIncumbent: z.string().nullable().describe('Why the active version is no arm; null when it is one.'),
  canary: z
    .strictObject({
      version: z.int().describe('Its version.'),
      share: z.number().describe('Share of the conversations that it gets.'),
    })
    .nullable()
    .describe('Canary that ran when the evaluation began; it is no arm.'),
  judging: judgingSchema.describe('How strictly the candidate is judged, if no other run compares first.'),
});
export type EvaluationPlan = z.infer<typeof evaluationPlanSchema>;
