import { hostname } from 'node:os';
import { type Attempt, refused } from './attempt';

/** Requests with bits above the 32 that the kernel looks at must be judged by those 32. */
const HIGH = (number: string): string => `ctypes.c_ulong((1 << 32) | ${number})`;

const DESCRIPTORS: Attempt[] = [
  {
    kind: 'ioctl',
    name: 'every request of network interfaces on every descriptor of the channel',
    body: `
words = ctypes.create_string_buffer(4096)
return sorted({system_call(16, number, request, words) for number in range(5) for request in range(0x8900, 0x8a00)})`,
    expected: /^\['EPERM'(, 'ENOTTY')?\]$|^\['ENOTTY'\]$/,
    only: 'x64',
  },
  {
    kind: 'ioctl',
    name: 'a socket among what it inherits: all but its standard input is a pipe',
    body: `
import stat
return [stat.S_ISFIFO(os.fstat(number).st_mode) for number in range(1, 5)]`,
    expected: '[True, True, True, True]',
  },
  {
    kind: 'ioctl',
    name: 'requests of network interfaces with bits above the 32 that count',
    body: `
words = ctypes.create_string_buffer(4096)
return sorted({system_call(16, number, ctypes.c_ulong((high << 32) | request), words)
               for number in range(5) for high in (1, 0x80000000, 0xffffffff)
               for request in (0x8910, 0x8912, 0x8927, 0x8940, 0x8946, 0x8982)})`,
    expected: /^\['EPERM'(, 'ENOTTY')?\]$|^\['ENOTTY'\]$/,
    only: 'x64',
  },
  {
    kind: 'ioctl',
    name: 'characters typed into a terminal by a request with high bits',
    body: `
return sorted({system_call(16, number, ctypes.c_ulong((high << 32) | request), b"x")
               for number in range(5) for high in (0, 1, 0xffffffff) for request in (0x5412, 0x541C)})`,
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    kind: 'ioctl',
    name: 'taking a console or a controlling terminal',
    body: `
return sorted({system_call(16, number, request, 1) for number in range(5)
               for request in (0x540E, 0x541D, 0x4B4B, 0x4B3A, 0x5606, 0x5607, 0x560E)})`,
    expected: /^\[('EPERM'|'ENOTTY'|, )+\]$/,
    only: 'x64',
  },
  {
    kind: 'ioctl',
    name: "the entropy pool of the host's random devices",
    body: `
device, count = os.open("/dev/urandom", os.O_RDWR), ctypes.byref(ctypes.c_int(1 << 20))
return [system_call(16, device, request, count) for request in (0x40045201, 0x40085203, 0x5204, 0x5206, 0x5207)]`,
    expected: /^\[('EPERM'|'EFAULT'|, )+\]$/,
    only: 'x64',
  },
  {
    kind: 'ioctl',
    name: 'freezing, trimming, marking and mapping the disk below the shared tree',
    body: `
words, got = ctypes.create_string_buffer(256), set()
for path in ("/", "/runtime.pyc", "/usr/bin/python3"):
    file = os.open(path, os.O_RDONLY)
    for request in (0xC0045877, 0xC0045878, 0xC0185879, 0x40086602, 0x401C5820, 0x40049409, 0x6601, 0x1267, 0x127E):
        got.add(system_call(16, file, request, words))
return sorted(answer for answer in got if answer.startswith("succ"))`,
    expected: '[]',
    only: 'x64',
  },
  {
    kind: 'devices',
    name: "the times, the mode and the owner of the host's devices",
    body: `
got = []
for name in os.listdir("/dev"):
    path = "/dev/" + name
    got += [attempt(os.utime, path), attempt(os.utime, path, (0, 0)), attempt(os.chmod, path, 0o600),
            attempt(os.chown, path, 65534, 65534), attempt(os.setxattr, path, "user.x", b"x"),
            attempt(os.truncate, path, 0)]
return sorted({answer for answer in got if answer not in ("EROFS", "EPERM", "EACCES", "EINVAL", "ENOTSUP", "EOPNOTSUPP")})`,
    expected: '[]',
  },
  {
    kind: 'devices',
    name: 'the times of a device through a descriptor that may be written',
    body: `
files = [os.open("/dev/" + name, os.O_RDWR) for name in ("null", "zero", "urandom")]
return sorted({attempt(os.utime, file) for file in files} | {attempt(os.fchmod, file, 0o600) for file in files})`,
    expected: /^\[('EPERM'|'EROFS'|'EACCES'|, )+\]$/,
  },
  {
    kind: 'devices',
    name: 'more devices than the four',
    body: 'return sorted(os.listdir("/dev"))',
    expected: "['null', 'random', 'urandom', 'zero']",
  },
  {
    kind: 'devices',
    name: 'a lease, a lock and a signal for what others do with the shared null device',
    body: `
import fcntl
file = os.open("/dev/null", os.O_RDWR)
return [attempt(fcntl.fcntl, file, 1024, 0), attempt(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB),
        attempt(fcntl.lockf, file, fcntl.LOCK_EX | fcntl.LOCK_NB)]`,
    expected: /^\['(EPERM|EACCES|EINVAL|EAGAIN)', 'EPERM', 'EPERM'\]$/,
  },
  {
    kind: 'descriptors',
    name: 'a file of the tree that is opened without a right, then used with one',
    body: `
file = os.open("/runtime.pyc", os.O_PATH)
return [system_call(452, file, b"", 0o777, 0x1000), attempt(os.fchmod, file, 0o777), attempt(os.truncate, file, 0),
        attempt(lambda: mmap.mmap(os.open("/runtime.pyc", os.O_RDONLY), 4096, prot=mmap.PROT_WRITE))]`,
    expected: /^\['(EPERM|ENOSYS|EROFS)', 'EBADF', '(EBADF|EINVAL)', 'EACCES'\]$|PermissionError/,
    only: 'x64',
  },
  {
    kind: 'descriptors',
    name: 'a path that is resolved in an unusual way',
    body: `
how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)
return [system_call(437, -100, path, ctypes.byref(how), 24) for path in
        (b"/../../../../etc/passwd", b"/proc/self/root/etc/passwd", b"/dev/../../etc/shadow")]`,
    expected: /^\[('EPERM'|'ENOSYS'|'ENOENT'|, )+\]$/,
    only: 'x64',
  },
  {
    kind: 'descriptors',
    name: 'programs of the tree that run with the rights of their owner',
    body: `
found = []
for folder, _, names in os.walk("/"):
    for name in names:
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if mode & 0o6000 or (not folder.startswith("/dev") and os.access(path, os.W_OK)):
            found.append(path)
return found`,
    expected: '[]',
  },
];
import { EnvironmentDied } from '../../helpers/sandbox-errors';

