// tier: integration (a real Temporal server that is stopped, killed, filled and emptied)
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { ensureSearchAttributes } from '../../contracts/search-attributes';
import { lsCommand } from '../../cli/commands/ls';
import { runCommand } from '../../cli/commands/run';
import { whyCommand } from '../../cli/commands/status';
import type { Context } from '../../cli/context';
import { createOutput } from '../../cli/output';
import { readSettings } from '../../cli/settings';
import { findTemporalCli } from '../../cli/supervisor/executables';
import { freePort } from '../../cli/supervisor/ports';
import { findProcess, processesOfHome } from '../../cli/supervisor/processes';
import {
  removeSupervisorState,
  type SupervisorState,
  writeSupervisorState,
} from '../../cli/supervisor/supervisor-state';
import { withTemporal } from '../../cli/temporal';
import { up as startServices } from '../../cli/up';
import { followRun } from '../../cli/view/follow';
import { startOnSmallDisk } from '../helpers/full-disk';
import { endOwnTemporal, type OwnTemporal, startOwnTemporal } from '../helpers/own-temporal';
import { writeSmallAgent } from './small-agent';

const folder = mkdtempSync(join(tmpdir(), 'whet-trouble-'));
const database = join(folder, 'temporal.sqlite');
const agentPath = join(folder, 'agent.yaml');
let port: number;
let server: OwnTemporal | null = null;

const context = (variables: NodeJS.ProcessEnv = {}, lines: string[] = []): Context => ({
  settings: readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: `127.0.0.1:${port}`, ...variables }),
  out: {
    ...createOutput(true),
    line: (text = '') => void lines.push(text),
    result: (_, text) => void lines.push(text),
  },
});

async function startServer(): Promise<void> {
  server = await startOwnTemporal(database, server);
}

const killServer = (): Promise<void> => endOwnTemporal(server!, 'SIGKILL');

beforeAll(async () => {
  writeSmallAgent(folder);
  await startServer();
  ({ port } = server!);
});
afterAll(async () => {
  await killServer();
  rmSync(folder, { recursive: true, force: true });
});

