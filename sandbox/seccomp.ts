/**
 * The jail's seccomp filter, assembled as classic BPF without a native library. The result is committed
 * (`sandbox/seccomp-<arch>.bpf`), and every launcher reads it. A test compares the files with the output of this
 * module.
 *
 * There are two filters: for generated code, and for environments of the agent's owner, which may use the network and
 * start processes. A filter allows everything that its list does not deny. An environment is contained by namespaces,
 * the lack of a network, the read-only tree and limits. The filter removes most of the kernel's attack surface and the
 * ways around those limits. uretprobe (335 on x86_64) is not listed, because Linux does not filter it, and outside a
 * probe it only kills its caller.
 */

/** Architectures with a committed filter, named as in `uname -m`. */
export const SECCOMP_ARCHES = ['x86_64', 'aarch64'] as const;
/** An architecture with a committed filter. */
export type SeccompArch = (typeof SECCOMP_ARCHES)[number];

/** The environments that a filter is for: generated ones, or the agent owner's. */
export const SECCOMP_KINDS = ['generated', 'owner'] as const;
type SeccompKind = (typeof SECCOMP_KINDS)[number];

type SyscallNumbers = readonly [x86_64: number | null, aarch64: number | null];

/**
 * Calls that are answered with EPERM: [number on x86_64, number on aarch64]; null if the architecture has no such call.
 */
// prettier-ignore
export const DENIED_SYSCALLS: Readonly<Record<string, SyscallNumbers>> = {
  // Mounts and roots.
  mount: [165, 40], umount2: [166, 39], pivot_root: [155, 41], chroot: [161, 51], move_mount: [429, 429],
  open_tree: [428, 428],
  fsopen: [430, 430], fsconfig: [431, 431], fsmount: [432, 432], fspick: [433, 433], mount_setattr: [442, 442],
  statmount: [457, 457], listmount: [458, 458],
  // Namespaces. For clone the flags decide; fork and vfork start processes, which an environment never needs.
  unshare: [272, 97], setns: [308, 268], fork: [57, null], vfork: [58, null],
  // Other processes.
  ptrace: [101, 117], process_vm_readv: [310, 270], process_vm_writev: [311, 271], process_madvise: [440, 440],
  kcmp: [312, 272],
  pidfd_open: [434, 434], pidfd_getfd: [438, 438], pidfd_send_signal: [424, 424],
  // Every socket family, including connected pairs: io_uring can open sockets by itself, so it is denied, too. Also
  // denied are calls that only sockets accept. With an inherited socket, descriptors could be sent, packet filters
  // attached, and the peer's identity read.
  socket: [41, 198], socketpair: [53, 199], connect: [42, 203], bind: [49, 200], listen: [50, 201], accept: [43, 202],
  accept4: [288, 242],
  setsockopt: [54, 208], getsockopt: [55, 209], getsockname: [51, 204], getpeername: [52, 205], sendto: [44, 206],
  recvfrom: [45, 207],
  sendmsg: [46, 211], recvmsg: [47, 212], sendmmsg: [307, 269], recvmmsg: [299, 243], shutdown: [48, 210],
  io_uring_setup: [425, 425], io_uring_enter: [426, 426], io_uring_register: [427, 427],
  // Memory that RLIMIT_AS does not count: detached System V segments, memory files, message queues.
  memfd_create: [319, 279], memfd_secret: [447, 447], shmget: [29, 194], shmat: [30, 196], shmctl: [31, 195],
  semget: [64, 190], msgget: [68, 186], mq_open: [240, 180],
  // Pages moved between pipes and memory, disks flushed, barriers on every processor: these burden the whole machine,
  // or have a history of kernel bugs.
  splice: [275, 76], tee: [276, 77], vmsplice: [278, 75], sync: [162, 81], syncfs: [306, 267], membarrier: [324, 283],
  remap_file_pages: [216, 234], process_mrelease: [448, 448],
  // The whole machine has one counter of requests (fs.aio-max-nr). Locks on files of the shared tree are a channel
  // between jails.
  io_setup: [206, 0], io_submit: [209, 2], flock: [73, 32],
  // The tree is shared, so watching it shows what other jails do.
  inotify_init: [253, null], inotify_init1: [294, 26], inotify_add_watch: [254, 27],
  // Jails could learn about each other from the cached pages of the shared tree, and by dropping such pages. Plain
  // reads replace the other uses of preadv2 and pwritev2.
  mincore: [27, 232], cachestat: [451, 451], readahead: [187, 213], fadvise64: [221, 223], preadv2: [327, 286],
  pwritev2: [328, 287],
  // Times of files: the tree is read-only, but the devices in it are the host's own.
  utime: [132, null], utimes: [235, null], futimesat: [261, null], utimensat: [280, 88],
  // Calls that install a filter or rules of the environment's own. The host's kernel log would get a line for each call
  // that these refuse.
  seccomp: [317, 277], landlock_create_ruleset: [444, 444], landlock_add_rule: [445, 445],
  landlock_restrict_self: [446, 446],
  // Keys, kernel programs, tracing, page faults in user space.
  keyctl: [250, 219], add_key: [248, 217], request_key: [249, 218], bpf: [321, 280], perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  lookup_dcookie: [212, 18], fanotify_init: [300, 262], fanotify_mark: [301, 263], name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  lsm_set_self_attr: [460, 460],
  // The machine.
  kexec_load: [246, 104], kexec_file_load: [320, 294], reboot: [169, 142], swapon: [167, 224], swapoff: [168, 225],
  init_module: [175, 105], finit_module: [313, 273], delete_module: [176, 106], acct: [163, 89], quotactl: [179, 60],
  quotactl_fd: [443, 443],
  syslog: [103, 116], settimeofday: [164, 170], clock_settime: [227, 112], clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161], setdomainname: [171, 162], vhangup: [153, 58], iopl: [172, null], ioperm: [173, null],
  modify_ldt: [154, null],
  personality: [135, 92], uselib: [134, null], ustat: [136, null], sysfs: [139, null], nfsservctl: [180, 42],
  // NUMA placement.
  mbind: [237, 235], set_mempolicy: [238, 237], get_mempolicy: [239, 236], set_mempolicy_home_node: [450, 450],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
};

