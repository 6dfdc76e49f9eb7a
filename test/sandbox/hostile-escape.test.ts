// jail
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentDied } from '../../sandbox';
import { DENIED_SYSCALLS } from '../../sandbox/seccomp';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from './hostile';

describe('network', () => {
  let server: Server;
  let port: number;
  let connections = 0;

  beforeAll(async () => {
    server = createServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as { port: number }).port;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(connections).toBe(0);
  });

  test('TCP to a server of the host', async () => {
    expect(await attackInJail(`return attempt(socket.create_connection, ("127.0.0.1", ${port}), 2)`)).toBe('EPERM');
  });
  test('UDP to a name server', async () => {
    expect(await attackInJail('return attempt(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)')).toBe('EPERM');
  });
  test('IPv6', async () => {
    expect(await attackInJail('return attempt(socket.socket, socket.AF_INET6)')).toBe('EPERM');
  });
  test('unix sockets, named and abstract', async () => {
    expect(await attackInJail('return [attempt(socket.socket, socket.AF_UNIX), attempt(socket.socketpair)]')).toBe("['EPERM', 'EPERM']");
  });
  test('netlink, packet, raw and vsock', async () => {
    const got = await attackInJail(`
kinds = [(socket.AF_NETLINK, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW), (socket.AF_VSOCK, socket.SOCK_STREAM)]
return {attempt(socket.socket, *kind) for kind in kinds}`);
    expect(got).toBe("{'EPERM'}");
  });
  test('name resolution and the metadata address', async () => {
    const got = await attackInJail(`return [attempt(socket.getaddrinfo, "example.com", 80), attempt(socket.create_connection, ("169.254.169.254", 80), 1)]`);
    expect(got).toMatch(/^\[.*, 'EPERM'\]$/);
    expect(got).not.toContain('succeeded');
  });
  test('io_uring, which opens sockets by itself', async () => {
    expect(await attackInJail('return system_call(425, 8, ctypes.create_string_buffer(120))')).toBe('EPERM');
  });
});

describe('files and secrets of the host', () => {
  test("the parent's environment variables", async () => {
    process.env['WHET_TEST_SECRET'] = 'hunter2';
    const got = await attackInJail(
      'return [sorted(os.environ), "hunter2" in str(os.environ), attempt(open, "/proc/1/environ", "rb"), attempt(open, "/proc/self/environ", "rb")]',
    );
    delete process.env['WHET_TEST_SECRET'];
    expect(got).toMatch(/^\[\[('LC_CTYPE', )?'PWD'\], False, 'ENOENT', 'ENOENT'\]$/);
  });

  test('/etc/passwd, the home directory, the project and the host root', async () => {
    const places = ['/etc/passwd', '/etc/shadow', homedir(), process.cwd(), '/root', '/home', '/var/run/docker.sock', '/sys', '/proc', '/var/run/secrets'];
    const got = await attackInJail('return {attempt(os.stat, place) for place in call["arguments"]["places"]}', { arguments: { places } });
    expect(got).toBe("{'ENOENT'}");
  });

  test('the tree above the root', async () => {
    const got = await attackInJail(`
os.chdir("/")
for _ in range(40):
    os.chdir("..")
return sorted(os.listdir(".")) == sorted(os.listdir("/")), os.path.exists("etc/passwd"), attempt(os.chroot, "/tmp")`);
    expect(got).toBe("(True, False, 'EPERM')");
  });

  test('links that lead outside', async () => {
    const got = await attackInJail(`
return [attempt(os.symlink, "/etc/passwd", "/tmp/link"), attempt(os.link, "/runtime.py", "/tmp/hard"), attempt(os.mkfifo, "/tmp/pipe"), attempt(os.rename, "/runtime.pyc", "/runtime.old")]`);
    expect(got).toBe("['EROFS', 'EROFS', 'EROFS', 'EROFS']");
  });

  test('kernel settings', async () => {
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    const got = await attackInJail('return attempt(open, "/proc/sys/kernel/core_pattern", "w")');
    expect(got).toBe('ENOENT');
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before);
  });

  test('mounting /proc or the disk anew', async () => {
    const got = await attackInJail(`
return [system_call(165, b"proc", b"/tmp", b"proc", 0, None), system_call(165, b"/dev/vda", b"/tmp", b"ext4", 0, None), system_call(166, b"/", 2)]`);
    expect(got).toBe("['EPERM', 'EPERM', 'EPERM']");
  });

  test('files that the parent has open', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jail-'));
    writeFileSync(join(folder, 'secret'), 'hunter2');
    const handle = await (await import('node:fs/promises')).open(join(folder, 'secret'));
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
  });

  test('code planted for the next start', async () => {
    const marker = `planted-${process.pid}`;
    const got = await attackInJail(`
places = [path for path in sys.path if path] + ["/usr/lib/python3", "/usr/bin", "/tmp", "/"]
names = ["sitecustomize.py", "usercustomize.py", "evil.pth", "json.py", "__pycache__/os.cpython-311.pyc"]
return [place for place in places for name in names if attempt(lambda: open(f"{place}/{name}", "w").write("import sys; sys.planted = '${marker}'")).startswith("succ")]`);
    expect(got).toBe('[]');
    expect(await attackInJail('return hasattr(sys, "planted")')).toBe('False');
  });
});

