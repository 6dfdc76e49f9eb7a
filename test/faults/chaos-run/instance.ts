import { execFile, type ExecFileException } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { projectRoot } from '../../../contracts/project-root';
import { isFree } from '../../../cli/supervisor/ports';
import { PORTS, type PortName } from '../../../cli/settings';
import { readRunState } from '../../../cli/view/run-state';
import { Census } from './census';
import { DOOR_VARIABLE } from './door-log';
import { jailGroups } from './jail-groups';
import type { Look } from './movement';

/** How a command of `whet` ended. */
export interface Finished {
  code: number;
  stdout: string;
  stderr: string;
  /** It had not ended by itself and was interrupted. */
  timedOut: boolean;
}

/** A command that takes longer than this hangs: with the model there, `whet up` takes seconds. */
export const COMMAND_MS = 180_000;

/** Variables of the caller's shell that would lead an instance to servers, keys or a store of somebody else. */
const FOREIGN = /^(OPENAI_|TEMPORAL_|WHET_)/;
/** Below the ports that the kernel gives out by itself. */
const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;
const ANSWER_MS = 5_000;

/** One installation: a state directory with its own ports, and `whet` as its user calls it. */
export class Instance {
  readonly census: Census;
  readonly doorLog: string;
  readonly temporaryFiles: string;
  /** Control groups of jails that were there before: a process id may come again. */
  readonly groupsBefore: ReadonlySet<string> = new Set(jailGroups());
  /** Ports that the user set before. */
  readonly formerPorts: number[] = [];
  private connection: Promise<Connection> | null = null;

  private constructor(
    readonly home: string,
    readonly agent: string,
    public ports: Readonly<Record<PortName, number>>,
    private readonly latencyMs: number,
  ) {
    this.doorLog = `${home}.door.jsonl`;
    this.temporaryFiles = `${home}.tmp`;
    this.census = new Census(this.doorLog);
    mkdirSync(home, { recursive: true });
    mkdirSync(this.temporaryFiles, { recursive: true });
  }

  /** Chooses free ports for a state directory. `latencyMs`: how long an answer of the analyst takes. */
  static async create(home: string, agent: string, latencyMs: number): Promise<Instance> {
    return new Instance(home, agent, await choosePorts(), latencyMs);
  }

  /** From here on the user of this installation sets other ports. */
  async changePorts(): Promise<void> {
    await this.disconnect();
    this.formerPorts.push(...Object.values(this.ports));
    this.ports = await choosePorts();
  }

  /** Environment of every command of this installation. */
  get environment(): NodeJS.ProcessEnv {
    const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
    const ports = Object.entries(this.ports).map(([name, port]) => [PORTS[name as PortName].variable, String(port)]);
    return {
      ...Object.fromEntries([...own, ...ports]),
      WHET_HOME: this.home,
      WHET_DEMO_ANALYST_LATENCY_MS: String(this.latencyMs),
      TMPDIR: this.temporaryFiles,
      [DOOR_VARIABLE]: this.doorLog,
    };
  }

  /** Runs `whet` with these words. Never throws; a command that takes longer than `limitMs` is interrupted. */
  whet(words: readonly string[], limitMs = COMMAND_MS): Promise<Finished> {
    return new Promise((resolve) => {
      execFile(
        join(projectRoot(), 'whet'),
        words,
        { env: this.environment, maxBuffer: 16 << 20, timeout: limitMs, killSignal: 'SIGINT' },
        (error: ExecFileException | null, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
          resolve({ code, stdout, stderr, timedOut: error?.killed === true });
        },
      );
    });
  }

  /** Asks the server how a run is. Null when it does not answer. */
  async look(runId: string): Promise<Look | null> {
    try {
      this.connection ??= Connection.connect({
        address: `127.0.0.1:${this.ports.temporal}`,
        connectTimeout: ANSWER_MS,
      });
      const client = new Client({ connection: await this.connection });
      return await client.withDeadline(Date.now() + ANSWER_MS, async () => {
        const state = await readRunState(client, runId);
        const workflows = [...new Set([runId, ...state.activities.map(({ workflowId }) => workflowId)])];
        const lengths = await Promise.all(workflows.map((id) => historyLength(client, id)));
        return { state, events: lengths.reduce((sum, length) => sum + length, 0) };
      });
    } catch {
      await this.disconnect();
      return null;
    }
  }

  /** Asks the server to cancel a run. */
  async cancel(runId: string): Promise<void> {
    const connection = await Connection.connect({ address: `127.0.0.1:${this.ports.temporal}` });
    try {
      await new Client({ connection }).workflow.getHandle(runId).cancel();
    } finally {
      await connection.close();
    }
  }

  /** The environment of a process of this installation. */
  environmentOf(pid: number): NodeJS.ProcessEnv {
    const pairs = readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((pair) => pair.includes('='));
    return Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    );
  }

  /** Closes the connection to the server, if there is one. */
  async disconnect(): Promise<void> {
    const { connection } = this;
    this.connection = null;
    await connection?.then((open) => open.close()).catch(() => undefined);
  }
}

async function historyLength(client: Client, workflowId: string): Promise<number> {
  // A child workflow may have ended since its activity was seen.
  const description = await client.workflow
    .getHandle(workflowId)
    .describe()
    .catch(() => null);
  return description?.historyLength ?? 0;
}

async function choosePorts(): Promise<Record<PortName, number>> {
  const chosen = new Set<number>();
  const next = async (): Promise<number> => {
    for (;;) {
      const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
      if (chosen.has(port) || !(await isFree(port))) continue;
      chosen.add(port);
      return port;
    }
  };
  const names = Object.keys(PORTS) as PortName[];
  const ports = await Promise.all(names.map(async (name) => [name, await next()] as const));
  return Object.fromEntries(ports) as Record<PortName, number>;
}
