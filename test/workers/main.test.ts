// tier: integration (the built worker as a process)
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { lastPollAt } from '../../cli/pollers';
import { TASK_QUEUES } from '../../contracts/names';
import { freePort } from '../../cli/supervisor/ports';
import { missingSearchAttributes } from '../../contracts/search-attributes';
import { startTemporal } from '../helpers/temporal';

const folder = mkdtempSync(join(tmpdir(), 'whet-worker-'));
const dist = join(__dirname, '..', '..', 'dist');

let server: TestWorkflowEnvironment;
beforeAll(async () => {
  server = await startTemporal();
});
afterAll(async () => {
  await server?.teardown();
  rmSync(folder, { recursive: true, force: true });
});

const startWorker = (namespace: string, log: number | 'ignore'): ChildProcess =>
  spawn(process.execPath, [join(dist, 'workers', 'main.js'), '--queues', 'orchestration'], {
    env: { ...process.env, WHET_HOME: folder, TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: namespace },
    stdio: ['ignore', log, log],
  });

/** Makes a namespace without search attributes and waits until the server knows it. */
async function makeNamespace(namespace: string): Promise<void> {
  const { workflowService } = server.connection;
  await workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  for (;;) {
    const found = await missingSearchAttributes({
      operatorService: server.connection.operatorService,
      namespace,
    }).catch(() => null);
    if (found !== null && found.length > 0) return;
    await sleep(100);
  }
}

test('a worker registers the search attributes of its namespace before it takes work', async () => {
  await makeNamespace('later');
  const worker = startWorker('later', 'ignore');
  const ended = once(worker, 'exit');
  const { operatorService } = server.connection;
  while ((await missingSearchAttributes({ operatorService, namespace: 'later' })).length > 0) {
    if (worker.exitCode !== null) throw new Error(`The worker ended with ${worker.exitCode}.`);
    await sleep(100);
  }
  worker.kill('SIGTERM');
  await ended;
});

/** A worker for a server that does not run yet. */
const startEarly = (port: number) =>
  spawn(process.execPath, [join(dist, 'workers', 'main.js'), '--queues', 'llm'], {
    env: { ...process.env, WHET_HOME: folder, TEMPORAL_ADDRESS: `127.0.0.1:${port}` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });

test.each(['SIGTERM', 'SIGINT'] as const)('a worker that waits for its server ends at %s', async (signal) => {
  const worker = startEarly(await freePort());
  const ended = once(worker, 'exit');
  await once(worker.stderr, 'data');
  worker.kill(signal);
  expect(await ended).toEqual([0, null]);
});

test('a worker that starts before its server waits, says for what, and then takes work', async () => {
  const port = await freePort();
  const worker = startEarly(port);
  const ended = once(worker, 'exit');
  const [said] = (await once(worker.stderr, 'data')) as [Buffer];
  expect(said.toString()).toMatch(
    new RegExp(
      `^Waiting for Temporal at 127.0.0.1:${port}: Connection refused\\. The worker starts when it answers\\.`,
    ),
  );
  const [host, serverPort] = server.address.split(':') as [string, string];
  const relay = createServer((socket) => {
    const upstream = connect(Number(serverPort), host);
    socket.on('error', () => upstream.destroy()).pipe(upstream);
    upstream.on('error', () => socket.destroy()).pipe(socket);
  }).listen(port, '127.0.0.1');
  while ((await lastPollAt(server.client, TASK_QUEUES.llm)) === null) {
    if (worker.exitCode !== null) throw new Error(`The worker ended with ${worker.exitCode}.`);
    await sleep(100);
  }
  worker.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  relay.close();
});

test('a worker whose log lies on a full disk goes on working', async () => {
  const worker = startWorker('default', openSync('/dev/full', 'w'));
  const ended = once(worker, 'exit');
  while ((await lastPollAt(server.client, TASK_QUEUES.orchestration)) === null) {
    if (worker.exitCode !== null) throw new Error(`The worker ended with ${worker.exitCode}.`);
    await sleep(100);
  }
  expect(worker.exitCode).toBeNull();
  worker.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test('a process that ends because of an error that nobody caught says why in its last line', async () => {
  const log = join(folder, 'log');
  const file = openSync(log, 'w');
  const script =
    `require(${JSON.stringify(join(dist, 'contracts', 'log-fatal-errors.js'))}).logFatalErrors('worker');` +
    "require('node:fs').createWriteStream('/dev/full').write('x')";
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', file, file] });
  expect(await once(child, 'exit')).toEqual([1, null]);
  expect(readFileSync(log, 'utf8')).toMatch(
    /^The worker ends because of an error that nobody caught: Error: ENOSPC: no space left on device, write/,
  );
});
