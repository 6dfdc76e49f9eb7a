import { z } from 'zod';
import { artifactRefSchema } from './artifact-ref';
import { failedByCauseSchema } from './failed-by-cause';

const count = z.int().nonnegative();

/** The step of a candidate, and the tasks with which an experiment may try it. */
const experimentQuestionSchema = z.strictObject({
  capabilityId: z.string(),
  /** Tools whose calls tell the episodes that show the candidate from those that lack it. */
  tools: z.array(z.string()).min(1),
  /** Tools of the other candidates' steps. */
  held: z.array(z.string()),
  /** Train tasks whose episodes lack it, the most frequent lacks first; ties in random order. */
  lacking: z.array(z.int()),
  /** The same for train tasks whose episodes show it. */
  shown: z.array(z.int()),
});
export type ExperimentQuestion = z.infer<typeof experimentQuestionSchema>;

/** `experiment-questions.json`: what the labels leave open and an experiment may decide. */
export const experimentQuestionsSchema = z.array(experimentQuestionSchema);

/** What an experiment can find. */
const FINDINGS = ['effect', 'no-effect', 'undecided'] as const;

/** An experiment with the step of one candidate. */
export const experimentSchema = z.strictObject({
  step: z
    .enum(['forced', 'forbidden'])
    .describe(
      "`forced`: rollouts in which the solution's call is put in as the agent's own action, beside rollouts without. " +
        '`forbidden`: rollouts as they are beside rollouts in which the call is not carried out.',
    ),
  tools: z.array(z.string()).min(1).describe('Tools of the step.'),
  held: z.array(z.string()).describe('Tools whose calls are put in on both sides: the steps of the other candidates.'),
  tasks: count.describe('Different train tasks.'),
  pairs: count.describe('Pairs of rollouts: one with the step and one without, of the same task and sampling seed.'),
  intervened: count.describe('Pairs in which the call was really put in, or not carried out.'),
  passedWith: count.describe('Successes with the step.'),
  passedWithout: count.describe('Successes without it.'),
  better: count.describe('Pairs in which only the rollout with the step succeeds.'),
  worse: count.describe('Pairs in which only the rollout without it succeeds.'),
  finding: z
    .enum(FINDINGS)
    .describe(
      '`effect`: the step adds successes. `no-effect`: it adds less than the least gap. `undecided`: neither is ' +
        'certain within the budget.',
    ),
});
export type Experiment = z.infer<typeof experimentSchema>;

/** `experiments.json`: the experiments of one identification. */
export const experimentsSchema = z.strictObject({
  /** The experiment of each candidate, or why there is none. */
  experiments: z.array(
    z.strictObject({
      capabilityId: z.string(),
      result: z.union([experimentSchema, z.strictObject({ none: z.string() })]),
    }),
  ),
  rollouts: count,
  /** Of those, rollouts without a result, by what failed in them. Absent: none. */
  failed: failedByCauseSchema.optional(),
  promptTokens: count,
  completionTokens: count,
  seconds: z.number(),
  /** The rollouts; null: none was played. */
  trajectories: artifactRefSchema.nullable(),
});
export type Experiments = z.infer<typeof experimentsSchema>;
