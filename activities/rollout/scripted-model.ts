import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { RunModel } from '../endpoints/run-model';
import type { ChatAnswer, ChatRequest, ModelClient } from './model-client';

/** Its served name. */
const NAME = 'script';

/** A model that plays moves instead of sampling. No server is asked, and no token is spent. */
export interface ScriptedModel {
  client: ModelClient;
  /** The model as a set of rollouts names it. */
  model: RunModel;
}

/** @param moveOf the move with which the agent answers a request. */
export function scriptedModel(moveOf: (request: Pick<ChatRequest, 'seed'>) => EnvironmentMove): ScriptedModel {
  const served = { weightsSha256: null, root: null, maxModelLength: null };
  const chat = async (request: Pick<ChatRequest, 'seed'>): Promise<ChatAnswer> => {
    const move = moveOf(request);
    return {
      content: 'text' in move ? move.text : null,
      toolCalls: 'text' in move ? [] : [{ name: move.name, arguments: JSON.stringify(move.arguments) }],
      reasoning: null,
      cut: false,
      promptTokens: 0,
      completionTokens: 0,
      firstToken: [],
      fingerprint: null,
    };
  };
  return {
    client: { chat, models: async () => [{ id: NAME, ...served }], loadAdapter: async () => {} },
    model: {
      baseUrl: 'http://script.invalid/v1',
      addressFrom: 'agent.yaml',
      name: NAME,
      path: '',
      sha256: '0'.repeat(64),
      served,
    },
  };
}

/** What the agent that does nothing says in every turn. It never calls a tool. */
export const NEUTRAL_SENTENCE = 'I am sorry, but I cannot help with this.';

/** Most turns of an episode: an agent that only says the same sentence does nothing new in later ones. */
export const MOST_IDLE_TURNS = 10;

/** The agent that does nothing. */
export const doNothingModel = (): ScriptedModel => scriptedModel(() => ({ text: NEUTRAL_SENTENCE }));
