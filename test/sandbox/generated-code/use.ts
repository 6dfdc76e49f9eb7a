import { type Attempt, refused } from './attempt';

const SIGNALS: Attempt[] = [
  {
    kind: 'signals',
    name: 'signals with data, to threads and through descriptors, to every low process number',
    body: `
import struct
own = {os.getpid(), os.getppid(), 1}
info = ctypes.create_string_buffer(struct.pack("iiii", 10, 0, -1, 0), 128)
got = set()
for number in [*range(2, 400), *range(1000, 1100)]:
    if number not in own:
        got |= {system_call(129, number, 10, info), system_call(234, number, number, 10), system_call(200, number, 10)}
return sorted(got)`,
    expected: /^\['(EPERM|ESRCH)'(, 'ESRCH')?\]$/,
    only: 'x64',
  },
  refused(
    'signals',
    'a signal to a process by a descriptor of it',
    { 'pidfd_open 1': '434, 1, 0', pidfd_send_signal: '424, 3, 9, None, 0' },
    ['EPERM', 'ENOSYS', 'EBADF'],
  ),
  {
    kind: 'signals',
    name: 'who is told when the channel has data',
    body: `
import fcntl
got = [attempt(fcntl.fcntl, 4, 8, 1), attempt(fcntl.fcntl, 4, 10, 9)]
return attempt(fcntl.fcntl, 4, fcntl.F_SETFL, os.O_WRONLY | 0o20000) and "told nobody"`,
    expected: ['told nobody', EnvironmentDied],
  },
  {
    kind: 'signals',
    name: 'a storm of its own signals',
    body: `
count = 0
def strike(*_):
    nonlocal count
    count += 1
signal.signal(signal.SIGUSR1, strike)
for _ in range(20000):
    os.kill(os.getpid(), signal.SIGUSR1)
return count > 0`,
    expected: 'True',
  },
  {
    kind: 'signals',
    name: 'more pending signals than it may have',
    body: `
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
got = [system_call(129, os.getpid(), 40, ctypes.create_string_buffer(b"\\x28" + bytes(7) + b"\\xff\\xff\\xff\\xff", 128))
       for _ in range(2000)]
return [sum(answer == "EAGAIN" for answer in got) > 1000, sorted(set(got) - {"succeeded: 0"})]`,
    expected: "[True, ['EAGAIN']]",
    only: 'x64',
  },
  {
    kind: 'signals',
    name: 'more timers than it may have',
    body: `
timer = ctypes.c_int()
got = [system_call(222, 0, None, ctypes.byref(timer)) for _ in range(5000)]
return [got.count("EAGAIN") > 4000, sorted(set(got) - {"succeeded: 0"})]`,
    expected: /^\[True, \['EAGAIN'\]\]$|^\[False, \['EPERM'\]\]$/,
    only: 'x64',
  },
  {
    kind: 'signals',
    name: 'a byte in the response channel for each signal',
    body: `
os.set_blocking(4, False)
signal.set_wakeup_fd(4, warn_on_full_buffer=False)
signal.signal(signal.SIGUSR1, lambda *_: None)
for _ in range(3):
    os.kill(os.getpid(), signal.SIGUSR1)
return "woken"`,
    expected: BadOutput,
  },
];

const ends = (name: string, body: string): Attempt => ({
  kind: 'forged exits',
  name,
  body,
  expected: EnvironmentDied,
});

const EXITS: Attempt[] = [
  ends('an exit with success', 'os.write(1, b"{\\"id\\":3,\\"result\\":{}}\\n")\nos._exit(0)'),
  ends('an end by a segmentation fault', 'os.kill(os.getpid(), signal.SIGSEGV)\ntime.sleep(5)'),
  ends('an end by SIGTERM, as if it was told to', 'os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(5)'),
  ends('an end by a real-time signal', 'os.kill(os.getpid(), 60)\ntime.sleep(5)'),
  ends('an end through the C interface', 'ctypes.pythonapi.Py_Exit(0)'),
  ends('every descriptor closed', 'os.closerange(0, 64)\ntime.sleep(0.05)\nos._exit(0)'),
  ends('a half answer, then the end', 'os.write(4, b\'{"id":3,"result":{"observations":["for\')\nos._exit(0)'),
  {
    kind: 'forged exits',
    name: 'a fresh runtime in place of the one that was asked',
    body: 'os.execv("/usr/bin/python3", ["python3", "-I", "-S", "/runtime.pyc", "--threads", "8"])',
    expected: [EnvironmentHung, EnvironmentDied, BadOutput],
    requestMs: 1_000,
  },
  {
    kind: 'forged exits',
    name: 'SystemExit in a thread and in the step',
    body: 'threading.Thread(target=sys.exit).start()\nsys.exit(0)',
    expected: EnvironmentRaised,
  },
  {
    kind: 'core dumps',
    name: 'a core with everything in it, after asking for one',
    body: `
libc.prctl(4, 1)
got = [attempt(resource.setrlimit, resource.RLIMIT_CORE, (1 << 30, 1 << 30)), resource.getrlimit(resource.RLIMIT_CORE)]
if got != ["ValueError", (1, 1)] and got != ["EPERM", (1, 1)]:
    return got
os.abort()`,
    expected: EnvironmentDied,
  },
];

