import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { attackInJail, expectNextEnvironmentWorks, hostileSource, openHostile } from '../hostile';
import type { Attack } from './attack';
import { EnvironmentDied, EnvironmentHung } from '../../helpers/sandbox-errors';

/** Runs an attack while a process of the host lives that it may not reach. */
async function withCanary(run: (pid: number) => Promise<void>): Promise<void> {
  const canary = spawn('sleep', ['300']);
  try {
    await run(canary.pid!);
    expect([canary.exitCode, canary.signalCode]).toEqual([null, null]);
    expect(existsSync(`/proc/${canary.pid}`)).toBe(true);
  } finally {
    canary.kill('SIGKILL');
  }
}

/** Other processes: new ones, signals, traces that outlive the jail. */
export const PROCESSES: readonly Attack[] = [
  { name: 'a fork bomb', body: 'return sorted({attempt(os.fork) for _ in range(1000)})', expected: "['EPERM']" },
  { name: 'vfork', body: 'return system_call(58)', expected: 'EPERM', only: 'x64' },
  {
    name: 'a spawned process',
    body: 'return attempt(os.posix_spawn, "/usr/bin/python3", ["python3"], {})',
    expected: /^(EPERM|ENOSYS|EAGAIN)$/,
  },
  {
    name: 'subprocess',
    body: 'import subprocess\nreturn attempt(subprocess.run, ["/usr/bin/python3", "-c", "1"])',
    expected: /^(EPERM|ENOSYS)$/,
  },
  {
    name: 'multiprocessing',
    body: 'import multiprocessing\nreturn attempt(multiprocessing.Process(target=print).start)',
    expected: /^(EPERM|ENOSYS|ModuleNotFoundError)$/,
  },
  {
    name: 'a shell',
    body: 'return [attempt(os.execv, "/bin/sh", ["sh"]), os.system("id")]',
    expected: /^\['ENOENT', -?\d+\]$/,
  },
  {
    name: 'another Python in place of the runtime',
    body: 'os.execv("/usr/bin/python3", ["python3", "-c", "print(1)"])',
    expected: EnvironmentDied,
  },
  {
    name: 'a program from memory',
    body: 'return [attempt(os.memfd_create, "x"), system_call(322, 4, b"", None, None, 0x1000)]',
    expected: /^\['EPERM', 'E\w+'\]$/,
    only: 'x64',
  },
  {
    name: 'kill(-1)',
    run: () =>
      withCanary(async () => {
        const got = await attackInJail('return attempt(os.kill, -1, 9)');
        expect(got instanceof EnvironmentDied || got === 'ESRCH').toBe(true);
      }),
  },
  {
    name: 'killing its parent',
    run: () =>
      withCanary(async () => {
        const got = await attackInJail('return [attempt(os.kill, os.getppid(), number) for number in (9, 15, 19, 11)]');
        expect(
          got instanceof EnvironmentDied || /^\[('ESRCH'|'EPERM'|'succeeded: None'|, )*\]$/.test(String(got)),
        ).toBe(true);
      }),
  },
  {
    name: 'killing a process of the host by its number',
    run: () =>
      withCanary(async (pid) => {
        expect(await attackInJail('return attempt(os.kill, call["arguments"]["pid"], 9)', { arguments: { pid } })).toBe(
          'ESRCH',
        );
      }),
  },
  { name: 'killing its process group', body: 'os.kill(0, 9)\nreturn "alive"', expected: EnvironmentDied },
  {
    name: 'stopping itself',
    body: 'os.kill(os.getpid(), signal.SIGSTOP)\nreturn "stopped"',
    expected: EnvironmentHung,
    requestMs: 1_000,
  },
  {
    name: 'a session of its own that outlives the jail',
    body: 'threading.Thread(target=time.sleep, args=(3600,)).start()\nreturn attempt(os.setsid)',
    expected: /^(succeeded|EPERM)/,
  },
  {
    name: 'living on after its parent',
    run: async () => {
      // PR_SET_PDEATHSIG off: what ends it then is the end of its pid namespace.
      const environment = await openHostile(
        hostileSource(
          'threading.Thread(target=time.sleep, args=(3600,)).start()\n' +
            'return [libc.prctl(1, 0), signal.signal(15, signal.SIG_IGN) is not None]',
        ),
      );
      await environment.step('e', [{ name: 'go', arguments: {} }]);
      await environment.close();
      await expectNextEnvironmentWorks();
    },
  },
  {
    name: 'an alarm for itself',
    body: 'signal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)',
    expected: EnvironmentDied,
  },
];