const PRCTL: Attempt[] = [
  {
    kind: 'seccomp',
    name: "a filter of its own that writes each call into the host's kernel log",
    body: `
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
log = (ctypes.c_uint64 * 1)(0x7ffc0000_00000006)
program = Program(1, ctypes.addressof(log))
return [system_call(157, 22, 2, ctypes.byref(program)), system_call(157, ${HIGH('22')}, 2, ctypes.byref(program)),
        system_call(157, 22, ctypes.c_ulong((1 << 32) | 2), ctypes.byref(program))]`,
    expected: /^\['EPERM', 'EPERM', '(EPERM|EINVAL)'\]$/,
    only: 'x64',
  },
  refused('seccomp', 'filters by the call of their own, with a log and with a listener', {
    strict: '317, 0, 0, None',
    log: '317, 1, 2, ctypes.create_string_buffer(16)',
    listener: '317, 1, 8, ctypes.create_string_buffer(16)',
    'high bits': `317, ${HIGH('1')}, 2, ctypes.create_string_buffer(16)`,
  }),
  refused(
    'prctl',
    'capabilities, secure bits, the memory map of the process, and a tracer for it',
    {
      ambient: '157, 47, 2, 21, 0, 0',
      bounding: '157, 24, 21',
      'secure bits': '157, 28, 0',
      'memory map': '157, 35, 8, ctypes.c_ulong(4096), 0, 0',
      'io flusher': '157, 57, 1, 0, 0, 0',
      tracer: '157, 0x59616d61, 1',
    },
    ['EPERM', 'ENOSYS', 'EINVAL'],
  ),
  refused(
    'personality',
    'every flag that weakens the address space, and another domain',
    Object.fromEntries(
      ['0x0040000', '0x0400000', '0x0100000', '0x0200000', '0x8000000', '0x0008', HIGH('0x0040000')].map((flag) => [
        flag,
        `135, ${flag}`,
      ]),
    ),
  ),
];

