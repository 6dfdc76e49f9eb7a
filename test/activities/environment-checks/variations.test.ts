// Tier: unit.
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import {
  policyView,
  randomCalls,
  spamByTool,
  spamCalls,
} from '../../../activities/environment-checks/scripted-policies';
import { siblingsOf } from '../../../activities/environment-checks/sibling-values';
import type { Variation } from '../../../activities/environment-checks/variation-parts';
import { materialOf, variationsOf } from '../../../activities/environment-checks/variations';
import type { EnvironmentMove, EnvironmentTool } from '../../../contracts/messages/environment-protocol';

const TOOLS = Object.entries({ pay: ['order', 'amount'], open: ['order'], tell: ['text'] }).map(
  ([name, keys]): EnvironmentTool => ({
    type: 'function',
    function: {
      name,
      parameters: { type: 'object', properties: Object.fromEntries(keys.map((key) => [key, { type: 'string' }])) },
    },
  }),
);
const HIDDEN = {
  orders: { 41: { total: 70, fee: 5, items: ['mug', 'pen'] }, 52: { total: 90, fee: 8, items: ['rug'] } },
  queue: [
    { place: 1, guest: 'ann lee' },
    { place: 2, guest: 'bob ray' },
  ],
};
const call = (name: string, given: Record<string, unknown>): EnvironmentMove => ({ name, arguments: given });
const taskOf = (seed: number): EnvironmentTask => ({
  seed,
  messages: [{ role: 'user', content: 'pay order 41 back' }],
  reference: [call('pay', { order: '41', amount: 70 }), call('tell', { text: '41 is paid' })],
  skillCalls: [0],
  hidden: HIDDEN,
});
const TEXTS = Array.from({ length: 40 }, (_, number) => `text number ${number}`);
const material = materialOf(TOOLS, [taskOf(1)], TEXTS);
const of = (change: string, all = variationsOf(taskOf(1), material, 0)): Variation[] =>
  all.filter((one) => one.change === change);
const movesOf = (change: string): EnvironmentMove[] => of(change)[0]!.moves;

test.each([
  ['a key of a table', '41', { others: ['52'], fields: [] }],
  ['a field of a record in a table', 70, { others: [90], fields: [5] }],
  ['a field of a record in a list', 'ann lee', { others: ['bob ray'], fields: [] }],
  ['an element of a list', 'mug', { others: ['pen'], fields: [] }],
  ['a value that the task does not have', 'rope', { others: [], fields: [] }],
])('%s has the other values of its kind', (_what, value, siblings) => {
  expect(siblingsOf(HIDDEN, value)).toEqual(siblings);
});

test('wrong arguments are values of other objects and fields of the task, and nearly right ones', () => {
  expect(movesOf('other pay.order')[0]).toEqual(call('pay', { order: '52', amount: 70 }));
  expect(movesOf('other pay.amount')[0]).toEqual(call('pay', { order: '41', amount: 90 }));
  expect(movesOf('field pay.amount')[0]).toEqual(call('pay', { order: '41', amount: 5 }));
  expect(movesOf('near pay.amount')[0]).toEqual(call('pay', { order: '41', amount: 69 }));
  expect(movesOf('near pay.order')[0]).toEqual(call('pay', { order: '14', amount: 70 }));
});

test('a call is repeated, alone and after a right beginning', () => {
  expect(movesOf('only pay')).toHaveLength(6);
  expect(movesOf('stuck at tell')).toHaveLength(7);
});

test('each of the texts is said in every eighth task', () => {
  const said = Array.from({ length: 32 }, (_, place) => variationsOf(taskOf(place), material, place)).flatMap((all) => [
    ...new Set(of('other words say', all).map((one) => one.said!)),
  ]);
  for (const text of TEXTS) expect(said.filter((one) => one === text).length).toBeGreaterThanOrEqual(4);
});

test('a wrong try before the right call may be a fault, and so may a wrong call besides it', () => {
  expect(of('try pay.order')[0]).toMatchObject({ kind: 'either', given: 'again pay' });
  expect(movesOf('besides pay.order').slice(0, 2)).toEqual([
    call('pay', { order: '41', amount: 70 }),
    call('pay', { order: '52', amount: 70 }),
  ]);
});

