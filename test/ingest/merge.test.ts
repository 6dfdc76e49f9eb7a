// tier: unit
import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import type { Fragment } from '../../ingest/fragment';
import { merged } from '../../ingest/merge';

const AT = '2026-11-29T12:00:00.000Z';
/** Messages, whose roles are told by their first letters: `u:hi a:hello`. */
const said = (text: string): ChatMessage[] =>
  text.split(' ').map((one) => ({
    role: ({ s: 'system', u: 'user', a: 'assistant' } as const)[one[0] as 's' | 'u' | 'a'],
    content: one.slice(2),
  }));
const fragment = (text: string, change: Partial<Fragment> = {}): Fragment => ({
  ...{ format: 'otlp', key: 'k', model: 'm', startedAt: null, messages: said(text), leftOut: [] },
  ...change,
});
const texts = (fragments: Fragment[]) =>
  merged(fragments, AT).map(({ id, messages, branches }) => ({
    id,
    messages: messages.map(({ role, content }) => `${role[0]}:${content}`).join(' '),
    ...(branches && { branches: branches.count }),
  }));

it('extends a conversation by the requests that begin with it, in any order of files', () => {
  const [one, two] = [
    fragment('s:now1 u:1 a:2', { startedAt: '2026-01-01T00:00:00.000Z' }),
    fragment('s:now2 u:1 a:2 u:3 a:4', { startedAt: '2026-01-02T00:00:00.000Z' }),
  ];
  for (const order of [
    [one, two],
    [two, one],
    [one, two, two, one],
  ])
    expect(texts(order)).toEqual([{ id: 'k', messages: 's:now1 u:1 a:2 u:3 a:4' }]);
});

it('keeps what sub-agents asked as branches', () => {
  expect(texts([fragment('u:1 a:2 u:3 a:4'), fragment('u:other a:2')])).toEqual([
    { id: 'k', messages: 'u:1 a:2 u:3 a:4', branches: 1 },
  ]);
});

it('tells conversations of a session apart where they are in traces of their own', () => {
  const found = texts([
    fragment('u:1 a:2', { aliases: ['t1'], trace: 't1' }),
    fragment('u:sub a:x', { aliases: ['t1'], trace: 't1' }),
    fragment('u:other a:2', { aliases: ['t2'], trace: 't2' }),
  ]);
  expect(found).toEqual([
    { id: 't1', messages: 'u:1 a:2', branches: 1 },
    { id: 't2', messages: 'u:other a:2' },
  ]);
});

it('keeps the requests of a conversation together where each has an id', () => {
  const all = ['u:1 a:2', 'u:sub a:x', 'u:1 a:2 u:3 a:4 u:5', 'u:3 a:4 u:5 a:6'];
  expect(texts(all.map((text, place) => fragment(text, { aliases: [`chatcmpl-${place}`] })))).toEqual([
    { id: 'k', messages: 'u:1 a:2 u:3 a:4 u:5', branches: 2 },
  ]);
});

it('makes each a conversation where only the opening is the same', () => {
  const opening = (text: string, name: string) => fragment(text, { isOpening: true, aliases: [name] });
  expect(texts([opening('u:1 a:2', 'a'), opening('u:1 a:3', 'b'), opening('u:1 a:2 u:4', 'c')])).toEqual([
    { id: 'a', messages: 'u:1 a:2 u:4' },
    { id: 'b', messages: 'u:1 a:3' },
  ]);
});

it('names a conversation by its first request, in any order of files', () => {
  const opening = (text: string, name: string) => fragment(text, { isOpening: true, aliases: [name] });
  const [one, again, two, three] = [
    ...[opening('u:1 a:2', 'r1'), opening('u:1 a:2', 'r1b')],
    ...[opening('u:1 a:2 u:3 a:4', 'r2'), opening('u:1 a:2 u:3 a:4 u:5', 'r3')],
  ] as const;
  for (const order of [
    [one, two],
    [one, again, two, three],
    [three, one, again, two],
    [two, three, one],
  ])
    expect(texts(order).map(({ id }) => id)).toEqual(['r1']);
});

it('finds the conversation of a request among many with the same opening', () => {
  const count = 30_000;
  const turns = ['', ' u:go a:on'].map((rest) =>
    Array.from({ length: count }, (_, one) =>
      fragment(`u:hi a:${one}${rest}`, { isOpening: true, aliases: [`${one}${rest}`] }),
    ),
  );
  const found = merged(turns.flat(), AT);
  expect(found.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, one) => String(one)));
  expect(found.every(({ messages }) => messages.length === 4)).toBe(true);
});

it('joins traces that a conversation has in common', () => {
  const all = [
    ['u:1', 't1'],
    ['u:2', 't2'],
    ['u:3', 't3'],
    ['u:1 a:x', 't2'],
    ['u:4', 't3'],
  ] as const;
  expect(texts(all.map(([text, trace]) => fragment(text, { trace })))).toEqual([
    { id: 't1', messages: 'u:1 a:x', branches: 1 },
    { id: 't3', messages: 'u:3', branches: 1 },
  ]);
});

describe('answers in records of their own', () => {
  const answer = (text: string) => fragment(text, { isAnswer: true });
  const counted = (fragments: Fragment[]) => {
    const leaveOut = jest.fn();
    return [merged(fragments, AT, leaveOut).map(({ messages }) => messages.length), leaveOut.mock.calls.length];
  };

  it('are joined to their request once, also where an earlier answer was the same', () => {
    expect(counted([answer('a:2'), fragment('u:1'), answer('a:2')])).toEqual([[2], 0]);
    expect(counted([fragment('u:1 a:2 u:3'), answer('a:2')])).toEqual([[4], 0]);
    expect(counted([fragment('u:1 a:2 u:3'), answer('a:2'), answer('a:4')])).toEqual([[4], 0]);
  });

  it('are not joined where their id does not tell to what', () => {
    expect(counted([fragment('u:1'), fragment('u:other'), answer('a:2'), answer('a:3')])).toEqual([[], 2]);
    expect(counted([fragment('u:1'), answer('a:2'), answer('a:3')])).toEqual([[1], 2]);
    expect(counted([answer('a:2'), answer('a:3')])).toEqual([[], 2]);
  });
});

it('keeps the reasoning that later requests leave out', () => {
  const first = fragment('u:1 a:2');
  first.messages[1] = { ...first.messages[1]!, reasoning_content: 'because' };
  const [found] = merged([first, fragment('u:1 a:2 u:3')], AT);
  expect(found?.messages[1]).toMatchObject({ content: '2', reasoning_content: 'because' });
});

it('joins the pieces of a request, however many messages they have', () => {
  const many = fragment('a:x', { piece: 'p', messages: Array.from({ length: 200_000 }, () => said('a:x')[0]!) });
  const [found] = merged([fragment('u:1', { piece: 'p' }), many], AT);
  expect(found?.messages).toHaveLength(200_001);
});