const NAMESPACES: Attempt[] = [
  refused(
    'namespaces',
    'a new namespace of each kind',
    Object.fromEntries(
      ['0x80', '0x20000', '0x2000000', '0x4000000', '0x8000000', '0x10000000', '0x20000000', '0x40000000'].map(
        (flag) => [flag, `272, ${flag}`],
      ),
    ),
  ),
  refused(
    'namespaces',
    'each kind under the flags of a thread, and a process under bits that are ignored',
    Object.fromEntries(
      [
        ...['0x20000', '0x2000000', '0x4000000', '0x8000000', '0x10000000', '0x20000000', '0x40000000'].map(
          (flag) => `0x3d0f00 | ${flag}`,
        ),
        'ctypes.c_ulong((1 << 40) | 17)',
        'ctypes.c_ulong((1 << 63) | 0x10000011)',
      ].map((flags) => [flags, `56, ${flags}, 0, 0, 0, 0`]),
    ),
    ['EPERM'],
  ),
  refused('namespaces', 'entering what a descriptor names', {
    ...Object.fromEntries([0, 1, 2, 3, 4].map((fd) => [`fd ${fd}`, `308, ${fd}, 0`])),
    'a process': '434, 1, 0',
    'with high bits': `308, ${HIGH('3')}, 0x10000000`,
  }),
  refused('mounts', 'each call of the mount interfaces', {
    mount: '165, b"none", b"/tmp", b"tmpfs", 0, None',
    'bind with high bits': '165, b"/", b"/tmp", None, ctypes.c_ulong((1 << 40) | 4096), None',
    umount: '166, b"/dev/null", 2',
    pivot_root: '155, b".", b"."',
    chroot: '161, b"/usr"',
    open_tree: '428, -100, b"/", 0x8001',
    move_mount: '429, -100, b"/", -100, b"/tmp", 0',
    fsopen: '430, b"tmpfs", 0',
    fsconfig: '431, 3, 6, None, None, 0',
    fsmount: '432, 3, 0, 0',
    fspick: '433, -100, b"/", 0',
    mount_setattr: '442, -100, b"/", 0, ctypes.create_string_buffer(32), 32',
  }),
  refused('mounts', 'the newest calls that tell of mounts and files', {
    statmount: '457, ctypes.create_string_buffer(64), ctypes.create_string_buffer(512), 512, 0',
    listmount: '458, ctypes.create_string_buffer(64), ctypes.create_string_buffer(512), 8, 0',
    open_tree_attr: '467, -100, b"/", 1, 0, 0',
    cachestat: '451, 0, ctypes.create_string_buffer(16), ctypes.create_string_buffer(64), 0',
    name_to_handle_at: '303, -100, b"/", ctypes.create_string_buffer(128), ctypes.create_string_buffer(8), 0',
  }),
  {
    kind: 'namespaces',
    name: 'the name of the host and the number of its processes',
    body: 'return [os.uname().nodename, os.getpid() < 10, os.getppid() < 3, call["arguments"] == {}]',
    expected: hostname() === 'jail' ? /./ : "['jail', True, True, True]",
  },
];