test('another tool takes the place of the right one, with arguments of the solution', () => {
  expect(movesOf('open instead of pay')).toEqual([call('open', { order: '41' }), call('tell', { text: '41 is paid' })]);
});

test('of several calls of a tool, all are made twice', () => {
  const [first, second, last] = [call('open', { order: '41' }), call('open', { order: '52' }), taskOf(1).reference[1]!];
  const all = variationsOf({ ...taskOf(1), reference: [first, second, last] }, material, 0);
  expect(of('all twice open', all)[0]!.moves).toEqual([first, first, second, second, last]);
  expect(of('all twice pay')).toHaveLength(0);
});

test.each<[string, string, Record<string, unknown>, unknown]>([
  ['a field of the task’s data about an object of the solution', 'total', HIDDEN, '70'],
  ['an element of the list of all', 'item', { items: ['mug'] }, 'mug'],
  ['a key of the table of all', 'item', { items: { pen: { price: 1 } } }, 'pen'],
  ['a value in other solutions', 'amount', {}, '5'],
  ['any text', 'reason', {}, expect.stringMatching(/^I have read this/)],
])('a needless call takes an argument from %s', (_what, key, hidden, value) => {
  const note = { ...TOOLS[0]!, function: { ...TOOLS[1]!.function, name: 'note' } };
  note.function.parameters = { type: 'object', properties: { [key]: { type: 'string' } } };
  const orders = { 41: { total: '70' }, 52: { total: '90' } };
  const task = { ...taskOf(1), reference: [call('open', { order: '41' })], hidden: { orders, ...hidden } };
  const other = { ...task, reference: [call('pay', { order: '52', amount: '5' })] };
  const all = variationsOf(
    { ...task, hidden: key === 'total' ? { orders } : hidden },
    materialOf([...TOOLS, note], [task, other]),
    0,
  );
  expect(of('needless note', all)[0]!.moves).toEqual([call('note', { [key]: value }), task.reference[0]]);
});

test('the ending of another task is taken over with the names and numbers of this one', () => {
  const solved = (order: string, guest: string, ...rest: EnvironmentMove[]): EnvironmentTask => ({
    ...taskOf(1),
    reference: [call('open', { order }), ...rest],
    hidden: { guest, total: Number(order) + 1, wanted: rest.at(-1) },
  });
  const here = solved('41', 'ann lee', call('tell', { text: 'too late for 41' }));
  const there = solved(
    '52',
    'bob ray',
    call('pay', { order: '52', amount: 53 }),
    call('tell', { text: 'bob ray has 52 (53)' }),
  );
  const all = variationsOf(here, materialOf(TOOLS, [here, there]), 0);
  expect(of('pay, tell after open', all)[0]!.moves).toEqual([
    call('open', { order: '41' }),
    call('pay', { order: '41', amount: 42 }),
    call('tell', { text: 'ann lee has 41 (42)' }),
  ]);
});

test('a call comes after all others before the answer, where it is not merely swapped with the next one', () => {
  const [open, pay, again, tell] = [
    call('open', { order: '41' }),
    call('pay', { order: '41', amount: 70 }),
    call('pay', { order: '52', amount: 90 }),
    call('tell', { text: '41 is paid' }),
  ];
  const all = variationsOf({ ...taskOf(1), reference: [open, pay, again, tell] }, material, 0);
  expect(of('late open', all).map(({ moves }) => moves)).toEqual([[pay, again, open, tell]]);
  expect(of('late pay', all)).toHaveLength(0);
});

test('without tools the malformed call names none that there is, and the policies call nothing', () => {
  const talk: EnvironmentTask = { ...taskOf(1), reference: [{ text: '41 is paid' }], skillCalls: [] };
  const [malformed] = variationsOf(talk, materialOf([], [talk], TEXTS), 0).filter(
    ({ change }) => change === 'malformed first',
  );
  expect(malformed!.moves[0]).toEqual(call('no_such_tool', {}));
  const view = policyView(talk, []);
  expect([randomCalls(view), spamCalls(view), spamByTool(view)]).toEqual([[], [], []]);
});
