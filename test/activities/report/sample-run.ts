/**
 * FIXTURE. A made-up improvement run for tests of the report: no agent, model or analyst took part, and none of its
 * numbers was measured.
 */
import { randomSource, type RandomSource } from '../../../activities/statistics/random';
import { decideGate } from '../../../activities/evaluate/gate';
import { evaluationSummary } from '../../../activities/evaluate/compare-arms';
import { contrastCandidates, undecidedCandidates } from '../../../activities/identify/verdicts/contrast-candidates';
import { withStatus } from '../../../activities/identify/results/dictionary-status';
import type { TrajectoryOutcomes } from '../../../activities/identify/verdicts/task-sums';
import type { Contrast, Identification } from '../../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import { type AgentSpecInput, agentSpecSchema } from '../../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../../contracts/config/environment-kinds/facts';
import type { ArmRollouts } from '../../../contracts/messages/evaluate-stage';
import type { ReportInput } from '../../../contracts/messages/run';
import type { SharpenResult } from '../../../contracts/messages/sharpen-stage';
import { type ArtifactStore, layout, putJson, putLines } from '../../../store';
import { labelsFrom, outcomesFrom, type LabelCounts } from '../identify/verdicts/labels-from-counts';
import { sampleEvaluation, SKILLS } from '../evaluate/sample-evaluation';
import { LABEL_CODES } from '../../../activities/identify/verdicts/label-codes';
import type { VerdictRule } from '../../../activities/identify/verdicts/verdict-rule';
import { RUN, SHA, sharpen, train } from './sample-sharpen';

export interface SampleOptions {
  sandbox?: PreparedSpec['sandbox'];
  /** How the analyst calls itself. */
  analyst?: string;
  /** Text for names, reasons and problems, to try escaping; default: realistic ones. */
  hostile?: string;
  spec?: Partial<AgentSpecInput>;
}

/** Writes all artifacts of the made-up run and returns what `renderReport` gets from the workflow. */
export async function sampleRun(store: ArtifactStore, options: SampleOptions = {}): Promise<ReportInput> {
  const random = randomSource(17);
  const spec = agentSpecSchema.parse({
    version: 1,
    name: 'orders-desk',
    environment: {
      path: 'environment.py',
      trainSeeds: { start: 0, count: 300 },
      heldOutSeeds: { start: 100_000, count: 240 },
    },
    model: { name: 'orders-desk-base' },
    evaluation: { mixedAdapter: true, bootstrapSamples: 1000 },
    groundTruth: {
      planted: SKILLS.map((skill) => skill.tag),
      decoys: ['greet-the-customer', 'escalate-legal-threats'],
    },
    ...options.spec,
  });
  const prepared: PreparedSpec = {
    spec,
    environmentPath: 'environment.py',
    environmentSha256: SHA,
    facts: MODULE_FACTS,
    modelBaseUrl: 'http://127.0.0.1:8400/v1',
    modelPath: 'model',
    baseModelSha256: '9b'.repeat(32),
    servedModel: { weightsSha256: '9b'.repeat(32), root: null, maxModelLength: null },
    analyst: {
      ...{ baseUrl: 'http://127.0.0.1:8401/v1', model: 'demo-analyst' },
      displayName: options.analyst ?? 'demo analyst (rule-based)',
    },
    sandbox: options.sandbox ?? { mode: 'jail', detail: 'bubblewrap, seccomp, no network, resource limits' },
  };
  const evaluation = sampleEvaluation(240);
  const sharpened: SharpenResult[] = [];
  for (const [i, skill] of SKILLS.entries()) sharpened.push(await sharpen(store, skill, i, random, options.hostile));
  const mixed = await train(store, { id: 'mixed' }, 9, 160, 0.25, 0.68, random);
  const arms: ArmRollouts[] = [];
  for (const { name, kind } of [evaluation.base, ...evaluation.adapters, evaluation.mixed!, evaluation.routed]) {
    arms.push({
      arm: name,
      kind: kind as ArmRollouts['kind'],
      rollouts: await rollouts(store, layout.evaluation(RUN), `arm-${name.replace('@', '-')}.jsonl`, 480, random),
    });
  }
  const gate = decideGate(evaluation, spec.gate);
  const identification = identify(options.hostile);
  return {
    context: {
      runId: RUN,
      agent: spec.name,
      spec: await putJson(store, layout.run(RUN), 'spec.json', prepared),
      seed: 1,
    },
    verdict: 'promoted',
    collected: await rollouts(store, layout.trajectories(RUN), 'collected.jsonl', 600, random),
    identified: {
      identification: await putJson(store, layout.capabilities(RUN), 'identification.json', identification),
      labels: await putLines(store, layout.labels(RUN), 'labels.jsonl', [{}]),
      kept: SKILLS.map(({ id, name, summary }) => ({ id, name, summary })),
      candidates: identification.candidates.length,
      tokens: [{ stage: 'identify', model: 'demo-analyst', promptTokens: 2_310_000, completionTokens: 141_000 }],
    },
    sharpened,
    mixed,
    arms,
    comparison: {
      evaluation: await putJson(store, layout.evaluation(RUN), 'evaluation.json', evaluation),
      gatePassed: gate.passed,
      gateReasons: gate.reasons,
      summary: evaluationSummary(evaluation),
    },
    routing: await putLines(store, layout.evaluation(RUN), 'routing.jsonl', [{}]),
    promotedVersion: 3,
    stages: [
      { name: 'collect', seconds: 14.2, status: 'done' },
      { name: 'identify', seconds: 21.7, status: 'done' },
      { name: 'sharpen', seconds: 158.4, status: 'done' },
      { name: 'evaluate', seconds: 96.9, status: 'done' },
      { name: 'promote', seconds: 0.2, status: 'done' },
    ],
  };
}

