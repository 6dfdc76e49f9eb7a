import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { RandomSource } from '../../../activities/statistics/random';
import { readRunState, type RunState } from '../../../cli/view/run-state';
import type { Report } from '../../../contracts/artifacts/report';
import type { AnswerInput, AnswerResult } from '../../../contracts/messages/run';
import { MESSAGES, TASK_QUEUES, TRIAL, WORKFLOWS } from '../../../contracts/names';
import { projectRoot } from '../../../contracts/project-root';
import { processIds } from '../../../contracts/running-process';
import { FakePolicyServer } from '../../fakes/policy-server';
import { endOwnTemporal, type OwnTemporal, startOwnTemporal } from '../../helpers/own-temporal';
import { jailGroups } from '../chaos-run/jail-groups';
import { countPayments, type Payments } from '../chaos-run/payments';
import { startAnalyst } from './rule-analyst';
import { type UserCall, UserService } from './user-service';

/** A run of an agent whose user is a slow and faulty service. */
export interface OwnerRunOptions {
  kind: 'process' | 'program';
  tasks: number;
  atOnce: number;
  /** Turns of a conversation, and how long the user takes for one. */
  turns: number;
  userMs: number;
  /** Deadline of a step (process) or of an episode (program), which the calls without an answer miss. */
  deadlineSeconds: number;
  /** How often the worker is killed while the stage runs, at random moments. */
  kills: { collect: number; identify: number };
  random: RandomSource;
  /** How long an answer of the analyst takes. */
  analystMs: number;
}

/** A kill of the worker, and which episodes were finished before it. */
interface Kill {
  stage: string;
  at: number;
  finished: ReadonlySet<string>;
}

/** What became of a run. */
export interface OwnerRun {
  seconds: number;
  report: Report;
  /** The finished episodes with a result: reward by seed. */
  rewards: Map<number, number>;
  kills: Kill[];
  calls: UserCall[];
  mostAtOnce: number;
  modelCalls: number;
  payments: Payments;
  /** What it left behind: a line for each thing. */
  leftovers: string[];
  /** What the progress of the run said about itself. */
  notes: ReadonlySet<string>;
}

const RUN_ID = 'run-owner-agent';
const LOOK_MS = 100;
/** Only ends a run that hangs. */
const LIMIT_MS = 1_800_000;
const MODEL = 'base';

/** Plays one run in a folder of its own, with a Temporal server and a worker of its own. */
export async function playOwnerRun(folder: string, options: OwnerRunOptions): Promise<OwnerRun> {
  const run = new Run(folder, options);
  try {
    return await run.play();
  } finally {
    await run.end();
  }
}

class Run {
  private readonly user: UserService;
  private readonly policy = new FakePolicyServer(({ seed }) => ({ content: `What else? ${seed}` }), MODEL);
  private readonly door: string;
  private readonly temporary: string;
  private readonly log: number;
  private readonly groupsBefore = new Set(jailGroups());
  private readonly kills: Kill[] = [];
  private readonly notes = new Set<string>();
  private readonly deaths: number[] = [];
  private analyst: Awaited<ReturnType<typeof startAnalyst>> | null = null;
  private temporal: OwnTemporal | null = null;
  private worker: ChildProcess | null = null;
  /** Ids of all workers so far. */
  private readonly workers = new Set<number>();
  private isOver = false;

  constructor(
    private readonly folder: string,
    private readonly options: OwnerRunOptions,
  ) {
    this.user = new UserService(options.userMs);
    this.door = join(folder, 'door.jsonl');
    this.temporary = join(folder, 'tmp');
    for (const name of ['tmp', 'analyst', 'model', 'home']) mkdirSync(join(folder, name), { recursive: true });
    // The jail's user must be able to enter the folders that it is shown.
    for (const path of [folder, this.temporary]) chmodSync(path, 0o755);
    this.log = openSync(join(folder, 'worker.log'), 'a');
    writeFileSync(join(folder, 'model', 'config.json'), '{}');
  }

  async play(): Promise<OwnerRun> {
    this.analyst = await startAnalyst(join(this.folder, 'analyst'), this.door, this.options.analystMs);
    await this.policy.start();
    const agent = this.writeAgent(await this.user.start());
    this.temporal = await startOwnTemporal(join(this.folder, 'temporal.db'));
    const address = `127.0.0.1:${this.temporal.port}`;
    this.startWorker(address);
    const connection = await Connection.connect({ address });
    try {
      const client = new Client({ connection });
      const began = Date.now();
      await this.startRun(client, agent);
      await this.follow(client);
      const seconds = (Date.now() - began) / 1000;
      await this.stopWorker();
      return await this.outcome(seconds);
    } finally {
      await connection.close();
    }
  }

  async end(): Promise<void> {
    await this.stopWorker();
    if (this.temporal !== null) await endOwnTemporal(this.temporal);
    await this.analyst?.close();
    await this.policy.stop();
    await this.user.stop();
  }

