/**
 * Fakes of the activities, for tests of the orchestration alone: they return small fixed results and record their
 * calls.
 */
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { TrainedAdapter, TrialManifest } from '../../contracts/artifacts/training';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import type { IncumbentVersion } from '../../contracts/messages/evaluate-stage';
import type { LabelChunkResult } from '../../contracts/messages/identify-stage';
import type { NightDecisionResult } from '../../contracts/messages/night-stage';
import type { Turn, WaitDeadlines } from '../../contracts/messages/run';
import type { CapabilityBrief, RunContext } from '../../contracts/messages/run-context';
import type { QueueActivities } from '../helpers/temporal';
import type { RouterKind } from '../../contracts/config/router-kinds';

export const artifact = (key: string): ArtifactRef => ({
  key,
  sha256: '0'.repeat(64),
  bytes: 1,
  mediaType: 'application/json',
});

export const rollouts: RolloutSummary = {
  trajectories: artifact('t.jsonl'),
  episodes: 100,
  successes: 40,
  failures: 60,
  promptTokens: 1,
  completionTokens: 1,
  seconds: 1,
};

const capability = (id: string): CapabilityBrief => ({ id, name: `Capability ${id}`, summary: `does ${id}` });

const adapterOf = (job: string): TrainedAdapter => ({
  name: `${job}@abc`,
  capabilityId: job,
  sha256: '1'.repeat(64),
  key: `adapters/a/${job}-abc`,
  manifest: artifact('manifest.json'),
  rollouts: 640,
  seconds: 1,
  finalReward: 0.9,
});

/** What a trainer found where it runs. */
export const trial: TrialManifest = {
  jobId: 'run/trial',
  trainerVersion: '0.1.0',
  pythonVersion: '3.13.0',
  packages: { torch: '2.15.0' },
  platformVersion: '13.0',
  devices: Array(2).fill({ name: 'GPU', memoryBytes: 80e9, capability: '9.0' }),
  modelFiles: 3,
  jail: true,
  seconds: 1,
};

const NIGHT_SEEDS = [{ start: 10, count: 20 }];

const noLabels: LabelChunkResult = {
  asked: 10,
  reused: 0,
  unlabelled: 0,
  promptTokens: 1,
  completionTokens: 1,
  cachedTokens: 0,
};

/** Those of a run that a person started. */
const DEADLINES: WaitDeadlines = { approvalMs: 7 * 24 * 3_600_000, holdMs: null };

export interface FakeOptions {
  kept?: string[];
  candidates?: number;
  chunks?: number;
  /** Labelling runs until all verdicts are final. Default 1. */
  labellingRuns?: number;
  gatePassed?: boolean;
  /** The version that is active. Default: none. */
  incumbent?: IncumbentVersion;
  /** The active version as a night measures it, and what the night decides. Default: the run does not measure. */
  measured?: {
    version: IncumbentVersion;
    /** Conversations of live traffic that there are. Default: none are looked for. */
    live?: number;
  } & Partial<Pick<NightDecisionResult, 'outcome' | 'continues' | 'retires'>>;
  /** What a changed base model will cost. Default: it has not changed. */
  remaking?: string;
  /** Kind of the candidate. Default: `labels`. */
  chosen?: RouterKind;
  mixedAdapter?: boolean;
  approval?: boolean;
  onRejected?: 'wait' | 'skip';
  /** Longest waits, from `prepareRun` on. Default: a week for an approval. */
  deadlines?: WaitDeadlines;
  /** Whether somebody is told. Default: nobody. */
  notify?: boolean;
  /** What `takeTurn` says otherwise than: begin. */
  turn?: Partial<Turn>;
  /** How many attempts of a capability are out of band before one is accepted. */
  rejectedAttempts?: Record<string, number>;
}

/**
 * Activities of a run in which everything works, as far as the options let it. `calls` lists what was called, in order.
 */
