// Tier: integration (real processes).
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { signalTrainer, startTrainer, trainerState } from '../../../activities/train/trainer-process';
import { until } from './training-files';

const path = process.env['PATH'];
let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'whet-trainer-'))));
afterEach(() => {
  process.env['PATH'] = path;
  rmSync(folder, { recursive: true, force: true });
});

test('a trainer that is told to stop while its exit code is recorded keeps that code', async () => {
  // An `mv` that says when it is about to give trainer.exit its name, and waits for leave.
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const slow = join(bin, 'mv');
  writeFileSync(
    slow,
    `#!/bin/sh\nif [ "$2" = trainer.exit ]; then echo > recording; until [ -e go ]; do sleep 0.01; done; fi\n` +
      `PATH='${path}' exec mv "$@"\n`,
  );
  chmodSync(slow, 0o755);
  process.env['PATH'] = `${bin}${delimiter}${path}`;
  const command = { python: '/bin/sh', pythonPath: folder, arguments: ['-c', 'exit 66'] };
  const ended = startTrainer(folder, [join(folder, 'job.json')], command);
  await until(() => existsSync(join(folder, 'recording')));
  const state = await trainerState(folder);
  if (state.status !== 'running') throw new Error('The shell around the trainer should be running.');
  signalTrainer(state.processGroup, 'SIGTERM');
  writeFileSync(join(folder, 'go'), '');
  await ended;
  expect(await trainerState(folder)).toEqual({ status: 'ended', code: 66 });
});
