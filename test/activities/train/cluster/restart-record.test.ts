// Tier: unit (files in a temporary folder).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
    expect(await readRestarts(directory, 'job-1', 0)).toEqual({ disruptions: 0, stalls: 0, crashes: 0 });
  });

  test('counts a Job once, however many workers record it', async () => {
    await recordRestart(directory, 'job-1', 'disruptions', 0);
    await recordRestart(directory, 'job-1', 'disruptions', 0);
    await recordRestart(directory, 'job-2', 'stalls', 0);
    expect(await readRestarts(directory, 'job-3', 0)).toEqual({ disruptions: 1, stalls: 1, crashes: 0 });
  });

  test('a worker that still watches the replaced Job sees the counts before it', async () => {
    await recordRestart(directory, 'job-1', 'disruptions', 0);
    expect(await readRestarts(directory, 'job-1', 0)).toEqual({ disruptions: 0, stalls: 0, crashes: 0 });
    expect(await readRestarts(directory, 'job-2', 0)).toEqual({ disruptions: 1, stalls: 0, crashes: 0 });
  });

  test('a reset begins at 0 again', async () => {
    await recordRestart(directory, 'job-1', 'stalls', 0);
    await resetRestarts(directory);
    expect(await readRestarts(directory, 'job-2', 0)).toEqual({ disruptions: 0, stalls: 0, crashes: 0 });
  });

  test('a checkpoint since the last replacement begins at 0 again', async () => {
    await recordRestart(directory, 'job-1', 'disruptions', 4);
    expect(await readRestarts(directory, 'job-2', 4)).toMatchObject({ disruptions: 1 });
    expect(await readRestarts(directory, 'job-2', 5)).toMatchObject({ disruptions: 0 });
    await recordRestart(directory, 'job-2', 'crashes', 5);
    expect(await readRestarts(directory, 'job-3', 5)).toEqual({ disruptions: 0, stalls: 0, crashes: 1 });
  });

  test('a record that a full disk has cut short counts as none', async () => {
    await recordRestart(directory, 'job-1', 'stalls', 0);
    writeFileSync(join(directory, 'cluster', 'patience.json'), '{"disrup');
    expect(await readRestarts(directory, 'job-2', 0)).toEqual({ disruptions: 0, stalls: 0, crashes: 0 });
  });
});
