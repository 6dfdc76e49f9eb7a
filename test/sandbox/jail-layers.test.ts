// jail
import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isUnsafeAllowed,
  type JailProfile,
  type LoadedProfile,
  loadProfile,
  openEnvironment,
  probeJail,
  SandboxUnavailable,
} from '../../sandbox';
import { projectRoot } from '../../contracts/project-root';
import { jailPlan } from '../../sandbox/jail-plan';
import { hostileSource } from './hostile';

const source = hostileSource('return "fine"');
const open = (profile: LoadedProfile) => openEnvironment({ source, trust: 'synthesised', name: 'layers', profile });
let folder: string;

beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'layers-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** The project's profile with changes, in a folder of its own with copies of the filters. */
function changed(edit: (profile: JailProfile) => void): LoadedProfile {
  cpSync(join(projectRoot(), 'sandbox'), folder, { recursive: true, filter: (path) => !path.endsWith('.ts') });
  const profile = structuredClone(loadProfile().profile);
  edit(profile);
  return { profile, folder };
}

async function withPath<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = process.env['PATH'];
  process.env['PATH'] = path;
  try {
    return await work();
  } finally {
    process.env['PATH'] = before;
  }
}

test('on this machine every layer holds', async () => {
  const probe = await probeJail();
  expect(probe.missing).toEqual([]);
  expect(probe.ok).toBe(true);
  expect(Object.keys(probe.layers).sort()).toEqual([
    'empty-environment',
    'kernel-user',
    'limits',
    'memory-limit',
    'namespaces',
    'no-inherited-files',
    'no-network',
    'no-new-privileges',
    'read-only-tree',
    'seccomp',
    'thread-limit',
    'user',
  ]);
});

test('without bubblewrap on PATH nothing runs, and the error says what to install', async () => {
  const error = await withPath(folder, () => open(loadProfile())).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SandboxUnavailable);
  expect((error as Error).message).toContain('bwrap is not on PATH: install bubblewrap');
});

test('a corrupted seccomp filter is refused before anything starts', async () => {
  const profile = changed(() => {});
  for (const arch of Object.values(profile.profile.seccomp)) {
    const path = join(folder, arch.file);
    const bytes = readFileSync(path);
    bytes[12]! ^= 1;
    writeFileSync(path, bytes);
  }
  await expect(open(profile)).rejects.toThrow(/The seccomp filter .* is not the one that profile\.json names/);
});

test('a missing seccomp filter is refused', async () => {
  const profile = changed(() => {});
  for (const arch of Object.values(profile.profile.seccomp)) rmSync(join(folder, arch.file));
  await expect(open(profile)).rejects.toThrow(SandboxUnavailable);
});

test('a filter that allows everything is found out by the probe', async () => {
  // One instruction: allow. The hash is made to fit, so only trying the layer can tell.
  const { createHash } = await import('node:crypto');
  const allowAll = Buffer.from('0600000000 00ff7f'.replaceAll(' ', ''), 'hex');
  const profile = changed((edited) => {
    for (const arch of Object.values(edited.seccomp)) arch.sha256 = createHash('sha256').update(allowAll).digest('hex');
  });
  for (const arch of Object.values(profile.profile.seccomp)) writeFileSync(join(folder, arch.file), allowAll);
  const probe = await probeJail(profile);
  expect(probe.ok).toBe(false);
  expect(probe.layers).toMatchObject({
    seccomp: expect.any(String) as string,
    'no-network': expect.any(String) as string,
  });
  await expect(open(profile)).rejects.toThrow(/Layer seccomp: the seccomp filter lets calls through/);
});

