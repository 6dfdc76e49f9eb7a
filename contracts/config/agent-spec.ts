import { z } from 'zod';
import { count, countOrNone, fraction, positive, whole } from './numbers';
import { agentNameSchema } from './agent-name';
import { environmentSchema } from './environment-kinds';
import { analystSpecSchema, budgetSpecSchema } from './analyst-spec';
import { isWrittenPlainly, PLAIN_ADDRESS } from './http-url';
import { IDENTIFY_ARMS } from '../artifacts/identification';
import { MOST_READ } from '../limits';
import { kubernetesSpecSchema } from './kubernetes-spec';
import { modelSpecSchema, UNNAMED_MODEL } from './model-spec';
import { notifySpecSchema } from './notify-spec';
import { algorithmOptions, jobOptions } from './training-options';
import { ROUTER_KINDS } from './router-kinds';

const hours = positive.max(8_760);

const liveSchema = z
  .strictObject({
    days: whole(1, 90).default(7).describe('Days of traffic, today included.'),
    most: countOrNone.default(500).describe('Conversations at most, the newest days first; 0: none.'),
    models: z
      .enum(['base', 'any'])
      .default('base')
      .describe('base: only those that the base model answered; any: those that adapters answered too.'),
  })
  .prefault({})
  .describe(
    'Conversations of live traffic that join the rollouts; the gateway keeps them where `traces.sample` says so. A ' +
      'night that measures the active version reads those that it answered, whatever `models` says.',
  );
export type LiveSpec = z.infer<typeof liveSchema>;

const band = z
  .tuple([fraction, fraction])
  .refine(([lowest, highest]) => lowest <= highest, { error: 'the lower value first' });

/**
 * Calibration band (paper, section 3, and its public repository): within it an environment can teach the base model
 * something.
 */
const calibrationSchema = z
  .strictObject({
    seeds: count.default(100).describe('Distinct tasks rolled out.'),
    rolloutsPerSeed: z.int().min(2).default(16).describe('Rollouts of the base model on each task; one group.'),
    meanReward: band.default([0.2, 0.6]).describe('Lowest and highest mean reward.'),
    meanSuccess: band.default([0.2, 0.6]).describe('Lowest and highest success rate.'),
    maxAllSuccessGroups: fraction.default(0.2).describe('Most tasks, as a share, that every rollout solves.'),
    maxAllZeroGroups: fraction.default(0.2).describe('Most tasks on which every rollout earns 0.'),
    maxConstantGroups: fraction.default(0.5).describe('Most tasks on which all rollouts earn the same.'),
    minInformativeGroups: fraction.default(0.5).describe('Fewest tasks on which rollouts differ in reward.'),
    minRewardStd: fraction.default(0.05).describe('Smallest standard deviation of the rewards.'),
  })
  .prefault({});

/** The extent of the scripted checks of a synthesised environment (docs/explanations/environments.md). */
const certificateSpecSchema = z
  .strictObject({
    seeds: whole(10, 1000).default(100).describe('Tasks behind each scripted check.'),
    diversitySeeds: whole(45, 1000)
      .default(200)
      .describe(
        'Tasks compared for near-duplicates. Fewer than 45 that all differ would not show that there are 1,000 tasks.',
      ),
    secondReader: z
      .strictObject({
        labels: z
          .union([z.literal(0), whole(10, MOST_READ)])
          .default(20)
          .describe('Rollouts that the analyst labels without their rewards after calibration; 0: none.'),
        maxLabels: whole(10, MOST_READ)
          .default(60)
          .describe('Rollouts that it labels at most, while the first ones decide nothing.'),
      })
      .refine(({ labels, maxLabels }) => labels <= maxLabels, {
        path: ['maxLabels'],
        error: 'at least as many as labels',
      })
      .prefault({}),
  })
  .prefault({});

