// tier: unit
import { fitEpisode } from '../../../activities/label-prompt/fit-episode';
import type { ChatMessage } from '../../../contracts/artifacts/trajectory';

const call = (text: string): ChatMessage => ({
  role: 'assistant',
  content: text,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
});
const episode: ChatMessage[] = [
  { role: 'user', content: `task ${'t'.repeat(300)}` },
  call('first'),
  { role: 'tool', content: `old ${'a'.repeat(1_000)}`, tool_call_id: 'c' },
  call('second'),
  { role: 'tool', content: `new ${'b'.repeat(1_000)}`, tool_call_id: 'c' },
  { role: 'assistant', content: `answer ${'c'.repeat(500)}` },
];
const options = { maxMessageChars: 8_000 };

test('an episode that fits is left whole', () => {
  const { text, leftOut } = fitEpisode(episode, options, 10_000);
  expect(leftOut).toBe(0);
  expect(text).not.toContain('left out');
});

test('the oldest tool result goes first, with a note in its place and one at the top; numbers stay', () => {
  const { text, leftOut } = fitEpisode(episode, options, 2_500);
  expect(leftOut).toBe(1);
  expect(text.split('\n')[0]).toBe(
    '(This episode was too long: the content of 1 of its 6 messages is left out, old tool results first.)',
  );
  expect(text).toContain('[2] tool: [1004 characters left out]\n');
  expect(text).toContain('[4] tool: new bbb');
  expect(text.length).toBeLessThanOrEqual(2_500);
});

test('then texts of the agent, the opening last', () => {
  const { text, leftOut } = fitEpisode(episode, options, 1_000);
  expect(leftOut).toBe(3);
  expect(text).toContain('task ttt');
  expect(text).toContain('[5] assistant: [507 characters left out]');
});

test('what still does not fit is cut in the middle', () => {
  const { text, leftOut } = fitEpisode([{ role: 'user', content: 'x'.repeat(5_000) }], options, 1_000);
  expect(text.length).toBeLessThanOrEqual(1_000);
  expect(text).toContain('characters left out in the middle');
  expect(leftOut).toBe(1);
});
