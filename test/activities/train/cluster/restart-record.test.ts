// Tier: unit (files in a temporary folder).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRestarts, recordRestart, resetRestarts } from '../../../../activities/train/cluster/restart-record';

describe('the record of restarts', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'whet-restarts-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('starts at 0', async () => {
    expect(await readRestarts(directory, 'job-1')).toEqual({ disruptions: 0, stalls: 0 });
  });

  test('counts a Job once, however many workers record it', async () => {
    await recordRestart(directory, 'job-1', 'disruptions');
    await recordRestart(directory, 'job-1', 'disruptions');
    await recordRestart(directory, 'job-2', 'stalls');
    expect(await readRestarts(directory, 'job-3')).toEqual({ disruptions: 1, stalls: 1 });
  });

  test('a worker that still watches the replaced Job sees the counts before it', async () => {
    await recordRestart(directory, 'job-1', 'disruptions');
    expect(await readRestarts(directory, 'job-1')).toEqual({ disruptions: 0, stalls: 0 });
    expect(await readRestarts(directory, 'job-2')).toEqual({ disruptions: 1, stalls: 0 });
  });

  test('a reset begins at 0 again', async () => {
    await recordRestart(directory, 'job-1', 'stalls');
    await resetRestarts(directory);
    expect(await readRestarts(directory, 'job-2')).toEqual({ disruptions: 0, stalls: 0 });
  });
});