describe('processes and privileges', () => {
  let canary: ChildProcess;
  beforeAll(() => void (canary = spawn('sleep', ['300'])));
  afterAll(() => {
    expect(canary.exitCode).toBeNull();
    expect(canary.signalCode).toBeNull();
    canary.kill('SIGKILL');
  });

  test('kill(-1) and killing the parent reach nothing outside', async () => {
    const environment = await openHostile(
      hostileSource('return [attempt(os.kill, -1, 9), attempt(os.kill, os.getppid(), 9), attempt(os.kill, call["arguments"]["pid"], 9)]'),
    );
    const outcome = await environment.step('e', [{ name: 'go', arguments: { pid: canary.pid } }]).catch((error: Error) => error);
    expect(outcome instanceof EnvironmentDied || /'ESRCH'\]$/.test((outcome as { observations: string[] }).observations[0]!)).toBe(true);
    await environment.close();
    await expectNextEnvironmentWorks();
    expect(existsSync(`/proc/${canary.pid}`)).toBe(true);
  });

  test('a thread in a session of its own does not outlive its jail', async () => {
    const got = await attackInJail(`
threading.Thread(target=time.sleep, args=(3600,)).start()
return attempt(os.setsid)`);
    expect(got).toMatch(/^(succeeded|EPERM)/);
  });

  test('a new user namespace', async () => {
    expect(await attackInJail('return [system_call(272, 0x10000000), system_call(272, 0x40000000), system_call(272, 0x00020000)]')).toBe(
      "['EPERM', 'EPERM', 'EPERM']",
    );
  });

  test('clone with namespace flags, and clone3, which hides them', async () => {
    expect(await attackInJail('return [system_call(56, 0x10000011), system_call(56, 17), system_call(435, ctypes.create_string_buffer(88), 88)]')).toBe(
      "['EPERM', 'EPERM', 'ENOSYS']",
    );
  });

  test("another process's memory: ptrace, process_vm_readv, pidfd_getfd", async () => {
    expect(await attackInJail('return [system_call(101, 16, 1), system_call(310, 1), system_call(438, 4, 0)]')).toBe("['EPERM', 'EPERM', 'EPERM']");
  });

  test('capabilities and root', async () => {
    const got = await attackInJail(
      'return [os.getuid(), attempt(os.setuid, 0), attempt(os.setgroups, [0]), attempt(os.nice, -5), attempt(os.chown, "/tmp", 1, 1)]',
    );
    expect(got).toMatch(/^\[65534, 'EPERM|EINVAL', 'EPERM', 'EPERM', '(EPERM|EROFS)'\]$/);
    expect(got).not.toContain('succeeded');
  });

  test('characters typed into a terminal', async () => {
    expect(
      await attackInJail('import fcntl\nreturn [attempt(fcntl.ioctl, 0, 0x5412, b"x"), attempt(fcntl.ioctl, 0, 0x541C, b"x"), attempt(open, "/dev/tty")]'),
    ).toBe("['EPERM', 'EPERM', 'ENOENT']");
  });

  test('another program in its place', async () => {
    const got = await attackInJail('os.execv("/usr/bin/python3", ["python3", "-c", "print(1)"])');
    expect(got).toBeInstanceOf(EnvironmentDied);
    expect(await attackInJail('return [attempt(os.execv, "/bin/sh", ["sh"]), attempt(os.system, "id")]')).toMatch(/^\['ENOENT', 'succeeded: -?\d+'\]$/);
  });

  const isX86 = process.arch === 'x64';
  (isX86 ? test : test.skip)('every denied system call answers EPERM', async () => {
    const numbers = Object.fromEntries(Object.entries(DENIED_SYSCALLS).map(([name, [number]]) => [name, number]));
    const got = await attackInJail(
      'return {name: answer for name, number in call["arguments"].items() if number is not None and (answer := system_call(number)) != "EPERM"}',
      { arguments: numbers },
    );
    expect(got).toBe('{}');
  });

  (isX86 ? test : test.skip)('system calls that are newer than the filter do not exist', async () => {
    expect(await attackInJail('return [system_call(463), system_call(500), system_call(100000)]')).toBe("['ENOSYS', 'ENOSYS', 'ENOSYS']");
  });

  (isX86 ? test : test.skip)('the x32 numbers of system calls kill the process', async () => {
    const got = await attackInJail('return system_call(0x40000000 + 39)');
    expect(got).toBeInstanceOf(EnvironmentDied);
    expect((got as EnvironmentDied).exitCode).toBe(128 + 31);
  });
});
