// Tier: jail (real jail and runtime, fake model server).
import { rollOutRefused } from '../../../activities/calibrate/roll-out-refused';
import { readFileSync } from 'node:fs';
import { trajectorySchema, type Trajectory } from '../../../contracts/artifacts/trajectory';
import { SYNTHETIC_SEEDS } from '../../../contracts/limits';
import { storedLines } from '../../../store';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const capability = { id: 'stamps', name: 'Stamps', summary: 'count the stamps' };
let fixture: RunFixture;
let server: FakePolicyServer;

beforeEach(async () => {
  fixture = new RunFixture();
  server = await new FakePolicyServer(parcelPolicy(() => 0.5)).start();
});
afterEach(async () => {
  await server.stop();
  await fixture.dispose();
});

async function rollOut(text: string) {
  const context = await fixture.prepare(server.baseUrl);
  const source = await fixture.store.put('runs/run-1/environments/stamps', 'environment.py', text);
  const result = await fixture.run(rollOutRefused.bind(null, fixture.deps), { context, capability, source });
  const shown: Trajectory[] = [];
  if (result.rollouts !== null) {
    for await (const one of await storedLines(fixture.store, trajectorySchema)(result.rollouts)) shown.push(one);
  }
  return { result, shown };
}

test('the base model plays four tasks of a refused environment, once each', async () => {
  const { result, shown } = await rollOut(readFileSync(fixturePath('parcel_desk.py'), 'utf8'));
  const seeds = shown.map(({ task }) => task.seed).sort((a, b) => a - b);
  expect(seeds.slice(0, 2)).toEqual([0, 1]);
  expect(seeds.slice(2).every((seed) => seed >= SYNTHETIC_SEEDS.training)).toBe(true);
  expect(shown.every(({ task, messages }) => task.split === 'synthetic' && messages.length > 2)).toBe(true);
  expect(result.promptTokens).toBeGreaterThan(0);
});

test('one that raises in every episode shows what was said until then; one that does not load shows nothing', async () => {
  const raising = readFileSync(fixturePath('parcel_desk.py'), 'utf8').replace(
    '    def step(self, call):',
    '$&\n        1 / 0',
  );
  const { shown } = await rollOut(raising);
  expect(shown.map(({ finish, reward }) => [finish, reward])).toEqual(Array(4).fill(['environment-error', 0]));
  expect((await rollOut('raise SystemExit(3)')).result.rollouts).toBeNull();
});
