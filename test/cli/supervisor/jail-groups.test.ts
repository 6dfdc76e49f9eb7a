// Tier: integration (real control groups, where this process may make them).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jailGroupFolders, removeLeftJailGroups } from '../../../cli/supervisor/jail-groups';

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** The folder of the controller that counts processes. */
const folder = (): string => {
  const found = jailGroupFolders().find((path) => /\/pids(\/|$)/.test(path) || existsSync(join(path, 'cgroup.type')));
  if (found === undefined || !isWritable(found)) throw new Error('No control groups can be made here.');
  return found;
};

/** A process that has ended: its number belongs to nobody. */
async function deadProcess(): Promise<number> {
  const child = spawn('true');
  await once(child, 'exit');
  return child.pid as number;
}

test('removes the groups of dead processes, and leaves those of living ones and those that are in use', async () => {
  const dead = await deadProcess();
  const sleeper = spawn('sleep', ['600']);
  const group = (pid: number, number: number) => join(folder(), `whetstone-jail-${pid}-${number}`);
  const [left, busy, living] = [group(dead, 1), group(dead, 2), group(process.pid, 1)];
  const made = [left, busy, living];
  try {
    for (const path of made) mkdirSync(path);
    writeFileSync(join(busy, 'cgroup.procs'), String(sleeper.pid));
    await removeLeftJailGroups([folder(), folder(), '/nowhere']);
    expect(made.map((path) => existsSync(path))).toEqual([false, true, true]);
    sleeper.kill('SIGKILL');
    await once(sleeper, 'exit');
    await removeLeftJailGroups(jailGroupFolders());
    expect(made.map((path) => existsSync(path))).toEqual([false, false, true]);
  } finally {
    sleeper.kill('SIGKILL');
    for (const path of made.filter((one) => existsSync(one))) rmdirSync(path);
  }
});

test('the folders of a process are those of its groups; of one that has ended there are none', async () => {
  expect(jailGroupFolders(process.pid)).toEqual(jailGroupFolders());
  expect(jailGroupFolders(await deadProcess())).toEqual([]);
});