const CALLS: Attempt[] = [
  refused('io_uring and asynchronous requests', 'each of their calls', {
    io_uring_setup: '425, 8, ctypes.create_string_buffer(120)',
    io_uring_enter: '426, 3, 1, 1, 0, None',
    io_uring_register: '427, 3, 0, None, 0',
    io_setup: '206, 8, ctypes.byref(ctypes.c_ulong(0))',
    io_submit: '209, 0, 1, None',
  }),
  refused('bpf and perf', 'every command of bpf, and counters of every kind', {
    ...Object.fromEntries(
      Array.from({ length: 37 }, (_, command) => [
        `bpf ${command}`,
        `321, ${command}, ctypes.create_string_buffer(160), 160`,
      ]),
    ),
    ...Object.fromEntries(
      Array.from({ length: 7 }, (_, type) => [
        `perf ${type}`,
        `298, (ctypes.c_uint32 * 32)(${type}, 128), 0, -1, -1, 0`,
      ]),
    ),
  }),
  refused('ptrace', 'every request, of its parent and of itself', {
    ...Object.fromEntries(
      ['0', '16', '0x4206', '17', '24', '0x4200', '0x420d'].flatMap((request) => [
        [`${request} of 1`, `101, ${request}, 1, 0, 0`],
        [`${request} of itself`, `101, ${request}, os.getpid(), 0, 0`],
      ]),
    ),
    kcmp: '312, 1, 1, 0, 0, 0',
    process_vm_readv: '310, 1, 0, 0, 0, 0, 0',
    pidfd_getfd: '438, 3, 0, 0',
    process_madvise: '440, 3, 0, 0, 20, 0',
    process_mrelease: '448, 3, 0',
  }),
  refused('keyrings', 'every operation on keys', {
    add_key: '248, b"keyring", b"x", None, 0, -3',
    'add_key big_key': '248, b"big_key", b"x", b"y" * 2000, 2000, -4',
    request_key: '249, b"user", b"x", None, -3',
    ...Object.fromEntries(Array.from({ length: 33 }, (_, op) => [`keyctl ${op}`, `250, ${op}, -3, 0, 0, 0`])),
  }),
  refused('message queues and shared memory', 'each call of both interfaces', {
    shmget: '29, 0, 4096, 0o1777',
    'shmget with huge pages': '29, 0, 1 << 21, 0o5777',
    shmat: '30, 0, None, 0',
    semget: '64, 0, 1, 0o1777',
    msgget: '68, 0, 0o1777',
    mq_open: '240, b"whet-hostile", 0o102, 0o666, None',
    memfd_secret: '447, 0',
    memfd_create: '319, b"x", 0',
    'memfd_create with huge pages': '319, b"x", 4',
    userfaultfd: '323, 0x80801',
  }),
  refused(
    'message queues and shared memory',
    'an object of the host by its number: there is none',
    Object.fromEntries(
      [0, 1, 2, 32_768].flatMap((id) => [
        [`shmctl ${id}`, `31, ${id}, 0, None`],
        [`semop ${id}`, `65, ${id}, ctypes.create_string_buffer(6), 1`],
        [`semtimedop ${id}`, `220, ${id}, ctypes.create_string_buffer(6), 1, None`],
        [`semctl ${id}`, `66, ${id}, 0, 0`],
        [`msgsnd ${id}`, `69, ${id}, b"x" * 16, 1, 0`],
        [`msgrcv ${id}`, `70, ${id}, ctypes.create_string_buffer(64), 8, 0, 0o4000`],
        [`msgctl ${id}`, `71, ${id}, 0, None`],
        [`io_getevents ${id}`, `208, ${id}, 1, 1, None, None`],
        [`io_pgetevents ${id}`, `333, ${id}, 1, 1, None, None, None`],
      ]),
    ),
    ['EPERM', 'ENOSYS', 'EINVAL'],
  ),
  refused('kernel logs and modules', 'every action on the kernel log, accounting, quotas, ports', {
    ...Object.fromEntries(
      Array.from({ length: 11 }, (_, action) => [
        `syslog ${action}`,
        `103, ${action}, ctypes.create_string_buffer(64), 64`,
      ]),
    ),
    acct: '163, b"/tmp/x"',
    quotactl: '179, 0, None, 0, None',
    quotactl_fd: '443, 3, 0, 0, None',
    iopl: '172, 3',
    ioperm: '173, 0, 8, 1',
    init_module: '175, b"", 0, b""',
    finit_module: '313, 3, b"", 0',
    delete_module: '176, b"x", 0',
    kexec_file_load: '320, 0, 0, 0, b"", 0',
    vhangup: '153',
    swapoff: '168, b"/dev/zero"',
    lookup_dcookie: '212, 0, 0, 0',
    uselib: '134, b"/usr/bin/python3"',
  }),
  refused('clocks', 'each call that sets one', {
    settimeofday: '164, ctypes.create_string_buffer(16), None',
    adjtimex: '159, (ctypes.c_uint32 * 64)(0xffff)',
    clock_settime: '227, 0, ctypes.create_string_buffer(16)',
    clock_adjtime: '305, 0, (ctypes.c_uint32 * 64)(0xffff)',
    sethostname: '170, b"x", 1',
    setdomainname: '171, b"x", 1',
  }),
  refused('watching', 'who opens what on the host', {
    fanotify_init: '300, 0, 0',
    fanotify_mark: '301, 3, 1, 0, -100, b"/"',
    inotify_init: '253',
    inotify_init1: '294, 0',
    inotify_add_watch: '254, 3, b"/", 0xfff',
  }),
  {
    kind: 'memfd exec',
    name: 'a program from a descriptor, from a pipe and from nothing',
    body: `
reading, writing = os.pipe()
os.write(writing, b"#!/usr/bin/python3\\n")
return [system_call(322, reading, b"", None, None, 0x1000), attempt(os.execve, reading, ["x"], {}),
        attempt(os.execv, "/dev/zero", ["x"]), attempt(os.execv, "/usr/lib", ["x"]),
        attempt(os.execv, "/runtime.pyc", ["x"])]`,
    expected: /^\[('EPERM'|'EACCES'|'ENOEXEC'|'ENOENT'|'ENOSYS'|'EINVAL'|, )+\]$/,
    only: 'x64',
  },
  {
    kind: 'machine code',
    name: 'a call gate to the 64-bit calls of x32, with the bit in another word',
    // mov eax, 0x40000039 (fork of x32); syscall; ret
    body: 'return machine_code(bytes.fromhex("b8390000400f05c3"))',
    expected: EnvironmentDied,
    only: 'x64',
  },
  {
    kind: 'machine code',
    name: 'sysenter, vsyscall and privileged instructions',
    // cli; ret
    body: 'return machine_code(bytes.fromhex("fac3"))',
    expected: EnvironmentDied,
    only: 'x64',
  },
];

/** The interface of the kernel, call by call and request by request. */
export const KERNEL_INTERFACE: readonly Attempt[] = [...DESCRIPTORS, ...PRCTL, ...NAMESPACES, ...CALLS];