test.each([
  ['a bubblewrap that is too old', 'Unknown option --disable-userns', 'bubblewrap is too old: install 0.8 or newer'],
  [
    'a machine without user namespaces',
    'No permissions to create a new namespace',
    'User namespaces are not available to this user: allow them',
  ],
  [
    'a container, where /proc/sys is read-only,',
    'cannot open /proc/sys/user/max_user_namespaces: Read-only file system',
    'read-only in a container: set WHET_JAIL_PROFILE to sandbox/profile-pod.json',
  ],
  [
    'a control group that the jail’s user cannot enter',
    'cannot create /sys/fs/cgroup/pids/jail/tasks: Permission denied',
    "The jail's user cannot enter its control group: open the control groups",
  ],
])('%s is named', async (_, complaint, named) => {
  const fake = join(folder, 'bwrap');
  writeFileSync(fake, `#!/bin/sh\necho "bwrap: ${complaint}" >&2\nexit 1\n`);
  chmodSync(fake, 0o755);
  chmodSync(folder, 0o755);
  const probe = await withPath(`${folder}:${process.env['PATH']}`, () => probeJail());
  expect(probe.missing).toEqual([expect.stringContaining(named)]);
});

describe('WHET_JAIL_PROFILE', () => {
  const before = process.env['WHET_JAIL_PROFILE'];
  afterEach(() => {
    if (before === undefined) delete process.env['WHET_JAIL_PROFILE'];
    else process.env['WHET_JAIL_PROFILE'] = before;
  });

  test('names the profile of everything that is opened without one', () => {
    process.env['WHET_JAIL_PROFILE'] = join(projectRoot(), 'sandbox', 'profile-pod.json');
    expect(loadProfile().profile.bubblewrap.flat()).not.toContain('--disable-userns');
    delete process.env['WHET_JAIL_PROFILE'];
    expect(loadProfile().profile.bubblewrap.flat()).toContain('--disable-userns');
  });

  test.each(['{', '{"version": 1}', null])('of a file that holds %j is refused with its path', async (content) => {
    const path = join(folder, 'profile.json');
    if (content !== null) writeFileSync(path, content);
    process.env['WHET_JAIL_PROFILE'] = path;
    const error = await (async () => openEnvironment({ source, trust: 'synthesised', name: 'layers' }))().catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(SandboxUnavailable);
    expect((error as Error).message).toContain(`The jail's profile ${path} cannot be read`);
  });
});