export function fakeActivities(options: FakeOptions = {}): { activities: Required<QueueActivities>; calls: string[] } {
  const calls: string[] = [];
  const seen = (name: string) => void calls.push(name);
  const kept = (options.kept ?? ['a', 'b']).map(capability);
  const context: RunContext = { runId: 'set by prepareRun', agent: 'desk', spec: artifact('spec.json'), seed: 1 };
  return {
    calls,
    activities: {
      orchestration: {
        prepareRun: async (input) => {
          seen('prepareRun');
          const { mixedAdapter = false, approval = false, onRejected = 'wait' } = options;
          return {
            context: { ...context, runId: input.runId, agent: input.agent },
            maxAttempts: 2,
            mixedAdapter,
            approval,
            onRejected,
            deadlines: options.deadlines ?? DEADLINES,
            notify: options.notify ?? false,
          };
        },
        takeTurn: async () => {
          seen('takeTurn');
          const deadlines = { approvalMs: 3_600_000, holdMs: 3_600_000 };
          return { begins: true, reason: '', takesOver: [], deadlines, notify: false, ...options.turn };
        },
        recordEnd: async ({ outcome }) => {
          seen(`recordEnd:${outcome}`);
          return artifact('record.json');
        },
        sendNotice: async ({ notice }) => seen(`sendNotice:${notice.kind}`),
        amendSpec: async () => ({
          spec: artifact('amended-spec.json'),
          changed: ['analyst.baseUrl'],
          deadlines: options.deadlines ?? DEADLINES,
        }),
        planNight: async () => {
          seen('planNight');
          const { measured, remaking } = options;
          const told = remaking === undefined ? {} : { remaking };
          const live = measured?.live === undefined ? {} : { live: 20 };
          const measure = measured ? { version: measured.version, seeds: NIGHT_SEEDS, night: 1, ...live } : null;
          return { plan: artifact('night-plan.json'), summary: 'Version 4 is measured.', ...told, measure };
        },
        decideNight: async ({ base, served }) => {
          seen(`decideNight:${base.arm},${served.arm}`);
          const { outcome = 'nothing-new', version: _, ...decided } = options.measured ?? {};
          return {
            decision: artifact('night-decision.json'),
            outcome,
            sentence: 'Nothing new is lacking.',
            ...decided,
          };
        },
        keepMembers: async ({ version, sharpened, retires = [] }) => {
          seen(`keepMembers:${sharpened.join(',')}${retires.map((id) => `:without ${id}`).join('')}`);
          return version.capabilities.flatMap((member) =>
            sharpened.includes(member.id) || retires.includes(member.id)
              ? []
              : [
                  {
                    ...{ capability: member, status: 'trained' as const, reason: 'kept', attempts: [], tokens: [] },
                    ...{ environment: null, adapter: { ...adapterOf(member.id), reusedFrom: version.runId } },
                  },
                ],
          );
        },
        compareArms: async (input) => {
          const without = (input.retires ?? []).map((id) => `:without ${id}`).join('');
          seen(`compareArms:${input.arms.map((a) => a.arm).join(',')}${without}`);
          return {
            evaluation: artifact('evaluation.json'),
            gatePassed: options.gatePassed ?? true,
            gateReasons: ['gain 0.4'],
            summary: 'base 0.3, routed 0.7',
          };
        },
        promoteAdapters: async (input) => {
          seen(`promoteAdapters:${input.adapters.map((a) => a.name).join(',')}`);
          return { version: 1 };
        },
        renderReport: async (input) => {
          seen(`renderReport:${input.verdict}`);
          return { html: artifact('report.html'), json: artifact('report.json'), directory: '/report' };
        },
        prepareStudy: async ({ studyId, agent }) => ({
          context: { ...context, runId: studyId, agent },
          sourceRun: 'run-0',
          collected: rollouts,
        }),
        recordIdentification: async () => artifact('identifications.json'),
        renderStudy: async () => ({
          directory: '/study',
          json: artifact('study.json'),
          html: artifact('study.html'),
          summary: 'stable',
        }),
      },
      llm: {
        discoverCandidates: async () => ({
          candidates: artifact('candidates.json'),
          detail: artifact('discovery.json'),
          count: 3,
          calls: 1,
        }),
        planLabels: async () => ({
          plan: artifact('plan.json'),
          chunks: options.chunks ?? 3,
          calls: 10 * (options.chunks ?? 3),
        }),
        labelChunk: async ({ chunk }) => {
          seen(`labelChunk:${chunk}`);
          return noLabels;
        },
        tallyRun: async ({ run }) => {
          seen(`tally:${run}`);
          return {
            tally: artifact(`tally-${run}.json`),
            open: run + 1 < (options.labellingRuns ?? 1) ? artifact(`open-${run + 1}.json`) : null,
            note: `run ${run + 1}`,
          };
        },
        contrastCapabilities: async ({ totals }) => {
          seen(`contrast:${totals.asked}`);
          return {
            identification: artifact('identification.json'),
            labels: artifact('labels.jsonl'),
            kept,
            candidates: options.candidates ?? 3,
            tokens: [],
          };
        },
        synthesiseEnvironment: async ({ capability: c, attempt, previous }) => {
          seen(`synthesise:${c.id}:${attempt}${previous === null ? '' : ':with feedback'}`);
          return { source: artifact(`${c.id}-${attempt}.py`), promptTokens: 1, completionTokens: 1, model: 'analyst' };
        },
        readEnvironment: async ({ capability: c, attempt }) => {
          seen(`readEnvironment:${c.id}:${attempt}`);
          return {
            ...{ passed: true, outcome: 'read blind', promptTokens: 1, completionTokens: 1, model: 'analyst' },
            detail: artifact('second-reading.json'),
            certificate: artifact('certificate.json'),
          };
        },
      },
      sandbox: {
        collectTrajectories: async () => rollouts,
        playExperiments: async () => {
          seen('playExperiments');
          return artifact('experiments.json');
        },
        validateEnvironment: async () => ({
          passed: true,
          playable: true,
          problems: [],
          detail: artifact('validation.json'),
          certificate: artifact('certificate.json'),
        }),
        rollOutRefused: async ({ capability: c }) => {
          seen(`rollOutRefused:${c.id}`);
          return { rollouts: artifact(`${c.id}-rollouts.jsonl`), promptTokens: 1, completionTokens: 1 };
        },
        calibrateEnvironment: async ({ capability: c, source }) => {
          const attempt = Number(/-(\d+)(-[0-9a-f]{12})?\.py$/.exec(source.key)?.[1]);
          const inBand = attempt > (options.rejectedAttempts?.[c.id] ?? 0);
          const outcome = inBand ? 'in band' : 'too hard: success 0.05';
          return {
            inBand,
            faulty: false,
            outcome,
            detail: artifact('calibration.json'),
            certificate: artifact('certificate.json'),
            promptTokens: 1,
            completionTokens: 1,
          };
        },
        planEvaluation: async () => {
          seen('planEvaluation');
          return {
            plan: artifact('evaluation-plan.json'),
            incumbent: options.incumbent ?? null,
            heldOut: { trials: 1 },
            summary: 'against base; a gain of 4.0 points or more can be proved',
          };
        },
        chooseRouter: async () => ({
          router: artifact('router.json'),
          choice: artifact('router-choice.json'),
          kind: options.chosen ?? 'labels',
          summary: 'router labels: +40.0 points',
        }),
        routeTasks: async () => ({ routing: artifact('routing.jsonl'), tasks: 400 }),
        rollOutArm: async ({ arm, kind }) => ({ arm, kind, rollouts }),
        readServedTraffic: async ({ version, served, most }) => {
          seen(`readServedTraffic:${version.version}:${most}`);
          const live = options.measured?.live ?? 0;
          return { ...served, trajectories: artifact('learned.jsonl'), episodes: served.episodes + live, live };
        },
      },
      jobs: {
        tryTraining: async () => {
          seen('tryTraining');
          return trial;
        },
        trainAdapter: async ({ job, budgetFactor, continues }) => {
          seen(`train:${job}:${budgetFactor}${continues === undefined ? '' : `:on ${continues}`}`);
          return adapterOf(job);
        },
      },
    },
  };
}
