// unit
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSeccomp } from '../../sandbox/build-seccomp';
import { projectRoot } from '../../contracts/project-root';
import {
  assembleSeccomp,
  DENIED_SYSCALLS,
  SECCOMP_ARCHES,
  SECCOMP_KINDS,
  type SeccompArch,
} from '../../sandbox/seccomp';

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const AUDIT = { x86_64: 0xc000003e, aarch64: 0xc00000b7 };

/** Runs a filter as the kernel does, on a `struct seccomp_data`. */
function verdict(program: Buffer, audit: number, number: number, args: bigint[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  args.forEach((value, index) => data.writeBigUInt64LE(value, 16 + 8 * index));
  let accumulator = 0;
  for (let at = 0; ; at++) {
    const code = program.readUInt16LE(at * 8);
    const k = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return k;
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else {
      const holds = code === 0x15 ? accumulator === k : code === 0x35 ? accumulator >= k : (accumulator & k) !== 0;
      at += program.readUInt8(at * 8 + (holds ? 2 : 3));
    }
  }
}

test('the committed filters are what the assembler gives, and the profile has their hashes', () => {
  expect(buildSeccomp(true)).toEqual([]);
  for (const kind of SECCOMP_KINDS)
    for (const arch of SECCOMP_ARCHES) {
      const name = `seccomp-${kind === 'owner' ? 'owner-' : ''}${arch}.bpf`;
      expect(readFileSync(join(projectRoot(), 'sandbox', name)).equals(assembleSeccomp(arch, kind))).toBe(true);
    }
});

describe.each(SECCOMP_ARCHES.map((arch, column) => ({ arch, column })))(
  '$arch',
  ({ arch, column }: { arch: SeccompArch; column: number }) => {
    const program = assembleSeccomp(arch, 'generated');
    const of = (number: number, ...args: bigint[]): number => verdict(program, AUDIT[arch], number, args);
    const clone = [56, 220][column]!;
    const ioctl = [16, 29][column]!;

    test('every listed call is refused', () => {
      for (const numbers of Object.values(DENIED_SYSCALLS)) {
        const number = numbers[column];
        if (number !== null) expect(of(number!)).toBe(EPERM);
      }
    });

    test('calls that Python lives on are allowed', () => {
      // read, write, mmap, futex, execve, exit_group
      const numbers = [
        [0, 63],
        [1, 64],
        [9, 222],
        [202, 98],
        [59, 221],
        [231, 94],
      ].map((pair) => pair[column]!);
      for (const number of numbers) expect(of(number)).toBe(ALLOW);
    });

    test('clone starts threads, no processes and no namespaces', () => {
      expect(of(clone, 0x3d0f00n)).toBe(ALLOW);
      expect(of(clone, 17n)).toBe(EPERM);
      for (const flag of [0x00020000n, 0x02000000n, 0x04000000n, 0x08000000n, 0x10000000n, 0x20000000n, 0x40000000n]) {
        expect(of(clone, 0x3d0f00n | flag)).toBe(EPERM);
      }
    });

    test('clone3 and calls that are newer than the list do not exist', () => {
      for (const number of [435, 463, 1000, 0x3fffffff]) expect(of(number)).toBe(ENOSYS);
    });

    test('ioctl answers what Python asks of a descriptor, and nothing else', () => {
      // TIOCSTI, TIOCLINUX, SIOCGIFCONF, SIOCGIFBR, SIOCETHTOOL, the ends of the range, FS_IOC_GETFSUUID, FIEMAP
      const denied = [0x5412n, 0x541cn, 0x8912n, 0x8940n, 0x8946n, 0x8900n, 0x89ffn, 0x80111500n, 0xc020660bn];
      for (const request of denied) expect(of(ioctl, 0n, request)).toBe(EPERM);
      // The kernel reads 32 bits of the request.
      expect(of(ioctl, 0n, 0x1_0000_5412n)).toBe(EPERM);
      // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIOCLEX
      for (const request of [0x5401n, 0x5413n, 0x541bn, 0x5421n, 0x5451n]) expect(of(ioctl, 0n, request)).toBe(ALLOW);
    });

    test('prctl asks and names, and installs no filter', () => {
      const prctl = [157, 167][column]!;
      // PR_SET_SECCOMP, PR_SET_MM, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_PTRACER
      for (const option of [22n, 35n, 62n, 67n, 0x59616d61n]) expect(of(prctl, option)).toBe(EPERM);
      expect(of(prctl, 0x1_0000_0016n)).toBe(EPERM);
      // PR_SET_NAME, PR_GET_SECCOMP, PR_SET_VMA
      for (const option of [15n, 21n, 0x53564d41n]) expect(of(prctl, option)).toBe(ALLOW);
    });

    test('the owner’s environment may use the internet and processes, and no other part of the kernel', () => {
      const owner = assembleSeccomp(arch, 'owner');
      const ofOwner = (number: number, ...args: bigint[]): number => verdict(owner, AUDIT[arch], number, args);
      const [socket, connect, flock, fcntl] = [
        [41, 198],
        [42, 203],
        [73, 32],
        [72, 25],
      ].map((pair) => pair[column]!) as [number, number, number, number];
      for (const family of [2n, 10n]) expect(ofOwner(socket, family)).toBe(ALLOW);
      // AF_UNIX, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK
      for (const family of [1n, 16n, 17n, 38n, 40n]) expect(ofOwner(socket, family)).toBe(EPERM);
      for (const number of [connect, flock]) expect(ofOwner(number)).toBe(ALLOW);
      expect(ofOwner(fcntl, 4n, 6n)).toBe(ALLOW);
      expect(ofOwner(fcntl, 4n, 1038n)).toBe(EPERM);
      expect(ofOwner(clone, 17n)).toBe(ALLOW);
      expect(ofOwner(clone, 0x10000011n)).toBe(EPERM);
      expect(ofOwner(ioctl, 0n, 0x8912n)).toBe(EPERM);
      for (const name of ['mount', 'unshare', 'setns', 'ptrace', 'bpf', 'keyctl', 'io_uring_setup', 'perf_event_open'])
        expect(ofOwner(DENIED_SYSCALLS[name]![column]!)).toBe(EPERM);
    });

    test('fcntl may neither lock nor watch files of the shared tree', () => {
      const fcntl = [72, 25][column]!;
      // F_GETLK, F_SETLK, F_SETLKW, F_OFD_*, F_SETLEASE, F_NOTIFY, F_SET_RW_HINT, F_SET_FILE_RW_HINT
      for (const command of [5n, 6n, 7n, 36n, 37n, 38n, 1024n, 1026n, 1036n, 1038n]) {
        expect(of(fcntl, 4n, command)).toBe(EPERM);
        expect(of(fcntl, 4n, 0x1_0000_0000n | command)).toBe(EPERM);
      }
      // F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_SETPIPE_SZ
      for (const command of [0n, 1n, 2n, 3n, 4n, 1030n, 1031n]) expect(of(fcntl, 4n, command)).toBe(ALLOW);
    });

    test('the limit on core dumps can be read and not changed; other limits can', () => {
      const [setrlimit, prlimit64] = [
        [160, 164],
        [302, 261],
      ].map((pair) => pair[column]!) as [number, number];
      expect(of(setrlimit, 4n)).toBe(EPERM);
      expect(of(setrlimit, 6n)).toBe(ALLOW);
      expect(of(prlimit64, 0n, 4n, 0n)).toBe(ALLOW);
      expect(of(prlimit64, 0n, 4n, 0x1000n)).toBe(EPERM);
      expect(of(prlimit64, 0n, 4n, 0x1_0000_0000n)).toBe(EPERM);
      expect(of(prlimit64, 0n, 6n, 0x1000n)).toBe(ALLOW);
    });

    test('a foreign architecture is killed', () => {
      expect(verdict(program, 0x40000003, 1)).toBe(KILL);
      if (arch === 'x86_64') expect(of(0x40000000 + 39)).toBe(KILL);
    });
  },
);