test.each<[string, string, (profile: JailProfile) => void]>([
  [
    'a network of the host',
    'Layer namespaces: the jail shares namespaces with the host (net)',
    (profile) =>
      void profile.bubblewrap.splice(0, 1, ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts']),
  ],
  [
    'a writable directory',
    'Layer read-only-tree: files can be made in /tmp/',
    (profile) => profile.bubblewrap.push(['--tmpfs', '/tmp']),
  ],
  [
    'foreign devices',
    'Layer read-only-tree: the file tree holds more than Python',
    (profile) => profile.bubblewrap.push(['--dev', '/dev', '--remount-ro', '/dev']),
  ],
  [
    'an environment variable',
    'Layer empty-environment: environment variables are visible (SECRET)',
    (profile) => profile.bubblewrap.push(['--setenv', 'SECRET', 'x']),
  ],
  [
    'threads without limit',
    'Layer limits: limits are not in force (threads)',
    (profile) => void profile.command.splice(-2),
  ],
  [
    'the real user',
    'Layer user: the environment runs as root',
    (profile) => profile.bubblewrap.push(['--uid', '0', '--gid', '0']),
  ],
])('the probe finds %s', async (_, sentence, edit) => {
  const probe = await probeJail(changed(edit));
  expect(probe.ok).toBe(false);
  expect(probe.missing.join(' ')).toContain(sentence);
});

test('a Python tree that cannot be built is named', async () => {
  const before = process.env['WHET_JAIL_ROOT'];
  process.env['WHET_JAIL_ROOT'] = '/proc/nowhere';
  try {
    await expect(open(changed(() => {}))).rejects.toThrow(/The jail's Python tree could not be built.*WHET_JAIL_ROOT/s);
  } finally {
    if (before === undefined) delete process.env['WHET_JAIL_ROOT'];
    else process.env['WHET_JAIL_ROOT'] = before;
  }
});

test('a Python tree where the jail’s user cannot go is named', async () => {
  chmodSync(folder, 0o700);
  const profile = changed(() => {});
  process.env['WHET_JAIL_ROOT'] = join(folder, 'trees');
  const probe = await probeJail(profile);
  delete process.env['WHET_JAIL_ROOT'];
  // Started by another user than root, a jail is that user, who may go there.
  const isOther = process.getuid?.() === 0;
  const named = "The jail's user cannot reach the Python tree: set WHET_JAIL_ROOT";
  expect(probe.missing).toEqual(isOther ? [expect.stringContaining(named)] : []);
});

describe('WHET_SANDBOX', () => {
  afterEach(() => void delete process.env['WHET_SANDBOX']);

  test('unsafe runs without a jail, and the process says so', async () => {
    process.env['WHET_SANDBOX'] = 'unsafe';
    const environment = await withPath(process.env['PATH']!, () => open(loadProfile()));
    expect(environment.isolation).toBe('unsafe');
    expect((await environment.describe()).hasSay).toBe(false);
    await environment.close();
  });

  test('unsafe is refused in a pod', async () => {
    process.env['WHET_SANDBOX'] = 'unsafe';
    process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1';
    try {
      await expect(open(loadProfile())).rejects.toThrow(
        /WHET_SANDBOX=unsafe is refused on Kubernetes, for workers and trainers: unset it/,
      );
    } finally {
      delete process.env['KUBERNETES_SERVICE_HOST'];
    }
    expect(isUnsafeAllowed('unsafe', false)).toBe(true);
    expect(isUnsafeAllowed('jail', true)).toBe(false);
  });

  test('an unknown word is refused, not guessed at', async () => {
    process.env['WHET_SANDBOX'] = 'none';
    await expect(open(loadProfile())).rejects.toThrow(
      /WHET_SANDBOX is "none"; it may be "jail" \(the default\) or "unsafe"/,
    );
    expect(isUnsafeAllowed('jail')).toBe(false);
    expect(isUnsafeAllowed('')).toBe(false);
  });
});

test('a jail over its own memory limit is at fault', async () => {
  // Without a control group the address space is what is limited: the environment raises, and nothing is killed.
  const [bytes, fault] =
    (await jailPlan(loadProfile())).cgroup.layer === 'none'
      ? ['64 << 30', { type: 'Sandbox.EnvironmentRaised', message: expect.stringContaining('MemoryError') as string }]
      : [
          '200 << 20',
          {
            type: 'Sandbox.EnvironmentDied',
            message: expect.stringContaining('more than its 64 MiB of memory') as string,
          },
        ];
  const greedy = hostileSource(`held = b"x" * (${bytes})\nreturn "held"`);
  const small = changed((profile) => (profile.cgroup.memoryBytes = 64 << 20));
  const environment = await openEnvironment({ source: greedy, trust: 'synthesised', name: 'greedy', profile: small });
  await environment.reset('e', 0);
  await expect(environment.step('e', [{ name: 'go', arguments: {} }])).rejects.toMatchObject(fault);
  await environment.close();
});

test('a jail whose program crashed says by which signal', async () => {
  const crashing = hostileSource('os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(5)');
  const environment = await openEnvironment({ source: crashing, trust: 'synthesised', name: 'crashing' });
  await environment.reset('e', 0);
  await expect(environment.step('e', [{ name: 'go', arguments: {} }])).rejects.toMatchObject({
    type: 'Sandbox.EnvironmentDied',
    message: expect.stringContaining('ended with code 139, which stands for SIGSEGV') as string,
  });
  await environment.close();
});

test('a jail that somebody kills is not at fault', async () => {
  const innocent = await open(loadProfile());
  await innocent.reset('e', 0);
  for (const pid of processesBelow(process.pid)) if (isRuntime(pid)) process.kill(pid, 'SIGKILL');
  await expect(innocent.step('e', [{ name: 'go', arguments: {} }])).rejects.toMatchObject({
    type: 'Sandbox.EnvironmentKilled',
  });
  await innocent.close();
});

/** Process ids of all descendants. */
function processesBelow(root: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => Number(/\) . (\d+)/.exec(readOr(`/proc/${pid}/stat`))?.[1]) === root);
  return children.flatMap((pid) => [pid, ...processesBelow(pid)]);
}

const isRuntime = (pid: number): boolean => readOr(`/proc/${pid}/cmdline`).startsWith('/usr/bin/python3');

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
