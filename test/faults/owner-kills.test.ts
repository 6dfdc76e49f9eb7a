// tier: integration (real Temporal server, the built worker as a process, fake model server)
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomSource } from '../../activities/statistics/random';
import { type OwnerRunOptions, playOwnerRun } from './owner-agents/owner-run';
import { problemsOf } from './owner-agents/problems';

const folder = mkdtempSync(join(tmpdir(), 'whet-owner-kills-'));
// The jail's user must be able to enter it.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The short form of `make faults`: its users take 2 s for a turn, and it kills ten times. */
const SHORT = { turns: 2, userMs: 300, deadlineSeconds: 8, analystMs: 200, kills: { collect: 1, identify: 1 } };

test.concurrent.each<[OwnerRunOptions['kind'], Pick<OwnerRunOptions, 'tasks' | 'atOnce'>]>([
  ['process', { tasks: 64, atOnce: 32 }],
  ['program', { tasks: 16, atOnce: 4 }],
])(
  'a worker that is killed again and again loses nothing of a %s, and pays for nothing twice',
  async (kind, played) => {
    const options = { kind, ...SHORT, ...played, random: randomSource(1) };
    const run = await playOwnerRun(join(folder, kind), options);
    expect(problemsOf(run, options)).toEqual([]);
  },
);