/** training-options.ts has the options of the trainer; the options here say where it runs. */
const { maxTurns: _, ...trainingOptions } = algorithmOptions;
const trainingSchema = z
  .strictObject({
    backend: z
      .enum(['local', 'kubernetes'])
      .default('local')
      .describe('local: child process of the worker; kubernetes: Jobs.'),
    kubernetes: kubernetesSpecSchema.optional().describe('Needed by backend kubernetes.'),
    ...trainingOptions,
    // The trainer accepts any rank, but vLLM serves only adapters of these ranks.
    rank: z
      .union([z.literal(1), z.literal(8), z.literal(16), z.literal(32), z.literal(64), z.literal(128)])
      .default(32)
      .describe('Rank of the LoRA adapter, one of those that vLLM serves.'),
    ...jobOptions,
    sampler: z
      .enum(['engine', 'vllm', 'managed'])
      .default('engine')
      .describe(
        'What rollouts are sampled from: the engine in the trainer (plain Llamas), the vLLM server at samplerUrl, ' +
          'or a vLLM server that the trainer starts.',
      ),
    samplerUrl: z
      .url({ protocol: /^https?$/ })
      .refine(isWrittenPlainly, { error: PLAIN_ADDRESS })
      .refine((url) => !/^https?:\/\/[^/?#]*@|[?#]/i.test(url), {
        error: 'an address without a user name and password, ? and #; a key goes into the file WHET_SAMPLER_AUTH_FILE',
      })
      .optional()
      .describe(
        'Address of the vLLM server, as the trainer reaches it. Absent, with sampler vllm: the server of the model, ' +
          'that is model.baseUrl, or the one that `whet up` starts with model.server vllm.',
      ),
    maxModelLength: count
      .optional()
      .describe("Longest rollout in tokens, with sampler managed; absent: the model's own length."),
    warmStart: z
      .boolean()
      .default(true)
      .describe(
        'A training for a capability whose adapter is served begins from that adapter; false: every training begins ' +
          'from zero.',
      ),
    packing: whole(1, 16)
      .default(1)
      .describe(
        'Most adapters that one trainer trains side by side over one base model in memory; 1: a trainer each ' +
          '(docs/explanations/packing.md).',
      ),
    packingWaitSeconds: z
      .number()
      .min(0)
      .max(86_400)
      .default(300)
      .describe(
        'Longest wait of the first training of a pack for the others: one more attempt at an environment ' +
          'takes minutes, a training on a GPU hours.',
      ),
  })
  .refine(({ backend, kubernetes }) => backend !== 'kubernetes' || kubernetes !== undefined, {
    error: 'backend kubernetes needs this section, with at least image and store',
    path: ['kubernetes'],
  })
  .refine(({ sampler, samplerUrl }) => sampler === 'vllm' || samplerUrl === undefined, {
    error: 'only sampler vllm has an address; set sampler to vllm or leave this out',
    path: ['samplerUrl'],
  })
  .refine(({ sampler, maxModelLength }) => sampler === 'managed' || maxModelLength === undefined, {
    error: 'nothing, unless sampler is managed; another server has a length of its own',
    path: ['maxModelLength'],
  })
  .prefault({});

