import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcess, isRunning, type ProcessId, processIds, statFields } from '../../contracts/running-process';

export { findProcess, isRunning, type ProcessId };

/** Environment variable that marks all processes of one `whet up`, including descendants. */
export const INSTANCE_VARIABLE = 'WHET_INSTANCE';

/**
 * Running processes with the mark of an instance, only of this user. Jailed processes have no mark; they end with their
 * parent.
 */
export const processesOfInstance = (instance: string): ProcessId[] =>
  processesWith((environment) => environment.includes(`${INSTANCE_VARIABLE}=${instance}`));

/** Like `processesOfInstance`, for every instance of a state directory. */
export const processesOfHome = (home: string): ProcessId[] =>
  processesWith(
    (environment) =>
      environment.includes(`WHET_HOME=${home}`) &&
      environment.some((variable) => variable.startsWith(`${INSTANCE_VARIABLE}=`)),
  );

/** Running processes of the process group that this process leads or led, including itself. */
export const processesOfGroup = (leader: number): ProcessId[] =>
  processIds()
    .filter((pid) => statFields(pid)?.[2] === String(leader))
    .flatMap((pid) => findProcess(pid) ?? []);

/**
 * Id of a process that holds a socket, by the socket's inode. Null if there is none, or if it belongs to another user.
 */
export const holderOfSocket = (inode: string): number | null =>
  processIds().find((pid) => orNone(() => readdirSync(`/proc/${pid}/fd`)).some(linksTo(pid, `socket:[${inode}]`))) ??
  null;

const linksTo =
  (pid: number, target: string) =>
  (fd: string): boolean =>
    orNone(() => [readlinkSync(`/proc/${pid}/fd/${fd}`)]).includes(target);

/** The lines or names from `read`. Empty for a process of another user, or for one that has just ended. */
function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function processesWith(isWanted: (environment: readonly string[]) => boolean): ProcessId[] {
  return processIds()
    .filter((pid) => pid !== process.pid)
    .filter((pid) => isWanted(orNone(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'))))
    .flatMap((pid) => findProcess(pid) ?? []);
}

/**
 * Ends processes: SIGTERM, and SIGKILL for those that still run after `graceMs`. Resolves when none is running. A later
 * process with the same number is not touched.
 */
export async function endProcesses(ids: readonly ProcessId[], graceMs = 10_000): Promise<void> {
  signalAll(ids, 'SIGTERM');
  if (await waitUntilGone(ids, graceMs)) return;
  signalAll(ids, 'SIGKILL');
  await waitUntilGone(ids, 5_000);
}

function signalAll(ids: readonly ProcessId[], signal: NodeJS.Signals): void {
  for (const id of ids.filter(isRunning)) {
    try {
      process.kill(id.pid, signal);
    } catch (error) {
      // The process ended between the check and the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

async function waitUntilGone(ids: readonly ProcessId[], limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (ids.some(isRunning)) {
    if (Date.now() > end) return false;
    await sleep(50);
  }
  return true;
}
