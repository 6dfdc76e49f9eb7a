// Tier: unit (requests of frameworks, recorded once).
import { readFileSync } from 'node:fs';
import { EpisodeCapture } from '../../../../activities/rollout/capture/episode-capture';
import type { EpisodeParties } from '../../../../activities/rollout/episode';
import { chatDialect, type Fields, responsesDialect } from '../../../../dialects';
import { planOf, SETTINGS } from '../program/player-fixture';

/**
 * Both requests of one conversation: the model thinks, makes two calls at once, gets their results and answers. A few
 * clients are told to send what is refused.
 */
interface Recorded {
  client: string;
  path: string;
  requests: [Fields, Fields];
}
const recorded = readFileSync('test/fixtures/framework-requests.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)
  .map(({ client, path, requests }): [client: string, how: string, requests: () => [Fields, Fields]] => {
    const dialect = path === chatDialect.path ? chatDialect : responsesDialect;
    const how = `${path}${requests[0]['stream'] === true ? ', streamed' : ''}`;
    return [client, how, () => requests.map((one) => dialect.toChat(one)) as [Fields, Fields]];
  });

/** Why a client's requests are refused; null: they are not. */
function refusalOf(requests: () => unknown): string | null {
  try {
    requests();
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}
const accepted = recorded.filter(([, , requests]) => refusalOf(requests) === null);

const rest = { cut: false, promptTokens: 1, completionTokens: 1, firstToken: [], fingerprint: null };
const calls = ['12', '13'].map((order) => ({ name: 'get_order', arguments: `{"order":"${order}"}` }));
const made = calls.map((call, place) => ({ id: `call_0_${place}`, type: 'function', function: call }));
const ANSWERS = [
  { content: '', reasoning: 'hm', toolCalls: calls, ...rest },
  { content: 'fine', reasoning: null, toolCalls: [], ...rest },
];

test.each(accepted)('two requests of %s (%s) are one conversation', async (_client, _how, requests) => {
  const [first, second] = requests();
  const asked: Parameters<EpisodeParties['chat']>[0][] = [];
  const capture = new EpisodeCapture({
    plan: planOf(1),
    settings: SETTINGS,
    model: 'desk',
    chat: async (request) => ANSWERS[asked.push(request) - 1]!,
  });
  await capture.ask(first).answer;
  await capture.ask(second).answer;
  const { messages, others, leftOut } = capture.captured;
  expect({ others, leftOut }).toEqual({ others: [], leftOut: [] });
  const result = expect.stringMatching(/^ok$|^\{"status":"ok"\}$/) as string;
  expect(messages).toEqual([
    { role: 'system', content: 'be brief' },
    { role: 'user', content: '12' },
    { role: 'assistant', content: null, reasoning_content: 'hm', tool_calls: made },
    { role: 'tool', content: result, tool_call_id: 'call_0_0' },
    { role: 'tool', content: result, tool_call_id: 'call_0_1' },
    { role: 'assistant', content: 'fine' },
  ]);
  // The model gets its calls as it wrote them.
  expect(asked[1]!.messages[2]).toMatchObject({ content: null, tool_calls: made });
  expect(capture.tools?.map(({ function: { name } }) => name)).toEqual(['get_order']);
});

test('what a client leaves to the memory of the server is refused, with what helps', () => {
  const refused = recorded.flatMap(([client, , requests]) => {
    const why = refusalOf(requests);
    return why === null ? [] : [`${client}: ${why}`];
  });
  expect(refused).toEqual([
    'Vercel AI SDK 7.0: input[2]: no answers are kept here, so that an item cannot be sent by its id: make the ' +
      'request with `store: false`.',
    'LangChain 1.7: previous_response_id: no answers are kept here: send the whole conversation in `input`.',
  ]);
});
