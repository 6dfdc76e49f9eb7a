import { readdirSync, readFileSync } from 'node:fs';

/**
 * A process: its number, and its start time in clock ticks since boot (Linux). A later process with the same number has
 * another start time.
 */
export interface ProcessId {
  pid: number;
  startTicks: number;
}

/**
 * The fields of /proc/PID/stat after the command's name, beginning with the state; null if there is no such process.
 */
export function statFields(pid: number): string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command's name is in parentheses and may contain anything, so fields are counted from the last parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** The process with its start time; null if it is not running or a zombie. */
export function findProcess(pid: number): ProcessId | null {
  const fields = statFields(pid);
  return fields === null || fields[0] === 'Z' ? null : { pid, startTicks: Number(fields[19]) };
}

/** Whether exactly this process runs, not another one with its number. */
export const isRunning = ({ pid, startTicks }: ProcessId): boolean => findProcess(pid)?.startTicks === startTicks;

/** Numbers of all processes that can be seen here. */
export const processIds = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