test('a namespace without search attributes is refused with the command that makes them', async () => {
  await expect(runCommand(context(), agentPath, {})).rejects.toMatchObject({
    type: 'Temporal.AttributesMissing',
    message: expect.stringMatching(
      /^The namespace default of the Temporal server at 127\.0\.0\.1:\d+ lacks search attributes of runs \(WhetAgent, .*temporal operator search-attribute create --namespace default --name WhetAgent --type Keyword/,
    ),
  });
  // A query by an attribute that is missing names it too.
  await expect(lsCommand(context(), { agent: 'desk', limit: 1 })).rejects.toMatchObject({
    type: 'Temporal.AttributesMissing',
  });
});

test('while `whet up` still makes the model, a run and a list say so, and not that attributes are missing', async () => {
  const log = join(folder, 'model.log');
  writeFileSync(`${log}.out`, 'step 300 of 1200\n');
  const services = [
    { name: 'temporal', status: 'ready', note: '' },
    { name: 'model', status: 'starting', note: '' },
    { name: 'worker', status: 'waiting', note: 'waits for temporal, model' },
  ] as const;
  const state: SupervisorState = {
    instance: 'test',
    supervisor: findProcess(process.pid)!,
    startedAt: new Date().toISOString(),
    agentPath,
    modelSeed: 1,
    temporal: { address: `127.0.0.1:${port}`, namespace: 'default', uiUrl: null },
    services: services.map((service) => ({ ...service, process: null, restarts: 0, url: null, log })),
    disk: null,
  };
  const up = (services: SupervisorState['services']) => writeSupervisorState(folder, { ...state, services });
  try {
    up(state.services);
    for (const ask of [
      () => runCommand(context(), agentPath, {}),
      () => lsCommand(context(), { agent: 'desk', limit: 1 }),
    ])
      await expect(ask()).rejects.toMatchObject({
        type: 'Up.NotReady',
        message:
          `\`whet up\` is not ready yet: its worker has not prepared the Temporal server at 127.0.0.1:${port} for runs.\n` +
          `The base model (recipe) is starting (step 300 of 1200); its log is ${log}.\n` +
          'The worker is waiting (waits for temporal, model).\n' +
          'Give the command again once `whet status` shows every service as ready or done.',
      });
    const waiting = startServices(context().settings, context().out, { agent: null, anyPort: true });
    while (process.listenerCount('SIGINT') === 0) await sleep(20);
    process.emit('SIGINT');
    await expect(waiting).rejects.toMatchObject({
      type: 'Up.GoesOn',
      message: expect.stringMatching(/^The services go on starting\..*`whet down` stops them\.$/),
    });
    expect(process.listenerCount('SIGINT')).toBe(0);
    up(state.services.map((s) => (s.name === 'temporal' ? s : { ...s, status: 'failed', note: 'ended with code 1' })));
    await expect(runCommand(context(), agentPath, {})).rejects.toThrow(/\(ended with code 1\).*\nWhat failed is not/);
    up(state.services.map((s) => ({ ...s, status: 'ready' })));
    await expect(runCommand(context(), agentPath, {})).rejects.toMatchObject({ type: 'Temporal.AttributesMissing' });
  } finally {
    removeSupervisorState(folder);
  }
});

test('a namespace that does not exist is named, with the command that makes it', async () => {
  const elsewhere = context({ TEMPORAL_NAMESPACE: 'nowhere' });
  for (const ask of [
    () => lsCommand(elsewhere, { limit: 1 }),
    () => runCommand(elsewhere, agentPath, {}),
    () => whyCommand(elsewhere, 'run-desk-1'),
  ])
    await expect(ask()).rejects.toMatchObject({
      type: 'Temporal.NamespaceMissing',
      message: expect.stringMatching(/has no namespace nowhere\. Correct TEMPORAL_NAMESPACE, or make it: temporal/),
    });
});

test('`whet up` starts nothing where the server of TEMPORAL_ADDRESS is not there, or lacks the namespace', async () => {
  const options = { agent: null, anyPort: true };
  for (const [variables, type] of [
    [{ TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }, 'Temporal.Unreachable'],
    [{ TEMPORAL_NAMESPACE: 'nowhere' }, 'Temporal.NamespaceMissing'],
  ] as const) {
    const { settings, out } = context(variables);
    await expect(startServices(settings, out, options)).rejects.toMatchObject({ type });
    expect(processesOfHome(folder)).toEqual([]);
  }
});

test('a run is followed through the death of the server, which is said', async () => {
  const { settings } = context();
  await withTemporal(settings, async ({ client, connection }) => {
    await ensureSearchAttributes({ operatorService: connection.operatorService, namespace: 'default' });
    const lines: string[] = [];
    await runCommand(context({}, lines), agentPath, {});
    const runId = /started (\S+)/.exec(lines[0]!)![1]!;
    const told: string[] = [];
    const following = followRun(client, runId, context({}, told).out, new AbortController().signal);
    await killServer();
    while (!told.some((line) => line.startsWith('The Temporal server gives no answer ('))) await sleep(50);
    await startServer();
    while (!told.some((line) => line.startsWith('The Temporal server answers again after '))) await sleep(50);
    await client.workflow.getHandle(runId).terminate();
    expect((await following).status).toBe('terminated');
    expect(told).toHaveLength(2);
  });
});

test('a server that is stopped gives no answer, which is a sentence and no hanging command', async () => {
  server!.child.kill('SIGSTOP');
  try {
    await expect(lsCommand(context(), { limit: 1 })).rejects.toMatchObject({
      type: 'Temporal.Unreachable',
      message: expect.stringMatching(/^(No Temporal server answers at|The Temporal server at .* gives no answer)/),
    });
  } finally {
    server!.child.kill('SIGCONT');
  }
});

test('a database that is gone is a sentence with what to do', async () => {
  const lines: string[] = [];
  await killServer();
  // SQLite reads pages when they are asked for: the file is emptied while the server runs.
  await startServer();
  truncateSync(database, 0);
  const asking = async () => {
    for (;;) {
      await lsCommand(context({}, lines), { limit: 1 });
      await runCommand(context({}, lines), agentPath, {});
    }
  };
  await expect(asking()).rejects.toThrow(/^The Temporal server at 127\.0\.0\.1:\d+ .*lost its database.*[Rr]estore/);
  rmSync(database, { force: true });
  for (const end of ['-wal', '-shm']) rmSync(`${database}${end}`, { force: true });
});

test('a server whose disk is full is a sentence with what to do, and goes on once there is space', async () => {
  const small = join(folder, 'small');
  mkdirSync(small);
  const { disk, port: other } = await startOnDisk(small);
  const ended = once(disk.child, 'exit');
  const variables = { TEMPORAL_ADDRESS: `127.0.0.1:${other}` };
  try {
    disk.fill();
    const asking = async () => {
      for (;;) await runCommand(context(variables), agentPath, {});
    };
    // The server tells its clients either the reason or only that a shard is not there.
    await expect(asking()).rejects.toThrow(
      /^The Temporal server at \S+ (cannot write because its disk is full|gives no answer \(.*\))\. .*(Free|Runs are not lost)/,
    );
    disk.free();
    while (
      await runCommand(context(variables), agentPath, {}).then(
        () => false,
        () => true,
      )
    )
      await sleep(100);
  } finally {
    disk.child.kill('SIGKILL');
    await ended;
  }
});

/** Starts a server on a small disk. It is started again where another test took a port before it. */
async function startOnDisk(folder: string): Promise<{ disk: ReturnType<typeof startOnSmallDisk>; port: number }> {
  for (;;) {
    const port = await freePort();
    const flags = [
      '--headless',
      '--port',
      `${port}`,
      '--db-filename',
      join(folder, 'db.sqlite'),
      '--log-level',
      'never',
    ];
    const disk = startOnSmallDisk(folder, [findTemporalCli() as string, 'server', 'start-dev', ...flags], process.env);
    while (disk.child.exitCode === null && disk.child.signalCode === null) {
      try {
        await withAttributes(port);
        return { disk, port };
      } catch {
        await sleep(100);
      }
    }
  }
}

/** Registers the search attributes at a server of this machine. Rejects while it does not answer. */
async function withAttributes(at: number): Promise<void> {
  const connection = await Connection.connect({ address: `127.0.0.1:${at}`, connectTimeout: '1s' });
  try {
    await ensureSearchAttributes({ operatorService: connection.operatorService, namespace: 'default' });
  } finally {
    await connection.close();
  }
}
