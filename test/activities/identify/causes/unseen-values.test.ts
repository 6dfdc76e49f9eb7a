// tier: unit
import { argumentSources } from '../../../../activities/identify/causes/unseen-values';
import type { ChatMessage } from '../../../../contracts/artifacts/trajectory';

const call = (name: string, given: unknown): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name, arguments: JSON.stringify(given) } }],
});
const tool = (content: string): ChatMessage => ({ role: 'tool', content, tool_call_id: 'c' });
const OPENING: ChatMessage = {
  role: 'user',
  content: 'Sample AB-417 of Ana Weber, drawn on 7 March 2026; 120 and 35 ml.',
};
const unseen = (...messages: ChatMessage[]) => [...argumentSources([OPENING, ...messages]).unseen];

test.each([
  ['a word of the opening', { name: 'Weber, Ana' }],
  ['another form', { id: 'ab417' }],
  ['a date in another form', { date: '2026-07' }],
  ['a day that was computed', { day: '2026-11-30', until: '30.11.2027', due: '2027-01-15T08:30', on: '9 May 2027' }],
  ['a decimal value', { rate: 0.175, share: '17.25%', price: '1234,56' }],
  ['a sum', { total: 155 }],
  ['a product', { area: 4200 }],
  ['a neighbour', { next: 121 }],
  ['a part of it', { number: 417 }],
  ['yes', { ok: true }],
  ['a short choice', { rack: 50 }],
  ['a text of the agent', { note: 'the sample was sent to the other bench today' }],
  ['a value in a list of objects', { items: [{ id: 'AB-417' }] }],
])('%s has a source', (_, given) => {
  expect(unseen(call('do', given))).toEqual([]);
});

test('a code that nobody said has none', () => {
  expect(unseen(call('open', { code: 'XK-9921', id: 'AB-417' }))).toEqual(['open.code']);
  expect(unseen(call('open', { code: 99218 }))).toEqual(['open.code']);
});

test('the latest numbers are those from which others follow', () => {
  const earlier = Array.from({ length: 90 }, (_, i) => String(10 ** 6 + 1000 * i)).join(' ');
  expect(unseen(tool(earlier), tool('70001 and 52003'), call('pay', { total: 122004 }))).toEqual([]);
});

test('a code that only resembles a date or a decimal value is none', () => {
  expect(unseen(call('open', { code: '4417-99', id: '31.7.4417.2' }))).toEqual(['open.code', 'open.id']);
});

test('what a tool returned before is a source, what it returns afterwards or what the agent said is none', () => {
  expect(unseen(call('find', { id: 'AB-417' }), tool('{"code":"XK-9921"}'), call('open', { code: 'xk-9921' }))).toEqual(
    [],
  );
  expect(unseen(call('open', { code: 'XK-9921' }), tool('code XK-9921 is wrong'))).toEqual(['open.code']);
  const said: ChatMessage = { role: 'assistant', content: 'I take XK-9921.' };
  expect(unseen(said, call('open', { code: 'XK-9921' }))).toEqual(['open.code']);
});

test('arguments that are no JSON have no values', () => {
  const broken = call('open', {});
  broken.tool_calls![0]!.function.arguments = '{"code": XK';
  expect(unseen(broken)).toEqual([]);
});
