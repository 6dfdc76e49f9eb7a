// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { budgetCommand, type BudgetFlags } from '../../../cli/commands/budget';
import { runCommand } from '../../../cli/commands/run';
import { readSettings } from '../../../cli/settings';
import { readRunState } from '../../../cli/view/run-state';
import { failure } from '../../../contracts/typed-failure';
import { layout, LocalStore } from '../../../store';
import { fakeActivities } from '../../fakes/activities';
import { startTemporal, withWorkers } from '../../helpers/temporal';
import { writeSmallAgent } from '../small-agent';

const folder = mkdtempSync(join(tmpdir(), 'whet-budget-'));
const agentPath = writeSmallAgent(folder);
const store = new LocalStore(join(folder, 'store'));

let server: TestWorkflowEnvironment;
beforeAll(async () => void (server = await startTemporal()));
afterAll(async () => {
  await server?.teardown();
  rmSync(folder, { recursive: true, force: true });
});

function capture() {
  const values: unknown[] = [];
  const out = {
    live: false,
    line: () => undefined,
    result: (value: unknown) => void values.push(value),
    redraw: () => undefined,
  };
  return { context: { settings: readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: server.address }), out }, values };
}

async function budget(runId: string, flags: BudgetFlags): Promise<unknown> {
  const { context, values } = capture();
  await budgetCommand(context, runId, flags);
  return values[0];
}

test('a run whose budget is spent waits with the reason, in every stage, and goes on when the budget was raised', async () => {
  const { activities } = fakeActivities({ chunks: 2 });
  const allowed = async () =>
    ((await store.readDocument(layout.budget(runId)))?.value as { tokens?: number } | undefined)?.tokens ?? 0;
  const guarded =
    <I, R>(needs: number, action: (input: I) => Promise<R>) =>
    async (input: I): Promise<R> => {
      if ((await allowed()) < needs) throw failure('Budget.Spent', 'one more would pass the budget.');
      return action(input);
    };
  const llm = {
    ...activities.llm,
    labelChunk: guarded(100, activities.llm.labelChunk!),
    synthesiseEnvironment: guarded(200, activities.llm.synthesiseEnvironment!),
  };
  let runId = '';
  const waitingFor = async (): Promise<string | null> =>
    (await readRunState(server.client, runId)).progress?.waitingFor ?? null;
  const untilWaits = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test((await waitingFor()) ?? '')) await sleep(100);
  };
  await withWorkers(server, { ...activities, llm }, async () => {
    const { context, values } = capture();
    await runCommand(context, agentPath, {});
    ({ runId } = values[0] as { runId: string });
    await untilWaits(/^identify: Budget\.Spent: .*whet budget RUN/);
    expect(await budget(runId, {})).toMatchObject({ budget: {}, resumed: [], spent: { calls: 0 } });
    await expect(budget(runId, { usd: 5 })).rejects.toMatchObject({ exitCode: 2, type: 'Budget.NoPrices' });
    expect(await budget(runId, { tokens: 100 })).toMatchObject({ budget: { tokens: 100 }, resumed: ['identify'] });
    await untilWaits(/^[ab]: Budget\.Spent[^]*\n[ab]: Budget\.Spent/);
    await expect(budget(runId, { environmentUsd: 5 })).rejects.toMatchObject({ exitCode: 2, type: 'Budget.NoPrices' });
    const use = { collect: { episodes: 8, unknown: 3, promptTokens: 900, completionTokens: 100 } };
    await store.swapDocument(layout.environmentUse(runId), { uses: use, counted: {} }, null);
    const raised = (await budget(runId, { tokens: 200, environmentTokens: 5_000 })) as { resumed: string[] };
    expect(raised).toMatchObject({
      budget: { tokens: 200, environment: { tokens: 5_000 } },
      environment: { episodes: 8, unknown: 3, tokens: 1_000, usd: null },
    });
    expect(raised.resumed.sort()).toEqual(['a', 'b']);
    await server.client.workflow.getHandle(runId).result();
  });
  await expect(budget(runId, { tokens: 300 })).rejects.toMatchObject({ type: 'Run.Ended' });
});
