/** FIXTURE. The made-up sharpen stage of sample-run.ts. */
import { certificateOf } from '../../../activities/environment-checks/certificate';
import { type RandomSource } from '../../../activities/statistics/random';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import type { CalibrationResult, EnvironmentAttempt } from '../../../contracts/artifacts/environment-attempt';
import type { TransferEstimate } from '../../../contracts/artifacts/environment-check';
import type { Interval } from '../../../contracts/artifacts/evaluation';
import type { TrainedAdapter, TrainingWatch } from '../../../contracts/artifacts/training';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import type { AttemptRefs, SharpenResult } from '../../../contracts/messages/sharpen-stage';
import { type ArtifactStore, layout, putJson } from '../../../store';
import { sampleAdapter, type SampleSkill } from '../evaluate/sample-evaluation';

export const RUN = 'orders-desk-2026-11-21-0300';
export const SHA = '3f'.repeat(32);
const { seeds: _seeds, rolloutsPerSeed: _rollouts, ...BAND } = agentSpecSchema.shape.calibration.parse(undefined);

/** The result of sharpening one sample capability. */
export async function sharpen(
  store: ArtifactStore,
  skill: SampleSkill,
  i: number,
  random: RandomSource,
  hostile?: string,
): Promise<SharpenResult> {
  const attempts =
    i === 1
      ? [await attempt(store, skill, 1, 0.91, random, hostile), await attempt(store, skill, 2, 0.36, random)]
      : [await attempt(store, skill, 1, 0.3 + 0.05 * i, random)];
  if (i === 2) attempts.unshift(await invalidAttempt(store, skill));
  attempts.forEach((a, n) => (a.attempt = n + 1));
  return {
    capability: { id: skill.id, name: hostile ?? skill.name, summary: skill.summary },
    status: 'trained',
    reason: 'reward 0.93 after 640 rollouts',
    attempts,
    environment: attempts.at(-1)!.source,
    adapter: await train(store, skill, i, 40, 0.25, 0.95 - 0.05 * i, random),
    tokens: [
      { stage: 'sharpen', model: 'demo-analyst', promptTokens: 9_000, completionTokens: 5_200 },
      { stage: 'sharpen', model: 'orders-desk-base', promptTokens: 410_000, completionTokens: 62_000 },
    ],
  };
}

async function attempt(
  store: ArtifactStore,
  skill: SampleSkill,
  number: number,
  level: number,
  random: RandomSource,
  hostile?: string,
): Promise<AttemptRefs> {
  const directory = layout.environments(RUN, skill.id);
  const inBand = level < 0.6;
  const groupMeans = Array.from(
    { length: 100 },
    () => Math.round(Math.min(1, Math.max(0, level + (random.uniform() + random.uniform() - 1) * 0.5)) * 16) / 16,
  );
  const meanReward = groupMeans.reduce((a, b) => a + b, 0) / groupMeans.length;
  const calibration: CalibrationResult = {
    seeds: 100,
    rolloutsPerSeed: 16,
    rollouts: 1600,
    planned: 1600,
    doubt: 0,
    rolloutsInMeans: 16,
    meanReward,
    meanSuccess: Math.max(0, meanReward - 0.04),
    allSuccessGroups: groupMeans.filter((m) => m === 1).length / 100,
    allZeroGroups: groupMeans.filter((m) => m === 0).length / 100,
    constantGroups: 0.12,
    informativeGroups: 0.88,
    rewardStd: 0.31,
    passAt: {
      '1': around(meanReward - 0.04),
      '4': around(meanReward + 0.3),
      '8': around(meanReward + 0.5),
      '16': around(meanReward + 0.6),
    },
    groupMeans,
    faulty: false,
    verdict: inBand ? 'in-band' : 'too-easy',
    problems: inBand
      ? []
      : [
          hostile ??
            `The mean reward is ${meanReward.toFixed(2)}; it must lie between 0.20 and 0.60: make the tasks harder.`,
          'In 34 % of the tasks every rollout succeeds; at most 20 % may.',
        ],
  };
  const validation: EnvironmentAttempt['validation'] = {
    passed: true,
    problems: [],
    checks: [
      {
        name: 'deterministic',
        group: 'deterministic',
        passed: true,
        detail: '100 tasks',
        figures: [{ name: 'tasks that differed', value: 0, atMost: 0 }],
      },
    ],
  };
  const source = await store.put(directory, `attempt-${number}.py`, `# ${skill.id} ${number}\n`);
  const transfer: TransferEstimate = {
    tasks: 120,
    discrimination: { estimate: 0.62, low: 0.55, high: 0.69 },
    rankCorrelation: { estimate: 0.21, low: 0.08, high: 0.33 },
    detail: 'What is hard here is hard there.',
  };
  const certificate = certificateOf(facts(skill, source), validation, {
    result: calibration,
    thresholds: BAND,
    transfer,
  });
  return {
    attempt: number,
    source,
    certificate: await putJson(store, directory, `certificate-${number}.json`, certificate),
    validation: await putJson(store, directory, `validation-${number}.json`, validation),
    calibration: await putJson(store, directory, `calibration-${number}.json`, calibration),
    accepted: inBand,
    outcome: calibration.verdict,
  };
}

