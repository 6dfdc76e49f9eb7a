// tier: unit
import { missingValue } from '../../../../activities/identify/causes/missing-value';
import { separatingTools } from '../../../../activities/identify/causes/separating-tool';
import type { ArgumentSources } from '../../../../activities/identify/causes/unseen-values';
import { LABEL_CODES } from '../../../../activities/identify/verdicts/label-codes';
import { trajectoryOutcomes } from '../../../../activities/identify/verdicts/task-sums';

const { NA, PRESENT, LACKING } = LABEL_CODES;
const source = (kind: 'unseen' | 'seen' | 'none'): ArgumentSources => ({
  unseen: new Set(kind === 'unseen' ? ['open.code'] : []),
  seen: new Set(kind === 'seen' ? ['open.code'] : []),
});
type Group = [count: number, code: number, kind: 'unseen' | 'seen' | 'none', success: boolean];
const judge = (groups: Group[]) => {
  const episodes = groups.flatMap(([count, code, kind, success]) => Array(count).fill({ code, kind, success }));
  return missingValue(
    Uint8Array.from(episodes, ({ code }) => code as number),
    episodes.map(({ kind }) => source(kind as 'seen')),
    trajectoryOutcomes(episodes.map(({ success }, task) => ({ success: success as boolean, task }))),
  );
};
const NOTHING: Group = [100, NA, 'none', true];

test('a value that the agent can only guess where it lacks the capability', () => {
  // A few labels are wrong, and one guess was right.
  const found = judge([
    [24, LACKING, 'unseen', false],
    [1, PRESENT, 'unseen', true],
    [8, LACKING, 'none', false],
    NOTHING,
  ]);
  expect(found).toEqual({ argument: 'open.code', episodes: 25, succeeded: 1 });
});

test.each<[string, Group[]]>([
  [
    'a choice: episodes with it succeed as well',
    [
      [24, LACKING, 'unseen', false],
      [6, PRESENT, 'unseen', true],
    ],
  ],
  [
    'others succeed with the value from a message',
    [
      [24, LACKING, 'unseen', false],
      [6, PRESENT, 'seen', true],
    ],
  ],
  ['too few tasks', [[9, LACKING, 'unseen', false]]],
  [
    'the failures lack it for another reason',
    [
      [12, LACKING, 'unseen', false],
      [20, LACKING, 'none', false],
    ],
  ],
  [
    'the value has to do with another capability',
    [
      [12, LACKING, 'unseen', false],
      [20, NA, 'unseen', false],
    ],
  ],
])('nothing is missing: %s', (_, groups) => {
  expect(judge([...groups, NOTHING])).toBeNull();
});

const tools = (groups: [count: number, code: number, ...called: string[]][]) =>
  separatingTools(
    Uint8Array.from(groups.flatMap(([count, code]) => Array<number>(count).fill(code))),
    groups.flatMap(([count, , ...called]) => Array<ReadonlySet<string>>(count).fill(new Set(called))),
  ).map(({ tool }) => tool);

test('the tool whose call tells PRESENT from LACKING, wrong labels allowed for', () => {
  const found = tools([
    [40, PRESENT, 'log', 'spin'],
    [3, PRESENT, 'spin'],
    [30, LACKING, 'spin'],
    [2, LACKING, 'log', 'spin'],
    [50, NA, 'log'],
  ]);
  expect(found).toEqual(['log']);
});

test.each<[string, [count: number, code: number, ...called: string[]][]]>([
  [
    'both call it',
    [
      [40, PRESENT, 'place'],
      [30, LACKING, 'place'],
    ],
  ],
  [
    'those that lack it call a tool more',
    [
      [40, PRESENT],
      [30, LACKING, 'spin'],
    ],
  ],
  [
    'too few episodes lack it',
    [
      [40, PRESENT, 'log'],
      [9, LACKING],
    ],
  ],
])('no tool separates: %s', (_, groups) => {
  expect(tools(groups)).toEqual([]);
});