  /** Writes the agent's folder. Returns its agent.yaml. */
  private writeAgent(userUrl: string): string {
    const { kind, tasks, atOnce, turns, deadlineSeconds } = this.options;
    const folder = join(this.folder, 'agent');
    cpSync(join(projectRoot(), 'test', 'faults', 'owner-agents', 'agent'), folder, { recursive: true });
    const library = join(projectRoot(), 'targets');
    const limits =
      kind === 'process'
        ? { episodesPerProcess: atOnce, seconds: { step: deadlineSeconds } }
        : { memoryPerEpisode: 64, seconds: { episode: deadlineSeconds } };
    const spec = {
      version: 1,
      name: `owner-${kind}`,
      environment: {
        kind,
        command: ['python3', `${kind}.py`],
        ...(kind === 'process' && { folders: [library] }),
        variables: {
          USER_URL: userUrl,
          TURNS: String(turns),
          PYTHONDONTWRITEBYTECODE: '1',
          ...(kind === 'process' && { PYTHONPATH: library }),
        },
        trainSeeds: { start: 0, count: tasks },
        heldOutSeeds: { start: 1_000_000, count: 10 },
        maxTurns: turns + 1,
        ...limits,
      },
      model: { name: MODEL, baseUrl: this.policy.baseUrl, path: '../model' },
      analyst: { baseUrl: this.analyst!.baseUrl, model: 'rule-based', concurrency: 4 },
      collect: { trials: 1, concurrency: atOnce },
      identify: { discoveryBatches: 1, batchSize: 20, runs: 1, chunkCalls: 10, minEachOutcome: 3 },
    };
    const file = join(folder, 'agent.yaml');
    // JSON is YAML.
    writeFileSync(file, JSON.stringify(spec, null, 2));
    const path = [library, folder, join(projectRoot(), 'targets', 'whetstone_process')];
    if (!path.every((place) => existsSync(place))) throw new Error(`One of ${path.join(', ')} does not exist.`);
    return file;
  }

  private startWorker(address: string): void {
    const own = Object.entries(process.env).filter(([name]) => !/^(OPENAI_|TEMPORAL_|WHET_)/.test(name));
    const worker = spawn(
      process.execPath,
      [join(projectRoot(), 'dist', 'workers', 'main.js'), '--queues', 'orchestration,llm,sandbox'],
      {
        env: {
          ...Object.fromEntries(own),
          TMPDIR: this.temporary,
          TEMPORAL_ADDRESS: address,
          WHET_HOME: join(this.folder, 'home'),
          WHET_POLICY: this.policyFile(),
          WHET_PYTHON: join(projectRoot(), '.toolchain', 'venv', 'bin', 'python'),
        },
        stdio: ['ignore', this.log, this.log],
      },
    );
    this.worker = worker;
    if (worker.pid !== undefined) this.workers.add(worker.pid);
    worker.once('exit', (code, signal) => {
      this.deaths.push(Date.now());
      if (this.isOver) return;
      if (signal !== 'SIGKILL') throw new Error(`The worker ended with ${code ?? signal}: ${this.folder}/worker.log`);
      this.startWorker(address);
    });
  }

  /** The operator allows what the agents of this test need. */
  private policyFile(): string {
    const file = join(this.folder, 'policy.yaml');
    const all = { commands: ['*'], folders: [join(projectRoot(), 'targets')], variables: ['*'] };
    writeFileSync(file, JSON.stringify({ all }));
    return file;
  }

  private async stopWorker(): Promise<void> {
    this.isOver = true;
    const { worker } = this;
    if (worker === null || worker.exitCode !== null || worker.signalCode !== null) return;
    const ended = once(worker, 'exit');
    worker.kill('SIGTERM');
    await ended;
  }

  private async startRun(client: Client, specPath: string): Promise<void> {
    const agent = `owner-${this.options.kind}`;
    await client.workflow.start(WORKFLOWS.improvementRun, {
      workflowId: RUN_ID,
      taskQueue: TASK_QUEUES.orchestration,
      args: [{ runId: RUN_ID, agent, specPath }],
      memo: { agent, specPath },
    });
  }

  /** Follows the run to its end. Between two looks the worker may be killed. */
  private async follow(client: Client): Promise<void> {
    const end = Date.now() + LIMIT_MS;
    let next = 0;
    for (;;) {
      if (Date.now() > end) throw new Error(`The run has not ended: ${this.folder}`);
      const state = await readRunState(client, RUN_ID).catch(() => null);
      if (state !== null && state.status !== 'running') {
        if (state.status !== 'completed') throw new Error(`The run ended as ${state.status}: ${this.folder}`);
        return;
      }
      if (state !== null) {
        await this.answer(client, state);
        for (const { progress } of state.activities) if (progress?.note) this.notes.add(progress.note);
      }
      const stage = state === null ? null : this.stageToDisturb(state);
      if (stage !== null && next === 0) next = this.nextKill(stage);
      if (stage !== null && Date.now() >= next) {
        await this.kill(stage);
        next = 0;
      }
      await sleep(LOOK_MS);
    }
  }

