import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { attackInJail } from '../hostile';
import type { Attack } from './attack';

const PLACES: readonly (readonly [name: string, path: string])[] = [
  ["the user's home directory", homedir()],
  ["root's home directory", '/root'],
  ["everybody's home directories", '/home'],
  ['the list of users', '/etc/passwd'],
  ['the passwords', '/etc/shadow'],
  ['the Docker socket', '/var/run/docker.sock'],
  ["a pod's service token", '/var/run/secrets'],
  ['/sys', '/sys'],
  ['the control groups', '/sys/fs/cgroup'],
  ['/run', '/run'],
  ["the project's directory", process.cwd()],
];
const PROC = [
  'self/environ',
  '1/environ',
  '1/cmdline',
  '1/root',
  'self/mem',
  'self/fd/3',
  'sysrq-trigger',
  'kcore',
  'sys/kernel/core_pattern',
];
const DEVICES = [
  'mem',
  'kmem',
  'kmsg',
  'port',
  'kvm',
  'fuse',
  'sda',
  'vda',
  'loop-control',
  'net/tun',
  'ptmx',
  'pts/0',
  'tty',
  'console',
  'shm/x',
  'mqueue/x',
];

const WRITES: readonly (readonly [name: string, expression: string])[] = [
  ['a symbolic link that leads outside', 'os.symlink, "/etc/passwd", "/tmp/link"'],
  ['a hard link in the shared tree', 'os.link, "/runtime.pyc", "/tmp/hard"'],
  ['a named pipe', 'os.mkfifo, "/tmp/pipe"'],
  ['a device node', 'os.mknod, "/tmp/zero", 0o600 | 0o020000, 0x105'],
  ['another name for the runtime', 'os.rename, "/runtime.pyc", "/runtime.old"'],
  ['the removal of the runtime', 'os.unlink, "/runtime.pyc"'],
  ['the interpreter overwritten', 'open, "/usr/bin/python3", "r+b"'],
  ['the interpreter cut to nothing', 'os.truncate, "/usr/bin/python3", 0'],
  ['the mode of the interpreter', 'os.chmod, "/usr/bin/python3", 0o4777'],
  ['an extended attribute', 'os.setxattr, "/runtime.pyc", "user.x", b"x"'],
  ['the times of a file', 'os.utime, "/runtime.pyc", (0, 0)'],
  ['a file without a name', 'os.open, "/tmp", os.O_TMPFILE | os.O_RDWR'],
];

const ERRORS_OF_A_READ_ONLY_TREE = /^(EROFS|EPERM|EACCES|ETXTBSY|EOPNOTSUPP|ENOTSUP)$/;

