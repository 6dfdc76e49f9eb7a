import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectVersion } from '../../contracts/project-version';
import { textOfEnd } from '../../contracts/clean-text';
import { TRAINER_EXIT_CODES } from '../../k8s/exit-codes';
import { relevantLines } from '../../k8s/relevant-lines';
import { readEnd } from '../../loaders/read-bounded';

/** How to start the trainer. */
export interface TrainerCommand {
  /** Python interpreter with the trainer's packages. */
  python: string;
  /** Directory of the package `whetstone`; becomes PYTHONPATH. */
  pythonPath: string;
  /** Arguments before `--job`; default: `-m whetstone.train`. */
  arguments?: readonly string[];
}

/**
 * The state of a trainer's process according to the files of its directory. `gone`: it was killed before it could
 * record its end.
 */
type TrainerState =
  { status: 'running'; processGroup: number } | { status: 'ended'; code: number } | { status: 'gone' };

/** Variable with the version of the worker that started a trainer. */
export const WORKER_VERSION = 'WHET_WORKER_VERSION';

/** Environment variables with such names are not passed to the trainer. Reports are for trainers in pods. */
const WITHHELD = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|^WHET_REPORT/i;

/**
 * Shell script that is the trainer's parent process and outlives the worker. It holds the directory's lock and records
 * its process in trainer.stat. It also writes the trainer's exit code, which only a parent gets, to trainer.exit. The
 * trainer does not inherit the lock's file descriptor, so the lock is free as soon as the shell is gone. The empty trap
 * makes the shell wait for the trainer's own end when the process group gets a signal to stop. From then on the group
 * ignores such signals. Otherwise `mv` would be killed, and the exit code would be lost.
 */
const WRAPPER = `
exec 9> trainer.lock
if command -v flock > /dev/null; then flock -n 9 || exit ${TRAINER_EXIT_CODES.locked}; fi
trap : TERM INT HUP
rm -f trainer.exit
read -r line < "/proc/$$/stat" && printf '%s\\n' "$line" > trainer.stat.tmp && mv trainer.stat.tmp trainer.stat
"$@" 9>&-
code=$?
trap '' TERM INT HUP
printf '%s\\n' "$code" > trainer.exit.tmp && mv trainer.exit.tmp trainer.exit
`;

/**
 * Starts the trainer in its own session, so that neither the worker's death nor a signal to the worker's process group
 * ends it. Its output is appended to trainer.log in the directory.
 * @param jobs paths of the job files.
 * @returns the wrapper's exit code, once it has ended. The trainer continues if the caller dies before.
 */
export function startTrainer(
  directory: string,
  jobs: readonly string[],
  { python, pythonPath, arguments: module = ['-m', 'whetstone.train'] }: TrainerCommand,
): Promise<number> {
  const log = openSync(join(directory, 'trainer.log'), 'a');
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !WITHHELD.test(name)));
  try {
    const child = spawn(
      '/bin/sh',
      ['-c', WRAPPER, 'trainer', python, ...module, ...jobs.flatMap((job) => ['--job', job])],
      {
        cwd: directory,
        detached: true,
        stdio: ['ignore', log, log],
        env: {
          ...environment,
          PYTHONPATH: pythonPath,
          PYTHONUNBUFFERED: '1',
          [WORKER_VERSION]: projectVersion(),
        },
      },
    );
    child.unref();
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code) => resolve(code ?? -1));
    });
  } finally {
    closeSync(log);
  }
}

/** Reads the state of the trainer in a directory. */
export async function trainerState(directory: string): Promise<TrainerState> {
  const recorded = parseStat(await readOrEmpty(join(directory, 'trainer.stat')));
  // The process id may belong to another process by now, with another start time.
  if (recorded && (await startOfProcess(recorded.pid)) === recorded.start)
    return { status: 'running', processGroup: recorded.pid };
  const code = await readOrEmpty(join(directory, 'trainer.exit'));
  return code === '' ? { status: 'gone' } : { status: 'ended', code: Number(code) };
}

/** Whether the trainer of a directory is running and was started with this job file. */
export async function isTrainerOf(directory: string, job: string): Promise<boolean> {
  const state = await trainerState(directory);
  return (
    state.status === 'running' && (await readOrEmpty(`/proc/${state.processGroup}/cmdline`)).split('\0').includes(job)
  );
}

/**
 * Sends a signal to the trainer's whole process group; does nothing if the group is gone. On SIGTERM the trainer saves
 * a checkpoint and stops.
 */
export function signalTrainer(processGroup: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-processGroup, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Largest number of bytes that are read of a log's end. */
const LOG_TAIL_BYTES = 64 << 10;

/** The lines of the trainer's log that say why it ended. */
export function lastLogLines(directory: string): string {
  let log = '';
  try {
    log = textOfEnd(readEnd(join(directory, 'trainer.log'), LOG_TAIL_BYTES));
  } catch {
    // It wrote none.
  }
  return relevantLines(log, { lines: 12, characters: 1_500 });
}

/** Start time of a process in clock ticks; null if it is not running. A zombie counts as ended. */
export async function startOfProcess(pid: number): Promise<string | null> {
  const stat = parseStat(await readOrEmpty(`/proc/${pid}/stat`));
  return stat === null || stat.state === 'Z' || stat.state === 'X' ? null : stat.start;
}

/** Parses `/proc/<pid>/stat`. The name in parentheses may contain anything, so fields are counted from its end. */
function parseStat(line: string): { pid: number; state: string; start: string } | null {
  const close = line.lastIndexOf(')');
  if (close < 0) return null;
  const fields = line
    .slice(close + 2)
    .trim()
    .split(' ');
  return { pid: Number.parseInt(line, 10), state: fields[0] ?? '', start: fields[19] ?? '' };
}

/** The text of a file; empty when it cannot be read. */
const readOrEmpty = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
