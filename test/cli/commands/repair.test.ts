// integration: damaged artifacts of a run on a real Temporal server are made again, with the same bytes.
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { repairCommand, type RepairFlags } from '../../../cli/commands/repair';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import type { ImprovementRunInput, RunProgress } from '../../../contracts/messages/run';
import { MESSAGES, repairWorkflowId, TASK_QUEUES, WORKFLOWS } from '../../../contracts/names';
import { storingActivities, type StoringOptions } from '../../fakes/storing-activities';
import { keepHistories } from '../../helpers/histories';
import { startTemporal, withWorkers } from '../../helpers/temporal';
import { temporaryStore } from '../../store/temporary-store';

const { folder, store } = temporaryStore();
let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());
afterEach(() => void (process.exitCode = undefined));

interface RepairResult {
  artifacts: number;
  adapters: number;
  damaged: { key: string; state: string; madeBy: string | null; repair: string; paidAgain: boolean }[];
  repaired: { key: string; repaired: boolean; how?: string; reason?: string }[];
  ownerFiles: string[];
  resumed: string[];
}

/** Runs `whet repair --json` and returns what it prints, and its text for people from a second look. */
async function repair(runId: string, flags: RepairFlags = {}): Promise<{ result: RepairResult; exitCode: unknown }> {
  let printed = '';
  const settings = readSettings({ WHET_STORE: folder, TEMPORAL_ADDRESS: temporal.address });
  const out = createOutput(true, { write: (text: string) => ((printed += text), true) });
  process.exitCode = undefined;
  await repairCommand({ settings, out }, runId, flags);
  return { result: JSON.parse(printed) as RepairResult, exitCode: process.exitCode };
}

let count = 0;
async function runToEnd(options: Omit<StoringOptions, 'store'> = {}, more: Pick<ImprovementRunInput, 'until'> = {}) {
  const { activities, calls } = storingActivities({ store, mixedAdapter: true, ...options });
  const runId = `run-desk-${++count}`;
  await withWorkers(temporal, activities, () =>
    temporal.client.workflow.execute(WORKFLOWS.improvementRun, {
      workflowId: runId,
      taskQueue: TASK_QUEUES.orchestration,
      args: [{ runId, agent: 'desk', specPath: '/agent.yaml', ...more }],
    }),
  );
  return { runId, activities, calls };
}

/** Files under a key, without those of a training's own folder, from which its artifacts are made. */
const filesOf = async (prefix: string): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { key } of store.listAll(prefix)) if (!/^runs\/.*\/adapter\//.test(key)) keys.push(key);
  return keys;
};
const path = (key: string) => join(folder, key);

test('what a run left that ended after identification is made again', async () => {
  const { runId, activities } = await runToEnd({}, { until: 'identify' });
  const keys = await filesOf(`runs/${runId}`);
  const identification = keys.find((key) => key.includes('identification'))!;
  const report = keys.find((key) => /report-[0-9a-f]{12}\.json$/.test(key))!;
  const before = [identification, report].map((key) => readFileSync(path(key), 'utf8'));
  await withWorkers(temporal, activities, async () => {
    rmSync(path(identification));
    truncateSync(path(report), 3);
    const { result, exitCode } = await repair(runId, { yes: true });
    expect(result.repaired.map(({ repaired }) => repaired)).toEqual([true, true]);
    expect(exitCode).toBeUndefined();
  });
  expect([identification, report].map((key) => readFileSync(path(key), 'utf8'))).toEqual(before);
});

test('every artifact, damaged or deleted alone, gets the same bytes again', async () => {
  const { runId, activities } = await runToEnd();
  const keys = [...(await filesOf(`runs/${runId}`)), ...(await filesOf('adapters'))];
  expect(keys.length).toBeGreaterThan(15);
  await withWorkers(temporal, activities, async () => {
    expect((await repair(runId)).result.damaged).toEqual([]);
    for (const [index, key] of keys.entries()) {
      const before = readFileSync(path(key));
      const damage = [
        () => rmSync(path(key)),
        () => truncateSync(path(key), Math.floor(statSync(path(key)).size / 2)),
        () => writeFileSync(path(key), 'x'.repeat(before.length)),
      ];
      damage[index % 3]!();
      const { result, exitCode } = await repair(runId);
      expect([key, result.damaged.length, result.repaired]).toMatchObject([key, 1, [{ repaired: true }]]);
      expect(readFileSync(path(key)).equals(before)).toBe(true);
      expect(exitCode).toBeUndefined();
    }
  });
});

