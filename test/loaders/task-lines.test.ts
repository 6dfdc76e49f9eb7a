// tier: unit
import { readTaskLines } from '../../loaders/task-lines';

const SPLITS = { train: ['train'], heldOut: ['test'] };
const line = (id: string, split: string, group?: string): string => JSON.stringify({ id, split, group });
const read = (...lines: string[]) => readTaskLines(lines.join('\n'), SPLITS, 'tasks.jsonl');

/** The words of what is wrong. */
function problems(...lines: string[]): string[] {
  const result = read(...lines);
  return 'problems' in result ? result.problems.map(({ message }) => message) : [];
}

const GOOD = [line('a', 'train'), line('b', 'test')];

test('train tasks come first, and each has the use of its split', () => {
  expect(read(line('a', 'test'), line('b', 'train', 'g'))).toEqual({
    tasks: [
      { id: 'b', split: 'train', group: 'g', range: 'train' },
      { id: 'a', split: 'test', range: 'heldOut' },
    ],
  });
});

test.each([
  ['empty', ['']],
  ['blank', ['', '  ', '']],
])('%s lines are no tasks', (_, lines) => {
  expect(problems(...lines)).toEqual(['tasks.jsonl has no line. Each line is a task.']);
});

test('names that mean something to programs are ids like others', () => {
  const ids = ['__proto__', 'constructor', '../../etc/passwd', '/', '\u0000', '\u001b[2J', '\ud800', 'a\nb'];
  const result = read(...ids.map((id) => line(id, 'train')), line('toString', 'test', '__proto__'));
  expect('tasks' in result && result.tasks.map(({ id }) => id)).toEqual([...ids, 'toString']);
  // An object with this key, not one with another prototype.
  expect(problems('{"__proto__": {"id": "a", "split": "train"}}', ...GOOD)).not.toEqual([]);
  expect(problems('{"id": "c", "split": "train", "__proto__": {}}', ...GOOD)).not.toEqual([]);
  expect(problems('{"id": "__proto__", "split": "__proto__"}', ...GOOD)[0]).toMatch(
    /line 1, split: "__proto__" is not/,
  );
});

test.each([
  ['a list', '["a", "train"]'],
  ['a text', '"a"'],
  ['null', 'null'],
  ['a number as an id', '{"id": 1, "split": "train"}'],
  ['an empty id', '{"id": "", "split": "train"}'],
  ['an id that is too long', line('x'.repeat(401), 'train')],
  ['a group that is too long', line('c', 'train', 'x'.repeat(201))],
  ['JSON that goes on in another line', '{"id": "c",'],
  ['two objects', `${line('c', 'train')} ${line('d', 'train')}`],
  ['lists in lists', '['.repeat(9_000)],
])('%s is no task, and its line is named', (_, wrong) => {
  expect(problems(...GOOD, wrong)).toEqual([expect.stringMatching(/^tasks\.jsonl, line 3[:,] /)]);
});

test('the same id or group for both uses is refused, with both lines', () => {
  expect(problems(line('a', 'train'), line('a', 'test'))[0]).toContain('line 2, id: "a" is also in line 1.');
  expect(problems(line('a', 'train', 'g'), line('b', 'test', 'g'))[0]).toContain('line 2, group: "g" has train and');
});

test('a long line, too many tasks and too many problems end the reading', () => {
  const long = `${line('c', 'train')}${' '.repeat(10_000)}`;
  expect(problems(...GOOD, long)).toEqual(['tasks.jsonl, line 3: has more than 10000 characters.']);
  // So many lines are too many arguments.
  const many = Array.from({ length: 200_002 }, (_, i) => line(String(i), i === 0 ? 'test' : 'train'));
  expect(problems(many.join('\n'))).toEqual(['tasks.jsonl, line 200001: at most 200000 tasks are read.']);
  expect(problems(...Array.from({ length: 5_000 }, () => 'no JSON'))).toEqual([
    expect.stringMatching(/^tasks\.jsonl, line 1: is no JSON object\. .* This fault is in at least 1000 lines\.$/),
  ]);
});

test('a fault of many lines is one problem, with the first line and what to do', () => {
  const many = Array.from(
    { length: 60 },
    (_, at) => `{"id": "t${at}", "split": "train", "artwork": ${at}, "grup": ""}`,
  );
  expect(problems(...GOOD, ...many)).toEqual([
    "tasks.jsonl, line 3, artwork: unknown field. Known here: id, split, group. Keep a task's own data in a file beside " +
      "agent.yaml: the program finds it by the task's id. This fault is in 60 lines.",
    'tasks.jsonl, line 3, grup: unknown field. Did you mean group? Known here: id, split, group. This fault is in 60 ' +
      'lines.',
  ]);
  expect(
    problems(...GOOD, line('c', 'dev'), line('d', 'devel'), line('a', 'test'), line('b', 'test'), '{"id": 1}'),
  ).toEqual([
    'tasks.jsonl, line 3, split: "dev" is not allowed. Allowed: "train" or "test", as environment.splits says. This ' +
      'fault is in 2 lines.',
    'tasks.jsonl, line 5, id: "a" is also in line 1. Each task has an id of its own. This fault is in 2 lines.',
    'tasks.jsonl, line 7, id: 1 is not allowed. Allowed: a text.',
    'tasks.jsonl, line 7, split: is missing. Allowed: a text.',
  ]);
});

test('a group for both uses is one problem, however many tasks it has', () => {
  const many = Array.from({ length: 60 }, (_, at) => line(`t${at}`, at < 40 ? 'train' : 'test', 'g'));
  expect(problems(...many)).toEqual([
    'tasks.jsonl, line 41, group: "g" has train and held-out tasks (40 and 20), see line 1. Tasks of a group are variants of ' +
      'one task, so all of them are for one use. Give them the same split, or take "group" from those that are no ' +
      'variants.',
  ]);
  expect(
    problems(line('a', 'test', 'g'), line('b', 'train', 'h'), line('c', 'train', 'g'), line('d', 'test', 'h')),
  ).toEqual([expect.stringContaining('line 3, group: "g"'), expect.stringContaining('line 4, group: "h"')]);
});