/** The same run as if nothing had been kept. */
export async function sampleRunWithoutAdapters(store: ArtifactStore): Promise<ReportInput> {
  const run = await sampleRun(store);
  return {
    ...run,
    verdict: 'nothing-to-sharpen',
    sharpened: [],
    mixed: null,
    arms: [],
    comparison: null,
    routing: null,
    promotedVersion: null,
    stages: run.stages.slice(0, 3),
  };
}

async function rollouts(
  store: ArtifactStore,
  directory: string,
  name: string,
  episodes: number,
  random: RandomSource,
): Promise<ArmRollouts['rollouts']> {
  const successes = Math.round(episodes * (0.3 + 0.4 * random.uniform()));
  return {
    trajectories: await putLines(store, directory, name, [{ fixture: true, name }]),
    episodes,
    successes,
    failures: episodes - successes,
    promptTokens: episodes * 320,
    completionTokens: episodes * 41,
    seconds: 12,
  };
}

function identify(hostile?: string): Identification {
  const decoys = [
    { id: 'greeting', name: 'Greeting the customer', summary: 'say hello first', tag: '' },
    { id: 'legal-escalation', name: 'Escalating legal threats', summary: 'hand legal threats to a human', tag: '' },
    { id: 'polite-closing', name: 'Polite closing of the conversation', summary: 'close politely', tag: '' },
  ];
  const counts = (
    successLacking: number,
    successApplicable: number,
    failureLacking: number,
    failureApplicable: number,
  ): LabelCounts => ({
    successLacking,
    successApplicable,
    failureLacking,
    failureApplicable,
  });
  const rows = [
    counts(4, 40, 121, 133),
    counts(3, 35, 132, 150),
    counts(2, 31, 84, 90),
    counts(2, 29, 88, 101),
    counts(119, 209, 228, 391),
    counts(1, 6, 9, 12),
    counts(12, 160, 71, 300),
  ];
  const rule: VerdictRule = { minGap: 0.2, minCoverage: 0.1, runs: 10, quorum: 8, familywiseError: 0.05 };
  const outcomes = outcomesFrom(391, 209, 2);
  const candidates = [...SKILLS, ...decoys].map(({ id, name, summary }) => ({
    id,
    name,
    summary,
    description: `${hostile ?? ''}The agent should ${summary}. It shows in trajectories where that step is missing.`,
  }));
  if (hostile) candidates[0]!.name = hostile.slice(0, 80);
  return {
    candidates,
    merges: [
      {
        id: 'say-hello',
        name: 'Saying hello',
        description: 'Opens with a greeting.',
        into: 'greeting',
        reason: hostile ?? 'Both ask for a greeting in the reply.',
      },
    ],
    contrasts: withStatus(sampleContrasts(candidates, rows, outcomes, rule), {
      agent: 'orders-desk',
      entries: [
        { ...candidates[0]!, state: 'lacking', aliases: [], history: [] },
        { ...candidates[1]!, state: 'fixed', aliases: [], history: [] },
      ],
    }),
    kept: SKILLS.map((skill) => skill.id),
    arm: 'contrast',
    ablations: (['contrast', 'failures-only', 'random', 'single-run'] as const).map((arm) => ({
      arm,
      kept: arm === 'random' ? ['greeting'] : SKILLS.map(({ id }) => id),
    })),
    gone: [],
    evidence: SKILLS.map(({ id }, i) => ({
      capabilityId: id,
      trajectoryId: SHA,
      task: 17 + i,
      trial: 1,
      step: 4,
      quote: hostile ?? 'assistant: refund_order {"order":"O7"}',
      reason: 'The refund was paid before anything was checked.',
      runsLacking: 8,
      runs: 8,
    })),
    thresholds: { minGap: rule.minGap, minCoverage: rule.minCoverage },
    rule: { runs: rule.runs, quorum: rule.quorum, familywiseError: rule.familywiseError },
    calls: { discovery: 5, label: 31_200, reused: 0, unlabelled: 3, saved: 10_800 },
    usage: { promptTokens: 2_310_000, completionTokens: 141_000, cachedTokens: 0 },
    analyst: 'demo analyst (rule-based)',
    planted: {
      found: SKILLS.slice(0, 3).map((skill, i) => ({
        planted: skill.tag,
        capabilityId: skill.id,
        jaccard: 0.97 - i * 0.04,
      })),
      missed: [SKILLS[3]!.tag],
      invented: [SKILLS[3]!.id],
      decoysKept: [],
    },
  };
}

/** Labelling runs that differ a little from each other, as many as each verdict takes. */
function sampleContrasts(
  candidates: readonly { id: string }[],
  rows: readonly LabelCounts[],
  outcomes: TrajectoryOutcomes,
  rule: VerdictRule,
): Contrast[] {
  const random = randomSource(23);
  const labelled = candidates.map(({ id }) => ({ id, labels: [] as Uint8Array[] }));
  for (let run = 0; run < rule.runs; run++) {
    const open = run === 0 ? labelled.map(({ id }) => id) : undecidedCandidates(labelled, outcomes, rule);
    labelled.forEach(({ id, labels }, i) => {
      if (!open.includes(id)) return;
      labels.push(labelsFrom(outcomes, rows[i]!).map((code) => (random.uniform() < 0.02 ? LABEL_CODES.PRESENT : code)));
    });
  }
  return contrastCandidates(labelled, outcomes, rule);
}
