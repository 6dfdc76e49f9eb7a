/**
 * The Vercel AI SDK's own request shapes, as shapes.py has those of openai:
 * `node shapes-ai-sdk.mjs BASE_URL MODEL [BASE_URL MODEL ...]`.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, streamText, tool } from 'ai';

const tools = {
  look_up_order: tool({
    description: 'Looks an order up.',
    inputSchema: jsonSchema({ type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }),
  }),
};

const said = ({ text, toolCalls, finishReason, usage }) => ({
  content: text,
  calls: toolCalls.map(({ toolName, input }) => [toolName, input]),
  finishReason,
  tokens: usage.totalTokens,
});

async function streamed(settings) {
  const { text, toolCalls, finishReason, usage } = streamText(settings);
  return said({ text: await text, toolCalls: await toolCalls, finishReason: await finishReason, usage: await usage });
}

const choice = { providerOptions: { whetstone: { structured_outputs: { choice: ['yes', 'no'] } } } };

async function shapes(baseURL, model) {
  const provider = createOpenAICompatible({ name: 'whetstone', baseURL, apiKey: 'none', includeUsage: true });
  const settings = (name) => ({
    model: provider(name),
    prompt: 'Please cancel order 1003 for me.',
    seed: 3,
    maxOutputTokens: 40,
    maxRetries: 0,
  });
  const refused = await generateText(settings('nobody')).catch((error) => error);
  return {
    chat: said(await generateText(settings(model))),
    tools: said(await generateText({ ...settings(model), tools })),
    stream: await streamed(settings(model)),
    structured: said(await generateText({ ...settings(model), ...choice })),
    refusal: [refused.statusCode, JSON.parse(refused.responseBody).error.code],
  };
}

const places = process.argv.slice(2);
const answers = [];
for (let i = 0; i < places.length; i += 2) answers.push(await shapes(places[i], places[i + 1]));
console.log(JSON.stringify(answers));