const around = (estimate: number): Interval => ({
  estimate: Math.min(1, estimate),
  low: Math.max(0, Math.min(1, estimate) - 0.05),
  high: Math.min(1, estimate + 0.05),
});

const facts = (skill: SampleSkill, source: ArtifactRef) => ({
  capability: skill.id,
  source,
  isolation: 'jail',
  settings: { seeds: 100, diversitySeeds: 200 },
});

async function invalidAttempt(store: ArtifactStore, skill: SampleSkill): Promise<AttemptRefs> {
  const directory = layout.environments(RUN, skill.id);
  const problems = [
    'The reference solution of seed 7 earns 0.00 instead of 1.00.',
    'Tool credit_order takes an argument that the target does not have: currency.',
  ];
  const validation: EnvironmentAttempt['validation'] = {
    passed: false,
    problems,
    checks: [
      {
        name: 'solvable',
        group: 'solvable',
        passed: false,
        detail: problems[0]!,
        figures: [{ name: 'lowest reward', value: 0, atLeast: 0.99 }],
      },
    ],
  };
  const source = await store.put(directory, 'attempt-0.py', `# ${skill.id} invalid\n`);
  return {
    attempt: 1,
    source,
    certificate: await putJson(store, directory, 'certificate-0.json', certificateOf(facts(skill, source), validation)),
    validation: await putJson(store, directory, 'validation-0.json', validation),
    calibration: null,
    accepted: false,
    outcome: 'invalid',
  };
}

/** The probes of a training; that of capability 1 is stopped because other tasks are lost. */
function sampleWatch(i: number): TrainingWatch {
  const pairs = (rollouts: number, basePassed: number, passed: number) => ({
    ...{ rollouts, passed, basePassed },
    lost: Math.max(0, basePassed - passed),
  });
  const probe = (iteration: number, passed: number, others: number) => ({
    ...{ iteration, reward: 0.5, calledFor: pairs(8, 2, passed), others: pairs(12, 10, others) },
  });
  const isHarmed = i === 1;
  const probes = [probe(10, 4, 10), probe(20, 7, isHarmed ? 5 : 10)];
  return {
    margin: 0.05,
    tasks: { calledFor: 48, others: 110 },
    probes: isHarmed ? probes : [...probes, probe(30, 7, 9), probe(40, 8, 10)],
    ended: isHarmed ? { iteration: 20, why: 'loss' } : null,
    kept: isHarmed ? 10 : 40,
    ...{ rollouts: isHarmed ? 40 : 80, completionTokens: 1_600, seconds: 2.5 },
  };
}

/** A trained adapter with its manifest. */
export async function train(
  store: ArtifactStore,
  skill: Pick<SampleSkill, 'id'>,
  i: number,
  iterations: number,
  from: number,
  to: number,
  random: RandomSource,
): Promise<TrainedAdapter> {
  const adapter = sampleAdapter(skill, i);
  const curve = Array.from({ length: iterations }, (_, k) => {
    const risen = 1 / (1 + Math.exp(-(k / iterations - 0.35 - 0.05 * (i % 4)) * 14));
    return {
      iteration: k + 1,
      reward: Math.min(1, Math.max(0, from + (to - from) * risen + (random.uniform() - 0.5) * 0.2)),
      kl: 0.002 * k,
      loss: 0.01 * (random.uniform() - 0.5),
    };
  });
  const manifest: ArtifactRef = await putJson(store, layout.training(RUN, skill.id), 'manifest.json', {
    jobId: skill.id,
    jobSha256: SHA,
    baseModelSha256: '9b'.repeat(32),
    trainerVersion: '0.1.0',
    adapterSha256: adapter.sha256,
    adapterDir: adapter.key,
    iterations,
    rollouts: iterations * 16,
    seconds: { total: iterations * 0.45, generation: 10, update: 7, startup: 2 },
    completionTokens: iterations * 16 * 38,
    curve,
    finalReward: curve.at(-1)!.reward,
    environmentSha256: [SHA],
    ...(skill.id === 'mixed' ? { unwatched: 'its environment needs the network' } : { watch: sampleWatch(i) }),
  });
  return {
    ...adapter,
    manifest,
    rollouts: iterations * 16,
    seconds: iterations * 0.45,
    finalReward: curve.at(-1)!.reward,
  };
}
