/**
 * `test/faults/owner-kills`: an agent that is a process and one that is a program, whose user is a slow service that
 * sometimes fails or never answers. Each is played once undisturbed and once with a worker that is killed ten times, in
 * collect and in identify. Checks that every task has a result or a counted failure, that nothing is paid twice or
 * played again after its end, and that nothing is left behind.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { randomSource } from '../../activities/statistics/random';
import { type OwnerRunOptions, playOwnerRun } from './owner-agents/owner-run';
import { figuresOf, problemsOf } from './owner-agents/problems';

const USAGE = `Usage: test/faults/owner-kills [--seed N] [--user-ms N] [--kind process|program]`;

const string = { type: 'string' } as const;
const { values } = parseArgs({ options: { seed: string, 'user-ms': string, kind: string, help: { type: 'boolean' } } });

async function main(): Promise<number> {
  if (values.help === true) return say(USAGE);
  const userMs = Number(values['user-ms'] ?? 2_000);
  const kinds: OwnerRunOptions['kind'][] = ['process', 'program'];
  const wanted = kinds.filter((kind) => values.kind === undefined || values.kind === kind);
  const folder = mkdtempSync(join(tmpdir(), 'whet-owner-kills-'));
  // The jail's user must be able to enter it.
  chmodSync(folder, 0o755);
  let wrong = 0;
  for (const kind of wanted) {
    const played = kind === 'process' ? { tasks: 192, atOnce: 64 } : { tasks: 64, atOnce: 8 };
    const common = { kind, ...played, turns: 3, userMs, deadlineSeconds: 20, analystMs: 300 };
    for (const kills of [
      { collect: 0, identify: 0 },
      { collect: 6, identify: 4 },
    ]) {
      const options = { ...common, kills, random: randomSource(Number(values.seed ?? 1)) };
      const name = `${kind} ${kills.collect === 0 ? 'undisturbed' : 'disturbed'}`;
      const run = await playOwnerRun(join(folder, name.replace(' ', '-')), options);
      say(`${name}: ${JSON.stringify(figuresOf(run))}`);
      for (const note of run.notes) if (note.includes('at a time')) say(`${name}: ${note}`);
      for (const problem of problemsOf(run, options)) wrong += say(`${name}: ${problem}`, 1);
    }
  }
  if (wrong === 0) rmSync(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
  say(wrong === 0 ? 'owner-kills: nothing lost, paid twice, played twice or left behind' : 'owner-kills: FAILED');
  return wrong === 0 ? 0 : 1;
}

function say(line: string, count = 0): number {
  console.log(line);
  return count;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    process.exit(1);
  },
);
