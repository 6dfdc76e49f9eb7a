/**
 * LangChain's own request shapes, as shapes.py has those of openai:
 * `node shapes-langchain.mjs BASE_URL MODEL [BASE_URL MODEL ...]`.
 */
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';

const TOOL = {
  type: 'function',
  function: {
    name: 'look_up_order',
    description: 'Looks an order up.',
    parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  },
};
const ASK = [new HumanMessage('Please cancel order 1003 for me.')];
const said = ({ content, tool_calls: calls, usage_metadata: usage }) => ({
  content,
  calls: calls?.map(({ name, args }) => [name, args]),
  usage,
});

async function streamed(client) {
  let whole = null;
  for await (const chunk of await client.stream(ASK)) whole = whole === null ? chunk : whole.concat(chunk);
  return said(whole);
}

async function shapes(baseURL, model) {
  const client = (name, more = {}) =>
    new ChatOpenAI({
      model: name,
      apiKey: 'none',
      maxRetries: 0,
      maxTokens: 40,
      modelKwargs: { seed: 3, ...more },
      configuration: { baseURL },
    });
  const refused = await client('nobody')
    .invoke(ASK)
    .catch((error) => error);
  return {
    chat: said(await client(model).invoke(ASK)),
    tools: said(await client(model).bindTools([TOOL]).invoke(ASK)),
    stream: await streamed(client(model)),
    structured: said(await client(model, { structured_outputs: { choice: ['yes', 'no'] } }).invoke(ASK)),
    refusal: [refused.status, refused.code],
  };
}

const places = process.argv.slice(2);
const answers = [];
for (let i = 0; i < places.length; i += 2) answers.push(await shapes(places[i], places[i + 1]));
console.log(JSON.stringify(answers));
