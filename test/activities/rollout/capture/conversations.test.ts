// Tier: unit.
import type { ChatMessage } from '../../../../contracts/artifacts/trajectory';
import { Conversations, messagesOf } from '../../../../activities/rollout/capture/conversations';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const answer = (content: string, more: Partial<ChatMessage> = {}): ChatMessage => ({
  role: 'assistant',
  content,
  ...more,
});

/** Adds a request and its answer. */
function exchange(conversations: Conversations, messages: ChatMessage[], said: ChatMessage) {
  const { exchange: begun } = conversations.begin(messages);
  conversations.end(begun, said);
  return begun;
}

test('a request that extends the last one and its answer is joined to it', () => {
  const conversations = new Conversations();
  exchange(conversations, [user('a')], answer('1'));
  const second = exchange(conversations, [user('a'), answer('1'), user('b')], answer('2'));
  expect(second).toMatchObject({ turn: 1, added: [user('b')] });
  expect(messagesOf(conversations.main!)).toEqual([user('a'), answer('1'), user('b'), answer('2')]);
  expect(conversations.others).toEqual([]);
});

test('a first request that was refused is not the conversation, if another one has an answer', () => {
  const conversations = new Conversations();
  const refused = conversations.begin([user('long')]).exchange;
  expect(conversations.main).toBe(refused);
  const short = exchange(conversations, [user('short')], answer('1'));
  conversations.begin([user('long again')]);
  expect(conversations.main).toBe(short);
  expect(conversations.others).toEqual([[user('long')], [user('long again')]]);
});

test.each<[what: string, said: ChatMessage, sentBack: ChatMessage]>([
  ['without its reasoning', answer('1', { reasoning_content: 'hm' }), answer('1')],
  ['trimmed', answer(' 1\n'), answer('1')],
  [
    'with null for no text',
    answer('', { tool_calls: [call('{"a": 1, "b": 2}')] }),
    { ...answer('x'), content: null, tool_calls: [call('{"b":2,"a":1}')] },
  ],
  [
    'with {} for arguments that are none',
    answer('1', { tool_calls: [call('{"a"')] }),
    answer('1', { tool_calls: [call('{}')] }),
  ],
  [
    'with its calls in another order',
    answer('', { tool_calls: [call('{"a"', 'call_0_0'), call('{"a":1}', 'call_0_1')] }),
    answer('', { tool_calls: [call('{"a": 1}', 'call_0_1'), call('{"a"', 'call_0_0')] }),
  ],
])('an answer that comes back %s is the same one, and is kept and sent as the model said it', (_, said, sentBack) => {
  const conversations = new Conversations();
  exchange(conversations, [user('a')], said);
  const { messages } = conversations.begin([user('a'), sentBack, user('b')]);
  expect(messagesOf(conversations.main!)).toEqual([user('a'), said, user('b')]);
  // The program decides whether reasoning is sent back.
  const { reasoning_content: _reasoning, ...without } = said;
  expect(messages).toEqual([user('a'), without, user('b')]);
});

test('reasoning that comes back goes on to the model', () => {
  const conversations = new Conversations();
  const said = answer('1', { reasoning_content: 'hm' });
  exchange(conversations, [user('a')], said);
  expect(conversations.begin([user('a'), said, user('b')]).messages).toEqual([user('a'), said, user('b')]);
});

function call(text: string, id = 'call_0_0') {
  return { id, type: 'function' as const, function: { name: 'f', arguments: text } };
}

test('sub-agents and rewritten histories are conversations of their own, with turns of their own', () => {
  const conversations = new Conversations();
  exchange(conversations, [user('main')], answer('1'));
  exchange(conversations, [user('sub')], answer('s1'));
  const sub = exchange(conversations, [user('sub'), answer('s1'), user('more')], answer('s2'));
  exchange(conversations, [user('main'), answer('1'), user('go on')], answer('2'));
  const rewritten = exchange(
    conversations,
    [user('main'), answer('what the model never said'), user('x')],
    answer('3'),
  );
  expect(sub.turn).toBe(1);
  expect(rewritten.turn).toBe(0);
  expect(messagesOf(conversations.main!).at(-1)).toEqual(answer('2'));
  expect(conversations.others.map((one) => one[0]!.content)).toEqual(['sub', 'main']);
});

test('of two answers to one request, the one that is gone on from is in the main conversation', () => {
  const conversations = new Conversations();
  exchange(conversations, [user('a')], answer('1'));
  exchange(conversations, [user('a')], answer('other'));
  exchange(conversations, [user('a'), answer('1'), user('b')], answer('2'));
  expect(messagesOf(conversations.main!).map(({ content }) => content)).toEqual(['a', '1', 'b', '2']);
  expect(conversations.others).toEqual([[user('a'), answer('other')]]);
});

test('a small request before the conversation is not the main one; without a conversation the first is', () => {
  const conversations = new Conversations();
  exchange(conversations, [user('which way?')], answer('left'));
  expect(messagesOf(conversations.main!)[0]).toEqual(user('which way?'));
  exchange(conversations, [user('unrelated')], answer('x'));
  expect(messagesOf(conversations.main!)[0]).toEqual(user('which way?'));
  exchange(conversations, [user('a')], answer('1'));
  exchange(conversations, [user('a'), answer('1'), user('b')], answer('2'));
  expect(messagesOf(conversations.main!)[0]).toEqual(user('a'));
});

test('a request without an answer ends its conversation', () => {
  const conversations = new Conversations();
  exchange(conversations, [user('a')], answer('1'));
  conversations.begin([user('a'), answer('1'), user('b')]);
  expect(messagesOf(conversations.main!)).toEqual([user('a'), answer('1'), user('b')]);
});

test('nothing was asked', () => {
  expect(new Conversations().main).toBeNull();
  expect(new Conversations().others).toEqual([]);
});
