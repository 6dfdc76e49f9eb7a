// tier: integration
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isRunning } from '../../../cli/supervisor/processes';
import { Census, type KnownProcess } from './census';
import { DOOR_VARIABLE } from './door-log';

const MARK = `/nowhere/${process.pid}.door.jsonl`;
// A child without an environment, as a jail is, and a shell that waits for it.
const SCRIPT = 'env -i sleep 600 & echo started; wait';

const start = (door: string) =>
  spawn('/bin/sh', ['-c', SCRIPT], {
    env: { ...process.env, [DOOR_VARIABLE]: door },
    stdio: ['ignore', 'pipe', 'ignore'],
  });

test('knows the marked process and its unmarked child, also after the parent was killed, and nobody else', async () => {
  const [ours, other] = [start(MARK), start('/nowhere/other.door.jsonl')];
  let known: KnownProcess[] = [];
  try {
    await Promise.all([once(ours.stdout, 'data'), once(other.stdout, 'data')]);
    const census = new Census(MARK);
    while (!known.some(({ command }) => command === 'sleep 600')) known = census.look();
    expect(known.map(({ pid }) => pid)).toContain(ours.pid);
    expect(known.map(({ pid }) => pid)).not.toContain(other.pid);
    ours.kill('SIGKILL');
    await once(ours, 'exit');
    expect(census.stillRunning.map(({ command }) => command)).toEqual(['sleep 600']);
  } finally {
    for (const { pid } of known.filter(isRunning)) process.kill(pid, 'SIGKILL');
    const rest = new Census('/nowhere/other.door.jsonl').look();
    for (const { pid } of rest.filter(isRunning)) process.kill(pid, 'SIGKILL');
  }
});
