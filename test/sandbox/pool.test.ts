// jail
import { EnvironmentPool, type EnvironmentProcess } from '../../sandbox';
import { type LaunchedRuntime, launchRuntime } from '../../sandbox/launch';
import { hostileSource, jailProcesses, testProfile } from './hostile';
import { EnvironmentDied, EnvironmentRaised } from '../helpers/sandbox-errors';

/** Episodes count their own steps; the call {"crash": true} ends the process. */
const COUNTER = hostileSource(
  'return ""',
  `
def step(self, call):
    if call["arguments"].get("crash"):
        os._exit(3)
    self.count = getattr(self, "count", 0) + 1
    return {"observation": f"{self.seed}:{self.count}", "done": False}
def reset(self, seed):
    self.seed = seed
    return [{"role": "user", "content": "go"}]`,
);
const options = { source: COUNTER, trust: 'synthesised', name: 'counter' } as const;
const go = (crash = false) => [{ name: 'go', arguments: { crash } }];

let pool: EnvironmentPool;
let launches = 0;
const opened: EnvironmentProcess[] = [];
const open = async (given = {}): Promise<EnvironmentProcess> => {
  const environment = await pool.open({ ...options, ...given });
  opened.push(environment);
  return environment;
};
const untilWaiting = async (count: number): Promise<void> => {
  while (pool.size !== count) await new Promise((resolve) => setTimeout(resolve, 5));
};

beforeEach(() => {
  launches = 0;
  pool = new EnvironmentPool({
    spares: 2,
    launch: (loaded, isolation) => {
      launches++;
      return launchRuntime(loaded, isolation);
    },
  });
});
afterEach(async () => {
  await pool.close();
  await Promise.all(opened.splice(0).map((environment) => environment.close()));
  while (jailProcesses().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

async function episode(environment: EnvironmentProcess, seed: number, crashAt = -1): Promise<string[]> {
  await environment.reset(`episode-${seed}`, seed);
  const seen: string[] = [];
  for (let step = 0; step < 4; step++)
    seen.push(...(await environment.step(`episode-${seed}`, go(step === crashAt))).observations);
  return seen;
}

test('a pool that is not used starts nothing; then its jails wait', async () => {
  expect([pool.size, launches]).toEqual([0, 0]);
  await open();
  await untilWaiting(2);
  await open();
  await untilWaiting(2);
  expect(launches).toBe(3);
});

test('a jail gets one source in its life', async () => {
  await open();
  await untilWaiting(2);
  const [first, second] = [await open(), await open({ source: `${COUNTER}\n` })];
  expect(first.isolation).toBe('jail');
  expect(second.sha256).not.toBe(first.sha256);
  await expect(first.request('load', { source: COUNTER })).rejects.toThrow('this process has its environment');
  await first.close();
  expect(await episode(second, 1)).toEqual(['1:1', '1:2', '1:3', '1:4']);
});

test('a crash costs the episodes of its own jail; run again, only the one that did it fails', async () => {
  const [shared, other] = [await open(), await open()];
  const beside = episode(other, 100);
  const seeds = [0, 1, 2, 3, 4, 5, 6, 7];
  const crashes = (seed: number): number => (seed === 5 ? 2 : -1);
  const lost = await Promise.allSettled(seeds.map((seed) => episode(shared, seed, crashes(seed))));
  expect(lost.every((outcome) => outcome.status === 'rejected' && outcome.reason instanceof EnvironmentDied)).toBe(
    true,
  );
  expect(await beside).toEqual(['100:1', '100:2', '100:3', '100:4']);

  const again: (string[] | Error)[] = [];
  for (const seed of seeds) again.push(await episode(await open(), seed, crashes(seed)).catch((error: Error) => error));
  expect(again.map((outcome) => outcome instanceof EnvironmentDied)).toEqual(seeds.map((seed) => seed === 5));
  expect(again[6]).toEqual(['6:1', '6:2', '6:3', '6:4']);
});

test('a jail that died while it waited is not handed out', async () => {
  await open();
  await untilWaiting(2);
  const waiting = pool as unknown as { spares: { launched: { child: { pid: number } } }[] };
  for (const { launched } of waiting.spares) process.kill(-launched.child.pid, 'SIGKILL');
  expect(await episode(await open(), 3)).toEqual(['3:1', '3:2', '3:3', '3:4']);
});

test('faults of the source are told as without a pool', async () => {
  await open();
  await untilWaiting(2);
  await expect(open({ source: 'x = (' })).rejects.toBeInstanceOf(EnvironmentRaised);
  await expect(open({ source: 'import os\nos._exit(3)' })).rejects.toMatchObject({ type: 'Sandbox.StartFailed' });
});

test('owners and profiles of their own start as ever', async () => {
  expect((await open({ trust: 'owner' })).isolation).toBe('owner-jail');
  expect((await open({ profile: testProfile() })).isolation).toBe('jail');
  expect([pool.size, launches]).toEqual([0, 0]);
});

test('jails that wait too long are ended, and a closed pool opens nothing', async () => {
  await pool.close();
  await expect(open()).rejects.toThrow('closed');
  const launched: LaunchedRuntime[] = [];
  pool = new EnvironmentPool({
    spares: 1,
    idleMs: 50,
    launch: async (loaded, isolation) => {
      const runtime = await launchRuntime(loaded, isolation);
      launched.push(runtime);
      return runtime;
    },
  });
  await open();
  while (launched[0]?.child.signalCode !== 'SIGKILL') await new Promise((resolve) => setTimeout(resolve, 5));
  expect(pool.size).toBe(0);
});
