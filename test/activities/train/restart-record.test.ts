// Tier: unit (files in a temporary folder).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readRestarts, recordRestart, resetRestarts } from '../../../activities/train/restart-record';

describe('the record of restarts', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'whet-restarts-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('starts at 0', async () => {
    expect(await readRestarts(directory, 0, 'job-1')).toEqual({ starts: 0, disruptions: 0, stalls: 0, crashes: 0 });
  });

  test('counts a Job once, however many workers record it', async () => {
    await recordRestart(directory, 0, 'disruptions', 'job-1');
    await recordRestart(directory, 0, 'disruptions', 'job-1');
    await recordRestart(directory, 0, 'stalls', 'job-2');
    expect(await readRestarts(directory, 0, 'job-3')).toEqual({ starts: 0, disruptions: 1, stalls: 1, crashes: 0 });
  });

  test('counts every start of a trainer of this machine', async () => {
    await recordRestart(directory, 0, 'starts', null);
    await recordRestart(directory, 0, 'starts', null);
    expect(await readRestarts(directory, 0, null)).toMatchObject({ starts: 2 });
    expect(await readRestarts(directory, 1, null)).toMatchObject({ starts: 0 });
  });

  test('a worker that still watches the replaced Job sees the counts before it', async () => {
    await recordRestart(directory, 0, 'disruptions', 'job-1');
    expect(await readRestarts(directory, 0, 'job-1')).toEqual({ starts: 0, disruptions: 0, stalls: 0, crashes: 0 });
    expect(await readRestarts(directory, 0, 'job-2')).toEqual({ starts: 0, disruptions: 1, stalls: 0, crashes: 0 });
  });

  test('a reset begins at 0 again', async () => {
    await recordRestart(directory, 0, 'stalls', 'job-1');
    await resetRestarts(directory);
    expect(await readRestarts(directory, 0, 'job-2')).toEqual({ starts: 0, disruptions: 0, stalls: 0, crashes: 0 });
  });

  test('a checkpoint since the last replacement begins at 0 again', async () => {
    await recordRestart(directory, 4, 'disruptions', 'job-1');
    expect(await readRestarts(directory, 4, 'job-2')).toMatchObject({ disruptions: 1 });
    expect(await readRestarts(directory, 5, 'job-2')).toMatchObject({ disruptions: 0 });
    await recordRestart(directory, 5, 'crashes', 'job-2');
    expect(await readRestarts(directory, 5, 'job-3')).toEqual({ starts: 0, disruptions: 0, stalls: 0, crashes: 1 });
  });

  test('a record that a full disk has cut short counts as none', async () => {
    await recordRestart(directory, 0, 'stalls', 'job-1');
    writeFileSync(join(directory, 'restarts.json'), '{"disrup');
    expect(await readRestarts(directory, 0, 'job-2')).toEqual({ starts: 0, disruptions: 0, stalls: 0, crashes: 0 });
  });
});