const LIMITS: Attempt[] = [
  {
    kind: 'rlimits',
    name: 'limits of itself and of its parent, up and down, by either call',
    body: `
top = (ctypes.c_uint64 * 2)(1 << 62, 1 << 62)
zero = (ctypes.c_uint64 * 2)(0, 0)
got = {f"of 1: {number}": system_call(302, 1, number, ctypes.byref(new), None)
       for number in range(16) for new in (zero, top)}
# Time, files, cores, processes, descriptors, locked and other memory, signals, queues, priorities.
for number in (0, 1, 4, 6, 7, 8, 9, 11, 12, 13, 14):
    got[f"setrlimit {number}"] = system_call(160, number, ctypes.byref(top))
    got[f"prlimit {number}"] = system_call(302, 0, number, ctypes.byref(top), None)
return {name: answer for name, answer in got.items() if answer != "EPERM"}`,
    expected: '{}',
    only: 'x64',
  },
  {
    kind: 'priority',
    name: 'priority of itself, of the processors and of the disk',
    body: `
import struct
deadline = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 10**7, 10**8, 10**8), 48)
return [attempt(os.setpriority, os.PRIO_PROCESS, 0, -20), attempt(os.setpriority, os.PRIO_USER, 0, -20),
        system_call(314, 0, deadline, 0), system_call(251, 1, 0, 1 << 13), system_call(144, 0, 1, b"\\x63\\0\\0\\0")]`,
    expected: /^\[('EPERM'|'EACCES'|, )+\]$/,
    only: 'x64',
  },
  {
    kind: 'priority',
    name: 'processors that it was not given',
    body: `
before = os.sched_getaffinity(0)
attempt(os.sched_setaffinity, 0, range(1024))
return os.sched_getaffinity(0) <= before`,
    expected: 'True',
  },
  {
    kind: 'priority',
    name: 'the processors and the priority of processes outside, by number, group and user',
    body: `
own = {1, os.getpid(), os.getppid()}
got = set()
for number in range(3, 400):
    if number not in own:
        got |= {attempt(os.sched_setaffinity, number, {0}), attempt(os.setpriority, os.PRIO_PROCESS, number, 19),
                attempt(os.sched_setscheduler, number, os.SCHED_IDLE, os.sched_param(0)),
                attempt(os.setpriority, os.PRIO_PGRP, number, 19)}
got |= {attempt(os.setpriority, os.PRIO_USER, user, 19) for user in (1, 1000, 61200, 61201)}
return sorted(got)`,
    expected: /^\[('EPERM'|'EACCES'|'ESRCH'|'EINVAL'|, )+\]$/,
  },
];