const CLONE: SyscallNumbers = [56, 220];
const CLONE3 = 435;
const IOCTL: SyscallNumbers = [16, 29];
const FCNTL: SyscallNumbers = [72, 25];
const PRCTL: SyscallNumbers = [157, 167];
const SETRLIMIT: SyscallNumbers = [160, 164];
const PRLIMIT64: SyscallNumbers = [302, 261];
/**
 * The jail may not change this limit. It is 1 byte, which keeps the kernel from piping a core dump to the host's
 * handler; 0 would not (man 5 core).
 */
const RLIMIT_CORE = 4;
/**
 * First system call number that no released kernel had when this list was made. From this number on, calls are answered
 * with ENOSYS.
 */
const FIRST_UNKNOWN = 463;
const X32_BIT = 0x40000000;
const AUDIT_ARCH: Readonly<Record<SeccompArch, number>> = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };

const CLONE_THREAD = 0x00010000;
/** NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET. NEWTIME cannot be given to clone. */
const CLONE_NAMESPACES = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000;
/**
 * The requests that Python makes on its descriptors; ioctl allows only these. Other requests go to handlers that answer
 * for the whole host: on a socket about its network cards (0x8900 to 0x89ff), on a file about its disk, on a terminal
 * about its input.
 */
const IOCTL_REQUESTS = {
  TCGETS: 0x5401,
  TCGETS2: 0x802c542a,
  TIOCGWINSZ: 0x5413,
  FIONREAD: 0x541b,
  FIONBIO: 0x5421,
  FIONCLEX: 0x5450,
  FIOCLEX: 0x5451,
} as const;

/** The only allowed uses of prctl: ask about the process itself, and name threads and memory. */
const PRCTL_OPTIONS = {
  PR_GET_PDEATHSIG: 2,
  PR_GET_DUMPABLE: 3,
  PR_SET_NAME: 15,
  PR_GET_NAME: 16,
  PR_GET_SECCOMP: 21,
  PR_CAPBSET_READ: 23,
  PR_GET_TIMERSLACK: 30,
  PR_GET_NO_NEW_PRIVS: 39,
  PR_SET_VMA: 0x53564d41,
} as const;

