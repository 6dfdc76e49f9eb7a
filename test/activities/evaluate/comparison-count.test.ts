// tier: integration (real store)
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countComparison, judgingOf } from '../../../activities/evaluate/comparison-count';
import { layout, LocalStore, putJson, readNights } from '../../../store';

let store: LocalStore;
const folder = mkdtempSync(join(tmpdir(), 'whet-comparisons-'));
let agents = 0;
let agent: string;
beforeAll(() => void (store = new LocalStore(folder)));
beforeEach(() => void (agent = `desk-${++agents}`));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const baseModel = 'b'.repeat(64);
const of = (runId: string, against: number | null = 1) => ({ runId, against, baseModel });

/** Keeps a run in the history of its agent, as its report does. */
const keep = (runId: string, against: number | null, comparison: number, day = 1) =>
  putJson(store, layout.history(agent), `${runId}.json`, {
    ...{ schemaVersion: 1, runId, agent, outcome: 'not-promoted', reasons: [] },
    ...{ startedAt: `2026-11-0${day}T00:00:00Z`, endedAt: `2026-11-0${day}T01:00:00Z` },
    figures: {
      ...{
        new: [],
        fixed: [],
        regressed: [],
        recurring: [],
        sharpened: [],
        reused: [],
        promotedVersion: null,
        gain: null,
      },
      judged: { against, comparison, confidence: 0.97 },
      spend: { rollouts: 1, trainingRollouts: 0, analystCalls: 0, analystTokens: 0, usd: null, modelTokens: 0 },
    },
  });

test('comparisons that the nights have lost are counted from the history, once, and judge as strictly as before', async () => {
  await keep('run-1', 1, 1, 1);
  await keep('run-2', 1, 2, 2);
  // A run that was repaired has two records.
  await keep('run-2', 1, 2, 3);
  await keep('run-x', null, 1, 2);
  await store.put(layout.history(agent), 'run-9.json', 'no record', { mediaType: 'application/json' });
  mkdirSync(store.localPath(`${layout.history(agent)}/run-8-0123456789ab.json`));
  expect(await judgingOf(store, agent, of('run-3'), 0.95)).toMatchObject({ comparison: 3 });
  expect(await countComparison(store, agent, of('run-3'), 0.95)).toMatchObject({ comparison: 3 });
  expect(await countComparison(store, agent, of('run-3'), 0.95)).toMatchObject({ comparison: 3 });
  expect(await countComparison(store, agent, of('run-4'), 0.95)).toMatchObject({ comparison: 4 });
  expect((await readNights(store, agent)).comparisons.map(({ runId }) => runId)).toEqual([
    ...['run-1', 'run-2', 'run-3', 'run-4'],
  ]);
  expect(await countComparison(store, agent, of('run-4', null), 0.95)).toMatchObject({ comparison: 2 });
});

test('what the nights know is not counted twice', async () => {
  await countComparison(store, agent, of('run-1'), 0.95);
  await keep('run-1', 1, 1);
  expect(await judgingOf(store, agent, of('run-1'), 0.95)).toMatchObject({ comparison: 1 });
  expect(await countComparison(store, agent, of('run-2'), 0.95)).toMatchObject({ comparison: 2 });
});
