// Tier: unit (store in a temporary folder).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentMeter, readEnvironmentUse } from '../../../activities/budget/environment-meter';
import { LocalStore } from '../../../store';

const folder = mkdtempSync(join(tmpdir(), 'whet-meter-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TEN = { promptTokens: 8, completionTokens: 2 };

test('sets of a run that play at a time reserve for one another', async () => {
  const store = new LocalStore(folder);
  const payer = { store, runId: 'run-1', budget: { environment: { tokens: 35 } }, stage: 'evaluate' } as const;
  const [first, second] = ['first', 'second'].map((name) => new EnvironmentMeter(payer, name));
  await first!.guard(async (recorded) => recorded(TEN));
  await first!.guard(async (recorded) => recorded(TEN));
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  // 20 of 35 tokens are spent, and an episode in play needs 10 more.
  const playing = first!.guard(async (recorded) => {
    await isOver;
    recorded(TEN);
  });
  const asked = second!.guard(async (recorded) => recorded(TEN));
  await expect(asked).rejects.toMatchObject({ type: 'Budget.Spent' });
  end();
  await playing;
  await second!.flush();
  expect(await readEnvironmentUse(store, 'run-1')).toEqual({
    evaluate: { episodes: 3, unknown: 0, promptTokens: 24, completionTokens: 6 },
  });
});
