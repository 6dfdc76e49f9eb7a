import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { z } from 'zod';
import type { taskFileOf } from '../contracts/config/environment-kinds';
import { readBounded, UnreadableFileError } from './read-bounded';
import { schemaProblems, shown, type SpecProblem } from './schema-problems';

/** Largest file of tasks that is read, in bytes, and most tasks in it. */
const LARGEST_BYTES = 50_000_000;
const MOST_TASKS = 200_000;

const taskSchema = z.strictObject({
  // tau2-bench has ids of 215 characters.
  id: z.string().min(1).max(400),
  split: z.string().min(1).max(100),
  group: z.string().min(1).max(200).optional(),
});
/** A named task, and the use of its split. */
export interface NamedTask extends z.infer<typeof taskSchema> {
  range: 'train' | 'heldOut';
}

/** The tasks of a file, train tasks first, or what is wrong with it. */
export type ReadTasks = { tasks: NamedTask[] } | { problems: SpecProblem[] };

/**
 * Reads a file of named tasks: a JSON object a line. Refused are two tasks of one id, a group with train and held-out
 * tasks, a split that has no use, and a file without train tasks or without held-out tasks. Problems name the line.
 * @param folder of agent.yaml, which must hold the file.
 */
export function readTaskFile(folder: string, { file, splits }: NonNullable<ReturnType<typeof taskFileOf>>): ReadTasks {
  const field = 'environment.tasks';
  const path = resolve(folder, file);
  const both = splits.train.filter((name) => splits.heldOut.includes(name));
  if (both.length > 0) {
    const message = `${shown(JSON.stringify(both[0]))} is also in splits.train. Held-out tasks must never be seen before.`;
    return { problems: [{ path: 'environment.splits.heldOut', message }] };
  }
  // A worker could read files that the author of agent.yaml may not, and problems quote lines.
  if (!isInside(path, folder)) {
    const message = `${shown(JSON.stringify(file))} is not in the folder of agent.yaml, or leads out of it.`;
    return { problems: [{ path: field, message }] };
  }
  let text: string;
  try {
    text = readBounded(path, LARGEST_BYTES).toString('utf8');
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    return { problems: [{ path: field, message: `${shown(JSON.stringify(file))}: ${error.sentence}` }] };
  }
  const read = new TaskLines(splits);
  for (const [index, line] of text.split('\n').entries()) if (line.trim() !== '') read.add(line, index + 1);
  const problems = read.problems.map((message) => ({ path: field, message: `${shown(file)}, ${message}` }));
  if (problems.length > 0) return { problems };
  const ofRange = (range: NamedTask['range']) => read.tasks.filter((task) => task.range === range);
  const [train, heldOut] = [ofRange('train'), ofRange('heldOut')];
  for (const [range, tasks] of [
    ['train', train],
    ['heldOut', heldOut],
  ] as const)
    if (tasks.length === 0) {
      const message = `${shown(file)} has no task of split ${quoted(splits[range])} (environment.splits.${range}).`;
      return { problems: [{ path: field, message }] };
    }
  return { tasks: [...train, ...heldOut] };
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

const quoted = (names: readonly string[]): string => names.map((name) => shown(JSON.stringify(name))).join(' or ');

/** The lines of a file of tasks, which are checked against those before. */
class TaskLines {
  readonly tasks: NamedTask[] = [];
  readonly problems: string[] = [];
  private readonly lineOf = new Map<string, number>();
  private readonly groups = new Map<string, { range: NamedTask['range']; line: number }>();

  constructor(private readonly splits: { train: string[]; heldOut: string[] }) {}

  add(line: string, number: number): void {
    const at = `line ${number}`;
    if (this.tasks.length === MOST_TASKS) {
      this.problems.push(`${at}: at most ${MOST_TASKS} tasks are read.`);
      return;
    }
    let document: unknown;
    try {
      document = JSON.parse(line);
    } catch {
      // The message does not quote the line: through a link the path may lead to any file.
      this.problems.push(
        `${at}: is no JSON object. A line is {"id": "...", "split": "..."}, with "group" if it has one.`,
      );
      return;
    }
    const parsed = taskSchema.safeParse(document);
    if (!parsed.success) {
      const faults = schemaProblems(parsed.error, document, taskSchema);
      this.problems.push(...faults.map(({ path, message }) => `${at}${path === '' ? '' : `, ${path}`}: ${message}`));
      return;
    }
    const { id, split, group } = parsed.data;
    const range = this.splits.train.includes(split) ? 'train' : this.splits.heldOut.includes(split) ? 'heldOut' : null;
    if (range === null) {
      const known = quoted([...this.splits.train, ...this.splits.heldOut]);
      this.problems.push(
        `${at}, split: ${shown(JSON.stringify(split))} is not allowed. Allowed: ${known}, as environment.splits says.`,
      );
      return;
    }
    const first = this.lineOf.get(id);
    if (first !== undefined) {
      this.problems.push(
        `${at}, id: ${shown(JSON.stringify(id))} is also in line ${first}. Each task has an id of its own.`,
      );
      return;
    }
    this.lineOf.set(id, number);
    this.checkGroup(group, range, number);
    this.tasks.push({ ...parsed.data, range });
  }

  private checkGroup(group: string | undefined, range: NamedTask['range'], number: number): void {
    if (group === undefined) return;
    const before = this.groups.get(group);
    if (before === undefined) this.groups.set(group, { range, line: number });
    else if (before.range !== range)
      this.problems.push(
        `line ${number}, group: ${shown(JSON.stringify(group))} has train and held-out tasks, see line ${before.line}. ` +
          'Tasks of a group are alike, so all of them are for one use.',
      );
  }
}
