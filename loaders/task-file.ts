import { resolve } from 'node:path';
import type { TaskOrigin } from '../contracts/config/environment-kinds';
import { isWithin, realPlace } from '../contracts/paths';
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
  if (!isWithin(path, folder) || !isWithin(realPlace(path), realPlace(folder)))
    return refused(' is not in the folder of agent.yaml, or leads out of it.');
  let text: string;
  try {
    text = readBounded(path, MOST_TASK_BYTES).toString('utf8');
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    return refused(`: ${error.sentence}`);
  }
  return readTaskLines(text, splits, shown(file));
}
