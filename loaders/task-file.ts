import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import type { TaskOrigin } from '../contracts/config/environment-kinds';
import { readBounded, UnreadableFileError } from './read-bounded';
import { shown } from './schema-problems';
import { MOST_TASK_BYTES, type ReadTasks, readTaskLines } from './task-lines';

/**
 * Reads a file of named tasks, as `readTaskLines` does.
 * @param folder of agent.yaml, which must hold the file.
 */
export function readTaskFile(folder: string, { file, splits }: Extract<TaskOrigin, { file: string }>): ReadTasks {
  const path = resolve(folder, file);
  const refused = (words: string): ReadTasks => ({
    problems: [{ path: 'environment.tasks', message: `${shown(JSON.stringify(file))}${words}` }],
  });
  // A worker could read files that the author of agent.yaml may not, and problems quote lines.
  if (!isInside(path, folder)) return refused(' is not in the folder of agent.yaml, or leads out of it.');
  let text: string;
  try {
    text = readBounded(path, MOST_TASK_BYTES).toString('utf8');
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    return refused(`: ${error.sentence}`);
  }
  return readTaskLines(text, splits, shown(file));
}

/** Whether a path, and what it leads to, lies in a folder. A path to nothing is judged by its words. */
function isInside(path: string, folder: string): boolean {
  const real = (at: string): string => (existsSync(at) ? realpathSync(at) : at);
  return isWithin(path, folder) && isWithin(real(path), real(folder));
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}
