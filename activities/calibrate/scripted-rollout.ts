import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import type { EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../environment';
import { asCall, SAID } from '../environment-checks/moves';
import { openEpisode } from '../environment-checks/play';

/** A scripted episode in the form of a rollout. */
interface ScriptedRollout {
  messages: ChatMessage[];
  /** In [0, 1]. */
  reward: number;
}

/**
 * Plays a script until it or the episode ends, and records the messages as a rollout of a model has them: nothing tells
 * who acted. A call of `say` where no tool has this name is a text, as a model would write it. Rejects as
 * `EnvironmentHandle` does, after it has dropped the episode.
 */
export async function playAsRollout(
  environment: EnvironmentHandle,
  seed: number,
  moves: readonly EnvironmentMove[],
  tools: readonly EnvironmentTool[],
): Promise<ScriptedRollout> {
  const hasSayTool = tools.some((tool) => tool.function.name === SAID);
  const { episode, messages: opening } = await openEpisode(environment, seed);
  const messages: ChatMessage[] = [...opening];
  try {
    for (const [turn, move] of moves.entries()) {
      const id = `call_${turn}_0`;
      const text = textOf(move, hasSayTool);
      messages.push(text === null ? callMessage(move, id) : { role: 'assistant', content: text });
      const { observations, done } =
        'text' in move ? await environment.say(episode, move.text) : await environment.step(episode, [move]);
      const content = observations[0] ?? '';
      if (text === null) messages.push({ role: 'tool', content, tool_call_id: id });
      else if (!done) messages.push({ role: 'user', content });
      if (done) break;
    }
    const { reward } = await environment.evaluate(episode);
    return { messages, reward };
  } catch (error) {
    if (environment.alive) await environment.drop(episode).catch(() => undefined);
    throw error;
  }
}

/** What the agent says with a move; null for a call. */
function textOf(move: EnvironmentMove, hasSayTool: boolean): string | null {
  const { name, arguments: given } = asCall(move);
  return name === SAID && ('text' in move || !hasSayTool) && typeof given['text'] === 'string' ? given['text'] : null;
}

function callMessage(move: EnvironmentMove, id: string): ChatMessage {
  const { name, arguments: given } = asCall(move);
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(given) } }],
  };
}