  /** A moment within the next conversation, or within the next four answers of the analyst. */
  private nextKill(stage: string): number {
    const { turns, userMs, analystMs, random } = this.options;
    return Date.now() + random.uniform() * (stage === 'collect' ? turns * userMs : 4 * analystMs);
  }

  /** The trainer of this agent is nobody's concern here; nothing else may wait for a person. */
  private async answer(client: Client, { progress }: RunState): Promise<void> {
    for (const { key, reason } of progress?.waits ?? []) throw new Error(`The run waits for ${key}: ${reason}`);
    const isTried = progress?.stages.some(({ name, status }) => name === 'collect' && status === 'running');
    if (this.isTrialSkipped || isTried !== true) return;
    const answer: AnswerInput = { answer: 'skip', key: TRIAL };
    await client.workflow
      .getHandle(RUN_ID)
      .executeUpdate<AnswerResult, [AnswerInput]>(MESSAGES.answerUpdate, { args: [answer] });
    this.isTrialSkipped = true;
  }

  private isTrialSkipped = false;

  /** The stage whose work is under way and is still to be disturbed; null: none. */
  private stageToDisturb({ activities }: RunState): 'collect' | 'identify' | null {
    const isUnderWay = (type: RegExp) =>
      activities.some(({ activityType, status }) => status === 'started' && type.test(activityType));
    const isLeft = (stage: 'collect' | 'identify') =>
      this.kills.filter((kill) => kill.stage === stage).length < this.options.kills[stage];
    if (isLeft('collect') && isUnderWay(/^collectTrajectories$/) && this.isFarEnough()) return 'collect';
    return isLeft('identify') && isUnderWay(/label|discover|merge/i) ? 'identify' : null;
  }

  /** Before each kill some more episodes must have finished, which must not be played again. */
  private isFarEnough(): boolean {
    const { kills, tasks } = this.options;
    return this.finishedLines().length >= (tasks * (this.kills.length + 1)) / (kills.collect + 2);
  }

  private async kill(stage: string): Promise<void> {
    const { worker } = this;
    if (worker?.pid === undefined || worker.exitCode !== null || worker.signalCode !== null) return;
    const ended = once(worker, 'exit');
    const finished = new Set(this.finishedLines().map(({ episode }) => episode));
    process.kill(worker.pid, 'SIGKILL');
    await ended;
    this.kills.push({ stage, at: Date.now(), finished });
  }

  /** The finished episodes of the work file. A line that the worker is writing counts as none. */
  private finishedLines(): { episode: string; reward: number | null }[] {
    const file = join(this.folder, 'home', 'store', 'runs', RUN_ID, 'work', 'collect.jsonl');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line) => {
        const { trajectory, tries } = lineOf(line);
        if (trajectory === undefined || (tries !== undefined && tries < 3)) return [];
        const { task, reward, finish } = trajectory;
        return [{ episode: String(task.seed), reward: finish === 'failed' ? null : reward }];
      });
  }

  private async outcome(seconds: number): Promise<OwnerRun> {
    const home = join(this.folder, 'home');
    const path = join(home, 'store', 'runs', RUN_ID, 'report', 'report.json');
    const report = JSON.parse(readFileSync(path, 'utf8')) as Report;
    const rewards = new Map<number, number>();
    for (const { episode, reward } of this.finishedLines()) if (reward !== null) rewards.set(Number(episode), reward);
    const excuses = { deaths: this.deaths, full: [], destroyed: [] };
    return {
      seconds,
      report,
      rewards,
      kills: this.kills,
      calls: this.user.calls,
      mostAtOnce: this.user.mostAtOnce,
      modelCalls: this.policy.requests.length,
      payments: countPayments(this.door, home, excuses, null),
      leftovers: await this.leftovers(),
      notes: this.notes,
    };
  }

  /** Processes of the agent, temporary files and control groups. The worker has ended. */
  private async leftovers(): Promise<string[]> {
    // The kernel may still count processes that have just been killed.
    for (let tries = 0; tries < 50 && this.leftGroups().length > 0; tries++) await sleep(100);
    const processes = processIds().flatMap((pid) => {
      const [command, variables] = ['cmdline', 'environ'].map((name) => read(`/proc/${pid}/${name}`)) as [
        string,
        string,
      ];
      const isOurs = variables.includes(`TMPDIR=${this.temporary}`) || variables.includes(`=${this.temporary}/`);
      const isAgents = command.includes(join(this.folder, 'agent'));
      return pid !== process.pid && (isOurs || isAgents) ? [`process ${pid}: ${command.replaceAll('\0', ' ')}`] : [];
    });
    const files = readdirSync(this.temporary).map((name) => `temporary file ${name}`);
    return [...processes, ...files, ...this.leftGroups().map((path) => `control group ${path}`)];
  }

  /** Other workers of the machine have groups of their own. */
  private leftGroups(): string[] {
    return jailGroups(this.workers).filter((path) => !this.groupsBefore.has(path));
  }
}

interface Line {
  tries?: number;
  trajectory?: { task: { seed: number }; reward: number; finish: string };
}

function lineOf(text: string): Line {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return {};
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
