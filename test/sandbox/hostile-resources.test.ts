// jail
import { BadOutput, EnvironmentDied, EnvironmentHung, OutputFlood } from '../../sandbox';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from './hostile';

test('a fork bomb gets no second process', async () => {
  const got = await attackInJail(`
results = set()
for _ in range(1000):
    results.add(attempt(os.fork))
return sorted(results)`);
  expect(got).toBe("['EPERM']");
});

test('a thread bomb is stopped by the process limit', async () => {
  const got = await attackInJail(`
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
    return f"{len(started)} {error}"`);
  expect(got).toMatch(/^(\d|[12]\d|3[01]) can't start new thread$/);
});

test('a memory bomb meets the address space limit, and the service goes on', async () => {
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
});

test('shared anonymous mappings count against the same limit', async () => {
  const got = await attackInJail(`
maps = []
return attempt(lambda: [maps.append(mmap.mmap(-1, 64 << 20)) for _ in range(100)]) + f" {len(maps) < 9}"`);
  expect(got).toBe('ENOMEM True');
});

test('memory outside the address space cannot be had: memory files, System V segments, message queues', async () => {
  const got = await attackInJail(`
segment = libc.shmget(0, 1 << 20, 0o1600), errno.errorcode.get(ctypes.get_errno())
return [attempt(os.memfd_create, "x"), segment, system_call(240, b"/q", 0o102, 0o600, None)]`);
  expect(got).toBe("['EPERM', (-1, 'EPERM'), 'EPERM']");
});

test('no directory of the jail can be filled', async () => {
  const got = await attackInJail(`
written, tried = [], 0
for directory, _, _ in os.walk("/"):
    tried += 1
    try:
        file = open(os.path.join(directory, "fill"), "wb")
        written.append(directory)
        file.write(b"x" * (1 << 20))
    except OSError:
        pass
return f"{written} {tried > 50}"`);
  expect(got).toBe('[] True');
});

test('devices do not take files, and /dev has no shared memory', async () => {
  const got = await attackInJail(
    `return [attempt(open, "/dev/shm/x", "w"), attempt(open, "/dev/sda", "rb"), attempt(os.mknod, "/dev/x", 0o600 | 0o020000, 0)]`,
  );
  expect(got).toBe("['ENOENT', 'ENOENT', 'EROFS']");
});

test('open files run out', async () => {
  const got = await attackInJail(`
files = []
return attempt(lambda: [files.append(open("/dev/null")) for _ in range(10000)]) + f" {len(files) <= 64}"`);
  expect(got).toBe('EMFILE True');
});

test('limits cannot be raised again', async () => {
  const got = await attackInJail(`
names = ["RLIMIT_AS", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_CPU", "RLIMIT_CORE"]
return {attempt(resource.setrlimit, getattr(resource, name), (1 << 40, 1 << 40)) for name in names}`);
  expect(got).toBe("{'ValueError'}");
});

test('a hang that ignores SIGTERM and catches everything is killed at its deadline', async () => {
  const got = await attackInJail(
    `
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        time.sleep(3600)
    except BaseException:
        pass`,
    { requestMs: 1_500 },
  );
  expect(got).toBeInstanceOf(EnvironmentHung);
});

test('a computation that never returns to the interpreter is killed at its deadline', async () => {
  expect(await attackInJail('return len(str(9 ** (9 ** 9)))', { requestMs: 1_500 })).toBeInstanceOf(EnvironmentHung);
});

test('prints beyond the log cap are swallowed and the episode goes on', async () => {
  const got = await attackInJail(`
for _ in range(20000):
    print("x" * 1000)
    sys.stderr.write("y" * 1000)
return "printed"`);
  expect(got).toBe('printed');
});

test('a flood of raw bytes to stdout ends the process', async () => {
  const got = await attackInJail('while True:\n    os.write(1, b"x" * 65536)');
  expect(got).toBeInstanceOf(OutputFlood);
});

test('a flood of raw bytes to the response channel ends the process', async () => {
  const got = await attackInJail('while True:\n    os.write(4, b"x" * 65536)');
  expect(got).toBeInstanceOf(BadOutput);
  expect((got as Error).message).toContain('line over 1048576 bytes');
});

test('a flood of empty response lines ends the process', async () => {
  expect(await attackInJail('while True:\n    os.write(4, b"\\n" * 65536)')).toBeInstanceOf(BadOutput);
});

test('an alarm that it sets for itself ends only itself', async () => {
  const got = await attackInJail('signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)');
  expect(got).toBeInstanceOf(EnvironmentDied);
});
