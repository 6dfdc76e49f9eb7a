// tier: integration
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgent } from '../../../cli/agent';
import { readSettings } from '../../../cli/settings';
import { makePlan, missingAnalyst } from '../../../cli/supervisor/plan';
import { services } from '../../../cli/supervisor/services';
import { projectRoot } from '../../../contracts/project-root';
import { writeSmallAgent } from '../small-agent';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'whet-plan-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function planned(environment: NodeJS.ProcessEnv = {}) {
  const agent = readAgent(writeSmallAgent(folder));
  const settings = readSettings({ WHET_HOME: join(folder, 'home'), ...environment });
  const plan = await makePlan(settings, { agent, anyPort: true });
  return { plan, missing: missingAnalyst(settings, agent, plan) };
}

test('recorded answers beside an agent.yaml outside of the checkout are played', async () => {
  const assets = join(folder, 'analyst');
  mkdirSync(assets);
  writeFileSync(join(assets, 'capabilities.json'), '[]');
  writeFileSync(join(assets, 'labels.py'), '');
  const { plan, missing } = await planned();
  expect(plan.analyst).toMatchObject({ assets, script: expect.stringMatching(/examples\/shared\/analyst\/main\.js$/) });
  expect(missing).toBeNull();
});

test('an agent without any analyst is told so, with what to set', async () => {
  const { plan, missing } = await planned();
  expect(plan.analyst).toBeNull();
  expect(missing).toMatch(/analyst\.baseUrl.*OPENAI_API_KEY/);
  expect(missing).toContain(join(folder, 'analyst'));
});

test('conversations need neither model nor gateway, and the recorded analyst that was asked for is the only one', async () => {
  const path = join(folder, 'agent.yaml');
  writeFileSync(path, 'version: 1\nname: desk\nenvironment: { kind: traces }\n');
  const settings = readSettings({ WHET_HOME: join(folder, 'home'), OPENAI_API_KEY: 'key' });
  const demo = join(projectRoot(), 'examples', 'orders-desk', 'agent.yaml');
  const plan = await makePlan(settings, { agent: readAgent(path), anyPort: true, analystOf: demo });
  expect([plan.model, plan.gateway]).toEqual([null, null]);
  expect(plan.analyst).toMatchObject({ script: expect.stringContaining('orders-desk'), isOnly: true });
  const started = services(plan, () => null);
  expect(started.map(({ name }) => name).sort()).toEqual(['analyst', 'temporal', 'worker']);
  expect(started.find(({ name }) => name === 'worker')!.environment()).toMatchObject({
    ...{ OPENAI_API_KEY: '', OPENAI_BASE_URL: '', WHET_ANALYST_ONLY: 'demo' },
    ...{ WHET_DEMO_ANALYST_URL: expect.stringContaining('127.0.0.1') },
  });
});

test('a configured analyst is not missing', async () => {
  expect((await planned({ OPENAI_API_KEY: 'key' })).missing).toBeNull();
});
