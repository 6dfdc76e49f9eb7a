import { dollarsForUse, pricesOf } from '../../contracts/artifacts/analyst-use';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { dollarsForEnvironment, sumOfStages } from '../../contracts/artifacts/environment-use';
import { certificateSchema } from '../../contracts/artifacts/certificate';
import { calibrationResultSchema, type EnvironmentAttempt } from '../../contracts/artifacts/environment-attempt';
import { type CheckGroup, validationSchema } from '../../contracts/artifacts/environment-check';
import { evaluationSchema, type Gate } from '../../contracts/artifacts/evaluation';
import { type Candidate, identificationSchema } from '../../contracts/artifacts/identification';
import { nightDecisionSchema, nightPlanSchema } from '../../contracts/artifacts/night';
import type { KeptTokens } from '../../contracts/artifacts/episode-tokens';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import { type Report, reportSchema, type SharpenedReport, type TrainedReport } from '../../contracts/artifacts/report';
import { type TrainedAdapter, trainingManifestSchema } from '../../contracts/artifacts/training';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { TokenUse } from '../../contracts/messages/run-context';
import type { CompareResult } from '../../contracts/messages/evaluate-stage';
import type { ReportInput } from '../../contracts/messages/run';
import type { AttemptRefs, SharpenResult } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, getJson } from '../../store';
import { readAnalystUse } from '../analyst/budget-meter';
import { readEnvironmentUse } from '../budget/environment-meter';
import { readBudget } from '../budget/read-budget';
import { readPreparedSpec } from '../prepared-spec';
import type { FigureSources } from './report-document';
import { reportNotes } from './report-notes';

/**
 * Makes the report of a run from all its artifacts. Everything except `createdAt` depends only on the input. Throws
 * ZodError if an artifact does not match its schema, and StoreCorruptError if its bytes have changed.
 */
export async function assembleReport(store: ArtifactStore, input: ReportInput, createdAt: Date): Promise<Report> {
  const prepared = await readPreparedSpec(store, input.context.spec);
  const { spec, analyst, sandbox } = prepared;
  const { minGain, maxRegression, maxSureLoss, lossMargin } = spec.gate;
  const identification = await getJson(store, input.identified.identification, identificationSchema);
  const night = input.night && (await getJson(store, input.night.decision, nightDecisionSchema));
  const remaking = input.plan && (await getJson(store, input.plan, nightPlanSchema)).remaking;
  const evaluation = input.comparison && (await getJson(store, input.comparison.evaluation, evaluationSchema));
  const trained: Trained[] = [];
  for (const adapter of trainedAdapters(input)) trained.push(await readTrained(store, adapter));
  const mixed = input.mixed && trained.at(-1);
  const sharpened: SharpenedReport[] = [];
  for (const result of input.sharpened)
    sharpened.push(await readSharpened(store, result, identification.candidates, trained));
  const report: Report = {
    schemaVersion: 1,
    runId: input.context.runId,
    agent: input.context.agent,
    createdAt: createdAt.toISOString(),
    seed: input.context.seed,
    verdict: input.verdict,
    notes: [
      ...reportNotes(prepared, evaluation, damagedLinesOf(input)),
      ...(remaking ? [`Expected before it was spent: ${remaking.sentence}`] : []),
      ...(input.unanswered ?? []),
      ...(input.beside ? [input.beside] : []),
    ],
    analyst: analyst.displayName,
    sandbox: sandbox.detail ? `${sandbox.mode}: ${sandbox.detail}` : sandbox.mode,
    baseModel: { name: spec.model.name, sha256: prepared.baseModelSha256 },
    settings: {
      calibration: { meanReward: spec.calibration.meanReward, meanSuccess: spec.calibration.meanSuccess },
      gate: { minGain, maxRegression, maxSureLoss, lossMargin },
      rolloutsPerIteration: spec.training.groups * spec.training.rolloutsPerGroup,
    },
    collect: {
      episodes: input.collected.episodes,
      live: input.collected.live ?? 0,
      ...(input.collected.ingested !== undefined && { ingested: input.collected.ingested }),
      ...(input.collected.withoutOutcome !== undefined && { withoutOutcome: input.collected.withoutOutcome }),
      successes: input.collected.successes,
      ...(input.collected.withoutCalls !== undefined && { withoutCalls: input.collected.withoutCalls }),
      failures: input.collected.failures,
      ...(input.collected.notWhole !== undefined && { notWhole: input.collected.notWhole }),
      ...(input.collected.failed && { failed: { ...input.collected.failed } }),
      ...(input.collected.failedTasks && { failedTasks: input.collected.failedTasks }),
      ...(input.collected.tokens && { tokens: keptTokens(input.collected.tokens) }),
      ...(night && endedAfterMeasuring(input)
        ? { tasks: night.tasks, trials: 1 }
        : { tasks: spec.environment.trainSeeds.count, trials: spec.collect.trials }),
    },
    ...(night && { night }),
    ...(remaking && { remaking }),
    identification,
    sharpened,
    ...(mixed && { mixed: mixed.trained }),
    evaluation,
    gate: input.comparison && gateOf(input.comparison),
    promotedVersion: input.promotedVersion,
    stages: input.stages,
    tokens: tokensByStage(input, trained, spec.model.name),
    ...(await analystUse(store, input.context.runId, spec)),
    ...(await environmentUse(store, input.context.runId, spec)),
    artifacts: listArtifacts(input),
  };
  return reportSchema.parse(report);
}

