// tier: integration (the built supervisor as a process, on a small disk)
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { diskProblem } from '../../../cli/supervisor/disk';
import { ManagedService } from '../../../cli/supervisor/managed-service';
import type { Plan } from '../../../cli/supervisor/plan';
import { freePort } from '../../../cli/supervisor/ports';
import { endProcesses, processesOfInstance } from '../../../cli/supervisor/processes';
import { askSupervisor, type ServiceState, type SupervisorState } from '../../../cli/supervisor/supervisor-state';
import { startOnSmallDisk } from '../../helpers/full-disk';

const folder = mkdtempSync(join(tmpdir(), 'whet-full-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SERVER = `
const { createServer } = require('node:http');
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);
createServer((_, answer) => answer.end('ok')).listen(port, '127.0.0.1');
`;

/** A plan whose only parts are an analyst, which is a small server, and a worker, which does nothing. */
async function smallPlan(home: string): Promise<Plan> {
  const root = join(folder, 'root');
  mkdirSync(join(root, 'dist', 'workers'), { recursive: true });
  writeFileSync(join(root, 'dist', 'workers', 'main.js'), 'setInterval(() => 0, 1000)');
  writeFileSync(join(root, 'analyst.js'), SERVER);
  return {
    instance: `test-${process.pid}-${Date.now()}`,
    home,
    storeRoot: join(home, 'store'),
    logs: join(home, 'logs'),
    root,
    python: 'python3',
    agentPath: null,
    temporal: { address: '127.0.0.1:1', namespace: 'default', start: null },
    model: null,
    gateway: null,
    analyst: { script: join(root, 'analyst.js'), assets: null, port: await freePort() },
  };
}

const analystOf = (state: SupervisorState | null): ServiceState | undefined =>
  state?.services.find(({ name }) => name === 'analyst');

async function untilState(home: string, isReached: (state: SupervisorState) => boolean): Promise<SupervisorState> {
  for (;;) {
    const state = await askSupervisor(home);
    if (state !== null && isReached(state)) return state;
    await sleep(50);
  }
}

test('a full disk and a part that dies end nothing: the part is started again, and the state is written once there is room', async () => {
  const home = join(folder, 'home');
  mkdirSync(home);
  const plan = await smallPlan(home);
  const main = join(__dirname, '..', '..', '..', 'dist', 'cli', 'supervisor', 'main.js');
  const disk = startOnSmallDisk(home, [process.execPath, main], { ...process.env, WHET_PLAN: JSON.stringify(plan) });
  let said = '';
  disk.child.stderr?.on('data', (part: Buffer) => (said += part.toString()));
  const ended = once(disk.child, 'exit');
  try {
    const before = await untilState(home, (state) => analystOf(state)?.status === 'ready');
    disk.fill();
    const full = await untilState(home, ({ disk: problem }) => problem !== null);
    expect(full.disk).toBe(
      `The disk of WHET_HOME (${home}) is full: 0 KiB are left for this user. Free space there: everything goes on by itself.`,
    );
    process.kill(analystOf(before)?.process?.pid ?? 0, 'SIGKILL');
    const again = await untilState(
      home,
      (state) => analystOf(state)?.status === 'ready' && analystOf(state)?.restarts === 1,
    );
    expect(again.supervisor).toEqual(before.supervisor);
    expect(readFileSync(disk.path('supervisor.json'), 'utf8')).not.toContain('"restarts": 1');
    while (!said.includes(full.disk ?? '?')) await sleep(20);

    disk.free();
    const kept = () => JSON.parse(readFileSync(disk.path('supervisor.json'), 'utf8')) as SupervisorState;
    while (analystOf(kept())?.restarts !== 1 || kept().disk !== null) await sleep(50);
    disk.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    disk.child.kill('SIGKILL');
    await endProcesses(processesOfInstance(plan.instance), 0);
  }
});

test('a state file that is damaged or removed while the supervisor lives is written again', async () => {
  const home = join(folder, 'healing');
  mkdirSync(home);
  const plan = await smallPlan(home);
  const main = join(__dirname, '..', '..', '..', 'dist', 'cli', 'supervisor', 'main.js');
  const disk = startOnSmallDisk(home, [process.execPath, main], { ...process.env, WHET_PLAN: JSON.stringify(plan) });
  const ended = once(disk.child, 'exit');
  try {
    await untilState(home, (state) => analystOf(state)?.status === 'ready');
    const path = disk.path('supervisor.json');
    const whole = readFileSync(path, 'utf8');
    writeFileSync(path, whole.slice(0, whole.length / 2));
    while (readFileSync(path, 'utf8') !== whole) await sleep(50);
    rmSync(path);
    while (!existsSync(path)) await sleep(50);
    disk.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    disk.child.kill('SIGKILL');
    await endProcesses(processesOfInstance(plan.instance), 0);
  }
});

test('a service whose log cannot be written is started all the same', async () => {
  symlinkSync('/dev/full', join(folder, 'full.log'));
  const managed = new ManagedService(
    {
      name: 'policy',
      command: process.execPath,
      arguments: () => ['-e', 'setInterval(() => 0, 1000)'],
      environment: () => ({}),
      url: null,
      needs: [],
      isReady: () => Promise.resolve(true),
    },
    join(folder, 'full.log'),
    () => undefined,
  );
  const running = managed.run();
  expect(await managed.settled()).toBe(true);
  await managed.stop(0);
  await running;
});

test('a disk with room is no problem, and a directory that does not exist is none either', () => {
  expect(diskProblem(folder, 'WHET_HOME')).toBeNull();
  expect(diskProblem(join(folder, 'nothing'), 'WHET_HOME')).toBeNull();
});
