// Tier: unit.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBudget } from '../../../activities/budget/read-budget';
import { layout, LocalStore } from '../../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-budget-'));
const store = new LocalStore(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('what `whet budget` did not set is that of agent.yaml, the prices of simulated users too', async () => {
  const spec = { usd: 5, environment: { usd: 2, pricePerMillionInput: 3 } };
  expect(await readBudget(store, 'r1', spec)).toEqual(spec);
  await store.swapDocument(layout.budget('r1'), { environment: { tokens: 80 } }, null);
  expect(await readBudget(store, 'r1', spec)).toEqual({ usd: 5, environment: { ...spec.environment, tokens: 80 } });
});
