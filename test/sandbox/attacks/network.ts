import { createServer } from 'node:net';
import { attackInJail } from '../hostile';
import type { Attack } from './attack';
import { EnvironmentDied } from '../../helpers/sandbox-errors';

const SOCKETS: readonly (readonly [name: string, expression: string])[] = [
  ['a UDP socket', 'socket.AF_INET, socket.SOCK_DGRAM'],
  ['an IPv6 socket', 'socket.AF_INET6'],
  ['a unix socket', 'socket.AF_UNIX'],
  ['a netlink socket', 'socket.AF_NETLINK, socket.SOCK_RAW'],
  ['a packet socket', 'socket.AF_PACKET, socket.SOCK_RAW'],
  ['a raw IP socket', 'socket.AF_INET, socket.SOCK_RAW'],
  ['a vsock to the hypervisor', 'socket.AF_VSOCK, socket.SOCK_STREAM'],
  ["a socket of the kernel's crypto interface", '38, socket.SOCK_SEQPACKET'],
];

/** The network, sockets of every family, and the sockets that the jail inherits as its pipes. */
export const NETWORK: readonly Attack[] = [
  {
    name: 'TCP to a server of the host',
    run: async () => {
      let connections = 0;
      const server = createServer((socket) => {
        connections++;
        socket.destroy();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      expect(await attackInJail(`return attempt(socket.create_connection, ("127.0.0.1", ${port}), 2)`)).toBe('EPERM');
      await new Promise((resolve) => server.close(resolve));
      expect(connections).toBe(0);
    },
  },
  ...SOCKETS.map(([name, expression]) => ({
    name,
    body: `return attempt(socket.socket, ${expression})`,
    expected: 'EPERM',
  })),
  { name: 'a pair of connected sockets', body: 'return attempt(socket.socketpair)', expected: 'EPERM' },
  {
    name: 'an abstract unix address of the host',
    body: 'import socket\nreturn system_call(42, 3, b"\\1\\0\\0/tmp/.X11-unix/X0", 20)',
    expected: 'EPERM',
    only: 'x64',
  },
  {
    name: 'name resolution',
    body: 'return attempt(socket.getaddrinfo, "example.com", 80)',
    expected: /^(?!succeeded)/,
  },
  {
    name: "the cloud's metadata address",
    body: 'return attempt(socket.create_connection, ("169.254.169.254", 80), 1)',
    expected: 'EPERM',
  },
  {
    name: 'io_uring, which opens sockets by itself',
    body: 'return system_call(425, 8, ctypes.create_string_buffer(120))',
    expected: 'EPERM',
  },
  {
    // Over a socket, a descriptor would arrive in the service.
    name: 'descriptors sent over the response channel',
    body:
      'return attempt(lambda: socket.socket(fileno=4).sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ' +
      'b"\\0\\0\\0\\0")]))',
    expected: 'EPERM',
  },
  {
    name: "a packet filter attached to the jail's own channel",
    body: 'return system_call(54, 4, 1, 26, ctypes.create_string_buffer(16), 16)',
    expected: 'EPERM',
    only: 'x64',
  },
  {
    name: "the service's process id through its channel",
    body: 'return system_call(55, 3, 1, 17, ctypes.create_string_buffer(12), ctypes.byref(ctypes.c_int(12)))',
    expected: 'EPERM',
    only: 'x64',
  },
  {
    name: 'shutting its channel down',
    body: 'return [system_call(48, 3, 2), system_call(48, 4, 2)]',
    expected: "['EPERM', 'EPERM']",
    only: 'x64',
  },
  {
    // A socket answers them whatever its family: names, addresses and MACs of interfaces, bridges, VLANs, ethtool.
    name: "the host's network cards through its channel and its logs",
    body:
      'import fcntl\n' +
      'return {attempt(fcntl.ioctl, fd, request, bytearray(256)) for fd in (1, 2, 3, 4) ' +
      'for request in (0x8910, 0x8912, 0x8927, 0x8933, 0x8940, 0x8946, 0x8954, 0x8982, 0x89a2, 0x89ff)}',
    expected: "{'EPERM'}",
  },
  {
    name: 'a channel that is a socket',
    body: 'import stat\nreturn {stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (1, 2, 3, 4)}',
    expected: '{True}',
  },
  {
    name: 'socket calls in 32-bit code',
    // mov eax, 359 (socket of i386); int 0x80; ret
    body: 'return machine_code(bytes.fromhex("b867010000cd80c3"))',
    expected: EnvironmentDied,
    only: 'x64',
  },
];