/** The host's files, /proc, devices, and the tree that all jails share. */
export const FILES: readonly Attack[] = [
  {
    name: "the service's environment variables",
    run: async () => {
      process.env['WHET_TEST_SECRET'] = 'hunter2';
      try {
        expect(await attackInJail('return [sorted(os.environ), "hunter2" in str(os.environb)]')).toMatch(
          /^\[\[('LC_CTYPE', )?'PWD'\], False\]$/,
        );
      } finally {
        delete process.env['WHET_TEST_SECRET'];
      }
    },
  },
  {
    name: "the environment variables on the process's stack",
    run: async () => {
      process.env['WHET_TEST_SECRET'] = 'hunter2-on-the-stack';
      try {
        const got = await attackInJail(`
environ = ctypes.cast(ctypes.c_void_p.in_dll(libc, "environ"), ctypes.POINTER(ctypes.c_char_p))
names, index = [], 0
while environ[index]:
    names.append(environ[index].split(b"=")[0].decode())
    index += 1
return sorted(names)`);
        expect(got).toMatch(/^\[('LC_CTYPE', )?'PWD'\]$/);
      } finally {
        delete process.env['WHET_TEST_SECRET'];
      }
    },
  },
  ...PLACES.map(([name, path]) => ({
    name,
    body: `return attempt(os.stat, ${JSON.stringify(path)})`,
    expected: 'ENOENT',
  })),
  ...PROC.map((path) => ({
    name: `/proc/${path}`,
    body: `return [attempt(open, "/proc/${path}", "rb"), attempt(open, "/proc/${path}", "wb")]`,
    expected: "['ENOENT', 'ENOENT']",
  })),
  {
    name: 'devices of the host',
    body: `return {attempt(open, "/dev/" + name, "rb") for name in ${JSON.stringify(DEVICES)}}`,
    expected: "{'ENOENT'}",
  },
  {
    name: 'the tree above the root',
    body: `
os.chdir("/")
for _ in range(40):
    os.chdir("..")
return sorted(os.listdir(".")) == sorted(os.listdir("/")), os.path.exists("etc/passwd"), attempt(os.chroot, "/tmp")`,
    expected: "(True, False, 'EPERM')",
  },
  {
    name: 'a file handle that leads past the root',
    body:
      'return [system_call(303, -100, b"/", ctypes.create_string_buffer(128), ctypes.byref(ctypes.c_int()), 0), ' +
      'system_call(304, 3, ctypes.create_string_buffer(128), 0)]',
    expected: "['EPERM', 'EPERM']",
    only: 'x64',
  },
  ...WRITES.map(([name, expression]) => ({
    name,
    body: `return attempt(${expression})`,
    expected: ERRORS_OF_A_READ_ONLY_TREE,
  })),
  {
    name: 'kernel settings',
    run: async () => {
      const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
      expect(await attackInJail('return attempt(open, "/proc/sys/kernel/core_pattern", "w")')).toBe('ENOENT');
      expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
    },
  },
  {
    name: 'files that the service has open',
    run: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'jail-'));
      writeFileSync(join(folder, 'secret'), 'hunter2');
      const handle = await open(join(folder, 'secret'));
      const got = await attackInJail(`
found = []
for number in range(4096):
    try:
        os.fstat(number)
        found.append(number)
    except OSError:
        pass
return found`);
      await handle.close();
      rmSync(folder, { recursive: true });
      expect(got).toBe('[0, 1, 2, 3, 4]');
    },
  },
  {
    name: 'code planted for the next start',
    run: async () => {
      const marker = `planted-${process.pid}`;
      const got = await attackInJail(`
places = [path for path in sys.path if path] + ["/usr/lib/python3", "/usr/bin", "/tmp", "/"]
names = ["sitecustomize.py", "usercustomize.py", "evil.pth", "json.py", "__pycache__/os.cpython-311.pyc"]
plant = lambda path: open(path, "w").write("import sys; sys.planted = '${marker}'")
return [place for place in places for name in names
        if attempt(lambda: plant(f"{place}/{name}")).startswith("succ")]`);
      expect(got).toBe('[]');
      expect(await attackInJail('return hasattr(sys, "planted")')).toBe('False');
    },
  },
  {
    name: "watching other jails' files",
    body: 'return [system_call(294, 0), system_call(254, 3, b"/usr/lib", 0x20), system_call(300, 0, 0)]',
    expected: "['EPERM', 'EPERM', 'EPERM']",
    only: 'x64',
  },
  {
    name: 'a lock on a file of the shared tree',
    body: `
import fcntl
file = os.open("/runtime.pyc", os.O_RDONLY)
return [attempt(fcntl.flock, file, fcntl.LOCK_SH)]`,
    expected: "['EPERM']",
  },
  {
    name: 'a lock on bytes of a file of the shared tree',
    body: `
import fcntl
file = os.open("/runtime.pyc", os.O_RDONLY)
return [attempt(fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB, 1), attempt(fcntl.lockf, file, fcntl.LOCK_SH, 1)]`,
    expected: "['EPERM', 'EPERM']",
  },
  {
    name: 'a lock of an open file, and asking who holds one',
    body: `
import fcntl, struct
file = os.open("/runtime.pyc", os.O_RDONLY)
lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 1, 0)
return [attempt(fcntl.fcntl, file, command, lock) for command in (5, 36, 37, 38)]`,
    expected: "['EPERM', 'EPERM', 'EPERM', 'EPERM']",
  },
  {
    name: 'watching a directory of the shared tree',
    body: `
import fcntl
file = os.open("/usr/lib", os.O_RDONLY)
return [attempt(fcntl.fcntl, file, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT)]`,
    expected: "['EPERM']",
  },
  {
    name: "flushing the host's disks",
    body: 'return [system_call(162), system_call(306, 3)]',
    expected: "['EPERM', 'EPERM']",
    only: 'x64',
  },
];
