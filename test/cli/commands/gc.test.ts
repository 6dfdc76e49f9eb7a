// integration: `whet gc` asks a real Temporal server which runs are open, and refuses without one.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { gcCommand, type GcFlags } from '../../../cli/commands/gc';
import { createOutput } from '../../../cli/output';
import { createProgram } from '../../../cli/program';
import { readSettings } from '../../../cli/settings';
import { WORKFLOWS } from '../../../contracts/names';
import { startTemporal } from '../../helpers/temporal';
import { temporaryStore } from '../../store/temporary-store';

const DAY_MS = 86_400_000;
const { folder } = temporaryStore();
let temporal: TestWorkflowEnvironment;
beforeAll(async () => void (temporal = await startTemporal()));
afterAll(() => temporal.teardown());

function oldRun(id: string): void {
  const path = join(folder, 'runs', id, 'report', 'report.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '{}');
  const then = new Date(Date.now() - 100 * DAY_MS);
  for (let at = path; at !== folder; at = dirname(at)) utimesSync(at, then, then);
}

const flags: GcFlags = { olderThan: 30 * DAY_MS, keepRuns: 0, keepVersions: 1 };
async function gc(more: Partial<GcFlags> = {}, address = temporal.address): Promise<{ goes: { key: string }[] }> {
  let printed = '';
  const out = createOutput(true, { write: (text: string) => ((printed += text), true) });
  const settings = readSettings({ WHET_STORE: folder, TEMPORAL_ADDRESS: address });
  await gcCommand({ settings, out }, { ...flags, ...more });
  return JSON.parse(printed) as { goes: { key: string }[] };
}

test('an open run stays, an ended one goes, and --dry-run changes nothing', async () => {
  oldRun('run-desk-open');
  oldRun('run-desk-ended');
  // No worker takes it, so it stays open.
  await temporal.client.workflow.start(WORKFLOWS.improvementRun, {
    workflowId: 'run-desk-open',
    taskQueue: 'nobody',
    args: [],
  });
  expect((await gc({ dryRun: true })).goes.map(({ key }) => key)).toEqual(['runs/run-desk-ended']);
  expect(readdirSync(join(folder, 'runs')).sort()).toEqual(['run-desk-ended', 'run-desk-open']);
  await gc();
  expect(readdirSync(join(folder, 'runs'))).toEqual(['run-desk-open']);
});

test('refuses when Temporal cannot be asked', async () => {
  oldRun('run-desk-ended');
  await expect(gc({}, '127.0.0.1:1')).rejects.toMatchObject({ type: 'Temporal.Unreachable' });
  expect(existsSync(join(folder, 'runs/run-desk-ended'))).toBe(true);
});

test('refuses spans below a day', async () => {
  const program = createProgram();
  const command = program.commands.find((one) => one.name() === 'gc')!;
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  await expect(command.parseAsync(['--older-than', '1h'], { from: 'user' })).rejects.toThrow('a day or more');
});
