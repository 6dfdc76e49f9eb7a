import { readdir, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startOfProcess, WORKER_VERSION } from '../trainer-process';
import { directoriesOf, isOrphan, runOfKey } from './is-orphan';
import type { ReadRunStatus } from './run-over';

/** Time for a trainer to save its checkpoint; nobody waits for its end. */
const GRACE_MS = 60_000;
const POLL_MS = 250;

/** A process of a trainer: the wrapping shell, the trainer itself, or a fork for one of several trainings. */
interface TrainerProcess {
  pid: number;
  /** Start time in clock ticks, which distinguishes it from a later process with the same number. */
  start: string;
  runId: string;
  /** Absolute paths of the trainings that it was started with. */
  directories: string[];
}

/**
 * Stops the trainers of this machine whose run has ended. Each saves a checkpoint, and processes that still run after
 * the grace time are killed. Trainers of other stores are not touched.
 * @returns the runs whose trainers were stopped.
 * @throws if Temporal does not answer; then nothing is stopped.
 */
export async function stopOrphanProcesses(
  storeRoot: string,
  readStatus: ReadRunStatus,
  graceMs = GRACE_MS,
): Promise<string[]> {
  const orphans: TrainerProcess[] = [];
  for (const found of await trainerProcesses(storeRoot))
    if (await isOrphan(found.runId, found.directories, readStatus)) orphans.push(found);
  await signalAll(orphans, 'SIGTERM');
  for (const end = Date.now() + graceMs; Date.now() < end && (await anyRuns(orphans));)
    await sleep(POLL_MS, undefined, { ref: false });
  await signalAll(orphans, 'SIGKILL');
  return [...new Set(orphans.map(({ runId }) => runId))];
}

async function trainerProcesses(storeRoot: string): Promise<TrainerProcess[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(pids.map((pid) => trainerProcess(pid, storeRoot)));
  return found.filter((one) => one !== null);
}

async function trainerProcess(pid: number, storeRoot: string): Promise<TrainerProcess | null> {
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  const directories = directoriesOf(words);
  const runs = new Set(directories.map((directory) => runOfKey(relative(storeRoot, directory))));
  const [runId] = runs;
  if (runs.size !== 1 || runId === undefined || runId === null || !(await isWorkers(pid))) return null;
  const start = await startOfProcess(pid);
  return start === null ? null : { pid, start, runId, directories };
}

/**
 * Whether a worker has started a trainer. A trainer that a person started by hand, to investigate a run, is not
 * touched.
 */
async function isWorkers(pid: number): Promise<boolean> {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').some((line) => line.startsWith(`${WORKER_VERSION}=`));
}

const runs = async ({ pid, start }: TrainerProcess): Promise<boolean> => (await startOfProcess(pid)) === start;

async function anyRuns(processes: readonly TrainerProcess[]): Promise<boolean> {
  return (await Promise.all(processes.map(runs))).some(Boolean);
}

async function signalAll(processes: readonly TrainerProcess[], signal: NodeJS.Signals): Promise<void> {
  for (const one of processes) {
    if (!(await runs(one))) continue;
    try {
      process.kill(one.pid, signal);
    } catch (error) {
      // It has ended by itself, or belongs to another user.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ESRCH' && code !== 'EPERM') throw error;
    }
  }
}
