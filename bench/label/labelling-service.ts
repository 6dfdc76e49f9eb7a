/**
 * Labelling as it runs in production, with a Temporal server, a worker process and chunks, in front of a stub provider.
 */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type Connection } from '@temporalio/client';
import type { Candidate } from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { type AgentSpecInput, agentSpecSchema } from '../../contracts/config/agent-spec';
import { MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import { SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type {
  IdentifyInput,
  LabelChunkResult,
  LabelChunksInput,
  LabelPlan,
} from '../../contracts/messages/identify-stage';
import type { RunContext } from '../../contracts/messages/run-context';
import { findTemporalCli } from '../../cli/supervisor/executables';
import { layout, LocalStore, putJson, putLines } from '../../store';
import { SKILLS, syntheticEpisode } from '../../test/fakes/synthetic-episodes';
import { connectWhenUp, ended, freePort, peakRssMb, Processes } from '../shared/processes';

/** Candidates, as discovery would have written them. */
export const CANDIDATES: readonly Candidate[] = SKILLS.map((name) => ({
  id: name.toLowerCase().replace(' ', '-'),
  name,
  summary: `needs ${name}`,
  description: `The agent has ${name}.`,
}));

const NOTHING: LabelChunkResult = {
  asked: 0,
  reused: 0,
  unlabelled: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
};

/** What a labelling run is made from. */
export interface LabellingOptions {
  runId: string;
  agent: string;
  /** Ends in /v1. */
  stubUrl: string;
  trajectories: number;
  /** Characters of the tool result in each trajectory. */
  padding: number;
  analyst?: AgentSpecInput['analyst'];
  identify?: AgentSpecInput['identify'];
}

/** Everything the labelling activities get. */
type Labelling = Omit<LabelChunksInput, 'cursor' | 'totals'>;

/** A planned labelling run. */
export interface PlannedRun {
  runId: string;
  labelling: Labelling;
  calls: number;
  /** Seconds that `planLabels` took. */
  planSeconds: number;
}

/** A Temporal dev server and a store in a temporary folder; worker processes come and go. */
export class LabellingService {
  worker: ChildProcess | null = null;

  private constructor(
    readonly folder: string,
    readonly store: LocalStore,
    readonly client: Client,
    private readonly address: string,
    private readonly connection: Connection,
    private readonly processes: Processes,
  ) {}

  /** Starts the server. Throws when there is no Temporal CLI. */
  static async start(): Promise<LabellingService> {
    const temporal = findTemporalCli();
    if (temporal === null) throw new Error('There is no Temporal CLI: run `make setup`, or set TEMPORAL_CLI_PATH.');
    const folder = await mkdtemp(join(tmpdir(), 'whet-labelling-'));
    const port = await freePort();
    const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
    const fairness = [
      '--dynamic-config-value',
      'matching.enableFairness=true',
      '--dynamic-config-value',
      'matching.numTaskqueueReadPartitions=1',
      '--dynamic-config-value',
      'matching.numTaskqueueWritePartitions=1',
    ];
    const database = ['--db-filename', join(folder, 'temporal.db')];
    const processes = new Processes();
    processes.start(temporal, [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      `${port}`,
      '--headless',
      '--log-level',
      'never',
      ...database,
      ...fairness,
      ...attributes,
    ]);
    const address = `127.0.0.1:${port}`;
    const connection = await connectWhenUp(address);
    return new LabellingService(
      folder,
      new LocalStore(join(folder, 'store')),
      new Client({ connection }),
      address,
      connection,
      processes,
    );
  }

  /** Starts a worker process with the queues that labelling needs. */
  startWorker(): ChildProcess {
    this.worker = this.processes.start(
      process.execPath,
      [join(__dirname, '..', '..', 'workers', 'main.js'), '--queues', 'orchestration,llm'],
      {
        TEMPORAL_ADDRESS: this.address,
        WHET_HOME: this.folder,
        WHET_STORE: join(this.folder, 'store'),
      },
    );
    return this.worker;
  }

  async stopWorker(): Promise<void> {
    this.worker?.kill('SIGTERM');
    if (this.worker) await ended(this.worker);
    this.worker = null;
  }

  /** Largest resident memory of the worker so far, in MB. */
  workerRssMb(): Promise<number> {
    return this.worker?.pid === undefined ? Promise.resolve(Number.NaN) : peakRssMb(this.worker.pid);
  }

  /** Writes what collection and discovery would have left, and plans in the worker. */
  async plan(options: LabellingOptions): Promise<PlannedRun> {
    const input = await this.writeInput(options);
    const candidates = await putJson(this.store, layout.capabilities(options.runId), 'candidates.json', CANDIDATES);
    const began = Date.now();
    const plan = await this.client.activity.execute<LabelPlan>('planLabels', {
      id: `${options.runId}/plan`,
      taskQueue: TASK_QUEUES.llm,
      args: [{ ...input, candidates, run: 0 }],
      startToCloseTimeout: '10 minutes',
      heartbeatTimeout: '15s',
      retry: { maximumAttempts: 1 },
    });
    const planSeconds = (Date.now() - began) / 1000;
    return {
      runId: options.runId,
      labelling: { context: input.context, plan, trajectories: input.collected.trajectories, candidates },
      calls: plan.calls,
      planSeconds,
    };
  }

  /** Starts the fan-out of a planned run. */
  label({ runId, labelling }: PlannedRun) {
    return this.client.workflow.start(WORKFLOWS.labelChunks, {
      taskQueue: TASK_QUEUES.orchestration,
      workflowId: `${runId}/labels`,
      args: [{ ...labelling, cursor: 0, totals: NOTHING }],
    });
  }

  /**
   * Number of history events of every execution of a run's workflows, runs that continued as new each by themselves.
   */
  async historyLengths(runId: string): Promise<number[]> {
    const lengths: number[] = [];
    for await (const { workflowId, historyLength } of this.client.workflow.list())
      if (workflowId.startsWith(`${runId}/`)) lengths.push(historyLength);
    return lengths;
  }

  async end(): Promise<void> {
    await this.stopWorker();
    await this.connection.close();
    await this.processes.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async writeInput({
    runId,
    agent,
    stubUrl,
    trajectories: episodes,
    padding,
    analyst,
    identify,
  }: LabellingOptions): Promise<IdentifyInput> {
    const spec = agentSpecSchema.parse({
      version: 1,
      name: agent,
      environment: {
        path: 'none.py',
        trainSeeds: { start: 0, count: episodes },
        heldOutSeeds: { start: 1_000_000_000, count: 1 },
      },
      model: { name: 'base' },
      ...(analyst === undefined ? {} : { analyst }),
      identify: { maxCandidates: SKILLS.length, ...identify },
    });
    const prepared: PreparedSpec = {
      spec,
      environmentPath: '/none.py',
      environmentSha256: '0'.repeat(64),
      facts: MODULE_FACTS,
      modelBaseUrl: 'http://127.0.0.1:1/v1',
      modelPath: '/none',
      baseModelSha256: '0'.repeat(64),
      servedModel: { weightsSha256: null, root: null, maxModelLength: null },
      analyst: { baseUrl: stubUrl, model: 'stub-llm', displayName: 'stub LLM' },
      sandbox: { mode: 'jail', detail: 'not used' },
    };
    const context: RunContext = {
      runId,
      agent,
      spec: await putJson(this.store, layout.run(runId), 'spec.json', prepared),
      seed: 1,
    };
    const trajectories = Array.from({ length: episodes }, (_, i) => syntheticEpisode(i, padding));
    const successes = trajectories.filter(({ success }) => success).length;
    const ref = await putLines(this.store, layout.trajectories(runId), 'base.jsonl', trajectories);
    return {
      context,
      collected: {
        trajectories: ref,
        episodes,
        successes,
        failures: episodes - successes,
        promptTokens: 0,
        completionTokens: 0,
        seconds: 0,
      },
    };
  }
}
