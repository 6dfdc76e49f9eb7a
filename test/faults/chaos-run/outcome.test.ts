// tier: unit
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changeNights, LocalStore } from '../../../store';
import { differences, readOutcome } from './outcome';

const home = mkdtempSync(join(tmpdir(), 'chaos-outcome-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function writeRun(runId: string, gain: number, label: string): void {
  const run = join(home, 'store', 'runs', runId);
  for (const part of ['report', 'labels']) mkdirSync(join(run, part), { recursive: true });
  const report = {
    ...{ runId, agent: 'desk', createdAt: new Date().toISOString(), verdict: 'promoted', artifacts: [{ role: runId }] },
    stages: [{ name: 'collect', status: 'done', seconds: Math.random() }],
    sharpened: [{ capability: { id: 'stamps' }, adapter: { sha256: 'a', seconds: Math.random() } }],
    identification: {},
    evaluation: { gain },
  };
  writeFileSync(join(run, 'report', 'report.json'), JSON.stringify(report));
  writeFileSync(join(run, 'labels', 'labels-0123456789ab.jsonl'), `${JSON.stringify({ label, runId })}\n`);
}

test('runs that differ only in names and times found the same', async () => {
  writeRun('run-a', 1, 'yes');
  writeRun('run-b', 1, 'yes');
  expect(differences(await readOutcome(home, 'run-a'), await readOutcome(home, 'run-b'))).toEqual([]);
});

test('each part that differs is named with both values', async () => {
  writeRun('run-a', 1, 'yes');
  writeRun('run-c', 2, 'no');
  expect(differences(await readOutcome(home, 'run-a'), await readOutcome(home, 'run-c'))).toEqual([
    expect.stringMatching(/^labels: labels [0-9a-f]{12} undisturbed, labels [0-9a-f]{12} disturbed$/),
    'evaluation: {"gain":1} undisturbed, {"gain":2} disturbed',
  ]);
});

test('nights that decided otherwise differ, whatever the ids of their runs are', async () => {
  const store = new LocalStore(join(home, 'store'));
  const decide = (runId: string, outcome: 'goes-on' | 'nothing-new') =>
    changeNights(store, 'desk', (before) => ({
      ...before,
      nights: [
        {
          ...{ runId, night: 1, version: 1, outcome, reasons: [], worked: false },
          content: { environment: 'a', baseModel: 'b', options: 'c' },
        },
      ],
    }));
  writeRun('run-a', 1, 'yes');
  writeRun('run-b', 1, 'yes');
  await decide('run-a', 'nothing-new');
  const before = await readOutcome(home, 'run-a');
  await decide('run-b', 'nothing-new');
  expect(differences(before, await readOutcome(home, 'run-b'))).toEqual([]);
  await decide('run-b', 'goes-on');
  expect(differences(before, await readOutcome(home, 'run-b'))).toEqual([expect.stringMatching(/^nights: /)]);
});
