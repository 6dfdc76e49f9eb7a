import { z } from 'zod';
import type { TaskOrigin } from '../contracts/config/environment-kinds';
import { LineFaults } from './line-faults';
import { schemaProblems, shown, type SpecProblem } from './schema-problems';

/** Most bytes of tasks that are read, most tasks in them, and most characters of a line. */
export const MOST_TASK_BYTES = 50_000_000;
const MOST_TASKS = 200_000;
const MOST_CHARACTERS = 10_000;

/** Said of a field that is near no known one. */
const OWN_DATA = " Keep a task's own data in a file beside agent.yaml: the program finds it by the task's id.";

const taskSchema = z.strictObject({
  // tau2-bench has ids of 215 characters.
  id: z.string().min(1).max(400),
  split: z.string().min(1).max(100),
  group: z.string().min(1).max(200).optional(),
});
/** A named task, and the use of its split. */
export const namedTaskSchema = taskSchema.extend({ range: z.enum(['train', 'heldOut']) });
export type NamedTask = z.infer<typeof namedTaskSchema>;

/** Named tasks, train tasks first, or what is wrong with them. */
export type ReadTasks = { tasks: NamedTask[] } | { problems: SpecProblem[] };

/** The field of agent.yaml with the named tasks. */
const FIELD = 'environment.tasks';

/**
 * Reads named tasks: a JSON object a line. Refused are two tasks of one id, a group with train and held-out tasks, a
 * split that has no use, and lines without train tasks or without held-out tasks. A problem names the first line that
 * has it.
 * @param source what has the lines, in the words of a problem.
 */
export function readTaskLines(text: string, splits: TaskOrigin['splits'], source: string): ReadTasks {
  const none = (what: string): ReadTasks => ({ problems: [{ path: FIELD, message: `${source} has no ${what}.` }] });
  if (text.trim() === '') return none('line. Each line is a task');
  const read = new TaskLines(splits);
  for (const [index, line] of text.split('\n').entries()) {
    if (read.isOver) break;
    if (line.trim() !== '') read.add(line, index + 1);
  }
  const problems = [...read.faults.problems, ...read.problemsOfGroups].map((message) => ({
    path: FIELD,
    message: `${source}, ${message}`,
  }));
  if (problems.length > 0) return { problems };
  const ofRange = (range: NamedTask['range']) => read.tasks.filter((task) => task.range === range);
  const [train, heldOut] = [ofRange('train'), ofRange('heldOut')];
  for (const [range, tasks] of [
    ['train', train],
    ['heldOut', heldOut],
  ] as const)
    if (tasks.length === 0) return none(`task of split ${quoted(splits[range])} (environment.splits.${range})`);
  return { tasks: [...train, ...heldOut] };
}

/** What is wrong with the uses of splits: a problem, or none. */
export function problemsOfSplits({ train, heldOut }: TaskOrigin['splits']): SpecProblem[] {
  return train
    .filter((name) => heldOut.includes(name))
    .slice(0, 1)
    .map((name) => ({
      path: 'environment.splits.heldOut',
      message: `${shown(JSON.stringify(name))} is also in splits.train. Held-out tasks must never be seen before.`,
    }));
}

const quoted = (names: readonly string[]): string => names.map((name) => shown(JSON.stringify(name))).join(' or ');

/** The lines of tasks, which are checked against those before. */
class TaskLines {
  readonly tasks: NamedTask[] = [];
  readonly faults = new LineFaults();
  private isFull = false;
  private readonly lineOf = new Map<string, number>();
  private readonly groups = new Map<string, Partial<Record<NamedTask['range'], { count: number; first: number }>>>();

  constructor(private readonly splits: TaskOrigin['splits']) {}

  /** Whether no further line need be read. */
  get isOver(): boolean {
    return this.isFull || this.faults.isFull;
  }

  add(line: string, number: number): void {
    if (this.tasks.length === MOST_TASKS) {
      this.faults.add(number, '', `at most ${MOST_TASKS} tasks are read.`);
      this.isFull = true;
      return;
    }
    if (line.length > MOST_CHARACTERS) {
      this.faults.add(number, '', `has more than ${MOST_CHARACTERS} characters.`);
      return;
    }
    let document: unknown;
    try {
      document = JSON.parse(line);
    } catch {
      document = null;
    }
    if (typeof document !== 'object' || document === null || Array.isArray(document)) {
      // The message does not quote the line: through a link the path may lead to any file.
      this.faults.add(
        number,
        '',
        'is no JSON object. A line is {"id": "...", "split": "..."}, with "group" if it has one.',
      );
      return;
    }
    const parsed = taskSchema.safeParse(document);
    if (!parsed.success) {
      for (const { path, message } of schemaProblems(parsed.error, document, taskSchema)) {
        const isOwnData = message.startsWith('unknown field. Known');
        // What is allowed follows the value.
        this.faults.add(number, path, isOwnData ? message + OWN_DATA : message, message.split('. ').slice(1).join());
      }
      return;
    }
    const { id, split, group } = parsed.data;
    const range = this.splits.train.includes(split) ? 'train' : this.splits.heldOut.includes(split) ? 'heldOut' : null;
    if (range === null) {
      const known = quoted([...this.splits.train, ...this.splits.heldOut]);
      const allowed = `is not allowed. Allowed: ${known}, as environment.splits says.`;
      this.faults.add(number, 'split', `${shown(JSON.stringify(split))} ${allowed}`, allowed);
      return;
    }
    const first = this.lineOf.get(id);
    if (first !== undefined) {
      const rule = 'Each task has an id of its own.';
      this.faults.add(number, 'id', `${shown(JSON.stringify(id))} is also in line ${first}. ${rule}`, rule);
      return;
    }
    this.lineOf.set(id, number);
    this.countInGroup(group, range, number);
    this.tasks.push({ ...parsed.data, range });
  }

  private countInGroup(group: string | undefined, range: NamedTask['range'], line: number): void {
    if (group === undefined) return;
    const uses = this.groups.get(group) ?? {};
    const { count, first } = uses[range] ?? { count: 0, first: line };
    this.groups.set(group, { ...uses, [range]: { count: count + 1, first } });
  }

  /** A problem for each group with tasks of both uses, however many of its tasks there are. */
  get problemsOfGroups(): string[] {
    return [...this.groups].flatMap(([group, { train, heldOut }]) => {
      if (train === undefined || heldOut === undefined) return [];
      const [before, at] = [train.first, heldOut.first].sort((a, b) => a - b);
      return [
        `line ${at}, group: ${shown(JSON.stringify(group))} has train and held-out tasks (${train.count} and ` +
          `${heldOut.count}), see line ${before}. Tasks of a group are variants of one task, so all of them are for one ` +
          'use. Give them the same split, or take "group" from those that are no variants.',
      ];
    });
  }
}
