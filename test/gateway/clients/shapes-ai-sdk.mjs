/**
 * The Vercel AI SDK's own request shapes, as shapes.py has those of openai: `node shapes-ai-sdk.mjs BASE_URL MODEL`.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, streamText, tool } from 'ai';

const [baseURL, model] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: 'whetstone', baseURL, apiKey: 'none', includeUsage: true });
const settings = (name) => ({
  model: provider(name),
  prompt: 'Please cancel order 1003 for me.',
  seed: 3,
  maxOutputTokens: 40,
  maxRetries: 0,
});
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

async function streamed() {
  const { text, toolCalls, finishReason, usage } = streamText(settings(model));
  return said({ text: await text, toolCalls: await toolCalls, finishReason: await finishReason, usage: await usage });
}

const choice = { providerOptions: { whetstone: { structured_outputs: { choice: ['yes', 'no'] } } } };
const refused = await generateText(settings('nobody')).catch((error) => error);
console.log(
  JSON.stringify({
    chat: said(await generateText(settings(model))),
    tools: said(await generateText({ ...settings(model), tools })),
    stream: await streamed(),
    structured: said(await generateText({ ...settings(model), ...choice })),
    refusal: [refused.statusCode, JSON.parse(refused.responseBody).error.code],
  }),
);