/** One deployed agent, as its owner writes it in `agent.yaml`. */
export const agentSpecSchema = z.strictObject({
  version: z.literal(1).describe('Version of this format.'),
  name: agentNameSchema.describe('Names the agent everywhere.'),
  environment: environmentSchema,
  model: modelSpecSchema.prefault({ name: UNNAMED_MODEL }),
  analyst: analystSpecSchema,
  budget: budgetSpecSchema,
  collect: z
    .strictObject({
      trials: count.default(2).describe('Rollouts of each train task.'),
      concurrency: count.default(64).describe('Episodes at a time.'),
      tokens: z
        .boolean()
        .optional()
        .describe(
          'Keep the ids and log-probabilities of all tokens that the model read and sampled, for trainers. Absent: no.',
        ),
      live: liveSchema,
    })
    .prefault({}),
  identify: z
    .strictObject({
      runs: whole(1, 30).default(10).describe('Independent labelling runs; every label is asked once in each.'),
      quorum: count
        .optional()
        .describe(
          'Runs in which a capability has to pass both thresholds. Absent: four fifths of `runs`, rounded up ' +
            '(8 of 10).',
        ),
      familywiseError: z
        .number()
        .gt(0)
        .lt(0.5)
        .default(0.05)
        .describe(
          'Chance that the contrast keeps any capability without a gap, over all candidates. The partial effect ' +
            'alone, and experiments alone, keep one without an effect with at most the same chance each.',
        ),
      discoveryBatches: count.default(4).describe('Questions of discovery, each with a batch of failed episodes.'),
      batchSize: count.default(50).describe('Failed trajectories shown in one discovery call.'),
      maxCandidates: count.default(10).describe('Most capabilities that are labelled and tested.'),
      chunkCalls: whole(10, 2000).default(200).describe('Labels asked by one activity.'),
      arm: z
        .enum(IDENTIFY_ARMS)
        .default('contrast')
        .describe(
          'How capabilities are chosen from the labels. All but `contrast` are for ablations: ' +
            'coverage alone, as many at random, one labelling run.',
        ),
      ablations: z.boolean().default(false).describe('Report what every arm would choose on the same labels.'),
      minGap: fraction
        .default(0.2)
        .describe(
          'Least gap of a labelling run that passes: of the failures that call for the capability the share ' +
            'that lacks it, ' +
            'minus the same share of the successes.',
        ),
      minCoverage: fraction
        .default(0.1)
        .describe('Least coverage of a labelling run that passes: share of all failures that lack the capability.'),
      maxUnlabelled: fraction
        .default(0.05)
        .describe('Share of episodes that may stay without a label before the run waits.'),
      minEachOutcome: count.default(20).describe('Fewest successes and fewest failures that can be contrasted.'),
      experimentRollouts: whole(0, 100_000)
        .default(200)
        .describe(
          'Most rollouts on train tasks for experiments with the steps of candidates whose effect the labels leave ' +
            'open. 0: none.',
        ),
    })
    .prefault({}),
  synthesis: z
    .strictObject({
      maxAttempts: whole(1, 5).default(5).describe('Environments that the analyst may write for one capability.'),
      onRejected: z
        .enum(['wait', 'skip'])
        .default('wait')
        .describe(
          'When no environment passes, or the analyst refuses to write one: wait for a person, or go on without the ' +
            'capability.',
        ),
    })
    .prefault({}),
  certificate: certificateSpecSchema,
  calibration: calibrationSchema,
  training: trainingSchema,
  evaluation: z
    .strictObject({
      heldOutTasks: count
        .optional()
        .describe(
          'Held-out tasks that one run judges on, at most those of `environment.heldOutSeeds`. Each run of the agent ' +
            'takes the next block. Absent: all of them, and nothing rotates.',
        ),
      trials: count.default(2).describe('Rollouts of each held-out task and arm.'),
      detectableGain: z
        .number()
        .gt(0)
        .lt(1)
        .optional()
        .describe(
          'Gain over base that the evaluation should prove in four of five cases, for example 0.05. More trials are ' +
            'planned until it does, before any is played. Absent: `trials` are played.',
        ),
      maxTrials: whole(1, 1000)
        .optional()
        .describe('Most trials that `detectableGain` may lead to. Absent: twice `trials`.'),
      concurrency: count.default(64).describe('Episodes at a time.'),
      bootstrapSamples: z.int().min(1000).default(10_000).describe('Resamples behind each interval.'),
      confidence: z.number().gt(0.5).lt(1).default(0.95).describe('Of the intervals.'),
      mixedAdapter: z
        .boolean()
        .default(true)
        .describe(
          'Also train one adapter on all environments mixed, with as many rollouts as all the others together. ' +
            'It competes with the routers, alone and as an arm, and is promoted alone where they are not better.',
        ),
      router: z
        .enum(['auto', ...ROUTER_KINDS])
        .default('auto')
        .describe(
          'Kind of router. `auto`: the kinds compete on the train tasks. `base`: no adapter is ever chosen. ' +
            '`single`: the best adapter of one capability gets every conversation. ' +
            '`mixed`: the mixed adapter gets every conversation. `outcomes-mixed`: the arm that is likeliest to ' +
            'pass; without a mixed adapter `labels`.',
        ),
      routingRollouts: whole(0, 100_000)
        .default(500)
        .describe('Most rollouts on train tasks that are bought to compare routers.'),
    })
    .refine(({ router, mixedAdapter }) => !router.includes('mixed') || mixedAdapter, {
      error: 'this router needs the mixed adapter to give conversations to: set evaluation.mixedAdapter to true',
      path: ['router'],
    })
    .refine(({ trials, maxTrials }) => maxTrials === undefined || maxTrials >= trials, {
      error: 'at least evaluation.trials, which are played in any case',
      path: ['maxTrials'],
    })
    .refine(({ detectableGain, maxTrials }) => maxTrials === undefined || detectableGain !== undefined, {
      error: 'nothing, unless evaluation.detectableGain says what the trials are for',
      path: ['maxTrials'],
    })
    .prefault({}),
  gate: z
    .strictObject({
      minGain: fraction.default(0).describe('The lower end of the paired interval must lie above this.'),
      maxRegression: fraction
        .default(0.05)
        .describe('Largest share of tasks passed by base that may be significantly lost.'),
      maxSureLoss: fraction
        .default(0.05)
        .describe(
          'Of the tasks that base passes in all trials, the largest share that the candidate may pass in none, ' +
            'beyond what luck explains.',
        ),
      lossMargin: fraction
        .default(0.1)
        .describe(
          'Non-inferiority: of the tasks that the active version (without one: base) passed, the largest share that ' +
            'may be lost, as far as the interval can tell. Its upper end must lie below this.',
        ),
      approval: z.boolean().default(false).describe('true: wait for `whet approve` before promoting.'),
      approvalDeadlineHours: hours
        .default(168)
        .describe('Hours after which a run that nobody approved ends as `expired`, without a promotion.'),
    })
    .prefault({}),
  schedule: z
    .strictObject({
      waitDeadlineHours: hours
        .default(20)
        .describe(
          'Hours that a run of the schedule waits for an answer, or fails again and again. Then a capability is left ' +
            'out, and a run that cannot go on without the answer ends as `expired`.',
        ),
    })
    .prefault({})
    .describe('Only for runs that `whet schedule` starts.'),
  notify: notifySpecSchema,
  groundTruth: z
    .strictObject({
      planted: z.array(z.string()).describe('Diagnostics ids of deliberately planted deficits.'),
      decoys: z.array(z.string()).default([]).describe('Diagnostics ids of habits that change no reward.'),
    })
    .optional()
    .describe(
      'Only for agents whose deficits were planted to test Whetstone; ' +
        'the report then says what was found, missed and invented.',
    ),
  seed: countOrNone.default(1).describe('Sampling and statistics of a run are functions of it.'),
});
export type AgentSpec = z.infer<typeof agentSpecSchema>;
export type AgentSpecInput = z.input<typeof agentSpecSchema>;
