import { DENIED_SYSCALLS } from '../../../sandbox/seccomp';
import type { Attack } from './attack';
import { EnvironmentDied } from '../../helpers/sandbox-errors';

const CALLS: readonly (readonly [name: string, call: string])[] = [
  ['a new user namespace', '272, 0x10000000'],
  ['a new network namespace', '272, 0x40000000'],
  ['a new mount namespace', '272, 0x00020000'],
  ['entering another namespace', '308, 3, 0'],
  ['clone with a user namespace', '56, 0x10000011'],
  ['clone with a mount namespace under the flags of a thread', '56, 0x3d0f00 | 0x00020000'],
  ['mounting /proc', '165, b"proc", b"/tmp", b"proc", 0, None'],
  ['mounting the disk', '165, b"/dev/vda", b"/tmp", b"ext4", 0, None'],
  ['mounting memory', '165, b"tmpfs", b"/tmp", b"tmpfs", 0, None'],
  ['making the tree writable', '165, None, b"/", None, 0x20 | 0x1000, None'],
  ['making the tree writable through mount_setattr', '442, -100, b"/", 0, ctypes.create_string_buffer(32), 32'],
  ['unmounting the root', '166, b"/", 2'],
  ['pivot_root', '155, b"/", b"/tmp"'],
  ['the new mount interface', '428, -100, b"/", 1'],
  ['ptrace', '101, 16, 1'],
  ["reading another process's memory", '310, 1'],
  ["writing another process's memory", '311, 1'],
  ["taking another process's file", '438, 4, 0'],
  ['a key in the kernel keyring', '248, b"user", b"x", b"y", 1, -3'],
  ['searching the session keyring', '250, 10, -3, b"user", b"x", 0'],
  ['page faults handled in user space', '323, 1'],
  ['performance counters', '298, ctypes.create_string_buffer(128), 0, -1, -1, 0'],
  ['a program in the kernel', '321, 5, ctypes.create_string_buffer(120), 120'],
  ['a kernel module', '313, 3, b"", 0'],
  ['another kernel', '246, 0, 0, None, 0'],
  ['restarting the machine', '169, 0xfee1dead, 672274793, 0x01234567, None'],
  ['swap space', '167, b"/dev/zero", 0'],
  ['the clock of the machine', '227, 0, ctypes.create_string_buffer(16)'],
  ['the name of the machine', '170, b"owned", 5'],
  ['the kernel log', '103, 3, ctypes.create_string_buffer(64), 64'],
  ['an execution domain without address randomisation', '135, 0x0040000'],
  ['splicing pages between pipes', '275, 3, None, 4, None, 16'],
  ['pages given to a pipe', '278, 4, None, 0, 0'],
  ["asynchronous requests, which use up the machine's count of them", '206, 1024, ctypes.byref(ctypes.c_ulong(0))'],
  ['submitting asynchronous requests', '209, 0, 0, None'],
  ['barriers on every processor', '324, 1, 0, 0'],
];

/** `struct sock_fprog` of one instruction, `return SECCOMP_RET_LOG`, as Python statements. */
const LOG_FILTER = `
code = ctypes.create_string_buffer((6).to_bytes(4, "little") + (0x7ffc0000).to_bytes(4, "little"), 8)
program = (ctypes.c_uint64 * 2)(1, ctypes.addressof(code))`.trim();