const BOMBS: Attempt[] = [
  {
    kind: 'bombs',
    name: 'forks by every call and flag',
    body: `
flags = [17, 0, 0x11 | 0x100, 0x4000 | 17, 0x100 | 0x4000 | 17, 0x200 | 17, 0x400 | 17, 0x8000 | 17, 0x1000000 | 17]
return sorted({system_call(57), system_call(58)} | {system_call(56, flag, 0, 0, 0, 0) for flag in flags})`,
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    kind: 'bombs',
    name: 'a reservation of address space without memory behind it',
    body: `
libc.mmap.restype = ctypes.c_void_p
sizes = (1 << 30, 1 << 36, 1 << 40, 1 << 46)
return [libc.mmap(None, ctypes.c_size_t(size), prot, 0x4022, -1, 0) in (None, ctypes.c_void_p(-1).value)
        for size in sizes for prot in (0, 3)]`,
    expected: /^\[(True(, )?){8}\]$/,
  },
  {
    kind: 'bombs',
    name: 'more mappings than a process may have',
    body: `
maps = []
got = attempt(lambda: [maps.append(mmap.mmap(-1, 4096, prot=1 + 2 * (n % 2))) for n in range(200000)])
count = len(maps)
maps.clear()
return f"{got} {count < 140000}"`,
    expected: 'ENOMEM True',
  },
  {
    kind: 'bombs',
    name: 'huge pages and locked pages',
    body: `
libc.mmap.restype = ctypes.c_void_p
failed = ctypes.c_void_p(-1).value
return [libc.mmap(None, ctypes.c_size_t(1 << 21), 3, 0x40022, -1, 0) == failed,
        libc.mmap(None, ctypes.c_size_t(1 << 22), 3, 0x2022, -1, 0) == failed, system_call(149, 0, 1 << 20) != "succeeded: 0"]`,
    expected: '[True, True, True]',
    only: 'x64',
  },
  {
    kind: 'bombs',
    name: 'a few bytes that unpack to gigabytes',
    body: `
import zlib
packer = zlib.compressobj()
small = b"".join(packer.compress(bytes(1 << 20)) for _ in range(2048)) + packer.flush()
return len(zlib.decompress(small))`,
    expected: [EnvironmentRaised, EnvironmentHung],
    requestMs: 20_000,
  },
  {
    kind: 'bombs',
    name: 'texts, lists and numbers of absurd sizes',
    body: `
def width():
    return format(1, f">{1 << 40}")
return [attempt(lambda: "x" * (1 << 62)), attempt(lambda: [0] * (1 << 60)), attempt(width),
        attempt(lambda: bytearray(1 << 61)), attempt(lambda: 1 << (1 << 62)), attempt(lambda: "x".ljust(1 << 50))]`,
    expected: /^\[('(MemoryError|OverflowError|ValueError)'(, )?){6}\]$/,
  },
  {
    kind: 'bombs',
    name: 'descriptors of every kind, and numbers above the limit',
    body: `
import select
def use_up(make):
    held = []
    got = attempt(lambda: [held.append(make()) for _ in range(5000)])
    for number in held:
        os.close(number)
    return got
return [use_up(lambda: os.dup(0)), use_up(lambda: os.eventfd(0)), use_up(lambda: select.epoll().detach()
        if hasattr(select.epoll(), "detach") else os.dup(0)), attempt(os.dup2, 0, 100000)]`,
    expected: /^\[('(EMFILE|EPERM|EBADF)'(, )?){4}\]$/,
  },
  {
    kind: 'bombs',
    name: 'a directory, a file or a link anywhere',
    body: `
got = set()
for folder, _, _ in os.walk("/"):
    path = os.path.join(folder, "whet-hostile")
    got |= {attempt(os.mkdir, path), attempt(os.symlink, "/", path), attempt(os.mknod, path), attempt(os.mkfifo, path),
            attempt(os.link, "/usr/bin/python3", path), attempt(os.open, path, os.O_CREAT | os.O_WRONLY)}
return sorted(got)`,
    expected: /^\[('(EROFS|EACCES|EPERM|EXDEV)'(, )?)+\]$/,
  },
  {
    kind: 'bombs',
    name: 'threads that fork and threads that start threads',
    body: `
threading.stack_size(65536)
count, refusals = 0, 0
gate = threading.Event()
def breed(depth):
    nonlocal count, refusals
    try:
        os.fork()
        count += 1000
    except OSError:
        pass
    for _ in range(4):
        try:
            if depth < 5:
                threading.Thread(target=breed, args=(depth + 1,), daemon=True).start()
                count += 1
        except RuntimeError:
            refusals += 1
    gate.wait()
breed_root = threading.Thread(target=breed, args=(0,), daemon=True)
breed_root.start()
while not refusals:
    time.sleep(0.001)
gate.set()
return count < 64`,
    expected: 'True',
  },
  {
    kind: 'time',
    name: 'a sort that never ends its comparison, with signals ignored',
    body: `
for number in range(1, 32):
    attempt(signal.signal, number, signal.SIG_IGN)
class Slow:
    def __lt__(self, other):
        while True:
            pass
return sorted([Slow(), Slow()])`,
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  {
    kind: 'time',
    name: 'an answer that drips, a byte at a time, without an end of line',
    body: `
while True:
    os.write(4, b" ")
    time.sleep(0.02)`,
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  {
    kind: 'output',
    name: 'zeros sent by the kernel into the response channel',
    body: `
zero = os.open("/dev/zero", os.O_RDONLY)
while True:
    if os.sendfile(4, zero, None, 1 << 24) <= 0:
        return "sent nothing"`,
    expected: [BadOutput, EnvironmentRaised],
  },
  {
    kind: 'output',
    name: 'one line of log without an end',
    body: 'while True:\n    os.write(2, b"x" * 4096)',
    expected: OutputFlood,
  },
  {
    kind: 'output',
    name: 'invalid UTF-8 and half characters in the log, then the end',
    body: 'for _ in range(2000):\n    os.write(2, b"\\xf0\\x9f\\x98" + b"\\xff\\xfe\\0\\n")\nos._exit(1)',
    expected: EnvironmentDied,
  },
];
import {
  BadOutput,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentRaised,
  OutputFlood,
} from '../../helpers/sandbox-errors';

/** Signals, ends, limits, and what an environment may use up. */
export const USE: readonly Attempt[] = [...SIGNALS, ...EXITS, ...LIMITS, ...BOMBS];