/** Without the artifact, which the list of artifacts names. */
const keptTokens = ({ artifact: _, ...counts }: KeptTokens) => counts;

const gateOf = ({ gatePassed, gateReasons, culprit }: CompareResult): Gate => ({
  passed: gatePassed,
  reasons: gateReasons,
  ...(culprit && { culprit }),
});

/** The analyst's use, by kind of call. Empty if the run counted none, because it asked no analyst. */
async function analystUse(store: ArtifactStore, runId: string, spec: AgentSpec): Promise<Pick<Report, 'analystUse'>> {
  const calls = await readAnalystUse(store, runId);
  if (Object.keys(calls).length === 0) return {};
  const prices = pricesOf(spec.analyst);
  const usd = prices === null ? null : dollarsForUse(calls, prices);
  return { analystUse: { calls, usd, budget: await readBudget(store, runId, spec.budget) } };
}

async function environmentUse(
  store: ArtifactStore,
  runId: string,
  spec: AgentSpec,
): Promise<Pick<Report, 'environmentUse'>> {
  const stages = await readEnvironmentUse(store, runId);
  const { episodes, unknown } = sumOfStages(stages);
  const { environment = {} } = await readBudget(store, runId, spec.budget);
  // Many programs and processes have no simulated user. Where there is a limit, their silence matters.
  const isLimited = environment.tokens !== undefined || environment.usd !== undefined;
  if (episodes === 0 || (episodes === unknown && !isLimited)) return {};
  return { environmentUse: { stages, usd: dollarsForEnvironment(stages, environment), budget: environment } };
}

async function readSharpened(
  store: ArtifactStore,
  result: SharpenResult,
  candidates: readonly Candidate[],
  trained: readonly Trained[],
): Promise<SharpenedReport> {
  const { capability, status, reason, attempts, adapter } = result;
  const candidate = candidates.find((c) => c.id === capability.id) ?? {
    ...capability,
    description: capability.summary,
  };
  const read: EnvironmentAttempt[] = [];
  for (const attempt of attempts) read.push(await readAttempt(store, attempt));
  return {
    capability: candidate,
    status,
    reason,
    attempts: read,
    adapter: trained.find((t) => t.trained.name === adapter?.name)?.trained ?? null,
  };
}