/** System calls that enlarge what an environment may do, by number, by flag, by architecture. */
export const KERNEL: readonly Attack[] = [
  ...CALLS.map(([name, call]) => ({
    name,
    body: `return system_call(${call})`,
    expected: 'EPERM',
    only: 'x64' as const,
  })),
  {
    name: 'clone3, which hides its flags from the filter',
    body: 'return system_call(435, ctypes.create_string_buffer(88), 88)',
    expected: 'ENOSYS',
  },
  {
    name: 'every denied system call',
    body:
      'return {name: answer for name, number in call["arguments"].items() if number is not None and (answer := ' +
      'system_call(number)) != "EPERM"}',
    arguments: Object.fromEntries(Object.entries(DENIED_SYSCALLS).map(([name, [number]]) => [name, number])),
    expected: '{}',
    only: 'x64',
  },
  {
    name: 'system calls that are newer than the filter',
    body: 'return {system_call(463), system_call(500), system_call(100000)}',
    expected: "{'ENOSYS'}",
  },
  {
    name: 'the x32 numbers of system calls',
    body: 'return system_call(0x40000000 + 39)',
    expected: EnvironmentDied,
    only: 'x64',
  },
  {
    name: 'machine code of its own',
    // mov eax, 57 (fork); syscall; ret
    body: 'return machine_code(bytes.fromhex("b8390000000f05c3"))',
    expected: '-1',
    only: 'x64',
  },
  {
    name: '32-bit system calls from machine code',
    // mov eax, 2 (fork of i386); int 0x80; ret
    body: 'return machine_code(bytes.fromhex("b802000000cd80c3"))',
    expected: EnvironmentDied,
    only: 'x64',
  },
  {
    name: 'becoming root',
    body: 'return [os.getuid(), attempt(os.setuid, 0), attempt(os.setresuid, 0, 0, 0)]',
    expected: /^\[65534, '(EPERM|EINVAL)', '(EPERM|EINVAL)'\]$/,
  },
  {
    name: 'other groups',
    body: 'return [attempt(os.setgroups, [0]), attempt(os.setgid, 0)]',
    expected: /^\['(EPERM|EINVAL)', '(EPERM|EINVAL)'\]$/,
  },
  { name: 'a higher priority', body: 'return attempt(os.nice, -5)', expected: 'EPERM' },
  {
    name: 'real-time scheduling',
    body: 'return attempt(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50))',
    expected: 'EPERM',
  },
  {
    name: 'capabilities',
    body:
      'return [system_call(126, ctypes.byref((ctypes.c_uint32 * 2)(0x20080522, 0)), ' +
      'ctypes.byref((ctypes.c_uint32 * 6)(*[255] * 6)))]',
    expected: "['EPERM']",
    only: 'x64',
  },
  {
    name: 'taking the filter off',
    body: 'return [libc.prctl(22, 0, 0, 0, 0), libc.prctl(38, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0)]',
    expected: '[-1, -1, 2]',
  },
  {
    // struct sock_fprog of one instruction, "return SECCOMP_RET_LOG": one line in the kernel's log for every call.
    name: "a filter that logs each call in the host's kernel log",
    body: `${LOG_FILTER}\nreturn [system_call(157, 22, 2, ctypes.byref(program)), libc.getppid()]`,
    expected: /^\['EPERM', \d+\]$/,
    only: 'x64',
  },
  {
    name: 'the same filter by a system call of its own',
    body: `${LOG_FILTER}\nreturn [system_call(317, 1, 0, ctypes.byref(program)), libc.getppid()]`,
    expected: /^\['EPERM', \d+\]$/,
    only: 'x64',
  },
  {
    // Refusals of a domain of its own are written to the kernel's audit log.
    name: 'rules of its own whose refusals the host logs',
    body: 'return [system_call(444, None, 0, 1), system_call(445), system_call(446, 0, 0)]',
    expected: "['EPERM', 'EPERM', 'EPERM']",
  },
  {
    // PR_SCHED_CORE, create: nobody else may use the other half of the core.
    name: 'a core for itself alone',
    body: 'return system_call(157, 62, 1, 0, 0, 0)',
    expected: 'EPERM',
    only: 'x64',
  },
  {
    name: "the identity of the host's disk, and where files lie on it",
    body:
      'import fcntl\nfd = os.open("/usr/bin/python3", os.O_RDONLY)\n' +
      'return {attempt(fcntl.ioctl, fd, request, bytearray(64)) for request in (0x80111500, 0xc020660b, 0x80086601)}',
    expected: "{'EPERM'}",
  },
  {
    name: 'which pages of the shared tree others have read',
    body:
      'fd = os.open("/usr/bin/python3", os.O_RDONLY)\n' +
      'span, found = (ctypes.c_uint64 * 2)(0, 0), (ctypes.c_uint64 * 5)()\n' +
      'vector = (ctypes.c_uint64 * 2)(ctypes.addressof(ctypes.create_string_buffer(16)), 16)\n' +
      'return [system_call(451, fd, ctypes.byref(span), ctypes.byref(found), 0), ' +
      'system_call(327, fd, ctypes.byref(vector), 1, 0, 0, 8), system_call(27, None, 0, None)]',
    expected: "['EPERM', 'EPERM', 'EPERM']",
    only: 'x64',
  },
  {
    name: 'pages of the shared tree thrown out of memory',
    body:
      'fd = os.open("/usr/bin/python3", os.O_RDONLY)\n' +
      'return [attempt(os.posix_fadvise, fd, 0, 0, os.POSIX_FADV_DONTNEED), system_call(187, fd, 0, 4096)]',
    expected: "['EPERM', 'EPERM']",
    only: 'x64',
  },
  {
    // F_SET_RW_HINT and F_SET_FILE_RW_HINT: the inode keeps the number, and every jail can read it.
    name: 'a note left on a file of the shared tree',
    body:
      'import fcntl\nfd = os.open("/usr/bin/python3", os.O_RDONLY)\n' +
      'return {attempt(fcntl.fcntl, fd, command, bytes([3, 0, 0, 0, 0, 0, 0, 0])) for command in (1036, 1038)}',
    expected: "{'EPERM'}",
  },
  {
    name: 'characters typed into a terminal',
    body: 'import fcntl\nreturn [attempt(fcntl.ioctl, 0, 0x5412, b"x"), attempt(fcntl.ioctl, 0, 0x541C, b"x")]',
    expected: "['EPERM', 'EPERM']",
  },
];