test('everything at once: what a later artifact needs is made first', async () => {
  const { runId, activities, calls } = await runToEnd();
  const keys = await filesOf(`runs/${runId}`);
  const before = keys.map((key) => readFileSync(path(key)));
  rmSync(path(`runs/${runId}`), { recursive: true });
  await withWorkers(temporal, activities, async () => {
    calls.length = 0;
    const { result } = await repair(runId, { dryRun: true });
    expect(calls).toEqual([]);
    expect(result.damaged.map(({ state }) => state)).toEqual(Array(keys.length).fill('missing'));
    // The folder with recorded answers is gone too.
    expect(result.damaged.filter(({ paidAgain }) => paidAgain).length).toBeGreaterThan(0);
    const { result: after, exitCode } = await repair(runId, { yes: true });
    expect(after.repaired.every(({ repaired }) => repaired)).toBe(true);
    expect(keys.map((key) => readFileSync(path(key)))).toEqual(before);
    expect(exitCode).toBeUndefined();
    await keepHistories(temporal, repairWorkflowId(runId), 'repaired', ['repairArtifacts']);
  });
});

test('what comes out otherwise is said, with its reason, and leaves nothing behind', async () => {
  const { runId } = await runToEnd();
  const [spec] = (await filesOf(`runs/${runId}`)).filter((key) => key.includes('/spec-'));
  rmSync(path(spec!));
  const { activities } = storingActivities({ store, salt: { prepareRun: 'an edited agent.yaml' } });
  await withWorkers(temporal, activities, async () => {
    const { result, exitCode } = await repair(runId);
    expect(result.repaired).toMatchObject([{ key: spec, repaired: false }]);
    expect(result.repaired[0]!.reason).toMatch(/prepareRun made something else .*agent\.yaml/);
    expect(exitCode).toBe(1);
    expect((await filesOf(`runs/${runId}`)).filter((key) => key.includes('/spec-'))).toEqual([]);
  });
});

test('a report comes back from its copy, whatever time it is', async () => {
  const { runId, activities, calls } = await runToEnd();
  const [report] = (await filesOf(`runs/${runId}/report`)).filter((key) => key.endsWith('.html'));
  const bytes = readFileSync(path(report!));
  writeFileSync(join(dirname(path(report!)), 'report.html'), bytes);
  truncateSync(path(report!), 3);
  await withWorkers(temporal, activities, async () => {
    calls.length = 0;
    const { result } = await repair(runId);
    expect(result.repaired).toEqual([{ key: report, repaired: true, how: expect.stringContaining('report.html') }]);
    expect(calls).toEqual([]);
  });
});

test('an activity is told when it ran first and that it may not ask the analyst again', async () => {
  const repetitions: unknown[] = [];
  const { runId } = await runToEnd();
  const keys = (await filesOf(`runs/${runId}`)).filter((key) => /\/environments\/.*\.py$/.test(key));
  rmSync(path(keys[0]!));
  const { activities } = storingActivities({
    store,
    before: (_, __, repetition) => void repetitions.push(repetition),
  });
  await withWorkers(temporal, activities, async () => {
    await repair(runId);
    await repair(runId);
  });
  expect(repetitions).toEqual([{ scheduledAtMs: expect.any(Number), mayAskAnalyst: false }]);
});

test('a directory in the place of an artifact, and a failing step, are reported and end nothing', async () => {
  const { runId } = await runToEnd();
  const keys = await filesOf(`runs/${runId}/evaluation`);
  const [evaluation] = keys.filter((key) => key.includes('evaluation-'));
  const [routing] = keys.filter((key) => key.includes('/t-'));
  rmSync(path(evaluation!));
  rmSync(path(routing!));
  mkdirSync(path(routing!));
  const { activities } = storingActivities({
    store,
    before: (name) => {
      if (name === 'compareArms') throw ApplicationFailure.nonRetryable('compareArms is out of order');
    },
  });
  await withWorkers(temporal, activities, async () => {
    const { result, exitCode } = await repair(runId);
    expect(result.repaired.filter(({ repaired }) => !repaired)).toHaveLength(2);
    expect(JSON.stringify(result.repaired)).toContain('compareArms is out of order');
    expect(exitCode).toBe(1);
  });
});

test('a run that waits for a damaged artifact goes on after its repair', async () => {
  const runId = `run-desk-${++count}`;
  let damaged = false;
  const { activities } = storingActivities({
    store,
    before: async (name, input) => {
      if (name !== 'routeTasks' || damaged) return;
      damaged = true;
      truncateSync(path((input as { context: { spec: { key: string } } }).context.spec.key), 3);
    },
  });
  await withWorkers(temporal, activities, async () => {
    const handle = await temporal.client.workflow.start(WORKFLOWS.improvementRun, {
      workflowId: runId,
      taskQueue: TASK_QUEUES.orchestration,
      args: [{ runId, agent: 'desk', specPath: '/agent.yaml' }],
    });
    for (;;) {
      const { waitingFor } = await handle.query<RunProgress>(MESSAGES.progressQuery);
      if (waitingFor !== null) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { result, exitCode } = await repair(runId);
    expect(result.repaired).toMatchObject([{ repaired: true }]);
    expect(result.resumed).toEqual(['evaluate']);
    expect(exitCode).toBeUndefined();
    expect(await handle.result()).toMatchObject({ verdict: 'promoted' });
  });
});
