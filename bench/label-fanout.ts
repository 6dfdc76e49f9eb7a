/**
 * Labels many synthetic trajectories through the real `identifyCapabilities` workflow, a real Temporal server on SQLite and a real worker
 * process, against a fake LLM that answers at once: what the fan-out itself costs. The last line is JSON.
 *
 *     node dist/bench/label-fanout.js [--trajectories 10000] [--padding 2000] [--concurrency 32]
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import {
  agentSpecSchema,
  identificationSchema,
  SEARCH_ATTRIBUTES,
  TASK_QUEUES,
  WORKFLOWS,
  type IdentifyInput,
  type IdentifyResult,
  type PreparedSpec,
} from '../contracts';
import { temporalExecutable } from '../scripts/temporal-executable';
import { getJson, layout, LocalStore, putJson, putLines } from '../store';
import { startStubLlm } from '../test/fakes/stub-llm';
import { SKILLS, syntheticAnswer, syntheticEpisode } from '../test/fakes/synthetic-episodes';

const RUN = 'fan-out';

interface Options {
  trajectories: number;
  /** Characters of the tool result in each trajectory. */
  padding: number;
  /** Calls to the LLM at once. */
  concurrency: number;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The run's spec and trajectories, as collection would have left them. */
async function writeInput(store: LocalStore, llmUrl: string, options: Options): Promise<IdentifyInput> {
  const spec = agentSpecSchema.parse({
    version: 1,
    name: 'fan-out',
    environment: { path: 'none.py', trainSeeds: { start: 0, count: options.trajectories }, heldOutSeeds: { start: 1_000_000, count: 1 } },
    model: { name: 'base' },
    analyst: { concurrency: options.concurrency },
    identify: { maxCandidates: SKILLS.length, runs: 1 },
  });
  const prepared: PreparedSpec = {
    spec,
    environmentPath: '/none.py',
    environmentSha256: '0'.repeat(64),
    modelBaseUrl: 'http://127.0.0.1:1/v1',
    modelPath: '/none',
    baseModelSha256: '0'.repeat(64),
    analyst: { baseUrl: llmUrl, model: 'stub-llm', displayName: 'stub LLM' },
    sandbox: { mode: 'jail', detail: 'not used' },
  };
  const context = { runId: RUN, agent: spec.name, spec: await putJson(store, layout.run(RUN), 'spec.json', prepared), seed: 1 };
  const trajectories = Array.from({ length: options.trajectories }, (_, i) => syntheticEpisode(i, options.padding));
  const successes = trajectories.filter(({ success }) => success).length;
  const ref = await putLines(store, layout.trajectories(RUN), 'base.jsonl', trajectories);
  const episodes = trajectories.length;
  return { context, collected: { trajectories: ref, episodes, successes, failures: episodes - successes, promptTokens: 0, completionTokens: 0, seconds: 0 } };
}

function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  child.on('error', (error) => console.error(`${command}: ${error.message}`));
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

async function connect(address: string): Promise<Connection> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await Connection.connect({ address, connectTimeout: 1_000 });
    } catch (error) {
      if (attempt === 60) throw error;
      await delay(500);
    }
  }
}

/** Largest resident memory that a process ever had, in MB. */
async function peakRssMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024;
}

/** Number of history events of every execution in the namespace, runs that continued as new each by themselves. */
async function historyLengths(client: Client): Promise<number[]> {
  const lengths: number[] = [];
  for await (const { workflowId, runId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    lengths.push(history.events?.length ?? 0);
  }
  return lengths;
}

async function measure(options: Options): Promise<void> {
  const temporal = temporalExecutable();
  if (temporal === null) throw new Error('There is no Temporal CLI: run `make setup`, or set TEMPORAL_CLI_PATH.');
  const folder = await mkdtemp(join(tmpdir(), 'whet-fan-out-'));
  const store = new LocalStore(join(folder, 'store'));
  const [serverPort, stubPort] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${serverPort}`;
  const attributes = Object.values(SEARCH_ATTRIBUTES).flatMap((name) => ['--search-attribute', `${name}=Keyword`]);
  const server = [
    'server',
    'start-dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(serverPort),
    '--headless',
    '--log-level',
    'never',
    '--db-filename',
    join(folder, 'temporal.db'),
  ];
  const children = [start(temporal, [...server, ...attributes], {}), start(process.execPath, [__filename, 'stub', String(stubPort)], {})];
  try {
    console.log(`writing ${options.trajectories} trajectories`);
    const input = await writeInput(store, `http://127.0.0.1:${stubPort}/v1`, options);
    const connection = await connect(address);
    const worker = start(process.execPath, [join(__dirname, '..', 'workers', 'main.js'), '--queues', 'orchestration,llm'], {
      TEMPORAL_ADDRESS: address,
      WHET_HOME: folder,
      WHET_STORE: join(folder, 'store'),
    });
    children.push(worker);
    const client = new Client({ connection });
    const began = Date.now();
    console.log(`labelling ${options.trajectories * SKILLS.length} pairs`);
    const result = (await client.workflow.execute(WORKFLOWS.identifyCapabilities, {
      taskQueue: TASK_QUEUES.orchestration,
      workflowId: `${RUN}/identify`,
      args: [input],
    })) as IdentifyResult;
    const seconds = (Date.now() - began) / 1000;
    const workerRssMb = await peakRssMb(worker.pid as number);
    const { calls } = await getJson(store, result.identification, identificationSchema);
    const lengths = await historyLengths(client);
    const events = lengths.reduce((sum, length) => sum + length, 0);
    await connection.close();
    const total = calls.discovery + calls.label;
    console.log(
      `${total} calls in ${seconds.toFixed(1)} s, ${events} events in ${lengths.length} histories, kept ${result.kept.map(({ id }) => id).join(', ')}`,
    );
    console.log(
      JSON.stringify({
        name: 'label-fanout',
        calls: total,
        eventsPerCall: Number((events / total).toFixed(5)),
        largestHistory: Math.max(...lengths),
        workerRssMb: Math.round(workerRssMb),
        seconds: Number(seconds.toFixed(1)),
      }),
    );
  } finally {
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map(ended));
    await rm(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  if (process.argv[2] === 'stub') {
    await startStubLlm(syntheticAnswer, { port: Number(process.argv[3]), record: false });
    return;
  }
  const string = (fallback: string) => ({ type: 'string', default: fallback }) as const;
  const { values } = parseArgs({ options: { trajectories: string('10000'), padding: string('2000'), concurrency: string('32') } });
  const options = { trajectories: Number(values.trajectories), padding: Number(values.padding), concurrency: Number(values.concurrency) };
  for (const [name, value] of Object.entries(options)) {
    if (!Number.isInteger(value) || value < 1) throw new RangeError(`--${name} ${JSON.stringify(value)}: a whole number above 0.`);
  }
  await measure(options);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
