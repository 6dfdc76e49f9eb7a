// jail
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createJailCgroup, type JailCgroup } from '../../sandbox/cgroup';
import type * as Plan from '../../sandbox/jail-plan';
import { loadProfile } from '../../sandbox';

const CPU = '/sys/fs/cgroup/cpu';
const own = (name: string): string =>
  new RegExp(`^\\d+:${name}:(.*)$`, 'm').exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '';
const parent = join(CPU, own('cpu'), `whetstone-test-${process.pid}`);
const isVersion1 = process.getuid?.() === 0 && existsSync(join(CPU, 'cpu.cfs_quota_us'));
const { cgroup: limits } = loadProfile().profile;

/** A group as this process can make one now: a plan is made once. */
async function newGroup(uid: number | null): Promise<JailCgroup | null> {
  jest.resetModules();
  const { jailPlan } = jest.requireActual<typeof Plan>('../../sandbox/jail-plan');
  const { cgroup } = await jailPlan(loadProfile());
  const group = createJailCgroup(cgroup, uid);
  expect(group === null).toBe(cgroup.layer === 'none');
  return group;
}

test('a group holds the process that joins it, bounds memory and processes, and is gone after its release', async () => {
  const group = await newGroup(null);
  // Where no control group can be made.
  if (group === null) return;
  const [command, ...words] = [...group.joinPrefix(), 'cat'];
  const child = spawn(command, words);
  await group.join(child.pid!);
  child.stdin.write('joined');
  await once(child.stdout, 'data');
  const joined = readFileSync(`/proc/${child.pid}/cgroup`, 'utf8');
  const [name] = /whetstone-jail-\d+-\d+/.exec(joined)!;
  const [memory, unified] = [join('/sys/fs/cgroup/memory', own('memory'), name), join('/sys/fs/cgroup', own(''), name)];
  const left = () => existsSync(memory) || existsSync(unified);
  expect(left()).toBe(true);
  const [pids, bytes] =
    group.layer === 'v1'
      ? [join('/sys/fs/cgroup/pids', own('pids'), name, 'pids.max'), join(memory, 'memory.limit_in_bytes')]
      : [join(unified, 'pids.max'), join(unified, 'memory.max')];
  expect(readFileSync(pids, 'utf8').trim()).toBe(String(limits.processes));
  expect(readFileSync(bytes, 'utf8').trim()).toBe(String(limits.memoryBytes));
  child.stdin.end();
  await once(child, 'exit');
  group.release();
  while (left()) await new Promise((resolve) => setTimeout(resolve, 10));
});

(isVersion1 ? test : test.skip)(
  'under a group with less processor time than a jail gets, memory and processes stay bounded',
  async () => {
    mkdirSync(parent);
    try {
      // Half a core; a jail's group would have one and a half.
      writeFileSync(join(parent, 'cpu.cfs_quota_us'), '50000');
      writeFileSync(join(parent, 'cgroup.procs'), String(process.pid));
      const group = (await newGroup(null))!;
      expect(group).not.toBeNull();
      const made = group.joinPrefix().at(-1)!.split(' ');
      expect(made.map((path) => path.split('/')[4])).toEqual(['memory', 'pids']);
      expect(readFileSync(join(made[0]!, 'memory.limit_in_bytes'), 'utf8').trim()).toBe(String(limits.memoryBytes));
      expect(readFileSync(join(made[1]!, 'pids.max'), 'utf8').trim()).toBe(String(limits.processes));
      group.release();
      expect(made.filter((path) => existsSync(path))).toEqual([]);
    } finally {
      writeFileSync(join(parent, '..', 'cgroup.procs'), String(process.pid));
      rmdirSync(parent);
    }
  },
);

(isVersion1 ? test : test.skip)('a jail’s user can enter its group whatever the umask of the service', async () => {
  const before = process.umask(0o077);
  const group = (await newGroup(65_534))!;
  process.umask(before);
  for (const path of group.joinPrefix().at(-1)!.split(' ')) {
    expect(statSync(path).mode & 0o777).toBe(0o755);
    expect(statSync(join(path, 'tasks')).uid).toBe(65_534);
  }
  group.release();
});

(isVersion1 ? test : test.skip)('with room above, processor time is bounded as well', async () => {
  const group = (await newGroup(null))!;
  const made = group.joinPrefix().at(-1)!.split(' ');
  expect(made.map((path) => path.split('/')[4])).toEqual(['memory', 'pids', 'cpu']);
  // One and a half cores.
  expect(readFileSync(join(made[2]!, 'cpu.cfs_quota_us'), 'utf8').trim()).toBe('15000');
  group.release();
});
