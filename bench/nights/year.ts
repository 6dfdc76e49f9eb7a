/** Runs the nights: real workflows on a Temporal dev server, real store, statistics, routers, gate and registry. */
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { defineSearchAttributeKey } from '@temporalio/common';
import { collectTrajectories } from '../../activities/collect';
import { chooseRouter } from '../../activities/evaluate/choose-router';
import { compareArms } from '../../activities/evaluate/compare-arms';
import { planEvaluation } from '../../activities/evaluate/plan-evaluation';
import { rollOutArm } from '../../activities/evaluate/roll-out-arm';
import { routeTasks } from '../../activities/evaluate/route-tasks';
import { recordEnd } from '../../activities/history';
import { createIdentifyActivities } from '../../activities/identify';
import { solutionPlayer } from '../../activities/target-profile/play-solutions';
import { decideNight } from '../../activities/nights/decide-night';
import { keepMembers } from '../../activities/nights/keep-members';
import { planNight } from '../../activities/nights/plan-night';
import { readServedTraffic } from '../../activities/nights/served-traffic';
import { promoteAdapters } from '../../activities/promote';
import { renderReport } from '../../activities/report';
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import { mean } from '../../activities/statistics/mean';
import { findTemporalCli } from '../../cli/supervisor/executables';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { evaluationSchema, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { type NightDecision, nightDecisionSchema } from '../../contracts/artifacts/night';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { CompareInput, StoredAdapter } from '../../contracts/messages/evaluate-stage';
import type { ImprovementRunInput, ImprovementRunResult } from '../../contracts/messages/run';
import { SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import { getJson, getLines, layout, LocalStore, putJson, readRegistry } from '../../store';
import { WORKFLOW_BUNDLE_PATH } from '../../workers/bundle-path';
import { type NightRecord, servedRate, type Spend } from './judge-night';
import { BASE, stubAnalyst, stubEnvironment, stubModel } from './stub-agent';
import { CALIBRATION_ROLLOUTS, type Made, stubChecks, stubSynthesis, stubTrainer } from './stub-sharpening';
import { type Habit, World } from './world';

const AGENT = 'desk';

/** The agent: 240 train tasks, of which a night plays 60, and 200 held-out tasks. */
const SPEC = agentSpecSchema.parse({
  version: 1,
  name: AGENT,
  environment: {
    path: 'environment.py',
    trainSeeds: { start: 0, count: 240 },
    heldOutSeeds: { start: 100_000, count: 200 },
    maxTurns: 1,
  },
  model: { name: BASE, baseUrl: 'http://127.0.0.1:1/v1' },
  identify: { runs: 1, discoveryBatches: 2 },
  evaluation: { routingRollouts: 300, bootstrapSamples: 2_000 },
});

/** The simulated agent with everything that a night leaves. */
export class Year {
  private world = new World(1);
  private readonly habits = new Map<string, Habit>();
  private readonly made: Made = { environments: 0, trainings: 0 };
  private labels = 0;
  private rollouts = 0;
  private decision: NightDecision | null = null;
  private compared: NightRecord['compared'] = null;
  /** The chance that a version passes a task on the day of its promotion. */
  private readonly promotedAt = new Map<number, number>();
  private readonly store: LocalStore;

  /** @param folder for the store, and for what stands for the agent's files. */
  constructor(private readonly folder: string) {
    this.store = new LocalStore(join(folder, 'store'));
  }

  /** Runs the nights of the given days, one after the other, and hands each on. */
  async run(days: readonly number[], onNight: (night: NightRecord) => void): Promise<void> {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    const path = findTemporalCli();
    if (path === null) throw new Error('No Temporal CLI: run `make setup`, or set TEMPORAL_CLI_PATH.');
    const searchAttributes = Object.values(SEARCH_ATTRIBUTES).map((name) => defineSearchAttributeKey(name, 'KEYWORD'));
    const temporal = await TestWorkflowEnvironment.createLocal({
      server: { executable: { type: 'existing-path', path }, searchAttributes },
    });
    const workers = await this.workers(temporal);
    const running = workers.map((worker) => worker.run());
    try {
      for (const day of days) onNight(await this.night(temporal, day));
    } finally {
      for (const worker of workers) worker.shutdown();
      await Promise.all(running);
      await temporal.teardown();
    }
  }

  private async night({ client }: TestWorkflowEnvironment, day: number): Promise<NightRecord> {
    this.world = new World(day);
    [this.decision, this.compared, this.labels, this.rollouts] = [null, null, 0, 0];
    Object.assign(this.made, { environments: 0, trainings: 0 });
    const { active, versions } = await readRegistry(this.store, AGENT);
    const adapters = versions.find(({ version }) => version === active)?.adapters ?? [];
    const served = this.fits(versions.find(({ version }) => version === active)) ? this.habitsOf(adapters) : [];
    const runId = `${AGENT}-${String(day).padStart(3, '0')}`;
    const began = Date.now();
    const result = (await client.workflow.execute(WORKFLOWS.improvementRun, {
      workflowId: runId,
      taskQueue: TASK_QUEUES.orchestration,
      args: [{ runId, agent: AGENT, specPath: '/agent.yaml' } satisfies ImprovementRunInput],
    })) as ImprovementRunResult;
    const { promotedVersion, verdict } = result;
    const promotedAt = active === null ? null : (this.promotedAt.get(active) ?? null);
    if (promotedVersion !== null) {
      const after = (await readRegistry(this.store, AGENT)).versions.find(({ version }) => version === promotedVersion);
      this.promotedAt.set(promotedVersion, servedRate(this.world, this.habitsOf(after?.adapters ?? [])));
    }
    const { decision, compared } = this;
    return {
      ...{ day, verdict, decision, compared, promotedVersion, served, promotedAt },
      seconds: (Date.now() - began) / 1000,
      spend: this.spend(),
    };
  }

  private spend(): Spend {
    const { labels, rollouts, made } = this;
    return { rollouts: rollouts + made.environments * CALIBRATION_ROLLOUTS, labels, ...made };
  }

  private habitsOf = (adapters: readonly { name: string }[]): Habit[] =>
    adapters.flatMap(({ name }) => this.habits.get(name) ?? []);

  private fits = (version: { baseModelSha256: string } | undefined): boolean =>
    version?.baseModelSha256 === hash(this.world.baseModel);

  private workers(temporal: TestWorkflowEnvironment): Promise<Worker[]> {
    const { store } = this;
    const world = () => this.world;
    const model = stubModel(world, this.habits);
    const deps: RolloutDeps = {
      store,
      openEnvironment: async () => stubEnvironment(world),
      model: {
        ...model,
        chat: (request, signal) => {
          this.rollouts++;
          return model.chat(request, signal);
        },
      },
      endpoints: { modelUrl: null },
    };
    const analyst = stubAnalyst(() => this.labels++);
    const activities = {
      orchestration: this.orchestration(),
      llm: {
        ...createIdentifyActivities({ store, analyst: () => analyst, player: solutionPlayer(deps) }),
        synthesiseEnvironment: stubSynthesis(store, world, this.made),
      },
      sandbox: {
        collectTrajectories: collectTrajectories.bind(null, deps),
        planEvaluation: planEvaluation.bind(null, store),
        chooseRouter: chooseRouter.bind(null, deps),
        routeTasks: routeTasks.bind(null, deps),
        rollOutArm: rollOutArm.bind(null, deps),
        readServedTraffic: readServedTraffic.bind(null, store),
        ...stubChecks(store),
      },
      jobs: stubTrainer(store, world, this.habits, this.made),
    };
    const kinds = ['orchestration', 'llm', 'sandbox', 'jobs'] as const;
    return Promise.all(
      kinds.map((kind) =>
        Worker.create({
          connection: temporal.nativeConnection,
          taskQueue: TASK_QUEUES[kind],
          ...(kind === 'orchestration' ? { workflowBundle: { codePath: WORKFLOW_BUNDLE_PATH } } : {}),
          activities: activities[kind],
        }),
      ),
    );
  }

  private orchestration(): Partial<OrchestrationActivities> {
    const { store } = this;
    return {
      recordEnd: recordEnd.bind(null, store),
      promoteAdapters: promoteAdapters.bind(null, store),
      renderReport: renderReport.bind(null, store),
      planNight: planNight.bind(null, store),
      keepMembers: keepMembers.bind(null, store),
      prepareRun: (input) => this.prepare(input),
      decideNight: async (input) => {
        const result = await decideNight(store, input);
        this.decision = await getJson(store, result.decision, nightDecisionSchema);
        return result;
      },
      compareArms: async (input) => {
        const result = await compareArms(store, input);
        const evaluation = await getJson(store, result.evaluation, evaluationSchema);
        this.compared = { evaluation, passed: result.gatePassed, ...(await this.truthOf(input)) };
        return result;
      },
    };
  }

  /** Mean chances over the held-out tasks, of the candidate and of what it has to beat. */
  private async truthOf({ routing, adapters, incumbent }: CompareInput) {
    const candidate = await this.routedChance(routing, adapters);
    const { start, count } = SPEC.environment.heldOutSeeds;
    const base = mean(Array.from({ length: count }, (_, i) => this.world.passes(start + i, null)));
    const rival = incumbent ? await this.routedChance(incumbent.routing, incumbent.adapters) : base;
    return { candidate, rival };
  }

  private async routedChance(routing: ArtifactRef, adapters: readonly StoredAdapter[]): Promise<number> {
    const names = new Map(adapters.map(({ capabilityId, name }) => [capabilityId, name]));
    const records = await getLines(this.store, routing, routingRecordSchema);
    return mean(
      records.map(({ seed, capabilityId }) =>
        this.world.passes(seed, this.habits.get(names.get(capabilityId) ?? '') ?? null),
      ),
    );
  }

  private async prepare({ runId }: ImprovementRunInput) {
    const text = `# interface ${this.world.interface}, vouchers ${this.world.hasVouchers}\n`;
    const environmentPath = join(this.folder, `environment-${hash(text).slice(0, 8)}.py`);
    await mkdir(this.folder, { recursive: true });
    await writeFile(environmentPath, text);
    const prepared: PreparedSpec = {
      spec: SPEC,
      environmentPath,
      environmentSha256: hash(text),
      facts: MODULE_FACTS,
      modelBaseUrl: 'http://127.0.0.1:1/v1',
      modelPath: '/nowhere',
      baseModelSha256: hash(this.world.baseModel),
      servedModel: { weightsSha256: null, root: null, maxModelLength: null },
      analyst: { baseUrl: 'http://127.0.0.1:1/v1', model: 'stub', displayName: 'stub' },
      sandbox: { mode: 'jail', detail: 'simulated' },
    };
    const spec = await putJson(this.store, layout.run(runId), 'spec.json', prepared);
    const context = { runId, agent: AGENT, spec, seed: 1 };
    const deadlines = { approvalMs: 1, holdMs: null };
    const plan = { maxAttempts: 1, mixedAdapter: false, approval: false, onRejected: 'skip' as const };
    return { context, ...plan, deadlines, notify: false };
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