/** Locks, leases, directory watches and notes: commands on the shared tree that other jails could notice. */
const FCNTL_COMMANDS = {
  F_GETLK: 5,
  F_SETLK: 6,
  F_SETLKW: 7,
  F_OFD_GETLK: 36,
  F_OFD_SETLK: 37,
  F_OFD_SETLKW: 38,
  F_SETLEASE: 1024,
  F_NOTIFY: 1026,
  F_SET_RW_HINT: 1036,
  F_SET_FILE_RW_HINT: 1038,
} as const;

/** Denied only to generated code: the network, processes, and locks on its own files. */
const OWNER_MAY: ReadonlySet<string> = new Set([
  ...['socket', 'socketpair', 'connect', 'bind', 'listen', 'accept', 'accept4', 'shutdown'],
  ...['setsockopt', 'getsockopt', 'getsockname', 'getpeername', 'sendto', 'recvfrom'],
  ...['sendmsg', 'recvmsg', 'sendmmsg', 'recvmmsg', 'fork', 'vfork', 'flock'],
  ...['utime', 'utimes', 'futimesat', 'utimensat'],
  ...['F_GETLK', 'F_SETLK', 'F_SETLKW', 'F_OFD_GETLK', 'F_OFD_SETLK', 'F_OFD_SETLKW'],
]);

/**
 * Unix sockets are not allowed: the host's programs use abstract names, and would take the jail for one of their own
 * programs.
 */
const OWNER_SOCKETS = { AF_INET: 2, AF_INET6: 10 } as const;

const EPERM = 1;
const ENOSYS = 38;
const RETURNS = {
  allow: 0x7fff0000,
  kill: 0x80000000,
  eperm: 0x00050000 | EPERM,
  enosys: 0x00050000 | ENOSYS,
} as const;

type Label =
  keyof typeof RETURNS | 'clone' | 'socket' | 'ioctl' | 'prctl' | 'fcntl' | 'setrlimit' | 'prlimit64' | 'prlimitOfCore';
interface Instruction {
  code: number;
  k: number;
  /** The jump target if the comparison is true or false; absent: the next instruction. */
  yes?: Label;
  no?: Label;
}

const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
/** Offsets in `struct seccomp_data`, little endian. */
const NUMBER_OFFSET = 0;
const ARCH_OFFSET = 4;
const argumentOffset = (index: number): number => 16 + 8 * index;

/** Compares the loaded word: allowed if it is one of the values, else EPERM. */
const onlyThese = (values: Readonly<Record<string, number>>): Instruction[] => [
  ...Object.values(values).map((k): Instruction => ({ code: JUMP_EQUAL, k, yes: 'allow' })),
  { code: RETURN, k: RETURNS.eperm },
];

/**
 * Assembles the filter of a kind of environment for an architecture.
 * @returns the program in the form of bubblewrap's `--seccomp`: consecutive `struct sock_filter`, little endian.
 */
