import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LOCKED_EXIT_CODE } from '../../k8s/exit-codes';

/** How to start the trainer. */
export interface TrainerCommand {
  /** Python interpreter with the trainer's packages. */
  python: string;
  /** Directory of the package `whetstone`; becomes PYTHONPATH. */
  pythonPath: string;
  /** Arguments before `--job`; default `-m whetstone.train`. */
  arguments?: readonly string[];
}

/** What is known of a job's process from the files it leaves. */
export type TrainerState =
  { status: 'running'; processGroup: number } | { status: 'ended'; code: number } | { status: 'gone' };

/** What this worker knows and the trainer does not need. */
const SECRET = /KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL/i;

/**
 * Runs beside the trainer and outlives the worker: holds the directory's lock, records who it is, and keeps the exit
 * code, which only a parent is told. The lock's file is closed for the trainer, so that it is free as soon as this
 * shell is gone. The empty trap makes the shell wait for the trainer's own end when the group is told to stop.
 */
const WRAPPER = `
exec 9> trainer.lock
if command -v flock > /dev/null; then flock -n 9 || exit ${LOCKED_EXIT_CODE}; fi
trap : TERM INT HUP
rm -f trainer.exit
read -r line < "/proc/$$/stat" && printf '%s\\n' "$line" > trainer.stat.tmp && mv trainer.stat.tmp trainer.stat
"$@" 9>&-
code=$?
printf '%s\\n' "$code" > trainer.exit.tmp && mv trainer.exit.tmp trainer.exit
`;

/**
 * Starts the trainer in a session of its own, so that neither the worker's death nor a signal to its group reaches it.
 * Its output is appended to trainer.log of the directory; `jobs` are the job files, `more` is added to its environment.
 * Resolves with the wrapper's exit code when it ends; a caller that dies before is not needed.
 */
export function startTrainer(
  directory: string,
  jobs: readonly string[],
  { python, pythonPath, arguments: module = ['-m', 'whetstone.train'] }: TrainerCommand,
  more: Record<string, string> = {},
): Promise<number> {
  const log = openSync(join(directory, 'trainer.log'), 'a');
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !SECRET.test(name)));
  try {
    const child = spawn(
      '/bin/sh',
      ['-c', WRAPPER, 'trainer', python, ...module, ...jobs.flatMap((job) => ['--job', job])],
      {
        cwd: directory,
        detached: true,
        stdio: ['ignore', log, log],
        env: { ...environment, PYTHONPATH: pythonPath, PYTHONUNBUFFERED: '1', ...more },
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

/** Reads the state of the job in a directory. */
export async function trainerState(directory: string): Promise<TrainerState> {
  const recorded = parseStat(await readOr(join(directory, 'trainer.stat'), ''));
  if (recorded) {
    const now = parseStat(await readOr(`/proc/${recorded.pid}/stat`, ''));
    // The number may have been given to another process since; its start time tells. A zombie has ended.
    if (now && now.start === recorded.start && now.state !== 'Z' && now.state !== 'X')
      return { status: 'running', processGroup: recorded.pid };
  }
  const code = await readOr(join(directory, 'trainer.exit'), '');
  return code === '' ? { status: 'gone' } : { status: 'ended', code: Number(code) };
}

/** Whether the trainer of a directory runs and was started with a job file. */
export async function isTrainerOf(directory: string, job: string): Promise<boolean> {
  const state = await trainerState(directory);
  return (
    state.status === 'running' && (await readOr(`/proc/${state.processGroup}/cmdline`, '')).split('\0').includes(job)
  );
}

/**
 * Asks the job's whole process group to stop: SIGTERM makes the trainer write a checkpoint. Harmless when it is gone.
 */
export function signalTrainer(processGroup: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-processGroup, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The end of the trainer's log, without blank lines. */
export async function lastLogLines(directory: string, lines = 12, characters = 1_500): Promise<string> {
  const text = (await readOr(join(directory, 'trainer.log'), '')).trimEnd();
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-lines)
    .join('\n')
    .slice(-characters);
}

/** `/proc/<pid>/stat`: the name in parentheses may hold anything, so fields are counted from its end. */
function parseStat(line: string): { pid: number; state: string; start: string } | null {
  const close = line.lastIndexOf(')');
  if (close < 0) return null;
  const fields = line
    .slice(close + 2)
    .trim()
    .split(' ');
  return { pid: Number.parseInt(line, 10), state: fields[0] ?? '', start: fields[19] ?? '' };
}

async function readOr(path: string, otherwise: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return otherwise;
  }
}