async function readAttempt(
  store: ArtifactStore,
  { attempt, source, validation, calibration, certificate, reusedFrom, calibrationFrom, accepted }: AttemptRefs,
): Promise<EnvironmentAttempt> {
  return {
    attempt,
    source,
    ...(reusedFrom !== undefined && { reusedFrom }),
    ...(calibrationFrom !== undefined && { calibrationFrom }),
    validation: await getJson(store, validation, validationSchema),
    calibration: calibration && (await getJson(store, calibration, calibrationResultSchema)),
    certificate: await readCertificate(store, certificate),
    accepted,
  };
}

async function readCertificate(store: ArtifactStore, ref: ArtifactRef): Promise<EnvironmentAttempt['certificate']> {
  const { certified, summary, checks, transfer } = await getJson(store, ref, certificateSchema);
  const checkOf = (wanted: CheckGroup) => checks.find(({ group }) => group === wanted) ?? null;
  return {
    ...{ ref, certified, summary, transfer },
    calibrated: checkOf('calibrated'),
    secondReader: checkOf('read-blind'),
  };
}

/** A trained adapter, with the token count that only its manifest contains. */
interface Trained {
  trained: TrainedReport;
  completionTokens: number;
  /** Those of its probes, which are apart. */
  probeTokens: number;
}

async function readTrained(
  store: ArtifactStore,
  { name, sha256, key, rollouts, seconds, manifest, reusedFrom, beginsFrom }: TrainedAdapter,
): Promise<Trained> {
  const { curve, completionTokens, watch, unwatched } = await getJson(store, manifest, trainingManifestSchema);
  return {
    trained: {
      name,
      sha256,
      key,
      rollouts,
      seconds,
      curve,
      ...(reusedFrom !== undefined && { reusedFrom }),
      ...(beginsFrom !== undefined && { beginsFrom }),
      ...(watch !== undefined && { watch }),
      ...(unwatched !== undefined && { unwatched }),
    },
    // An earlier run paid for it.
    completionTokens: reusedFrom === undefined ? completionTokens : 0,
    probeTokens: reusedFrom === undefined ? (watch?.completionTokens ?? 0) : 0,
  };
}

/** Trained adapters of a run, the mixed one last. */
const trainedAdapters = ({ sharpened, mixed }: ReportInput): TrainedAdapter[] => [
  ...sharpened.flatMap(({ adapter }) => adapter ?? []),
  ...(mixed ? [mixed] : []),
];

/** Tokens of all stages, summed by stage and model. Trainers count generated tokens only. */
function tokensByStage(input: ReportInput, trained: readonly Trained[], baseModel: string): TokenUse[] {
  const { collected, identified, sharpened, arms, night } = input;
  const used = (stage: string, model: string, { promptTokens, completionTokens }: RolloutSummary): TokenUse => ({
    stage,
    model,
    promptTokens,
    completionTokens,
  });
  const all: TokenUse[] = [
    ...(night
      ? [used('collect', baseModel, night.base.rollouts), used('collect', 'active version', night.served.rollouts)]
      : []),
    ...(endedAfterMeasuring(input) || collected.ingested !== undefined ? [] : [used('collect', baseModel, collected)]),
    ...identified.tokens,
    ...sharpened.flatMap((s) => s.tokens),
    ...trained.flatMap(({ trained: { name: model }, completionTokens, probeTokens }) => [
      { stage: 'sharpen', model, promptTokens: 0, completionTokens },
      ...(probeTokens > 0
        ? [{ stage: 'sharpen', model: `${model}, probes`, promptTokens: 0, completionTokens: probeTokens }]
        : []),
    ]),
    ...arms.map(({ arm, rollouts }) => used('evaluate', arm, rollouts)),
  ];
  const sums = new Map<string, TokenUse>();
  for (const use of all) {
    const key = `${use.stage}\n${use.model}`;
    const before = sums.get(key);
    sums.set(key, {
      ...use,
      promptTokens: (before?.promptTokens ?? 0) + use.promptTokens,
      completionTokens: (before?.completionTokens ?? 0) + use.completionTokens,
    });
  }
  return [...sums.values()];
}

