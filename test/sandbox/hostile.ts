import { readdirSync, readFileSync } from 'node:fs';
import { loadProfile, type LoadedProfile, openEnvironment, type EnvironmentProcess } from '../../sandbox';

/** The project's profile with deadlines that suit tests. */
export function testProfile(requestMs = 30_000): LoadedProfile {
  const { profile, folder } = loadProfile();
  return { folder, profile: { ...profile, wallMs: { ...profile.wallMs, request: requestMs, close: 200 } } };
}

/**
 * An environment whose `step` runs an attack and reports what it got.
 * @param body Python statements of `attack(call)`; what it returns becomes the observation.
 * @param members further members of the class, or replacements.
 */
export function hostileSource(body: string, members = ''): string {
  const indented = body
    .trim()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
  return `
import ctypes, errno, mmap, os, resource, signal, socket, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)

def attempt(function, *arguments):
    try:
        return f"succeeded: {function(*arguments)!r}"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except BaseException as error:
        return type(error).__name__

def system_call(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(number, *(arguments + (0,) * (6 - len(arguments))))
    return errno.errorcode.get(ctypes.get_errno(), "?") if result == -1 else f"succeeded: {result}"

def machine_code(code):
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()

def forge(line):
    """Writes a line into the response channel, with the id of the request that the runtime is at."""
    frame = sys._getframe()
    while "identifier" not in frame.f_locals:
        frame = frame.f_back
    os.write(4, line % frame.f_locals["identifier"])

def attack(call):
${indented}

class Environment:
    @staticmethod
    def tools():
        return [{"type": "function", "function": {"name": "go", "description": "", "parameters": {"type": "object"}}}]
    @staticmethod
    def generate_task(seed):
        return {"seed": seed}
    def reset(self, seed):
        return [{"role": "user", "content": "go"}]
    def step(self, call):
        return {"observation": str(attack(call)), "done": False}
    @staticmethod
    def evaluate(trajectory, task):
        return 1.0
    @staticmethod
    def reference_solution(task):
        return [{"name": "go", "arguments": {}}]
${members
  .trim()
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
`;
}

const HONEST = hostileSource('return "fine"');

/** Opens an environment in the jail and starts episode "e". */
export async function openHostile(source: string, profile = testProfile()): Promise<EnvironmentProcess> {
  const environment = await openEnvironment({ source, trust: 'synthesised', name: 'hostile', profile });
  await environment.reset('e', 1);
  return environment;
}

/**
 * Runs an attack in the jail, closes its process, and proves that the next environment works.
 * @returns the observation, or the error that the step was rejected with.
 */
export async function attackInJail(
  body: string,
  options: { members?: string; arguments?: Record<string, unknown>; requestMs?: number } = {},
): Promise<string | Error> {
  const environment = await openHostile(hostileSource(body, options.members), testProfile(options.requestMs));
  let outcome: string | Error;
  try {
    outcome = (await environment.step('e', [{ name: 'go', arguments: options.arguments ?? {} }])).observations[0]!;
  } catch (error) {
    outcome = error as Error;
  }
  await environment.close();
  await expectNextEnvironmentWorks();
  return outcome;
}

/** Opens an honest environment and plays an episode in it. */
export async function expectNextEnvironmentWorks(): Promise<void> {
  const environment = await openHostile(HONEST);
  expect((await environment.step('e', [{ name: 'go', arguments: {} }])).observations).toEqual(['fine']);
  expect((await environment.evaluate('e')).reward).toBe(1);
  await environment.close();
}

/** Command lines of processes of this test process that still run a jail; every test file has its own process. */
export function jailProcesses(): string[] {
  const children = new Map<number, number[]>();
  const commands = new Map<number, string>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z') continue;
      children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)]);
      commands.set(Number(name), readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' '));
    } catch {
      continue;
    }
  }
  const found: string[] = [];
  const visit = (pid: number): void => {
    for (const child of children.get(pid) ?? []) {
      if (/bwrap|runtime\.py/.test(commands.get(child) ?? '')) found.push(commands.get(child)!);
      visit(child);
    }
  };
  visit(process.pid);
  return found;
}
