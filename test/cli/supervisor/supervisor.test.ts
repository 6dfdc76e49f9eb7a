// tier: integration
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makePlan } from '../../../cli/supervisor/plan';
import { claimPort, freePort, isFree, whoListens } from '../../../cli/supervisor/ports';
import { ManagedService } from '../../../cli/supervisor/managed-service';
import {
  endProcesses,
  findProcess,
  INSTANCE_VARIABLE,
  isRunning,
  processesOfInstance,
} from '../../../cli/supervisor/processes';
import type { Service } from '../../../cli/supervisor/services';
import { readRunningSupervisorState, writeSupervisorState } from '../../../cli/supervisor/supervisor-state';
import { readSettings } from '../../../cli/settings';
import { CliError } from '../../../cli/errors';

const folder = mkdtempSync(join(tmpdir(), 'whet-supervisor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await sleep(10);
};

const service = (script: string, change: Partial<Service> = {}): Service => ({
  name: 'policy',
  command: process.execPath,
  arguments: () => ['-e', script],
  environment: () => ({}),
  url: null,
  needs: [],
  isReady: () => Promise.resolve(true),
  ...change,
});

describe('a managed service', () => {
  test('is started again after SIGKILL and counts it', async () => {
    const managed = new ManagedService(service('setInterval(() => 0, 1000)'), join(folder, 'a.log'), () => undefined);
    const running = managed.run();
    await until(() => managed.state.status === 'ready');
    const first = managed.state.process;
    process.kill(first?.pid ?? 0, 'SIGKILL');
    await until(() => managed.state.status === 'ready' && managed.state.process?.pid !== first?.pid);
    expect(managed.state.restarts).toBe(1);
    const second = managed.state.process;
    await managed.stop(2_000);
    await running;
    expect(managed.state.status).toBe('stopped');
    expect(second !== null && isRunning(second)).toBe(false);
  });

  test('that hangs is killed and started again, and says so', async () => {
    let hangs = false;
    const alive = service('process.on("SIGTERM", () => 0); setInterval(() => 0, 1000)', {
      stillWorks: () => Promise.resolve(!hangs),
    });
    const managed = new ManagedService(alive, join(folder, 'hung.log'), () => undefined, { everyMs: 10, misses: 3 });
    const running = managed.run();
    await until(() => managed.state.status === 'ready');
    const first = managed.state.process;
    await sleep(100);
    expect(managed.state.process).toBe(first);
    hangs = true;
    await until(() => managed.state.status === 'restarting');
    hangs = false;
    expect(managed.state.note).toMatch(/^gave no answer for 0.03 s and was killed, starts again in/);
    await until(() => managed.state.status === 'ready');
    expect(managed.state.process?.pid).not.toBe(first?.pid);
    await managed.stop(200);
    await running;
  });

  const withHelper =
    "const { spawn } = require('node:child_process');" +
    "const helper = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' });" +
    'console.error(`helper ${helper.pid}`); setInterval(() => 0, 1000)';

  test('that is heavy leaves no helper when it dies, and is started again', async () => {
    const log = join(folder, 'heavy.log');
    const managed = new ManagedService(service(withHelper, { isHeavy: true }), log, () => undefined);
    const running = managed.run();
    const helpers = () => [...readFileSync(log, 'utf8').matchAll(/helper (\d+)/g)].map((found) => Number(found[1]));
    await until(() => managed.state.status === 'ready' && helpers().length === 1);
    process.kill(managed.state.process?.pid ?? 0, 'SIGKILL');
    await until(() => managed.state.restarts === 1 && managed.state.status === 'ready' && helpers().length === 2);
    expect(findProcess(helpers()[0]!)).toBeNull();
    await managed.stop(2_000);
    await running;
    expect(findProcess(helpers()[1]!)).toBeNull();
  });

  test('that is heavy and ends before it has worked is not started again', async () => {
    const ends = service('process.exit(3)', { isHeavy: true, isReady: () => Promise.resolve(false) });
    const managed = new ManagedService(ends, join(folder, 'ends.log'), () => undefined);
    await managed.run();
    expect(managed.state).toMatchObject({ status: 'failed', note: 'ended with exit code 3', restarts: 0 });
  });

  test('that runs once gives its last line of output, or fails with its exit code', async () => {
    const good = new ManagedService(
      service('console.error("noise"); console.log("{\\"path\\":\\"/m\\"}")', { once: true }),
      join(folder, 'b.log'),
      () => undefined,
    );
    await good.run();
    expect(good.state.status).toBe('done');
    expect(good.result).toBe('{"path":"/m"}');
    const bad = new ManagedService(service('process.exit(3)', { once: true }), join(folder, 'c.log'), () => undefined);
    await bad.run();
    expect(bad.state).toMatchObject({ status: 'failed', note: 'ended with exit code 3' });
    expect(await bad.settled()).toBe(false);
  });

  test('that cannot be spawned says why', async () => {
    const managed = new ManagedService(
      service('', { command: join(folder, 'no-such-program'), once: true }),
      join(folder, 'd.log'),
      () => undefined,
    );
    await managed.run();
    expect(managed.state.note).toContain('ENOENT');
    expect(readFileSync(join(folder, 'd.log'), 'utf8')).toContain('start policy');
  });
});

describe('processes', () => {
  test('of an instance are found by their mark, children of children included, and ended', async () => {
    const script =
      'require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => 0, 1000)"], { ' +
      'detached: true, stdio: "ignore" }); setInterval(() => 0, 1000)';
    const child = spawn(process.execPath, ['-e', script], {
      env: { ...process.env, [INSTANCE_VARIABLE]: 'test-instance' },
      detached: true,
      stdio: 'ignore',
    });
    await until(() => processesOfInstance('test-instance').length === 2);
    const found = processesOfInstance('test-instance');
    expect(found.map((id) => id.pid)).toContain(child.pid);
    await endProcesses(found);
    expect(processesOfInstance('test-instance')).toEqual([]);
  });

  test('that ignore SIGTERM are killed', async () => {
    const child = spawn(
      process.execPath,
      ['-e', 'process.on("SIGTERM", () => 0); console.log("on"); setInterval(() => 0, 1000)'],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const id = findProcess(child.pid ?? 0);
    await endProcesses(id === null ? [] : [id], 100);
    expect(id !== null && isRunning(id)).toBe(false);
  });

  test('with the same number but another start time are left alone', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' });
    const id = findProcess(child.pid ?? 0);
    await endProcesses([{ pid: child.pid ?? 0, startTicks: (id?.startTicks ?? 0) - 1 }]);
    expect(id !== null && isRunning(id)).toBe(true);
    child.kill('SIGKILL');
  });

  test('of a supervisor that died are not taken for a running one', () => {
    const dead = { pid: process.pid, startTicks: 1 };
    writeSupervisorState(folder, {
      instance: 'x',
      supervisor: dead,
      startedAt: '',
      agentPath: null,
      modelSeed: null,
      temporal: { address: '', namespace: '', uiUrl: null },
      services: [],
      disk: null,
    });
    expect(readRunningSupervisorState(folder)).toBeNull();
  });
});

describe('a port that is taken', () => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as { port: number }).port;
  });
  afterAll(() => server.close());

  test('is seen, with who holds it', async () => {
    expect(await isFree(port)).toBe(false);
    expect(whoListens(port)).toContain(`process ${process.pid}`);
  });

  test('stops `whet up` with port, holder and what to do', async () => {
    const [taken, free] = [String(port), String(await freePort())];
    const settings = readSettings({ WHET_HOME: folder, WHET_TEMPORAL_PORT: taken, WHET_TEMPORAL_UI_PORT: free });
    const planning = makePlan(settings, { agent: null, anyPort: false });
    await expect(planning).rejects.toThrow(CliError);
    await expect(planning).rejects.toThrow(
      new RegExp(
        `Port ${port} \\(WHET_TEMPORAL_PORT\\) is taken by process ${process.pid} .*set WHET_TEMPORAL_PORT to ` +
          'a free port: export WHET_TEMPORAL_PORT=\\d+$',
        's',
      ),
    );
  });

  test('is named together with all others that are taken, with free ones', async () => {
    const ports = { WHET_TEMPORAL_PORT: String(port), WHET_TEMPORAL_UI_PORT: String(port) };
    const planning = makePlan(readSettings({ WHET_HOME: folder, ...ports }), {
      agent: null,
      anyPort: false,
    });
    await expect(planning).rejects.toThrow(/WHET_TEMPORAL_PORT\) is taken.*\n.*WHET_TEMPORAL_UI_PORT\) is taken/);
    await expect(planning).rejects.toThrow(/\n.*: export WHET_TEMPORAL_PORT=\d+ WHET_TEMPORAL_UI_PORT=\d+$/);
  });

  test('is stepped around by the demo', async () => {
    const settings = readSettings({ WHET_HOME: folder, WHET_TEMPORAL_PORT: String(port) });
    const plan = await makePlan(settings, { agent: null, anyPort: true });
    expect(plan.temporal.start?.port).not.toBe(port);
  });

  test('is no choice, and neither are ports that outgoing connections take by themselves', async () => {
    const taken = await freePort();
    expect(taken).toBeLessThan(30_000);
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(taken, '127.0.0.1', resolve));
    const drawn = jest.spyOn(Math, 'random').mockReturnValueOnce((taken - 20_000 + 0.5) / 10_000);
    try {
      expect(await freePort()).not.toBe(taken);
    } finally {
      drawn.mockRestore();
      await new Promise((resolve) => holder.close(resolve));
    }
  });

  test('that another `whet up` has chosen but does not listen on yet is no choice, until that one ends', async () => {
    const free = await freePort();
    const other = spawn(process.execPath, [
      '-e',
      `require('node:net').createServer().listen('\\0whet-port-${free}', () => console.log('claimed'))`,
    ]);
    try {
      await new Promise((resolve) => other.stdout.once('data', resolve));
      expect(await claimPort(free)).toBe(false);
    } finally {
      other.kill('SIGKILL');
      await new Promise((resolve) => other.once('exit', resolve));
    }
    expect(await claimPort(free)).toBe(true);
    expect(await claimPort(free)).toBe(true);
  });
});
