// tier: unit
import { playAsRollout } from '../../../activities/calibrate/scripted-rollout';
import type { EnvironmentHandle } from '../../../activities/environment';
import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';

const tool = (name: string): EnvironmentTool => ({
  type: 'function',
  function: { name, description: '', parameters: { type: 'object', properties: {} } },
});

/** Answers "heard" to texts and "done" to calls; the episode ends with the third move. */
function desk(): EnvironmentHandle {
  let moves = 0;
  const answer = (text: string) => Promise.resolve({ observations: [text], done: ++moves === 3 });
  return {
    alive: true,
    reset: async () => ({ messages: [{ role: 'user', content: 'Hello' }], tags: [] }),
    say: () => answer('heard'),
    step: () => answer('done'),
    evaluate: async () => ({ reward: 0.5, diagnostics: {} }),
  } as unknown as EnvironmentHandle;
}

const shown = async (tools: EnvironmentTool[]) => {
  const moves = [
    { name: 'look', arguments: { at: 1 } },
    { name: 'say', arguments: { text: 'Found it.' } },
    { text: 'Bye.' },
    { text: 'After the end.' },
  ];
  const { messages, reward } = await playAsRollout(desk(), 7, moves, tools);
  expect(reward).toBe(0.5);
  return messages.map(({ role, content, tool_calls }) => [role, content ?? tool_calls![0]!.function.name]);
};

test('a script looks like a rollout of a model, which says its texts where no tool says them', async () => {
  expect(await shown([tool('look')])).toEqual([
    ['user', 'Hello'],
    ['assistant', 'look'],
    ['tool', 'done'],
    ['assistant', 'Found it.'],
    ['user', 'done'],
    ['assistant', 'Bye.'],
  ]);
});

test('a tool that is called say is a tool', async () => {
  expect((await shown([tool('look'), tool('say')])).slice(3, 5)).toEqual([
    ['assistant', 'say'],
    ['tool', 'done'],
  ]);
});