export function assembleSeccomp(arch: SeccompArch, kind: SeccompKind): Buffer {
  const column = arch === 'x86_64' ? 0 : 1;
  const program: Instruction[] = [];
  const labels = new Map<Label, number>();
  const here = (label: Label): void => void labels.set(label, program.length);

  program.push(
    { code: LOAD_WORD, k: ARCH_OFFSET },
    { code: JUMP_EQUAL, k: AUDIT_ARCH[arch], no: 'kill' },
    { code: LOAD_WORD, k: NUMBER_OFFSET },
  );
  if (arch === 'x86_64') program.push({ code: JUMP_AT_LEAST, k: X32_BIT, yes: 'kill' });
  // clone3 hides its flags behind a pointer. ENOSYS makes the C library fall back to clone, whose flags are readable.
  program.push(
    { code: JUMP_AT_LEAST, k: FIRST_UNKNOWN, yes: 'enosys' },
    { code: JUMP_EQUAL, k: CLONE3, yes: 'enosys' },
    { code: JUMP_EQUAL, k: CLONE[column]!, yes: 'clone' },
    { code: JUMP_EQUAL, k: IOCTL[column]!, yes: 'ioctl' },
    { code: JUMP_EQUAL, k: PRCTL[column]!, yes: 'prctl' },
    { code: JUMP_EQUAL, k: FCNTL[column]!, yes: 'fcntl' },
    { code: JUMP_EQUAL, k: SETRLIMIT[column]!, yes: 'setrlimit' },
    { code: JUMP_EQUAL, k: PRLIMIT64[column]!, yes: 'prlimit64' },
  );
  if (kind === 'owner') program.push({ code: JUMP_EQUAL, k: DENIED_SYSCALLS['socket']![column]!, yes: 'socket' });
  for (const [name, numbers] of Object.entries(DENIED_SYSCALLS)) {
    const number = numbers[column];
    if (number === null || number === undefined || (kind === 'owner' && OWNER_MAY.has(name))) continue;
    program.push({ code: JUMP_EQUAL, k: number, yes: 'eperm' });
  }
  program.push({ code: RETURN, k: RETURNS.allow });
  here('clone');
  program.push(
    { code: LOAD_WORD, k: argumentOffset(0) },
    { code: JUMP_ANY_BIT, k: CLONE_NAMESPACES, yes: 'eperm' },
    // Generated code may only start threads.
    ...(kind === 'generated' ? [{ code: JUMP_ANY_BIT, k: CLONE_THREAD, no: 'eperm' } as const] : []),
    { code: RETURN, k: RETURNS.allow },
  );
  here('socket');
  program.push({ code: LOAD_WORD, k: argumentOffset(0) }, ...onlyThese(OWNER_SOCKETS));
  here('ioctl');
  program.push({ code: LOAD_WORD, k: argumentOffset(1) }, ...onlyThese(IOCTL_REQUESTS));
  here('prctl');
  program.push({ code: LOAD_WORD, k: argumentOffset(0) }, ...onlyThese(PRCTL_OPTIONS));
  here('fcntl');
  program.push({ code: LOAD_WORD, k: argumentOffset(1) });
  for (const [name, command] of Object.entries(FCNTL_COMMANDS))
    if (kind === 'generated' || !OWNER_MAY.has(name)) program.push({ code: JUMP_EQUAL, k: command, yes: 'eperm' });
  program.push({ code: RETURN, k: RETURNS.allow });
  here('setrlimit');
  program.push(
    { code: LOAD_WORD, k: argumentOffset(0) },
    { code: JUMP_EQUAL, k: RLIMIT_CORE, yes: 'eperm' },
    { code: RETURN, k: RETURNS.allow },
  );
  here('prlimit64');
  program.push(
    { code: LOAD_WORD, k: argumentOffset(1) },
    { code: JUMP_EQUAL, k: RLIMIT_CORE, yes: 'prlimitOfCore' },
    { code: RETURN, k: RETURNS.allow },
  );
  here('prlimitOfCore');
  // Reading the limit, without setting a new one, is allowed.
  program.push(
    { code: LOAD_WORD, k: argumentOffset(2) },
    { code: JUMP_EQUAL, k: 0, no: 'eperm' },
    { code: LOAD_WORD, k: argumentOffset(2) + 4 },
    { code: JUMP_EQUAL, k: 0, no: 'eperm' },
    { code: RETURN, k: RETURNS.allow },
  );
  for (const label of ['allow', 'eperm', 'enosys', 'kill'] as const) {
    here(label);
    program.push({ code: RETURN, k: RETURNS[label] });
  }
  return encode(program, labels);
}

function encode(program: readonly Instruction[], labels: ReadonlyMap<Label, number>): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach((instruction, index) => {
    const distance = (label: Label | undefined): number => {
      if (label === undefined) return 0;
      const steps = labels.get(label)! - index - 1;
      if (steps < 0 || steps > 255)
        throw new RangeError(`The jump to ${label} spans ${steps} instructions; classic BPF allows 0 to 255.`);
      return steps;
    };
    bytes.writeUInt16LE(instruction.code, index * 8);
    bytes.writeUInt8(distance(instruction.yes), index * 8 + 2);
    bytes.writeUInt8(distance(instruction.no), index * 8 + 3);
    bytes.writeUInt32LE(instruction.k >>> 0, index * 8 + 4);
  });
  return bytes;
}
