import {
  BadOutput,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
  OutputFlood,
} from '../../helpers/sandbox-errors';
import { expectNextEnvironmentWorks, hostileSource, openHostile } from '../hostile';
import type { Attack } from './attack';

const LIMITS = ['AS', 'NPROC', 'FSIZE', 'CPU', 'CORE', 'NOFILE', 'STACK', 'MEMLOCK', 'MSGQUEUE', 'SIGPENDING'];

/** Memory, processors, files, time, output: what an environment may use up. */
export const RESOURCES: readonly Attack[] = [
  {
    name: 'a thread bomb',
    body: `
threading.stack_size(65536)
release = threading.Event()
started = []
try:
    for _ in range(100000):
        thread = threading.Thread(target=release.wait, daemon=True)
        thread.start()
        started.append(thread)
except RuntimeError as error:
    release.set()
    return f"{len(started)} {error}"`,
    expected: /^(\d|[12]\d|3[01]) can't start new thread$/,
  },
  {
    name: 'a memory bomb',
    run: async () => {
      const environment = await openHostile(
        hostileSource(`
blocks = []
if call["arguments"].get("bomb"):
    while True:
        blocks.append(bytearray(16 << 20))
return "alive"`),
      );
      await expect(environment.step('e', [{ name: 'go', arguments: { bomb: true } }])).rejects.toThrow('MemoryError');
      expect((await environment.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual(['alive']);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'memory in small pieces that are never given back',
    body: `
kept = []
def grow():
    while True:
        kept.append({"n": len(kept)})
try:
    grow()
except MemoryError:
    kept.clear()
    return "MemoryError"`,
    expected: 'MemoryError',
  },
  {
    name: 'shared anonymous mappings',
    body:
      'maps = []\nreturn attempt(lambda: [maps.append(mmap.mmap(-1, 64 << 20)) for _ in range(100)]) + f" ' +
      '{len(maps) < 9}"',
    expected: 'ENOMEM True',
  },
  {
    name: 'shared mappings of /dev/zero',
    body: `
zero, maps = os.open("/dev/zero", os.O_RDWR), []
return attempt(lambda: [maps.append(mmap.mmap(zero, 64 << 20)) for _ in range(100)]) + f" {len(maps) < 9}"`,
    expected: /^(ENOMEM|ENODEV|EACCES) True$/,
  },
  {
    name: 'memory files',
    body: 'return [attempt(os.memfd_create, "x"), system_call(447, 0)]',
    expected: "['EPERM', 'EPERM']",
  },
  {
    name: 'System V shared memory',
    body: 'return system_call(29, 0, 1 << 20, 0o1600)',
    expected: 'EPERM',
    only: 'x64',
  },
  {
    name: 'System V semaphores and message queues',
    body: 'return [system_call(64, 0, 1, 0o1600), system_call(68, 0, 0o1600)]',
    expected: "['EPERM', 'EPERM']",
    only: 'x64',
  },
  {
    name: 'POSIX message queues',
    body: 'return system_call(240, b"/q", 0o102, 0o600, None)',
    expected: 'EPERM',
    only: 'x64',
  },
  { name: 'locked memory', body: 'return system_call(151, 3)', expected: /^(EPERM|ENOMEM)$/, only: 'x64' },
  {
    name: 'filling a directory',
    body: `
written, tried = [], 0
for directory, _, _ in os.walk("/"):
    tried += 1
    try:
        file = open(os.path.join(directory, "fill"), "wb")
        written.append(directory)
        file.write(b"x" * (1 << 20))
    except OSError:
        pass
return f"{written} {tried > 50}"`,
    expected: '[] True',
  },
  {
    name: 'filling a tmpfs',
    body: 'return [attempt(open, f"{place}/fill", "wb") for place in ("/dev/shm", "/dev", "/tmp", "/run", "/var/tmp")]',
    expected: /^\[('EROFS'|'ENOENT'|'EACCES'|, )*\]$/,
  },
  {
    name: 'using up inodes',
    body: 'return sorted({attempt(os.mkdir, f"/tmp/{number}") for number in range(10000)})',
    expected: "['EROFS']",
  },
  {
    name: 'a sparse file',
    body: 'return [attempt(open, "/tmp/sparse", "wb"), attempt(os.truncate, "/runtime.pyc", 1 << 40)]',
    expected: /^\['EROFS', '(EROFS|EACCES)'\]$/,
  },
  {
    name: 'using up file descriptors',
    body:
      'files = []\nreturn attempt(lambda: [files.append(open("/dev/null")) for _ in range(10000)]) + f" ' +
      '{len(files) <= 64}"',
    expected: 'EMFILE True',
  },
  {
    name: 'pipes with large buffers',
    body: `
pipes, grown = [], 0
def fill():
    global grown
    import fcntl
    while True:
        pipes.append(os.pipe())
        fcntl.fcntl(pipes[-1][1], 1031, 1 << 20)
result = attempt(fill)
return f"{result} {len(pipes) < 32}"`,
    expected: /^(EMFILE|EPERM) True$/,
  },
  {
    name: 'raising its limits',
    body:
      'return {attempt(resource.setrlimit, getattr(resource, "RLIMIT_" + name), (1 << 40, 1 << 40)) for name in ' +
      `${JSON.stringify(LIMITS)}}`,
    expected: /^\{('ValueError'|'EPERM'|, )*\}$/,
  },
  {
    // A core of 0 would still be piped to a handler of the host; 1 is what turns that off, and must not be lowered.
    name: 'a core dump for the handler of the host',
    body:
      'return [resource.getrlimit(resource.RLIMIT_CORE), attempt(resource.setrlimit, resource.RLIMIT_CORE, (0, ' +
      '0))]',
    expected: /^\[\(1, 1\), '(EPERM|ValueError)'\]$/,
  },
  { name: 'a sleep without end', body: 'time.sleep(3600)', expected: EnvironmentHung, requestMs: 1_000 },
  {
    name: 'a hang that ignores SIGTERM and catches everything',
    body: `
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        time.sleep(3600)
    except BaseException:
        pass`,
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  { name: 'a loop without end', body: 'while True:\n    pass', expected: EnvironmentHung, requestMs: 1_000 },
  {
    name: 'a huge power',
    body: 'return len(str(9 ** (9 ** 9)))',
    expected: [EnvironmentHung, EnvironmentRaised],
    requestMs: 1_000,
  },
  {
    name: 'a regular expression that explodes',
    body: 'import re\nreturn re.match("(a+)+$", "a" * 64 + "b")',
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  {
    name: 'every processor, from threads that do not hold the interpreter lock',
    body: `
import hashlib
threading.stack_size(65536)
data = bytes(1 << 24)
def spin():
    while True:
        hashlib.sha256(data).digest()
for _ in range(24):
    threading.Thread(target=spin, daemon=True).start()
time.sleep(3600)`,
    expected: EnvironmentHung,
    requestMs: 1_500,
  },
  {
    name: 'an import that never ends',
    body: 'exec("import time\\nwhile True: time.sleep(1)")',
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  {
    name: 'prints beyond the log cap',
    body: 'for _ in range(20000):\n    print("x" * 1000)\n    sys.stderr.write("y" * 1000)\nreturn "printed"',
    expected: 'printed',
  },
  { name: 'a flood of raw bytes to stdout', body: 'while True:\n    os.write(1, b"x" * 65536)', expected: OutputFlood },
  {
    name: 'a flood of raw bytes to stderr',
    body: 'while True:\n    os.write(2, b"\\xff" * 65536)',
    expected: OutputFlood,
  },
  {
    name: 'a flood of raw bytes to the response channel',
    body: 'while True:\n    os.write(4, b"x" * 65536)',
    expected: BadOutput,
  },
  {
    name: 'a flood of empty response lines',
    body: 'while True:\n    os.write(4, b"\\n" * 65536)',
    expected: BadOutput,
  },
  {
    name: 'a stack overflow through a raised recursion limit',
    body: `
sys.setrecursionlimit(1 << 30)
nested = []
for _ in range(200000):
    nested = [nested]
return repr(nested)`,
    expected: EnvironmentDied,
  },
  {
    name: 'a recursion without end',
    body: 'def down(depth):\n    return down(depth + 1)\nreturn down(0)',
    expected: EnvironmentRaised,
  },
  {
    name: 'a time bomb after several good steps',
    run: async () => {
      const environment = await openHostile(
        hostileSource(
          'globals()["steps"] = globals().get("steps", 0) + 1\nif steps > 5:\n    os._exit(1)\nreturn steps',
        ),
      );
      for (let step = 1; step <= 5; step++)
        expect((await environment.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual([String(step)]);
      await expect(environment.step('e', [{ name: 'go', arguments: {} }])).rejects.toBeInstanceOf(EnvironmentDied);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
];