/** Whether the collected trajectories are those of the night's measurement of the active version. */
const endedAfterMeasuring = ({ night, collected }: ReportInput): boolean =>
  (night?.learned ?? night?.served.rollouts)?.trajectories.sha256 === collected.trajectories.sha256;

function listArtifacts(input: ReportInput): Report['artifacts'] {
  const { context, collected, identified, sharpened, arms, comparison, routing, router } = input;
  const entry = (role: string, ref: ArtifactRef | null | undefined) => (ref ? [{ role, ref }] : []);
  return [
    ...entry('spec of the agent', context.spec),
    ...entry('plan of the night', input.plan),
    ...entry('decision of the night', input.night?.decision),
    ...entry("the night's trajectories of base", input.night?.base.rollouts.trajectories),
    ...entry("the night's trajectories of the active version", input.night?.served.rollouts.trajectories),
    ...entry('the same, with the live traffic that it answered', input.night?.learned?.trajectories),
    ...entry("the night's failed episodes of base", input.night?.base.rollouts.failedTrajectories),
    ...entry("the night's failed episodes of the active version", input.night?.served.rollouts.failedTrajectories),
    ...(endedAfterMeasuring(input)
      ? []
      : [
          ...entry(
            collected.ingested === undefined ? 'trajectories of the base agent on train tasks' : 'conversations',
            collected.trajectories,
          ),
          ...entry('failed episodes of the base agent on train tasks', collected.failedTrajectories),
          ...entry('tokens of the base agent on train tasks', collected.tokens?.artifact),
        ]),
    ...entry('labels', identified.labels),
    ...entry('identification', identified.identification),
    ...entry('experiments with steps of candidates', identified.experiments),
    ...sharpened.flatMap(({ capability, attempts }) =>
      attempts.flatMap((a) => [
        ...entry(`environment for ${capability.id}, attempt ${a.attempt}`, a.source),
        ...entry(`validation for ${capability.id}, attempt ${a.attempt}`, a.validation),
        ...entry(`calibration for ${capability.id}, attempt ${a.attempt}`, a.calibration),
        ...entry(`certificate for ${capability.id}, attempt ${a.attempt}`, a.certificate),
        ...entry(`labels of the second reader for ${capability.id}, attempt ${a.attempt}`, a.reading),
        ...entry(`rollouts shown to the analyst for ${capability.id}, attempt ${a.attempt}`, a.rollouts),
      ]),
    ),
    ...trainedAdapters(input).flatMap(({ capabilityId, manifest }) =>
      entry(`training manifest of ${capabilityId}`, manifest),
    ),
    ...arms.flatMap(({ arm, rollouts, doNothing }) => [
      ...entry(`held-out trajectories of ${arm}`, rollouts.trajectories),
      ...entry(`failed held-out episodes of ${arm}`, rollouts.failedTrajectories),
      ...entry('held-out tasks with an agent that does nothing', doNothing),
    ]),
    ...entry('routing decisions', routing),
    ...entry('router', router),
    ...entry('evaluation', comparison?.evaluation),
  ];
}

/** The artifacts behind each figure. `report` is the artifact report.json. */
export function figureSources(input: ReportInput, report: ArtifactRef): FigureSources {
  return {
    report,
    identification: input.identified.identification,
    labels: input.identified.labels,
    evaluation: input.comparison?.evaluation ?? null,
    routing: input.routing,
    calibrations: input.sharpened.flatMap(({ capability, attempts }) =>
      attempts.flatMap(({ attempt, calibration }) =>
        calibration ? [{ capabilityId: capability.id, attempt, ref: calibration }] : [],
      ),
    ),
    manifests: trainedAdapters(input).map(({ name, manifest }) => ({ adapter: name, ref: manifest })),
  };
}

const damagedLinesOf = ({ collected, arms }: ReportInput): number =>
  [collected, ...arms.map(({ rollouts }) => rollouts)].reduce((sum, { damagedLines = 0 }) => sum + damagedLines, 0);
